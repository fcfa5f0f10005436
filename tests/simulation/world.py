"""The machine: clock, disk, processes, and what people were told. Its own records are what the daemon's are held to.

One thing happens after the other. `do_something` lets one of all that could go on go on, and which one is drawn;
`pass_time` moves the clock from instant to instant and lets everything come to rest at each of them.
"""

import asyncio
import fcntl
import itertools
import os
import pwd
import random
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import msgspec

from jobctl.paths import Places
from jobctl_daemon.rows import Caller
from jobctl_daemon.settings import Settings
from jobctl_daemon.store.sqlite.opening import connect_reader
from kit.clock import ManualClock
from kit.machine import empty_database, quick_folder
from kit.stores import counted_uids
from simulation.disk import Disk
from simulation.process import Process
from simulation.runner import Command, Record, Runner, draw

T0: Final = 1_800_057_600_000
#: Things that happen at one instant before it is said that they never come to rest.
RESTLESS: Final = 20_000
#: A client of the API has so much patience, in ms.
PATIENCE_MS: Final = 60_000


class Violation(AssertionError):
    """What must hold does not. Its text is the sentence."""


@dataclass(frozen=True, slots=True)
class Given:
    """What a history is played with."""

    seed: str = "0"
    slots: int = 4
    retention_runs: int = 1_000
    kept: int = 100
    """Dead letters of a job."""


@dataclass(slots=True)
class Asked:
    """A request of somebody, and what came of it."""

    words: str
    verb: str
    key: str | None
    process: Process
    again: tuple[Any, ...]
    """What to send once more."""
    status: int | None = None
    body: Any = None
    broken: bool = False
    """Nobody knows what came of it."""
    told: Callable[["Asked"], None] | None = None
    task: Any = None


