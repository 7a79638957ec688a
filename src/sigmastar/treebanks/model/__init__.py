"""Models, and what they compute."""
