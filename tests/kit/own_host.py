"""A host of its own, to take over: /etc, /run, /var/spool and /var/lib are this test's, and so are all its processes.

A mount and a process namespace; the rest of the machine is as it is. Whatever was started in there ends with it, and
no mount, file or process is left. Only root can make one.
"""

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, TypeVar

import pytest

from jobctl.client.sync import Client
from jobctl.client.transport import UnixTransport
from kit.daemon import CLI

T = TypeVar("T")
Json = dict[str, Any]

_TRY: Final = ["unshare", "--mount", "--pid", "--fork", "true"]


def _can() -> bool:
    """Root in a container may not be able to, either."""
    return os.geteuid() == 0 and subprocess.run(_TRY, capture_output=True, check=False).returncode == 0


needs_root = pytest.mark.skipif(not _can(), reason="only root can make namespaces, and not everywhere")

_NOT_OF_THIS_HOST: Final = (
    "crontab", "cron.d", "anacrontab", "cron.hourly", "cron.daily", "cron.weekly", "cron.monthly", "cron.allow",
    "cron.deny", "init.d", "rc2.d", "rc3.d", "rc4.d", "rc5.d", "jobctl")  # fmt: skip
#: The first process of the namespace: it takes in what its children leave, and ends when its input does.
_FIRST: Final = """
import os, signal, sys
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
print("ready", flush=True)
sys.stdin.read()
"""
_WORLD: Final = """
set -eu
mount --make-rprivate /
mount --bind "$FOLDER/etc" /etc
for place in /run /var/spool /var/lib /sys/fs/cgroup; do
    [ -d "$place" ] && mount -t tmpfs -o mode=755 tmpfs "$place"
done
mkdir -p /var/spool/cron/crontabs /run/lock
chmod 1730 /var/spool/cron/crontabs
exec "$PYTHON" -I -c "$FIRST"
"""

SYSTEMCTL: Final = """#!/bin/sh
# A stand-in for systemd: one unit, cron.service. What is enabled is a file, and the process is a copy of sleep(1).
echo "$1" >>{folder}/asked
# A test may have who asks killed, before or after what it asked for is done.
die() {{ if [ "$(cat {folder}/die 2>/dev/null)" = "$1" ]; then rm {folder}/die; kill -9 "$PPID"; exit 1; fi; }}
die "before $(grep -c "^$1" {folder}/asked) $1"
active() {{ [ -e /run/cron.stand-in ] && [ -d "/proc/$(cat /run/cron.stand-in)" ]; }}
case "$1 ${{2:-}}" in
"show "*)
    echo Id=cron.service; echo LoadState=loaded
    active && echo ActiveState=active || echo ActiveState=inactive
    [ -e {folder}/enabled ] && echo UnitFileState=enabled || echo UnitFileState=disabled
    echo; echo Id=crond.service; echo LoadState=not-found; echo ActiveState=inactive; echo UnitFileState= ;;
"disable --now")
    [ -e {folder}/broken ] && {{ echo "Failed to disable unit" >&2; exit 1; }}
    rm -f {folder}/enabled
    if active; then kill "$(cat /run/cron.stand-in)"; fi ;;
"enable cron.service") touch {folder}/enabled ;;
"start cron.service") active || {{ {folder}/cron 100000 >/dev/null 2>&1 </dev/null & echo $! >/run/cron.stand-in; }} ;;
*) echo "unknown: $*" >&2; exit 1 ;;
esac
die "after $(grep -c "^$1" {folder}/asked) $1"
"""
UPDATE_RC: Final = """#!/bin/sh
case "$2" in
disable) mv /etc/rc2.d/S01$1 /etc/rc2.d/K01$1 ;;
enable) mv /etc/rc2.d/K01$1 /etc/rc2.d/S01$1 ;;
esac
"""
SERVICE: Final = """#!/bin/sh
case "$2" in
stop) kill "$(cat /run/cron.stand-in)" ;;
start) {folder}/cron 100000 >/dev/null 2>&1 </dev/null & echo $! >/run/cron.stand-in ;;
esac
"""


