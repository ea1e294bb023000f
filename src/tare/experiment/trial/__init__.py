"""Run one trial: place its roles, start the command, monitor the host, judge the result."""
