"""Commands: tagged text in, taggers and tagged text out."""
