"""Machines to run commands on, and the layers (Docker, QEMU, gVisor, ...) that create them."""
