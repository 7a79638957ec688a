"""What every family stands on: the two ideas, and the shared machinery."""
