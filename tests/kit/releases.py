"""Releases for the installer: the file that unpacks itself, its checksum and the script, in a folder.

The tree in it borrows the host's Python and the libraries of the seed: what packaging/build makes has its own, and is
the same for the installer.
"""

import atexit
import functools
import hashlib
import os
import platform
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

from kit.builds import replaced
from kit.host import CHECKOUT, readable, seed

UNPACKS = """#!/bin/sh
[ "$1" = unpack ] || exit 64
mkdir -p "$2" && sed '1,/^HERE IT BEGINS$/d' "$0" | tar -xf - -C "$2"
exit
HERE IT BEGINS
"""
#: It finds its folder by itself, wherever that is.
STARTS = """#!/bin/sh
bin=$(dirname "$(readlink -f "$0")")
exec "$bin/python3" -I "$(dirname "$bin")/lib/jobctl/{name}" "$@"
"""
ENTRIES = {
    "jobctl": "from jobctl.cli.main import main\nmain()\n",
    "jobd": "from jobctl_daemon.__main__ import main\nraise SystemExit(main())\n",
}
PACKAGES = {"jobctl": "jobctl/jobctl", "jobctl_daemon": "daemon/jobctl_daemon", "jobctl_tui": "tui/jobctl_tui"}

Change = Callable[[Path], None]


@functools.cache
def kept(version: str, change: Change | None = None) -> Path:
    """A release folder that all tests of this process share; nobody writes there. It goes when the tests end."""
    made = Path(tempfile.mkdtemp(prefix="jobctl-release-"))
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return release(made, version, change)


def with_a_newer_schema(packages: Path) -> None:
    """It changes the database, as a later version will."""
    steps = packages / "jobctl_daemon/store/sqlite/migrations"
    number = len([*steps.glob("*.sql")]) + 1
    (steps / f"{number:04}_later.sql").write_text("ALTER TABLE jobs ADD COLUMN later TEXT;\n")


def that_changes_the_database_and_fails(packages: Path) -> None:
    """It does not come to doing anything."""
    with_a_newer_schema(packages)
    replaced(
        packages / "jobctl_daemon/app.py",
        "            await self._compose()\n",
        "            raise OSError('a fault')\n",
    )


def that_ends_its_installer(packages: Path) -> None:
    """The old daemon has stopped by then, and this one does not start."""
    replaced(
        packages / "jobctl_daemon/__main__.py",
        "_CLOCK: Final",
        "if __name__ != '__main__' and not sys.argv[1:]:\n"
        "    os.kill(os.getppid(), signal.SIGTERM)\n    sys.exit(1)\n"
        "_CLOCK: Final",
    )


def that_does_something_and_fails(packages: Path) -> None:
    """There is something in its database that is in no copy."""
    that_changes_the_database_and_fails(packages)
    (step,) = (packages / "jobctl_daemon/store/sqlite/migrations").glob("*_later.sql")
    event = "INSERT INTO events (at_ms, kind, owner_id, data) VALUES (1, 'job.edited', 1, '{}');\n"
    step.write_text(step.read_text() + event)


def release(folder: Path, version: str, change: Change | None = None) -> Path:
    """A release folder of that version; `change` is given the folder of packages before they are packed."""
    tree = folder / "tree"
    packages = _packages(tree)
    stamp = packages / "jobctl/__init__.py"
    stamp.write_text(re.sub(r'__version__ = ".*"', f'__version__ = "{version}"', stamp.read_text()))
    if change is not None:
        change(packages)
    _programs(tree)
    _shared(tree)
    readable(tree)
    packed = subprocess.run(["tar", "-cf", "-", "-C", str(tree), "."], capture_output=True, check=True).stdout
    shutil.rmtree(tree)
    file = folder / f"jobctl-{version}-linux-{platform.machine()}"
    file.write_bytes(UNPACKS.encode() + packed)
    shutil.copy(CHECKOUT / "install.sh", folder)
    sums(folder, file.name, "install.sh")
    readable(folder)
    return folder


def file_of(folder: Path) -> Path:
    """The file of a release folder."""
    (found,) = folder.glob("jobctl-*-linux-*")
    return found


def sums(folder: Path, *names: str) -> None:
    """SHA256SUMS of these files."""
    lines = [f"{hashlib.sha256((folder / name).read_bytes()).hexdigest()}  {name}\n" for name in names]
    (folder / "SHA256SUMS").write_text("".join(lines))


def _packages(tree: Path) -> Path:
    borrowed = next(seed().glob("lib/python3*/site-packages"))
    packages = tree / borrowed.relative_to(seed())
    packages.mkdir(parents=True)
    for name, where in PACKAGES.items():
        shutil.copytree(CHECKOUT / where, packages / name, ignore=shutil.ignore_patterns("__pycache__"))
    (packages / "seed.pth").write_text(f"{borrowed}\n")
    return packages


def _programs(tree: Path) -> None:
    (tree / "bin").mkdir()
    (tree / "lib/jobctl").mkdir()
    (tree / "bin/python3").symlink_to("/usr/bin/python3")
    shutil.copy(seed() / "pyvenv.cfg", tree)
    for name, entry in ENTRIES.items():
        (tree / "lib/jobctl" / name).write_text(entry)
        program = tree / "bin" / name
        program.write_text(STARTS.format(name=name))
        program.chmod(0o755)
    os.symlink("jobctl", tree / "bin/crontab")


def _shared(tree: Path) -> None:
    share = tree / "share"
    for page in (CHECKOUT / "man").glob("*.[158]"):
        section = share / "man" / f"man{page.suffix[1]}"
        section.mkdir(parents=True, exist_ok=True)
        shutil.copy(page, section)
    for part in ("systemd", "sysv"):
        shutil.copytree(CHECKOUT / "packaging" / part, share / "jobctl" / part)
