"""The one file: a small static program, and behind it the tree as a tar archive inside xz.

xz carries a SHA-256 of what it holds, and the program has the decoder in it: a host needs neither xz nor tar nor
openssl. `tail -c SIZE FILE | tar xJ` opens it as well.
"""

import hashlib
import io
import lzma
import os
import platform
import tarfile
from pathlib import Path
from typing import Final

from bundle.places import HERE, epoch, name, version
from bundle.run import need, run, say

_SOURCES: Final = ("onefile.c", "unpack.c", "folders.c")


def make(tree: Path, out: Path) -> Path:
    """From a tree. It takes its place when it is whole."""
    need("gcc", files={"/usr/include/lzma.h": "liblzma-dev"})
    archive = _archive(tree)
    payload = lzma.compress(archive, format=lzma.FORMAT_XZ, check=lzma.CHECK_SHA256, filters=_filters())
    final, new = out / name(), out / f".{name()}.new"
    values = {
        "VERSION": f'"{version()}"',
        "BUILD": f'"{hashlib.sha256(payload).hexdigest()[:12]}"',
        "PAYLOAD_SIZE": f"{len(payload)}ULL",
        # What a file system needs beside the bytes themselves, roughly.
        "UNPACKED_SIZE": f"{len(archive) * 5 // 4}ULL",
    }
    run(
        *("gcc", "-std=gnu11", "-D_GNU_SOURCE", "-Os", "-Wall", "-Wextra", "-Werror", "-static", "-s", "-o", new),
        *(f"-D{word}={value}" for word, value in values.items()),
        *(HERE / source for source in _SOURCES),
        "-llzma",
    )
    with new.open("ab") as file:
        file.write(payload)
    os.chmod(new, 0o755)
    os.utime(new, (epoch(), epoch()))
    new.rename(final)
    say(f"one file    {final} ({final.stat().st_size / 1e6:.1f} MB)")
    return final


def _archive(tree: Path) -> bytes:
    """The same bytes for the same tree. bin/ comes last: a tree that was not unpacked to its end has no program."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        paths = sorted(tree.rglob("*"), key=lambda path: (path.relative_to(tree).parts[0] == "bin", path))
        for path in paths:
            archive.add(path, str(path.relative_to(tree)), recursive=False, filter=_anonymous)
    return buffer.getvalue()


def _anonymous(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    return member


def _filters() -> list[dict[str, int]]:
    """A window of 32 MB, which is what unpacking needs of memory; branches of machine code made alike first. The lowest
    preset: the highest takes five times as long for a file that is a seventh smaller."""
    branches = [{"id": lzma.FILTER_X86}] if platform.machine() == "x86_64" else []
    return [*branches, {"id": lzma.FILTER_LZMA2, "preset": 1, "dict_size": 32 << 20}]
