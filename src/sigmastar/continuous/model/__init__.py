"""Hidden Markov models with Gaussian emissions."""
