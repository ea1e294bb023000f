"""A simulated machine with known speed and noise, to test the statistics."""
