"""What all families share: the two ideas of spectral learning and the machinery around them."""
