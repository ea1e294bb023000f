"""Run a study: read its file, plan the trials, run them, monitor the host, store the results."""
