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
_ROUNDS = 4
#: Said by the units: runners are units too, started by this manager. One forked by jobd would share its sandbox.
_MANAGERS = {"system": ("systemctl",), "user": ("systemctl", "--user")}
_MANAGER_PLACES = ("XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS")
#: Of the daemon's environment, what a runner that it forks has to know.
_TOLD = ("JOBCTL_NO_CGROUP",)


class Runners:
    """Keeps `count` runners of this installation connected, and those of others until they have drained."""

    def __init__(self, pool: RunnerPool, state_dir: str, build: str, count: int) -> None:
        self._pool = pool
        self._state_dir = state_dir
        self._build = build
        self._manager = _MANAGERS.get(os.environ.get("JOBCTL_RUNNER_UNIT", ""))
        self.count = count

    async def ensure(self) -> DaemonError | None:
        """Connects to every runner that listens and starts the missing ones; what stood in the way of one of them.

        A runner that does not answer keeps its commands and nobody waits for it: another one works in its stead.
        """
        trouble = None
        # More than one round when runners are met that are on their way out: others are wanted in their stead.
        for _ in range(_ROUNDS):
            missing = [name for name in self._wanted() if not self._is_known(name)]
            if trouble is not None or not missing:
                break
            found = await asyncio.gather(*(self._connected(name) for name in missing))
            absent = [name for name, here in zip(missing, found, strict=True) if not here]
            troubles = await asyncio.gather(*(self._started(name) for name in absent))
            trouble = next((each for each in troubles if each is not None), None)
        await asyncio.gather(*(self._drain(name) for name in self._listening() if name not in self._wanted()))
        self._pool.locked = frozenset(name for name in self._locked() if not self._is_known(name))
        return trouble

    def _is_known(self, name: str) -> bool:
        return name in self._pool.links or name in self._pool.mute or name in self._pool.strangers

    def _locked(self) -> list[str]:
        """A runner holds its lock for life, whether it takes a connection or not."""
        locks = glob.glob(os.path.join(glob.escape(self._state_dir), "runner", "*.lock"))
        return [os.path.basename(path).removesuffix(".lock") for path in locks if _is_held(path)]

    def _wanted(self) -> list[str]:
        """The names of the runners that take work: one that drains, or cannot be had, keeps its name all the while."""
        names = (f"{self._build}-{number}" for number in itertools.count(1))
        able = (name for name in names if not self._is_out(name))
        return list(itertools.islice(able, self.count))

    def _is_out(self, name: str) -> bool:
        link = self._pool.links.get(name) or self._pool.mute.get(name)
        if name in self._pool.strangers or name in self._pool.locked:
            return True
        return link is not None and (link.draining or link.silent)

    def _listening(self) -> list[str]:
        sockets = glob.glob(os.path.join(glob.escape(self._state_dir), "runner", "*.sock"))
        return [os.path.basename(path).removesuffix(".sock") for path in sockets]

    async def _connected(self, instance: str) -> bool:
        """Whether there is one, answering or not."""
        try:
            await self._pool.connect(self._socket(instance), self._build)
        except OSError:
            return False
        except DaemonError:
            return self._is_known(instance)
        return True

    async def _drain(self, instance: str) -> None:
        """Of one that is not wanted: it is heard, and told to end. One of another build is told so by the pool."""
        if not self._is_known(instance):
            await self._connected(instance)
        link = self._pool.links.get(instance)
        if link is not None and not (link.draining or link.silent):
            link.drain()

    async def _started(self, instance: str) -> DaemonError | None:
        try:
            status, words = await self._ran(instance, self._command(instance))
            if not await self._connected(instance):
                why = words or f"its starter ended with {status} and without a word"
                raise Unavailable(f"the runner {instance} could not be started: {why}", self._hint(instance))
        except DaemonError as error:
            return error
        structlog.get_logger().info("runner.started", instance=instance)
        return None

    def _command(self, instance: str) -> list[str]:
        if self._manager is not None:
            return [*self._manager, "start", _unit(instance)]
        command = [sys.executable, "-I", "-m", "jobctl_daemon.runner", "--state", self._state_dir]
        return [*command, "--instance", instance, "--program-version", self._build]

    async def _ran(self, instance: str, command: list[str]) -> tuple[int | None, str]:
        """How it ended and what it said: then the runner listens, or will not."""
        names = _TOLD if self._manager is None else _MANAGER_PLACES
        environ = {"PATH": os.defpath, "LANG": "C.UTF-8"} | {
            name: os.environ[name] for name in names if name in os.environ
        }
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
        return process.returncode, words.decode("utf-8", "replace").strip()

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
