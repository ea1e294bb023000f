"""Daemons that layers need: the one that answers, or one of Tare's own for the session."""
