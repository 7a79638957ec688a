"""Black boxes that read sequences, distilled into automata."""
