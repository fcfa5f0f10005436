"""A host for the installer: a checkout to install from, an empty HOME, stand-ins for what the machine lacks.

As root the installer runs as an ordinary user without a name of its own (65534), else as whoever runs the tests.
"""

import atexit
import contextlib
import functools
import os
import shutil
import signal
import subprocess
import tempfile
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[2]
IS_ROOT = os.geteuid() == 0
ORDINARY = 65534
PARTS = ("pyproject.toml", "README.md", "LICENSE", "install.sh", "jobctl", "daemon", "tui", "man", "packaging")

PIP = ("install", "--quiet", "--no-input", "--disable-pip-version-check")

CRONTAB = """#!/bin/sh
# A stand-in for crontab(1) that keeps the table in a file.
case "${1:-}" in
-l) [ -e "$CRONTAB_FILE" ] || { echo "no crontab for you" >&2; exit 1; }; cat "$CRONTAB_FILE" ;;
-) cat > "$CRONTAB_FILE" ;;
-r) rm "$CRONTAB_FILE" ;;
esac
"""

# Makes an environment that borrows everything from the seed; pip then only builds jobctl into it.
QUICK_PYTHON = """#!/bin/sh
[ "$1 $2" = "-m venv" ] || exec /usr/bin/python3 "$@"
set -e
mkdir -p "$3/bin" "$3/{packages}"
ln -s /usr/bin/python3 "$3/bin/python3"
cp "{seed}/pyvenv.cfg" "$3/"
echo "{seed}/{packages}" >"$3/{packages}/seed.pth"
"""
QUICK_PIP = {"PIP_NO_INDEX": "1", "PIP_NO_DEPS": "1", "PIP_NO_BUILD_ISOLATION": "0"}  # "0": pip reads it upside down


@functools.cache
def seed() -> Path:
    """An environment with what jobctl needs and what builds it: made once, and removed when the tests end."""
    made = Path(tempfile.mkdtemp(prefix="jobctl-seed-"))
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())
    needed = [*project["project"]["dependencies"], *project["build-system"]["requires"]]
    for words in (
        ["/usr/bin/python3", "-m", "venv", str(made)],
        [str(made / "bin/python3"), "-m", "pip", *PIP, *needed],
    ):
        done = subprocess.run(words, check=False, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    readable(made)
    return made


def _copy_checkout(folder: Path) -> None:
    folder.mkdir()
    for part in PARTS:
        source = CHECKOUT / part
        if source.is_dir():
            shutil.copytree(source, folder / part, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, folder / part)
    readable(folder)


class Host:
    """Folders that stand for a machine; everything in them can be read by all."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.checkout = folder / "checkout"
        self.root = folder / "root"
        self.bin = folder / "bin"
        self.home = folder / "home"
        for made in (self.root, self.bin, self.home):
            made.mkdir()
        _copy_checkout(self.checkout)
        (self.root / "etc").mkdir()
        (self.root / "etc/debian_version").write_text("12.0\n")
        self.environ = {
            "HOME": str(self.home),
            "PATH": f"{self.bin}:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
            "JOBCTL_INSTALL_ROOT": str(self.root),
            "CRONTAB_FILE": str(self.home / "crontab"),
            "PYTHONDONTWRITEBYTECODE": "1",  # a setting of the caller's that must not matter
        }
        self.environ |= {name: value for name, value in os.environ.items() if name.startswith(("PIP_", "SSL_"))}
        if IS_ROOT:
            os.chown(self.home, ORDINARY, ORDINARY)

    # ── what the machine has ─────────────────────────────────────
    def stand_in(self, name: str, text: str) -> Path:
        """A program of that name, first on PATH."""
        made = self.bin / name
        made.write_text(text)
        made.chmod(0o755)
        return made

    def process_named(self, name: str) -> None:
        """Seen where the installer looks for a cron daemon."""
        entry = self.root / "proc" / "77"
        entry.mkdir(parents=True)
        (entry / "comm").write_text(name + "\n")
        readable(self.root)

    # ── doing ────────────────────────────────────────────────────
    def command(self, *words: str, as_root: bool = False) -> list[str]:
        if not IS_ROOT or as_root:
            return [*words]
        return ["setpriv", f"--reuid={ORDINARY}", f"--regid={ORDINARY}", "--clear-groups", *words]

    def run(
        self, *words: str, as_root: bool = False, env: Mapping[str, str] | None = None, timeout: float = 240
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command(*words, as_root=as_root),
            env={**self.environ, **(env or {})},
            cwd="/",
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=timeout,
        )

    def install(self, *words: str, as_root: bool = False, **env: str) -> subprocess.CompletedProcess[str]:
        return self.run(str(self.checkout / "install.sh"), *words, as_root=as_root, env=env)

    def take(self, release: Path, *words: str, as_root: bool = False, **env: str) -> subprocess.CompletedProcess[str]:
        """The script of a release folder, without a checkout."""
        return self.run(str(release / "install.sh"), *words, as_root=as_root, env=env)

    def installed(self, *words: str, **env: str) -> subprocess.CompletedProcess[str]:
        """The copy of the script that an installation keeps for itself."""
        return self.run(str(self.home / ".local/lib/jobctl/install.sh"), *words, env=env)

    def quick(self, *words: str, as_root: bool = False, **env: str) -> subprocess.CompletedProcess[str]:
        """An installation that takes its environment from the seed: for everything but the making of it."""
        return self.install("--python", str(self.quick_python()), *words, as_root=as_root, **QUICK_PIP, **env)

    def quick_python(self) -> Path:
        packages = next(seed().glob("lib/python3*/site-packages")).relative_to(seed())
        return self.stand_in("quick-python", QUICK_PYTHON.format(seed=seed(), packages=packages))

    def jobctl(self, *words: str) -> subprocess.CompletedProcess[str]:
        return self.run(str(self.home / ".local/bin/jobctl"), *words)

    # ── the end ──────────────────────────────────────────────────
    def processes(self) -> list[int]:
        """Everything that runs from, or for, these folders."""
        found = []
        for entry in Path("/proc").iterdir():
            if not entry.name.isdigit() or entry.name == str(os.getpid()):
                continue
            with contextlib.suppress(OSError):
                if os.fsencode(self.folder) + b"/" in (entry / "cmdline").read_bytes():
                    found.append(int(entry.name))
        return found

    def close(self) -> None:
        for pid in self.processes():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        shutil.rmtree(self.folder, ignore_errors=True)


def readable(folder: Path) -> None:
    """Everything in it can be read by all; what may be executed by one may be by all."""
    for path in (folder, *folder.rglob("*")):
        if path.is_symlink():
            continue
        path.chmod(0o755 if path.is_dir() or os.access(path, os.X_OK) else 0o644)


@contextlib.contextmanager
def a_host() -> Iterator[Host]:
    """Skips where Debian's Python cannot make environments: the installer's own test for that is another one."""
    if subprocess.run(
        ["/usr/bin/python3", "-c", "import ensurepip, venv"], capture_output=True, check=False
    ).returncode:
        pytest.skip("/usr/bin/python3 has no venv module")
    folder = Path(tempfile.mkdtemp(prefix="jobctl-install-"))
    folder.chmod(0o755)
    host = Host(folder)
    try:
        yield host
    finally:
        host.close()
