"""Models in the browser, and as a small local server: sees families through their records alone."""
