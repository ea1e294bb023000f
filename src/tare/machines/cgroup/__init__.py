"""Apply limits by cgroup v1 and v2, and read them back inside a machine."""
