"""The same work as the compiled kernels, on tensors: hidden Markov models and signed automata on a GPU."""
