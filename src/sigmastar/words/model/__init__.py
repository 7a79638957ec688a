"""The models and what can be asked of them."""
