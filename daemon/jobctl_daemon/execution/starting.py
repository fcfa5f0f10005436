"""Finding the runners of this host, and starting those that are missing."""

import asyncio
import glob
import itertools
import os
import sys

import structlog

from jobctl.errors import DaemonError, Unavailable
from jobctl_daemon.execution.pool import RunnerPool

_START_S = 20.0


class Runners:
    """Keeps `count` runners of this installation connected, and those of others until they have drained."""

    def __init__(self, pool: RunnerPool, state_dir: str, build: str, count: int) -> None:
        self._pool = pool
        self._state_dir = state_dir
        self._build = build
        self.count = count

    async def ensure(self) -> None:
        """Connects to every runner that listens and starts the missing ones; raises when one cannot be had."""
        wanted = self._wanted()
        missing = [name for name in wanted if name not in self._pool.links]
        found = await asyncio.gather(*(self._connected(name) for name in missing))
        absent = [name for name, here in zip(missing, found, strict=True) if not here]
        await asyncio.gather(*(self._start(name) for name in absent))
        await asyncio.gather(*(self._drain(name) for name in self._listening() if name not in self._wanted()))

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
        command = [sys.executable, "-I", "-m", "jobctl_daemon.runner", "--state", self._state_dir]
        command += ["--instance", instance, "--program-version", self._build]
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
            env={"PATH": os.defpath, "LANG": "C.UTF-8"},
            cwd="/",
        )
        try:
            _, words = await asyncio.wait_for(process.communicate(), _START_S)
        except TimeoutError as error:
            process.kill()
            await process.wait()
            raise Unavailable(f"the runner {instance} did not come up", "see the log in runner/") from error
        if not await self._connected(instance):
            text = words.decode("utf-8", "replace").strip()
            raise Unavailable(f"the runner {instance} could not be started: {text}", "see the log in runner/")
        structlog.get_logger().info("runner.started", instance=instance)

    def _socket(self, instance: str) -> str:
        return os.path.join(self._state_dir, "runner", f"{instance}.sock")
