"""Head automata on tensors: charts of sentences of one length, and one kernel for whole sentences."""
