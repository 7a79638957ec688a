"""How good models are."""
