"""Detect containers, sandboxes and chroots by namespaces, cgroups and mounts.

Only a namespace that is not the kernel's first proves a container. What names the engine are paths
that it made and what it passes to the process; the files that engines leave in a root are in copied
images too, and so name nothing by themselves.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from tare.machines.detection.script import Seen, first
from tare.machines.detection.step import CHROOT, CONTAINERS, Detected

# include/linux/proc_ns.h; the first mount namespace has a fixed number only since Linux 6.18.
FIRST = {
    "pid": {4026531836},
    "user": {4026531837},
    "uts": {4026531838},
    "ipc": {4026531839},
    "cgroup": {4026531835},
}
FIRST_MOUNT = {4026531832, 4026531840, 4026531841}

GVISOR = re.compile(r"gvisor|Sun Jan 10 15:06:54 PST 2016", re.IGNORECASE)
"""What gVisor says its kernel is; the date is a constant in its source."""
MANAGERS = {
    "systemd-nspawn": "nspawn",
    "lxc": "lxc",
    "lxc-libvirt": "lxc",
    "docker": "docker",
    "podman": "podman",
    "wsl": "wsl",
    "openvz": "openvz",
}
"""What engines pass to the processes in their containers."""
FIRST_PROCESSES = {
    "bwrap": "bubblewrap",
    "docker-init": "docker",
    "lxc-execute": "lxc",
    "lxc-init": "lxc",
}
ID = "[0-9a-f]{64}"
MOUNTS = {
    "kubernetes": re.compile(r"/kubelet/pods/"),
    "podman": re.compile(rf"/containers/storage/|/overlay-containers/{ID}/userdata"),
    "docker": re.compile(rf"/containers/{ID}/(hostname|hosts|resolv\.conf) |/overlay2/"),
    "nspawn": re.compile(r"/systemd/nspawn/"),
    "lxc": re.compile(r"/\.lxc-boot-id |fuse\.lxcfs"),
    "bubblewrap": re.compile(r"^/newroot "),
}
CGROUPS = {
    "kubernetes": re.compile(r"kubepods"),
    "podman": re.compile(rf"libpod-{ID}"),
    "docker": re.compile(rf"/docker/{ID}|docker-{ID}\.scope"),
    "lxc": re.compile(r"/lxc\.payload|/lxc/"),
    "nspawn": re.compile(r"systemd-nspawn@"),
}
LEFT_FILES = {"/.dockerenv": "docker", "/run/.containerenv": "podman"}


def containers(seen: Seen) -> tuple[list[Detected], str]:
    """Return the steps above the kernel, from the outside in, or why there are none."""
    version = first(seen, "/proc/version")
    if GVISOR.search(version):
        said = [f"/proc/version, as gVisor always has it: {version}"]
        engine = next(_inner_signs(seen), None)
        product = f"run by {CONTAINERS[engine[0]]}" if engine else ""
        said += [engine[1]] if engine else []
        return [Detected("gvisor", product, tuple(said))], ""
    numbers = dict(_numbers(seen))
    own = [kind for kind in FIRST if kind in numbers and numbers[kind] not in FIRST[kind]]
    proof, is_known = _proof(seen, numbers, own)
    has_other_root = _other_root(seen)
    has_own_mounts = _own_mounts(seen, numbers)
    if not own and has_own_mounts and has_other_root:
        own, proof = ["mnt"], (f"mount namespace and root of its own (mnt:[{numbers['mnt']}])",)
    steps = _engines(seen, own, proof) if proof or not is_known else []
    none = ""
    if not steps and is_known:
        none = "no container: the namespaces are the kernel's first"
    elif not steps:
        none = "nothing that could be read shows a container"
    if has_other_root and not has_own_mounts:
        other = ("its root directory is not that of the first process", *([none] if none else []))
        steps.append(Detected(CHROOT, "", other))
    return steps, "" if steps else none


def _engines(seen: Seen, own: Sequence[str], proof: Sequence[str]) -> list[Detected]:
    """Yield the containers around; those known only from the cgroup's path are the outermost."""
    outer, inner = list(_cgroup_signs(seen)), list(_inner_signs(seen))
    # bubblewrap leaves the mounts and the environment around it as they are.
    inner.sort(key=lambda sign: sign[0] != "bubblewrap")
    innermost = inner[0][0] if inner else outer[-1][0] if outer else ""
    names = dict.fromkeys(name for name, _ in [*outer, *inner[::-1]] if name != innermost)
    steps = [
        Detected(name, "", tuple(said for n, said in [*outer, *inner] if n == name))
        for name in names
    ]
    left = [(name, f"{path} is there") for path, name in LEFT_FILES.items() if path in seen]
    if innermost:
        said = [said for name, said in [*outer, *inner, *left] if name == innermost]
        steps.append(Detected(innermost, "", (*proof, *_filter(seen), *said)))
    elif proof and left:
        perhaps = (f"{said}, as in copied images too" for _, said in left)
        steps.append(Detected("container", "", (*proof, *_filter(seen), *perhaps)))
    elif proof:
        names_of = ", ".join(own)
        steps.append(Detected("namespaces", names_of, (*proof, *_filter(seen))))
    return steps


