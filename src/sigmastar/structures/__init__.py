"""The structures that models are functions on: alphabets, signatures, strings."""
