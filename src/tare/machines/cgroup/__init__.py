"""Limits: applied by cgroup v1 and v2, and read back from inside a machine."""