def _proof(seen: Seen, numbers: dict[str, int], own: Sequence[str]) -> tuple[tuple[str, ...], bool]:
    """Return what proves namespaces other than the kernel's first, and if it can be known."""
    if numbers:
        named = ", ".join(f"{kind}:[{numbers[kind]}]" for kind in own)
        return (f"namespaces that are not the kernel's first: {named}",) if own else (), True
    if "/proc/1/comm" not in seen:
        return (), False
    second = first(seen, "/proc/2/comm")
    if second == "kthreadd":
        return (), True
    return (f"process 2 is {second or 'not there'}, which outside is the kernel's kthreadd",), True


def _numbers(seen: Seen) -> Iterator[tuple[str, int]]:
    for line in seen.get("/proc/self/ns", ()):
        if found := re.fullmatch(r"(\w+):\[(\d+)\]", line):
            yield found[1], int(found[2])


def _own_mounts(seen: Seen, numbers: dict[str, int]) -> bool:
    number = numbers.get("mnt")
    of_first = first(seen, "/proc/1/ns")
    if number is None:
        return False
    return of_first != f"mnt:[{number}]" if of_first else number not in FIRST_MOUNT


def _other_root(seen: Seen) -> bool:
    return (first(seen, "/proc/1/root") or first(seen, "/proc/2/root")) == "other"


def _filter(seen: Seen) -> Iterator[str]:
    for line in seen.get("/proc/self/status", ()):
        if line.split() == ["Seccomp:", "2"]:
            yield "system calls are filtered (seccomp)"


def _cgroup_signs(seen: Seen) -> Iterator[tuple[str, str]]:
    """Return the engines that made parts of the cgroup's path, from the outside in."""
    for source in ("/proc/self/cgroup", "/proc/1/cgroup"):
        for line in seen.get(source, ()):
            path = line.split(":", 2)[-1]
            places = ((pattern.search(path), name) for name, pattern in CGROUPS.items())
            named = sorted((found.start(), name) for found, name in places if found)
            if named:
                yield from ((name, f"cgroup: {path}") for _, name in named)
                return


def _inner_signs(seen: Seen) -> Iterator[tuple[str, str]]:
    """Return what names the container nearest to the process, the most trustworthy first."""
    process = first(seen, "/proc/1/comm")
    if name := FIRST_PROCESSES.get(process, ""):
        yield name, f"process 1 is {process}"
    for source in ("environment", "/proc/1/environ", "/run/host/container-manager",
                   "/run/systemd/container"):  # fmt: skip
        manager = first(seen, source).removeprefix("container=")
        if manager:
            yield MANAGERS.get(manager, "container"), f"{source}: container={manager}"
    if "/proc/vz" in seen and "/proc/bc" not in seen:
        yield "openvz", "/proc/vz without /proc/bc"
    if "/run/WSL" in seen or "microsoft" in first(seen, "/proc/version").lower():
        yield "wsl", f"/proc/version: {first(seen, '/proc/version')}"
    if "/var/run/secrets/kubernetes.io/serviceaccount" in seen:
        yield "kubernetes", "a service account of Kubernetes is mounted"
    for name, pattern in MOUNTS.items():
        for mount in seen.get("mount", ()):
            words = re.split("[ ,:=]", mount)
            if path := next((word for word in words if pattern.search(f"{word} ")), ""):
                yield name, f"mount: {words[1]} comes from {path}"
                break
