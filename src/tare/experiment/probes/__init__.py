"""Monitors that read CPU, memory, disk and network of the host and of a platform during trials."""
