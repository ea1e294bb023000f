"""Tables and verdicts on a terminal."""
