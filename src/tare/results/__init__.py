"""From stored trials to verdicts: pure functions that start no process and draw nothing."""
