"""Public classes that learn."""
