"""What is run in an instance: workloads, their roles, and the parsers of their output."""
