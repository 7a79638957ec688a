"""Statistics of trees."""
