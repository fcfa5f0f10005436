"""Finding the runners of this host, and starting those that are missing."""

import asyncio
import fcntl
import glob
import itertools
import os
import sys

import structlog

from jobctl.errors import DaemonError, Unavailable
from jobctl_daemon.execution.pool import RunnerPool

_START_S = 20.0
#: Said by the units: runners are units too, started by this manager. One forked by jobd would share its sandbox.
_MANAGERS = {"system": ("systemctl",), "user": ("systemctl", "--user")}
_MANAGER_PLACES = ("XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS")


class Runners:
    """Keeps `count` runners of this installation connected, and those of others until they have drained."""

    def __init__(self, pool: RunnerPool, state_dir: str, build: str, count: int) -> None:
        self._pool = pool
        self._state_dir = state_dir
        self._build = build
        self._manager = _MANAGERS.get(os.environ.get("JOBCTL_RUNNER_UNIT", ""))
        self.count = count

    async def ensure(self) -> None:
        """Connects to every runner that listens and starts the missing ones; raises when one cannot be had."""
        wanted = self._wanted()
        missing = [name for name in wanted if name not in self._pool.links]
        found = await asyncio.gather(*(self._connected(name) for name in missing))
        absent = [name for name, here in zip(missing, found, strict=True) if not here]
        await asyncio.gather(*(self._start(name) for name in absent))
        await asyncio.gather(*(self._drain(name) for name in self._listening() if name not in self._wanted()))
        self._hear_all()

    def _hear_all(self) -> None:
        """A runner that lives and does not answer may hold any attempt: nothing can be said of those nobody knows."""
        for path in glob.glob(os.path.join(glob.escape(self._state_dir), "runner", "*.lock")):
            instance = os.path.basename(path).removesuffix(".lock")
            if instance not in self._pool.links and _is_held(path):
                raise Unavailable(f"the runner {instance} lives and does not answer", self._hint(instance))

    def _wanted(self) -> list[str]:
        """The names of the runners that take work: one that drains keeps its name until it ends."""
        names = (f"{self._build}-{number}" for number in itertools.count(1))
        busy = (name for name in names if not self._drains(name))
        return list(itertools.islice(busy, self.count))

    def _drains(self, name: str) -> bool:
        link = self._pool.links.get(name)
        return link is not None and link.draining

    def _listening(self) -> list[str]:
        sockets = glob.glob(os.path.join(glob.escape(self._state_dir), "runner", "*.sock"))
        return [os.path.basename(path).removesuffix(".sock") for path in sockets]

    async def _connected(self, instance: str) -> bool:
        try:
            await self._pool.connect(self._socket(instance), self._build)
        except OSError:
            return False
        return True

    async def _drain(self, instance: str) -> None:
        link = self._pool.links.get(instance)
        if link is None:
            try:
                link = await self._pool.connect(self._socket(instance), self._build)
            except (OSError, DaemonError):
                return  # nobody there any more: its records are found by the others
        if not link.draining:
            link.drain()

    async def _start(self, instance: str) -> None:
        words = await self._ran(instance, self._command(instance))
        if not await self._connected(instance):
            raise Unavailable(f"the runner {instance} could not be started: {words}", self._hint(instance))
        structlog.get_logger().info("runner.started", instance=instance)

    def _command(self, instance: str) -> list[str]:
        if self._manager is not None:
            return [*self._manager, "start", _unit(instance)]
        command = [sys.executable, "-I", "-m", "jobctl_daemon.runner", "--state", self._state_dir]
        return [*command, "--instance", instance, "--program-version", self._build]

    async def _ran(self, instance: str, command: list[str]) -> str:
        """What it said, once it has ended: then the runner listens, or will not."""
        environ = {"PATH": os.defpath, "LANG": "C.UTF-8"}
        if self._manager is not None:
            environ |= {name: os.environ[name] for name in _MANAGER_PLACES if name in os.environ}
        try:
            process = await asyncio.create_subprocess_exec(
                *command,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.PIPE,
                env=environ,
                cwd="/",
            )
        except OSError as error:
            raise Unavailable(f"the runner {instance} could not be started: {error}") from error
        try:
            _, words = await asyncio.wait_for(process.communicate(), _START_S)
        except TimeoutError as error:
            raise Unavailable(f"the runner {instance} did not come up", self._hint(instance)) from error
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        return words.decode("utf-8", "replace").strip()

    def _hint(self, instance: str) -> str:
        if self._manager is None:
            return "see the log in runner/"
        return f"{' '.join(self._manager)} status {_unit(instance)}"

    def _socket(self, instance: str) -> str:
        return os.path.join(self._state_dir, "runner", f"{instance}.sock")


def _is_held(path: str) -> bool:
    """Whether some living process holds the lock: a runner does for life."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def _unit(instance: str) -> str:
    """A runner's name needs no escaping: systemd.unit(5) allows all of letters, digits, dot, dash and underscore."""
    return f"jobctl-runner@{instance}.service"
