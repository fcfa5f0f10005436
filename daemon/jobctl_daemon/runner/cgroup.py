"""One control group (version 2) for each command: what a command starts cannot leave it.

A command is born inside: the runner itself steps in, starts it and steps out, so that not even what it forks with its
first instruction is outside (clone3's CLONE_INTO_CGROUP is out of Python's reach). Making and removing a group costs
several times a move, so empty groups are kept and used again.
"""

from __future__ import annotations

import os

from .identity import read_file

_MOUNTS = ("/sys/fs/cgroup", "/sys/fs/cgroup/unified")
_OWN_LEAF = "runner"
_KEEP_FREE = 64


class Cgroups:
    """The groups of one runner, below one directory of its own."""

    def __init__(self, place: str, home: str, instance: str, key: str, counts_oom: bool) -> None:
        self.base = _base(place, instance, key)
        self._home = home
        self._place = place
        self._key = key
        self.counts_oom = counts_oom
        self._free: list[str] = []
        self._left: list[str] = []
        self._count = 0

    def take(self) -> str | None:
        """Return an empty group, or None when none can be made."""
        if self._free:
            return self._free.pop()
        while True:
            self._count += 1
            path = f"{self.base}/{self._count}"
            try:
                os.makedirs(path)
            except FileExistsError:
                continue
            except OSError:
                return None
            return path

    def step_out(self) -> bool:
        """Go home; False when that cannot be, and the runner would be killed with the group."""
        return enter(self._home, 0)

    def give_back(self, path: str, empty: bool) -> None:
        """Keep a group for the next command; one with survivors, or of another runner, is removed when it can be."""
        if empty and path.startswith(f"{self.base}/") and len(self._free) < _KEEP_FREE:
            self._free.append(path)
        elif not (empty and remove(path)):
            self._left.append(path)

    def bury(self, instance: str) -> None:
        """Remove the empty groups of a dead runner that had the same state directory."""
        base = _base(self._place, instance, self._key)
        _remove_below(base)
        remove(base)

    def tidy(self) -> None:
        """Remove the groups whose last process has gone since."""
        self._left = [path for path in self._left if not remove(path)]

    def close(self) -> None:
        """Remove all that is empty; what still has processes stays for the next runner to tidy."""
        _remove_below(self.base)
        remove(self.base)


def _base(place: str, instance: str, key: str) -> str:
    return f"{place}/jobctl-{instance}-{key}"


def open_cgroups(instance: str, key: str) -> Cgroups | None:
    """Find a writable place for groups, make the runner's directory there, and tidy what a dead one left.

    key tells the runners of one state directory from those of another.
    None means the host has no such place: the kill then goes by group, session and marker.
    """
    for mount in _MOUNTS:
        place = _own_place(mount)
        if place is None:
            continue
        counts_oom = _delegate(place)
        home = mount + (path_of(os.getpid()) or "/")
        base = _base(place, instance, key)
        try:
            os.makedirs(base, exist_ok=True)
            if not os.access(f"{base}/cgroup.kill", os.W_OK):
                continue
            _probe(base, home)
        except OSError:
            continue
        _remove_below(base)
        if counts_oom:
            counts_oom = _write(f"{base}/cgroup.subtree_control", b"+memory")
        return Cgroups(place, home, instance, key, counts_oom)
    return None


def _own_place(mount: str) -> str | None:
    if not os.access(f"{mount}/cgroup.procs", os.F_OK):
        return None
    own = path_of(os.getpid())
    if own is None:
        return None
    place = mount + own.rstrip("/")
    # Under systemd's DelegateSubgroup= the runner is in the leaf already.
    return os.path.dirname(place) if os.path.basename(place) == _OWN_LEAF else place


def _delegate(place: str) -> bool:
    """Turn the memory controller on below a delegated group; tell whether groups then count OOM kills.

    A group with controllers below it must have no processes of its own, so the runner moves into a leaf.
    """
    if place in _MOUNTS:
        return False
    try:
        if b"memory" not in read_file(f"{place}/cgroup.controllers").split():
            return False
        leaf = f"{place}/{_OWN_LEAF}"
        os.makedirs(leaf, exist_ok=True)
    except OSError:
        return False
    return enter(leaf, os.getpid()) and _write(f"{place}/cgroup.subtree_control", b"+memory")


def _probe(base: str, home: str) -> None:
    # A directory that can be made may still refuse processes, or not let them go: try with a child that only ends.
    path = f"{base}/probe"
    os.makedirs(path, exist_ok=True)
    pid = os.fork()
    if pid == 0:
        try:
            os._exit(0 if enter(path, 0) and enter(home, 0) else 1)
        finally:
            os._exit(1)
    status = os.waitpid(pid, 0)[1]
    remove(path)
    if status != 0:
        raise OSError("the group takes no processes")


def enter(path: str, pid: int) -> bool:
    """Move a process (0: this one) into a group; False when it has ended or may not be moved."""
    return _write(f"{path}/cgroup.procs", b"%d" % pid)


def pids(path: str) -> list[int]:
    """Return the living processes in a group; none when the group is gone."""
    try:
        descriptor = os.open(f"{path}/cgroup.procs", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return []
    try:
        text = b""
        while block := os.read(descriptor, 65536):
            text += block
    except OSError:
        return []
    finally:
        os.close(descriptor)
    return [int(line) for line in text.split()] if text else []


def holds(path: str, pid: int) -> bool:
    """Tell whether a process is in a group now."""
    inside = path_of(pid)
    return inside is not None and path in [mount + inside for mount in _MOUNTS]


def kill(path: str) -> bool:
    """Kill all in a group at once, those just being forked included."""
    return _write(f"{path}/cgroup.kill", b"1")


def remove(path: str) -> bool:
    """Remove an empty group; True when it is gone."""
    try:
        os.rmdir(path)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True


def _remove_below(base: str) -> None:
    try:
        names = os.listdir(base)
    except OSError:
        return
    for name in names:
        if name.isdigit():
            remove(f"{base}/{name}")


def path_of(pid: int) -> str | None:
    """Return a process's path in the version 2 hierarchy."""
    try:
        for line in read_file(f"/proc/{pid}/cgroup", 16384).splitlines():
            if line.startswith(b"0::"):
                return line[3:].decode("utf-8", "surrogateescape")
    except OSError:
        pass
    return None


def _write(path: str, text: bytes) -> bool:
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
        try:
            os.write(descriptor, text)
        finally:
            os.close(descriptor)
    except OSError:
        return False
    return True
