"""From data to models."""
