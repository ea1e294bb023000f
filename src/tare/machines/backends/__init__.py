"""Engines and tools that layers use: Docker, Podman, libvirt, QEMU, OCI runtimes, vSphere."""
