"""What lies under a daemon of the rig: a user of its own, a small filesystem, and a boot that can end."""

import contextlib
import os
import shutil
import signal
import subprocess
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from kit.daemon import kill
from kit.groups import remove_groups

_BOOT_ID: Final = "/proc/sys/kernel/random/boot_id"
_CHUNK: Final = bytes(1 << 20)
#: Binds the file over the kernel's, in a mount namespace that goes with the process.
_IN_BOOT: Final = f'mount --bind "$1" {_BOOT_ID} && shift && exec "$@"'


class Process(NamedTuple):
    """One process of the rig."""

    pid: int
    role: str
    """jobd, runner, command (the shell that speaks for itself) or other (what that started)."""
    parent: int


class Ground:
    """Root may do all of it. Anybody else has neither the small filesystem nor the boot."""

    def __init__(self, folder: Path, disk_mb: int, *, as_root: bool = False) -> None:
        self.folder = folder
        self.home = folder / "home"
        self.state = self.home / "state"
        is_root = os.geteuid() == 0
        # A user that nobody else on the machine is: its limits are ours alone.
        self.switches = is_root and not as_root
        self.uid = 61_000 + os.getpid() % 4_000 if self.switches else os.geteuid()
        self.can_mount = is_root and _can_mount()
        self._disk_mb = disk_mb
        self._boot_file = folder / "boot_id"
        self._ballast = self.state / "ballast"
        self._mounted = False

    # ── from nothing, to nothing ─────────────────────────────────
    def open(self) -> None:
        self.folder.chmod(0o755)
        self.state.mkdir(parents=True)
        self.boot_anew()
        if self.can_mount:
            options = f"size={self._disk_mb}m,mode=700,uid={self.uid},gid={self.uid}"
            subprocess.run(["mount", "-t", "tmpfs", "-o", options, "jobctl-rig", str(self.state)], check=True)
            self._mounted = True
        if self.switches:
            for path in (self.home, self.state):
                os.chown(path, self.uid, self.uid)

    def close(self) -> None:
        """Nothing runs and nothing is mounted; what the state folder held is beside it, but for the ballast."""
        self.free()
        self.kill_all()
        remove_groups(self.state)
        if self._mounted:
            shutil.copytree(self.state, self.folder / "state", dirs_exist_ok=True, ignore=_no_sockets)
            subprocess.run(["umount", str(self.state)], check=True)
            self._mounted = False

    # ── who runs ─────────────────────────────────────────────────
    def command(self, argv: list[str]) -> list[str]:
        """The same as the rig's user, in this boot."""
        me = self.as_user(argv)
        if not self.can_mount:
            return me
        return ["unshare", "--mount", "--", "sh", "-c", _IN_BOOT, "sh", str(self._boot_file), *me]

    def as_user(self, argv: list[str]) -> list[str]:
        """The command as the rig's user."""
        if not self.switches:
            return argv
        return ["setpriv", f"--reuid={self.uid}", f"--regid={self.uid}", "--clear-groups", "--", *argv]

    def processes(self) -> list[Process]:
        """All that run of this rig, and no others."""
        found = (self._process(int(name)) for name in os.listdir("/proc") if name.isdigit())
        return [process for process in found if process is not None]

    def _process(self, pid: int) -> Process | None:
        try:
            if os.stat(f"/proc/{pid}").st_uid != self.uid:
                return None
            stat = Path(f"/proc/{pid}/stat").read_bytes()
            words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        except OSError:
            return None
        state, parent = stat[stat.rindex(b")") + 2 :].split()[:2]
        if state in b"ZX":
            return None
        role = self._role(pid, words)
        return Process(pid, role, int(parent)) if role else None

    def _role(self, pid: int, words: list[bytes]) -> str:
        here = os.fsencode(self.folder) + b"/"
        if b"jobctl_daemon.runner" in words and any(word.startswith(here) for word in words):
            return "runner"
        try:
            environ = b"\0" + Path(f"/proc/{pid}/environ").read_bytes()
        except OSError:
            environ = b""
        if b"\0JOBCTL_HOME=" + os.fsencode(self.home) + b"\0" in environ:
            return "jobd" if b"jobctl_daemon" in words else ""
        if b"\0RIG=" + os.fsencode(self.folder) + b"\0" in environ:
            return "command" if words[1:2] == [here + b"work"] else "other"
        return "other" if self.switches else ""

    def pids(self, role: str) -> list[int]:
        return [process.pid for process in self.processes() if process.role == role]

    def limit(self, pid: int, what: str, soft: str) -> bool:
        """Sets the soft limit (`nproc` or `nofile`) of a process that runs; whether it was there."""
        # As its own user: root itself may lack the right (CAP_SYS_RESOURCE).
        words = self.as_user(["prlimit", f"--pid={pid}", f"--{what}={soft}:"])
        return subprocess.run(words, check=False, capture_output=True).returncode == 0

    # ── the boot ─────────────────────────────────────────────────
    def boot_anew(self) -> None:
        """Another boot for what starts from now on."""
        # A new file: processes of before have the old one bound, whatever stands at its place.
        self._boot_file.unlink(missing_ok=True)
        self._boot_file.write_text(f"{uuid.uuid4()}\n")

    def kill_all(self) -> None:
        """As a power cut: who could say something about the others goes first."""
        for role in ("jobd", "runner", "command", "other", "jobd", "runner", "command", "other"):
            for pid in self.pids(role):
                kill(pid)

    # ── the disk ─────────────────────────────────────────────────
    def fill(self, spare: int) -> None:
        """Takes all room of the small filesystem but `spare` bytes."""
        with self._ballast.open("ab", buffering=0) as file, contextlib.suppress(OSError):
            while file.write(_CHUNK) == len(_CHUNK):
                pass
        size = self._ballast.stat().st_size
        os.truncate(self._ballast, max(0, size - spare))

    def free(self) -> None:
        self._ballast.unlink(missing_ok=True)


def tell(pid: int, number: signal.Signals) -> None:
    """A signal to a process that may have gone."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


@contextlib.contextmanager
def ground(folder: Path, disk_mb: int, *, as_root: bool = False) -> Iterator[Ground]:
    """Whatever happens meanwhile, nothing of it is left."""
    made = Ground(folder, disk_mb, as_root=as_root)
    try:
        made.open()
        yield made
    finally:
        made.close()


def _can_mount() -> bool:
    probe = ["unshare", "--mount", "--", "sh", "-c", f"mount --bind /dev/null {_BOOT_ID} && mount -t tmpfs x /mnt"]
    return subprocess.run(probe, check=False, capture_output=True).returncode == 0


def _no_sockets(folder: str, names: list[str]) -> list[str]:
    return [name for name in names if name == "ballast" or Path(folder, name).is_socket()]