class OwnHost:
    """`folder` is seen under the same path on both sides."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.bin = folder / "bin"
        self.bin.mkdir(parents=True)
        # Others may make users meanwhile: a file that goes while it is copied is no fault.
        subprocess.run(["cp", "-a", "/etc", folder / "etc"], check=False, capture_output=True)
        for name in _NOT_OF_THIS_HOST:
            subprocess.run(["rm", "-rf", folder / "etc" / name], check=True)
        (folder / "etc/cron.d").mkdir()
        self._first = subprocess.Popen(
            ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c", _WORLD],
            env={**os.environ, "FOLDER": str(folder), "PYTHON": sys.executable, "FIRST": _FIRST},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert self._first.stdout is not None
        assert self._first.stdout.readline() == b"ready\n"
        (self.pid,) = map(int, Path(f"/proc/{self._first.pid}/task/{self._first.pid}/children").read_text().split())
        self.environ = {
            "PATH": f"{self.bin}:/usr/local/bin:/usr/bin:/bin",
            "HOME": "/root",
            "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
        }
        """As root has it after a login: without sbin."""

    # ── doing ────────────────────────────────────────────────────
    def command(self, *words: str) -> list[str]:
        return ["nsenter", f"--target={self.pid}", "--mount", "--pid", "--", *words]

    def run(self, *words: str, code: int | None = 0, **options: Any) -> "subprocess.CompletedProcess[str]":
        """Runs a command in there and waits for its end."""
        options = {"stdin": subprocess.DEVNULL, "timeout": 60, "env": self.environ, **options}
        if "input" in options:
            del options["stdin"]
        done = subprocess.run(
            self.command(*words), cwd="/", capture_output=True, text=True, check=False, **options
        )  # fmt: skip
        assert code is None or done.returncode == code, (done.returncode, done.stdout, done.stderr)
        return done

    def jobctl(self, *words: str, code: int | None = 0, **options: Any) -> "subprocess.CompletedProcess[str]":
        return self.run(*CLI, *words, code=code, **options)

    def json(self, *words: str, code: int | None = 0) -> Any:
        """What a verb says with --json."""
        return json.loads(self.jobctl(*words, "--json", code=code).stdout)

    def path(self, name: str) -> Path:
        """A file of that host, from outside: for writing and looking."""
        return Path(f"/proc/{self.pid}/root") / name.lstrip("/")

    def write(self, name: str, text: str | bytes, mode: int = 0o600, owner: int = 0) -> None:
        path = self.path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        path.chmod(mode)
        os.chown(path, owner, 0)

    # ── cron ────────────────────────────────────────────────────
    def stand_in(self, name: str, text: str) -> None:
        """A program of that name, first on PATH."""
        program = self.bin / name
        program.write_text(text.format(folder=self.folder) if "{folder}" in text else text)
        program.chmod(0o755)

    def cron_program(self) -> str:
        """A process that is called cron, and does nothing."""
        program = self.folder / "cron"
        if not program.exists():
            program.write_bytes(Path("/bin/sleep").read_bytes())
            program.chmod(0o755)
        return str(program)

    def start_cron(self) -> None:
        """As a daemon: in the background, with its id in a file."""
        line = f"{self.cron_program()} 100000 >/dev/null 2>&1 </dev/null & echo $! >/run/cron.stand-in"
        self.run("sh", "-c", line)
        self.until(self.crons)

    def with_systemd(self) -> None:
        """Systemd as far as a client sees it, with cron.service enabled and running."""
        self.path("/run/systemd/system").mkdir(parents=True)
        self.stand_in("systemctl", SYSTEMCTL)
        (self.folder / "enabled").touch()
        self.start_cron()

    def with_scripts(self) -> None:
        """System V, with a cron that is enabled and runs."""
        self.write("/etc/init.d/cron", "#!/bin/sh\n", 0o755)
        self.write("/etc/rc2.d/S01cron", "")
        self.stand_in("update-rc.d", UPDATE_RC)
        self.stand_in("service", SERVICE)
        self.start_cron()

    def crons(self) -> list[int]:
        """The stand-ins that run, by their ids in there."""
        found = []
        for entry in self.path("/proc").iterdir():
            if entry.name.isdigit():
                with contextlib.suppress(OSError):
                    if (entry / "comm").read_text() == "cron\n" and b" Z " not in (entry / "stat").read_bytes():
                        found.append(int(entry.name))
        return found

    def without_cron(self) -> None:
        """As it was at the beginning: no cron, and nothing that starts one."""
        for pid in self.crons():
            self.run("sh", "-c", f"kill -9 {pid}; kill -CONT {pid}", code=None)
        self.until(lambda: not self.crons())
        for place in ("/run/systemd", "/etc/init.d", "/etc/rc2.d", "/etc/rc3.d", "/run/crond.reboot"):
            subprocess.run(["rm", "-rf", self.path(place)], check=True)
        for made in (*self.bin.iterdir(), self.folder / "enabled", self.folder / "broken"):
            made.unlink(missing_ok=True)

    # ── jobd ────────────────────────────────────────────────────
    @property
    def client(self) -> Client:
        return Client(UnixTransport(f"/proc/{self.pid}/root/run/jobctl/jobd.sock"))

    def start_jobd(self, returns: str | None = "systemd starts jobd.service") -> None:
        """The system daemon, in its own places. `returns`: what the installer wrote of the next boot."""
        if returns is not None:
            self.write("/var/lib/jobctl/returns-after-reboot", f"yes\t{returns}\n")
            self.path("/var/lib/jobctl").chmod(0o700)
        self.jobctl("daemon", "start")

    def until(self, answer: Callable[[], T], within_s: float = 20) -> T:
        """The first answer that holds, asked for again and again."""
        end = time.monotonic() + within_s
        while not (found := answer()):
            assert time.monotonic() < end, "it does not come"
            select.select([], [], [], 0.05)
        return found

    # ── the end ────────────────────────────────────────────────────
    def close(self) -> None:
        """The first process of a namespace takes all others of it along (pid_namespaces(7))."""
        handle = os.pidfd_open(self.pid)
        try:
            signal.pidfd_send_signal(handle, signal.SIGKILL)
            assert select.select([handle], [], [], 20)[0]
        finally:
            os.close(handle)
            self._first.communicate(timeout=20)


@contextlib.contextmanager
def own_host(folder: Path) -> Iterator[OwnHost]:
    """A host that is gone afterwards."""
    host = OwnHost(folder)
    try:
        yield host
    finally:
        host.close()
