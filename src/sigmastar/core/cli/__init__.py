"""What the commands of all families share."""
