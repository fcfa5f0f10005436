"""Programs that the build needs: run, with what they said when they fail, and brought when they are missing."""

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from os import PathLike
from typing import Final, NoReturn

Word = str | PathLike[str]

#: Which package of Debian has it.
_PACKAGES: Final[Mapping[str, str]] = {
    "gcc": "gcc libc6-dev",
    "strip": "binutils",
    "patchelf": "patchelf",
    "xz": "xz-utils",
    "debootstrap": "debootstrap",
    "git": "git",
}


def fail(message: str) -> NoReturn:
    print(f"packaging: {message}", file=sys.stderr)
    raise SystemExit(1)


def say(message: str) -> None:
    print(f"  {message}", flush=True)


def run(*words: Word, env: Mapping[str, str] | None = None, cwd: Word | None = None) -> str:
    """What it printed. Ends the build when it fails, with all that it said."""
    done = subprocess.run(
        [os.fspath(word) for word in words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=None if env is None else dict(env),
        cwd=cwd,
        text=True,
        errors="replace",
        check=False,
    )
    if done.returncode:
        print(done.stdout, file=sys.stderr, end="")
        fail(f"{' '.join(map(str, words))}: ended with {done.returncode}")
    return done.stdout


def output(*words: Word) -> str:
    return run(*words).strip()


def need(*programs: str, files: Mapping[str, str] | None = None) -> None:
    """Have them on PATH, and files by their packages; root's apt-get brings what is missing."""
    missing = {_PACKAGES[name] for name in programs if shutil.which(name) is None}
    missing |= {package for file, package in (files or {}).items() if not os.path.exists(file)}
    if not missing:
        return
    packages = sorted(" ".join(missing).split())
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        fail(f"missing: as root, apt-get install {' '.join(packages)}")
    say(f"apt-get install {' '.join(packages)}")
    env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    run("apt-get", "update", env=env)
    run("apt-get", "install", "-y", "--no-install-recommends", *packages, env=env)
