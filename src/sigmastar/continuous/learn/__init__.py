"""From sequences of vectors to models."""
