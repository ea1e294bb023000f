"""Places where commands run, and the layers that make one place inside another."""
