"""A private CPython: the host's own (Debian's), with what jobctl uses of the standard library, and every shared library
that is not the C library's.

Debian's interpreter has its core linked in and finds its library by where it is started from, so a copy of it can be
moved about. The libraries lie beside it and are found by DT_RPATH, which comes before LD_LIBRARY_PATH: neither the
host's variables reach it, nor does it need one that would reach a command.
"""

import os
import re
import shutil
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from bundle.run import fail, output, run

#: The C library's: the host's own are used, of this version or newer (docs/decisions/0015).
_OF_GLIBC: Final = re.compile(r"(?:ld-linux[^/]*|lib(?:c|m|dl|rt|pthread|resolv|util|nsl|anl))\.so\.\d+")
_FOUND: Final = re.compile(r"^\s*(\S+) => (\S+)", re.MULTILINE)

#: Folders and files of the standard library that nothing here imports.
_LEFT_OUT: Final = frozenset({
    "__phello__", "__pycache__", "antigravity.py", "distutils", "dist-packages", "ensurepip", "EXTERNALLY-MANAGED",
    "idlelib", "lib2to3", "lib-dynload", "LICENSE.txt", "pydoc_data", "site-packages", "sitecustomize.py", "test",
    "this.py", "tkinter", "turtle.py", "turtledemo", "unittest", "venv",
})  # fmt: skip
_EXTENSIONS_LEFT_OUT: Final = re.compile(
    r"(?:_test\w*|_ctypes_test|_xx\w*|xxlimited\w*|_curses\w*|_dbm|_gdbm|_crypt|_tkinter|audioop|nis|ossaudiodev|"
    r"readline|_lsprof)\."
)


def make(tree: Path) -> Path:
    """Put it into the tree. Returns the folder of its library, where the packages go as well."""
    if sys.base_prefix != "/usr" or sys.version_info < (3, 11):
        fail(f"the interpreter to pack is Debian's own, 3.11 or newer, and not {sys.executable}: use /usr/bin/python3")
    version = sysconfig.get_python_version()
    library = Path(sysconfig.get_path("stdlib"))
    private = tree / "lib" / "jobctl"
    private.mkdir(parents=True)
    shutil.copy(f"/usr/bin/python{version}", private / "python3")
    os.chmod(private / "python3", 0o755)
    own = tree / "lib" / f"python{version}"
    shutil.copytree(library, own, symlinks=False, ignore=_unused)
    for name in os.listdir(library / "lib-dynload"):
        if not _EXTENSIONS_LEFT_OUT.match(name):
            (own / "lib-dynload").mkdir(exist_ok=True)
            shutil.copy(library / "lib-dynload" / name, own / "lib-dynload" / name)
    return own


def _unused(_: str, names: list[str]) -> list[str]:
    return [name for name in names if name in _LEFT_OUT or name.startswith("config-")]


def close(tree: Path) -> None:
    """Strip everything that is machine code, bring the libraries it needs, and say where they are."""
    private = tree / "lib" / "jobctl"
    waiting = [private / "python3", *tree.glob("lib/python3*/**/*.so"), *tree.glob("lib/python3*/**/*.so.*")]
    have: set[str] = set()
    while waiting:
        file = waiting.pop()
        os.chmod(file, 0o755)
        run("strip", "--strip-unneeded", file)
        for name, found in _needed(file):
            if name not in have:
                have.add(name)
                shutil.copy(os.path.realpath(found), private / name)
                waiting.append(private / name)
        where = os.path.relpath(private, file.parent)
        run("patchelf", "--force-rpath", "--set-rpath", "$ORIGIN" if where == "." else f"$ORIGIN/{where}", file)


def _needed(file: Path) -> Iterator[tuple[str, str]]:
    """The libraries that it is linked to itself and that the C library does not have; (name, file)."""
    direct = set(output("patchelf", "--print-needed", file).splitlines())
    for name, found in _FOUND.findall(output("ldd", file)):
        if name in direct and not _OF_GLIBC.fullmatch(name):
            if found == "not":
                fail(f"{file} needs {name}, which is not here")
            yield name, found
