"""Programs of the host with which services are asked about, stopped and started: systemctl, service, update-rc.d."""

import subprocess
from collections.abc import Mapping
from shutil import which
from typing import Final

from jobctl.errors import Conflict

#: Where they are; sbin may be missing from a person's PATH.
SBIN: Final = "/usr/local/sbin:/usr/sbin:/sbin:/usr/bin:/bin"
_WITHIN_S: Final = 60


def must(argv: list[str], environ: Mapping[str, str]) -> None:
    """Runs it. Raises `Conflict` with its words when it fails."""
    done = run(argv, environ)
    if done.returncode != 0:
        words = (done.stderr.strip() or done.stdout.strip())[-500:]
        raise Conflict(f"{' '.join(argv)} did not work: {words}", "see to that, then run this again")


def run(argv: list[str], environ: Mapping[str, str]) -> "subprocess.CompletedProcess[str]":
    """Its end, with 127 where there is none and 124 where it takes too long. Never raises."""
    program = found(argv[0], environ)
    if program is None:
        return subprocess.CompletedProcess(argv, 127, "", f"there is no {argv[0]}")
    try:
        return subprocess.run(
            [program, *argv[1:]],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_WITHIN_S,
            env=dict(environ) | {"LC_ALL": "C", "PATH": _path(environ)},
            check=False,
        )
    except (subprocess.TimeoutExpired, OSError) as error:
        return subprocess.CompletedProcess(argv, 124, "", str(error))


def found(name: str, environ: Mapping[str, str]) -> str | None:
    """Where the program is."""
    return which(name, path=_path(environ))


def _path(environ: Mapping[str, str]) -> str:
    return ":".join(part for part in (environ.get("PATH", ""), SBIN) if part)
