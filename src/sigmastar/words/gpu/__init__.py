"""Word models of thousands of states on tensors: clusters of tokens, EM, and the log-bilinear form."""
