"""A file system in user space on which every look-up hangs: a user's own mount, or a server that is away."""

import ctypes
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

#: The server: it answers how the file system begins and what its root is, and nothing else (linux/fuse.h).
_SERVER = """
import os, struct, sys
device = int(sys.argv[1])
while True:
    try:
        asked = os.read(device, 1 << 18)
    except OSError:
        sys.exit(0)
    _, opcode, unique = struct.unpack_from("<IIQ", asked)
    if opcode == 26:
        major, minor, ahead, flags = struct.unpack_from("<IIII", asked, 40)
        body = struct.pack("<IIIIHHIIHHI28x", 7, min(minor, 31), ahead, 0, 12, 9, 4096, 1, 1, 0, 0)
    elif opcode == 3:
        attributes = struct.pack("<6Q10I", 1, *[0] * 5, *[0] * 3, 0o40755, 2, 0, 0, 0, 512, 0)
        body = struct.pack("<QII", 3600, 0, 0) + attributes
    else:
        print("hangs", flush=True)
        continue
    os.write(device, struct.pack("<IiQ", 16 + len(body), 0, unique) + body)
"""
_LIBC = ctypes.CDLL(None, use_errno=True)
_DETACH_AND_FORCE = 3


class HangingMount:
    """Below `place` nothing is ever found, nor said not to be there."""

    def __init__(self, place: Path) -> None:
        self.place = place
        device = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
        try:
            options = f"fd={device},rootmode=40000,user_id=0,group_id=0,allow_other".encode()
            if _LIBC.mount(b"jobctl-test", os.fsencode(place), b"fuse", 6, options):  # nosuid, nodev
                raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
            self._server = subprocess.Popen(
                [sys.executable, "-c", _SERVER, str(device)], stdout=subprocess.PIPE, pass_fds=(device,)
            )
        finally:
            os.close(device)

    def until_somebody_hangs(self) -> None:
        assert self._server.stdout is not None
        assert self._server.stdout.readline() == b"hangs\n"

    def close(self) -> None:
        """Whoever hangs gets an error."""
        self._server.kill()
        self._server.wait(10)
        assert self._server.stdout is not None
        self._server.stdout.close()
        _LIBC.umount2(os.fsencode(self.place), _DETACH_AND_FORCE)


@contextmanager
def hanging_mount(place: Path) -> Iterator[HangingMount]:
    """Skips the test where such a thing cannot be mounted."""
    place.mkdir(exist_ok=True)
    try:
        made = HangingMount(place)
    except OSError as error:
        pytest.skip(f"no file system in user space here: {error}")
    try:
        yield made
    finally:
        made.close()
