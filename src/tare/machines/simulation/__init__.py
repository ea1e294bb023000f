"""A machine that is not there: what tools would print on it, at a speed that is known."""
