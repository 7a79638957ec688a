"""Statistics of data."""
