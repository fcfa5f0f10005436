"""Removes unpacked versions that nobody runs: `python3 sweep.py FOLDER`, called by the one file that has just unpacked
itself there, under the lock.

The newest of the others stays, so that going back costs nothing. A version is in use when a process runs its
interpreter: the same file, by whatever path, or it is named in a command line. Where not every process can be seen (a
container, a file system of another host) nothing is removed: a runner may watch its commands for weeks.
"""

import os
import shutil
import sys

#: The number of the first namespace of processes, PROC_PID_INIT_INO of Linux.
FIRST_NAMESPACE = 0xEFFFFFFC
#: File systems that no other host has.
LOCAL = {"bcachefs", "btrfs", "ext2", "ext3", "ext4", "f2fs", "jfs", "overlay", "reiserfs", "tmpfs", "xfs", "zfs"}


def main(base: str) -> None:
    base = os.path.realpath(base)
    if os.stat("/proc/self/ns/pid").st_ino != FIRST_NAMESPACE or file_system(base) not in LOCAL:
        return
    mine = os.path.realpath(sys.prefix)
    trees = [entry.path for entry in os.scandir(base) if entry.is_dir(follow_symlinks=False) and entry.name[0] != "."]
    others = sorted((tree for tree in trees if tree != mine), key=lambda tree: os.stat(tree).st_ctime_ns)
    for tree in others[:-1]:
        if not in_use(tree):
            shutil.rmtree(tree, ignore_errors=True)


def file_system(path: str) -> str:
    """Of the mount that the path lies on: the last one with the longest name."""
    longest, kind = "", ""
    with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as file:
        for line in file:
            words = line.split()
            place = words[4].replace("\\040", " ")
            if len(place) >= len(longest) and (path + "/").startswith(place.rstrip("/") + "/"):
                longest, kind = place, words[words.index("-") + 1]
    return kind


def in_use(tree: str) -> bool:
    try:
        python = os.stat(os.path.join(tree, "lib/jobctl/python3"))
    except FileNotFoundError:  # not whole: nobody can run it
        return False
    return any(runs(pid, tree, python) for pid in os.listdir("/proc") if pid.isdecimal())


def runs(pid: str, tree: str, python: os.stat_result) -> bool:
    """Whether that process runs it. What belongs to others and cannot be looked at is told by its command line."""
    try:
        if os.path.samestat(os.stat(f"/proc/{pid}/exe"), python):
            return True
    except OSError:
        pass
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return os.fsencode(tree) + b"/" in file.read()
    except OSError:
        return False


if __name__ == "__main__":
    main(sys.argv[1])