class World:
    """Everything but the daemon's own decisions."""

    def __init__(self, given: Given) -> None:
        self.given = given
        self.clock = ManualClock(T0)
        self.disk = Disk()
        self.tally: Counter[str] = Counter()
        self.folder = tempfile.mkdtemp(prefix="jobctl-sim-", dir=quick_folder())
        self.places = _places(self.folder)
        Path(self.places.database).write_bytes(empty_database())
        self.settings = Settings(slots=given.slots, runners=2, retention_runs=given.retention_runs)
        self.new_uid = counted_uids()
        self.boots = 1
        self.builds = 1
        self.processes: list[Process] = []
        """Those that live, the newest last."""
        self.lives = 0
        self.epoch = 0
        self.runners: dict[str, Runner] = {}
        """Those that live, by instance."""
        self.records: dict[str, Record] = {}
        self.commands: dict[str, list[Command]] = {}
        """Every start of each attempt."""
        self.living: dict[int, Command] = {}
        """By run."""
        self.asked: list[Asked] = []
        self.pending: list[Asked] = []
        self.said: list[str] = []
        """What happened since somebody last looked."""
        self.refusals: list[str] = []
        """Errors of the next starts, last first."""
        self.unanswered: int | None = None
        """After how many more calls of the store an answer is lost."""
        self.hold: str | None = None
        """The call of the store behind which the next one to make it has to wait."""
        self.focus: set[int] = set()
        """The jobs that it is about."""
        self._held: list[asyncio.Future[None]] = []
        self.no_runner = False
        """Runners cannot be started."""
        self.back_ms = 0
        """How far the clock was set back so far, in all."""
        self.corrected = False
        """It was set back by more than three hours, in steps that count together."""
        self.results: list[dict[str, Any]] = []
        self.rng = random.Random(0)
        self.most_daemons = 1
        """So many of them went about their work at once."""
        self.most_alive = 1
        """So many were alive at once, the stopped ones with them; each keeps to its own count of slots."""
        self.look = connect_reader(Path(self.places.database))
        self.on_answer: Callable[[Asked], None] = lambda asked: None
        self.on_begin: Callable[[Command], None] = lambda command: None
        self.on_old_write: Callable[[Process, int], None] = lambda process, after: None
        self.starting: Process
        """The one that is being made."""
        self._pids = itertools.count(1000)
        self._ended: list[Process] = []
        self._locks: dict[str, int] = {}

    def close(self) -> None:
        for process in self.processes:
            process.kill()
        for process in self._ended:
            process.loop.unwind()
        for instance in list(self._locks):
            self._unlock(instance)
        self.look.close()
        shutil.rmtree(self.folder)

    @property
    def boot(self) -> str:
        return f"boot-{self.boots}"

    @property
    def build(self) -> str:
        return f"b{self.builds}"

    @property
    def daemon(self) -> Process | None:
        """The one whose store it is."""
        newest = self.processes[-1] if self.processes else None
        return None if newest is None or (newest.epoch or self.epoch) < self.epoch else newest

    def say(self, words: str) -> None:
        self.said.append(words.replace(self.folder, ""))

    def count(self, what: str, number: int = 1) -> None:
        self.tally[what] += number

    # ── one thing after the other ──────────────────────────────────────────────
    def do_something(self) -> bool:
        """One of all things that can happen now; False: everything is at rest."""
        actions = self._actions()
        if not actions:
            return False
        if len(actions) == 1:
            actions[0]()
        else:
            actions[int(self.rng.random() * len(actions))]()
        return True

    @property
    def slots(self) -> int:
        """How many commands may be alive."""
        return self.given.slots * self.most_alive

    def _actions(self) -> list[Callable[[], Any]]:
        found: list[Callable[[], Any]] = []
        for process in self.processes:
            if not process.stopped:
                found += process.actions()
        for runner in self.runners.values():
            if not runner.stopped and runner.busy:
                found.append(runner.work)
        return found

    def rest(self, most: int | None = None) -> None:
        """Until nothing can happen any more at this instant, or so many things have happened."""
        self.most_daemons = max(self.most_daemons, sum(not process.stopped for process in self.processes))
        self.most_alive = max(self.most_alive, len(self.processes))
        self._wake()
        for _ in range(RESTLESS if most is None else most):
            if not self.do_something():
                self._wake()
                if not self.do_something():
                    return
        if most is None:
            raise Violation("the daemon never comes to rest: something is done again and again at one instant")

    def _wake(self) -> None:
        for process in self.processes:
            if not process.stopped:
                process.loop.wake()

    def pass_time(self, ms: int) -> None:
        """From one instant at which something happens to the next."""
        until_ms = self.clock.boot_ms() + ms
        self.rest()
        while (left_ms := until_ms - self.clock.boot_ms()) > 0:
            wait_ms = self.wait_ms()
            step_ms = left_ms if wait_ms is None else min(max(wait_ms, 1), left_ms)
            self.tick(step_ms)
            self.rest()

    def tick(self, ms: int) -> None:
        """Time passes, and nobody does anything about it yet."""
        self.clock.tick(ms)
        self._reap()

    def wait_ms(self) -> int | None:
        """How long until something happens by itself."""
        waits = [process.loop.wait_ms() for process in self.processes if not process.stopped]
        waits += [runner.wait_ms() for runner in self.runners.values() if not runner.stopped]
        waits += [max(0, command.ends_boot_ms - self.clock.boot_ms()) for command in self.living.values()]
        return min((wait_ms for wait_ms in waits if wait_ms is not None), default=None)

    def _reap(self) -> None:
        boot_ms = self.clock.boot_ms()
        for command in list(self.living.values()):
            if command.ends_boot_ms <= boot_ms:
                self.end(command)

    def calm(self) -> None:
        """No more faults; what is stopped goes on."""
        self.disk.full, self.disk.trap, self.disk.read_trap = False, None, None
        self.unanswered, self.no_runner = None, False
        self.refusals.clear()
        for process in self.processes:
            process.stopped = False
        for runner in self.runners.values():
            runner.stopped = False

    def hurry(self) -> None:
        """Every command that is alive ends now, and well."""
        for command in self.living.values():
            command.ends_boot_ms, command.facts = self.clock.boot_ms(), {"exit_code": 0}

    # ── clock ──────────────────────────────────────────────
    def set_clock(self, ms: int) -> None:
        self.clock.step(ms)
        if ms < 0:
            self.back_ms -= ms
            self.corrected = self.corrected or self.back_ms > 10_000_000
        for process in self.processes:
            process.loop.clock_was_set()

    def suspend(self, ms: int) -> None:
        self.clock.sleep(ms)
        for process in self.processes:
            process.loop.clock_was_set()
        self._reap()

    # ── daemons ──────────────────────────────────────────────
    def start_daemon(self) -> Process:
        self.lives += 1
        process = Process(self, self.lives)
        self.processes.append(process)
        return process

    def kill_daemon(self, process: Process) -> None:
        self.processes.remove(process)
        process.kill()

    def terminate(self, process: Process) -> None:
        process.terminate()
        if not process.alive:
            self.processes.remove(process)

    def exited(self, process: Process) -> None:
        """By itself, or because it was asked to. Its loop is in the middle of a step."""
        process.alive = False
        self.processes.remove(process)
        why = f": {type(process.why).__name__}: {process.why}" if process.why is not None else ""
        self.say(f"daemon {process.number} has ended{why}")
        self.broken_off(process)
        process.let_go()
        self._ended.append(process)
        if process.why is not None and process.ready and not process.ending:
            raise Violation(f"the daemon ended by itself{why}") from process.why

    def took_over(self, process: Process) -> None:
        assert process.epoch is not None
        if process.epoch <= self.epoch:
            raise Violation(f"the epoch {process.epoch} does not rise over {self.epoch} (I5)")
        self.epoch = process.epoch

    def newest_event(self) -> int:
        row = self.look.execute("SELECT seq FROM sqlite_sequence WHERE name = 'events'").fetchone()
        return 0 if row is None else int(row[0])

    def loses_answer(self, name: str) -> bool:
        if self.unanswered is None:
            return False
        self.unanswered -= 1
        if self.unanswered >= 0:
            return False
        self.unanswered = None
        self.count("answers lost")
        self.say(f"the answer of {name} is lost")
        return True

    # ── one thing in the middle of another ──────────────────────────────────────────────
    @property
    def holds_somebody(self) -> bool:
        return bool(self._held)

    async def wait_for_others(self, answer: Any) -> None:
        """Somebody has read, or written, and is overtaken before it goes on."""
        self.hold = None
        if isinstance(answer, list):
            self.focus = {one.job_id for one in answer if hasattr(one, "job_id")}
        self._held.append(asyncio.get_running_loop().create_future())
        await self._held[-1]

    def let_go(self) -> None:
        """Who was held goes on."""
        self.hold = None
        self.focus = set()
        for future in self._held:
            if not future.get_loop().is_closed():
                future.get_loop().call_soon(_done, future)
        self._held.clear()

    # ── requests ──────────────────────────────────────────────
    def ask(
        self, words: str, method: str, path: str, body: Any = None, key: str | None = None, caller: Caller | None = None
    ) -> Asked | None:
        """None when there is nobody to ask."""
        process = self.daemon
        if process is None or not process.ready or process.server is None or not process.server.open:
            self.say("nobody answers")
            return None
        caller = caller or Caller(uid=os.getuid(), name=pwd.getpwuid(os.getuid()).pw_name)
        headers = {} if key is None else {"Idempotency-Key": key}
        asked = Asked(words, f"{method} {path}", key, process, (words, method, path, body, key, caller))
        data = b"" if body is None else msgspec.json.encode(body)
        self.asked.append(asked)
        self.pending.append(asked)
        asked.task = process.ask(method, path, data, headers, caller)
        asked.task.add_done_callback(lambda task: self._answered(asked, task))
        return asked

    def _answered(self, asked: Asked, task: Any) -> None:
        if asked.broken or task.cancelled():
            return
        self.pending.remove(asked)
        error = task.exception()
        if error is not None:
            raise Violation(f"{asked.words} broke the daemon: {error!r}") from error
        asked.status, text = task.result()
        asked.body = msgspec.json.decode(text) if text else None
        why = f": {asked.body['title']}" if asked.status >= 400 else ""
        self.say(f"{asked.words} → {asked.status}{why}")
        self.on_answer(asked)

    def broken_off(self, process: Process) -> None:
        for asked in [asked for asked in self.pending if asked.process is process]:
            asked.broken = True
            self.pending.remove(asked)
            self.say(f"{asked.words} → no answer")

    # ── runners ──────────────────────────────────────────────
    def start_runner(self, instance: str) -> str:
        """What the program says, if anything."""
        if self.no_runner:
            return "no process to be had"
        if instance not in self.runners:
            self._lock(instance)
            self.runners[instance] = Runner(self, instance, self.build)
            self.say(f"the runner {instance} starts")
        return ""

    def is_alive(self, instance: str) -> bool:
        return instance in self.runners

    def kill_runner(self, runner: Runner) -> None:
        for attempt in runner.attempts.values():
            for command in self.commands.get(attempt.id, []):
                if attempt.stage != "ended" or not attempt.on_disk:
                    command.orphaned = True
        self._runner_gone(runner)

    def runner_ends(self, runner: Runner, why: str) -> None:
        self.say(f"the runner {runner.instance} ends: {why}")
        self._runner_gone(runner)

    def _runner_gone(self, runner: Runner) -> None:
        del self.runners[runner.instance]
        self._unlock(runner.instance)
        for client in list(runner.clients):
            client.open = False
            client.gone()
        runner.clients.clear()
        runner.inbox.clear()

    def _lock(self, instance: str) -> None:
        """The files by which it is found."""
        folder = self.places.runner_dir
        os.makedirs(folder, exist_ok=True)
        Path(folder, f"{instance}.sock").touch()
        self._locks[instance] = os.open(f"{folder}/{instance}.lock", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        fcntl.flock(self._locks[instance], fcntl.LOCK_EX)

    def _unlock(self, instance: str) -> None:
        """Of one that is gone. One that was killed leaves its files, and so does this one."""
        os.close(self._locks.pop(instance))

    def cut(self, runner: Runner) -> None:
        """It drops its connections: what was sent and not read yet is gone."""
        for client in list(runner.clients):
            client.open = False
            client.gone()
        runner.clients.clear()

    def read(self, line: bytes) -> dict[str, Any]:
        message: dict[str, Any] = msgspec.json.decode(line)
        return message

    # ── commands ──────────────────────────────────────────────
    def new_pid(self) -> int:
        return next(self._pids)

    def spawn_error(self) -> str | None:
        if not self.refusals:
            return None
        self.count("starts refused")
        return self.refusals.pop()

    def begin(self, order: dict[str, Any]) -> Command:
        length_ms, facts, heeds_ms = draw(self.given.seed, order)
        command = Command(
            id=order["id"],
            run_id=order["run_id"],
            fence=order["fence"],
            attempt=order["attempt"],
            key=order["key"],
            slot=order["env"]["JOBCTL_SCHEDULED_AT"],
            pid=self.new_pid(),
            began_ms=self.clock.now_ms(),
            ends_boot_ms=self.clock.boot_ms() + length_ms,
            facts=facts,
            heeds_ms=heeds_ms,
        )
        self.count("starts")
        self.say(f"{command.id} begins (attempt {command.attempt})")
        self.on_begin(command)
        self.commands.setdefault(command.id, []).append(command)
        self.living[command.run_id] = command
        return command

    def end(self, command: Command) -> None:
        if not command.alive:
            return
        command.alive = False
        self.living.pop(command.run_id, None)
        self.say(f"{command.id} ends: {_facts(command.facts)}")

    def process_of(self, attempt: str) -> Command | None:
        """The process that carries this name, if it lives."""
        return next((command for command in self.living.values() if command.id == attempt), None)

    def is_of_an_earlier_attempt(self, attempt: str) -> bool:
        """Whether a later one of the same run is alive."""
        command = self.living.get(int(attempt.partition("-")[0]))
        return command is not None and command.id != attempt

    def printed(self, attempt: str) -> bytes:
        commands = self.commands.get(attempt)
        return b"" if not commands else f"it went wrong: {_facts(commands[-1].facts)}\n".encode()

    def log_removed(self, attempt: str) -> None:
        if any(command.alive for command in self.commands.get(attempt, [])):
            raise Violation(f"the log of {attempt} was removed while it is being written")

    # ── the machine ──────────────────────────────────────────────
    def reboot(self, off_ms: int, *, records_kept: bool) -> None:
        for process in list(self.processes):
            self.kill_daemon(process)
        for runner in list(self.runners.values()):
            self.kill_runner(runner)
        for command in list(self.living.values()):
            command.orphaned = True
            command.facts = {"signal": 9}
            self.end(command)
        for record in self.records.values():
            for command in self.commands.get(f"{record.order['run_id']}-{record.order['fence']}", []):
                command.orphaned = command.orphaned or not records_kept
        if not records_kept:
            self.records.clear()
        self.boots += 1
        self.clock.reboot(off_ms)


def _done(future: "asyncio.Future[None]") -> None:
    if not future.done():
        future.set_result(None)


def _facts(facts: dict[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in facts.items())


def _places(folder: str) -> Places:
    for name in ("config", "state", "run"):
        os.makedirs(os.path.join(folder, name))
    return Places(f"{folder}/config", f"{folder}/state", f"{folder}/run/jobd.sock", None, False, folder)
