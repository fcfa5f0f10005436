"""The parent of the commands, as docs/runner-protocol.md has it: messages, records, adoption; no process is started.

A runner does one thing when it is told to: it reads a message, writes a record, starts a command, sees an end. Between
any two of them it can be stopped or killed. Records outlive it, and so do commands.
"""

import json
import random
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from simulation.world import World

Json = dict[str, Any]

_NEVER: Final = 1 << 62
_WRITE_AGAIN_MS: Final = 1_000
_IDLE_EXIT_MS: Final = 10_000
#: How a command takes its end, in ms after it began, and how often one of them is met.
_LENGTHS: Final = (0, 0, 40, 400, 2_000, 2_000, 9_000, 40_000, 240_000)
_ENDS: Final = (
    *[{"exit_code": 0}] * 7,
    *[{"exit_code": 1}] * 4,
    {"exit_code": 3},
    {"exit_code": 64},
    {"signal": 9},
    {"signal": 9, "oom": True},
)
#: How long after TERM it ends; None: not before KILL.
_HEEDS: Final = (0, 50, 3_000, None)


@dataclass(slots=True)
class Command:
    """A process, and what the world knows of it: who outlives whom shows here."""

    id: str
    run_id: int
    fence: int
    attempt: int
    key: str
    slot: str
    pid: int
    began_ms: int
    """By the wall; the next two by the clock that never steps."""
    ends_boot_ms: int
    facts: Json
    heeds_ms: int | None
    alive: bool = True
    orphaned: bool = False
    """Its runner died before the result was on disk, or the machine did: nobody can know how it ended."""


@dataclass(slots=True)
class Record:
    """The files of one attempt in the records' folder."""

    instance: str
    boot: str
    order: Json
    pid: int | None = None
    started_ms: int | None = None
    result: Json | None = None


@dataclass(slots=True)
class Attempt:
    """What a runner has in memory of an attempt."""

    id: str
    run_id: int
    stage: str = "queued"
    """queued, intent, spawned, running, ended."""
    order: Json = field(default_factory=dict)
    command: Command | None = None
    started_ms: int | None = None
    cause: str | None = None
    kill_boot_ms: int | None = None
    adopted: bool = False
    result: Json | None = None
    on_disk: bool = False

    @property
    def overdue_boot_ms(self) -> int:
        timeout_ms = self.order.get("timeout_ms")
        return _NEVER if timeout_ms is None else int(self.order["began_boot_ms"] + timeout_ms)

    @property
    def state(self) -> str:
        return {"running": "running", "ended": "ended"}.get(self.stage, "starting")


class Client:
    """A connection to it. `tell` gives a line to the other end, `gone` says that it is closed."""

    def __init__(self, tell: Callable[[bytes], None], gone: Callable[[], None]) -> None:
        self.tell = tell
        self.gone = gone
        self.watching = False
        self.open = True


class Runner:
    """One process of the runner's program."""

    def __init__(self, world: "World", instance: str, version: str) -> None:
        self.world = world
        self.instance = instance
        self.version = version
        self.pid = world.new_pid()
        self.stopped = False
        """By SIGSTOP."""
        self.draining = False
        self.attempts: dict[str, Attempt] = {}
        self.inbox: deque[tuple[Client, Json | None]] = deque()
        self.clients: list[Client] = []
        self._queue: deque[Attempt] = deque()
        self._write_again_boot_ms: int | None = None
        self._idle_since_boot_ms: int | None = None
        self._adopt()

    # ── one thing after the other ──────────────────────────────────────────────
    def work(self) -> bool:
        """Whether there was something to do."""
        if self.inbox and not (self._queue and self.world.rng.random() < 0.5):
            client, message = self.inbox.popleft()
            if message is None:
                self._hung_up(client)
            elif client.open:
                self._hear(client, message)
        elif self._queue:
            self._start_on(self._queue[0])
        else:
            return self._look()
        return True

    @property
    def busy(self) -> bool:
        return bool(self.inbox or self._queue) or self._due()

    def _due(self) -> bool:
        boot_ms = self.world.clock.boot_ms()
        return any(at_ms <= boot_ms for at_ms in self._instants())

    def _instants(self) -> list[int]:
        """By the clock that never steps: when it has to look at something."""
        found = []
        for attempt in self.attempts.values():
            if attempt.stage == "running" and attempt.command is not None:
                found.append(attempt.command.ends_boot_ms)
                if attempt.kill_boot_ms is not None:
                    found.append(attempt.kill_boot_ms)
                if attempt.cause is None and attempt.overdue_boot_ms < _NEVER:
                    found.append(attempt.overdue_boot_ms)
        if self._write_again_boot_ms is not None:
            found.append(self._write_again_boot_ms)
        if self._idle_since_boot_ms is not None:
            found.append(self._idle_since_boot_ms + _IDLE_EXIT_MS)
        return found

    def wait_ms(self) -> int | None:
        boot_ms = self.world.clock.boot_ms()
        return max(0, min(instants) - boot_ms) if (instants := self._instants()) else None

    def _look(self) -> bool:
        boot_ms = self.world.clock.boot_ms()
        for attempt in self.attempts.values():
            command = attempt.command
            if attempt.stage != "running" or command is None:
                continue
            if command.ends_boot_ms <= boot_ms:
                self._command_ended(attempt, command)
                return True
            if attempt.cause is None and attempt.overdue_boot_ms <= boot_ms:
                self._stop(attempt, "timed_out", attempt.order["grace_ms"])
                return True
            if attempt.kill_boot_ms is not None and attempt.kill_boot_ms <= boot_ms:
                attempt.kill_boot_ms = None
                command.ends_boot_ms, command.facts = boot_ms, {"signal": 9}
                return True
        if self._write_again_boot_ms is not None and self._write_again_boot_ms <= boot_ms:
            self._write_again_boot_ms = None
            self._write_results()
            return True
        if self._idle_since_boot_ms is not None and self._idle_since_boot_ms + _IDLE_EXIT_MS <= boot_ms:
            self.world.runner_ends(self, "idle")
            return True
        return False

    # ── messages ──────────────────────────────────────────────
    def _hear(self, client: Client, message: Json) -> None:
        match message["op"]:
            case "hello":
                hello = {
                    "protocol": 1, "version": self.version, "pid": self.pid, "instance": self.instance,
                    "boot_id": self.world.boot, "kill_by": "", "draining": self.draining,
                }  # fmt: skip
                self._say(client, {"hello": hello})
            case "watch":
                client.watching = True
                self._say(client, {"list": [self._item(attempt) for attempt in self.attempts.values()]})
            case "rescan":
                self._say(client, {"rescanned": {"adopted": self._adopt(), "busy": False}})
            case "start":
                self._accept(client, message)
            case "kill":
                self._kill(client, message)
            case "ack":
                self._acknowledge(message["ids"])
                self._say(client, {"acked": {"ids": message["ids"]}})
            case "ping":
                self._say(client, {"pong": {}})
            case "drain":
                self.draining = True
                self._tell({"draining": True})
        self._consider_idleness()

    def _accept(self, client: Client, order: Json) -> None:
        name, run_id = order["id"], order["run_id"]
        if name in self.attempts:
            self._say(client, {"known": self._item(self.attempts[name])})
            return
        why = self._objection(name, run_id, again=order["attempt"] > 1 or order.get("returned", 0) > 0)
        if why is not None:
            self._say(client, {"refused": {"id": name, "reason": why, "invalid": False}})
            return
        attempt = Attempt(name, run_id, order=order)
        self.attempts[name] = attempt
        self._queue.append(attempt)

    def _objection(self, name: str, run_id: int, *, again: bool) -> str | None:
        if self.draining:
            return "draining"
        if any(other.run_id == run_id and other.stage != "ended" for other in self.attempts.values()):
            return "an attempt of this run is alive"
        records = self.world.records
        if name in records:
            return "records of this attempt exist: rescan"
        others = [one for one in records if one.startswith(f"{run_id}-") and one not in self.attempts]
        if again and any(records[one].result is None for one in others):
            return "another attempt of this run has not ended: rescan"
        return None

    def _kill(self, client: Client, message: Json) -> None:
        attempt = self.attempts.get(message["id"])
        if attempt is None:
            self._say(client, {"unknown": {"id": message["id"]}})
        elif attempt.stage == "ended":
            self._say(client, {"known": self._item(attempt)})
        elif attempt.stage == "queued":
            self._queue.remove(attempt)
            self._settle(attempt, {"cause": "killed" if message["mode"] == "kill" else "cancelled"}, "ended")
        else:
            at_once = message["mode"] == "kill"
            grace_ms = message.get("grace_ms")
            grace_ms = attempt.order["grace_ms"] if grace_ms is None else grace_ms
            self._stop(attempt, "killed" if at_once else "cancelled", 0 if at_once else grace_ms)
            self._say(client, {"killing": {"id": attempt.id, "mode": message["mode"]}})

    def _stop(self, attempt: Attempt, cause: str, grace_ms: int) -> None:
        """TERM, the grace, KILL; the first cause is the one recorded."""
        attempt.cause = attempt.cause or cause
        boot_ms, command = self.world.clock.boot_ms(), attempt.command
        if command is None or not command.alive:
            return
        if grace_ms and command.heeds_ms is not None and boot_ms + command.heeds_ms < command.ends_boot_ms:
            command.ends_boot_ms, command.facts = boot_ms + command.heeds_ms, {"signal": 15}
        last_ms = boot_ms + grace_ms
        attempt.kill_boot_ms = last_ms if attempt.kill_boot_ms is None else min(attempt.kill_boot_ms, last_ms)

    def _acknowledge(self, names: list[str]) -> None:
        for name in names:
            attempt = self.attempts.get(name)
            if attempt is not None and attempt.stage != "ended":
                continue
            self.attempts.pop(name, None)
            if attempt is not None:
                self.world.records.pop(name, None)

    def _hung_up(self, client: Client) -> None:
        client.open = False
        if client in self.clients:
            self.clients.remove(client)
        self._consider_idleness()

    def _consider_idleness(self) -> None:
        if self.clients or self.attempts:
            self._idle_since_boot_ms = None
        elif self.draining:
            self.world.runner_ends(self, "drained")
        elif self._idle_since_boot_ms is None:
            self._idle_since_boot_ms = self.world.clock.boot_ms()

    # ── commands ──────────────────────────────────────────────
    def _start_on(self, attempt: Attempt) -> None:
        """The intent, the command, who it is: each by itself, for a runner can die in between."""
        world = self.world
        if attempt.stage == "queued":
            if world.disk.full:
                self._cannot(attempt, "ENOSPC", transient=True)
                return
            world.records[attempt.id] = Record(self.instance, world.boot, attempt.order)
            attempt.stage = "intent"
        elif attempt.stage == "intent":
            errno = world.spawn_error()
            if errno is not None:
                self._cannot(attempt, errno, transient=errno != "ENOENT")
                return
            attempt.command = world.begin(attempt.order)
            attempt.started_ms = attempt.command.began_ms
            attempt.order = {**attempt.order, "began_boot_ms": world.clock.boot_ms()}
            attempt.stage = "spawned"
        else:
            self._queue.popleft()
            assert attempt.command is not None
            if not world.disk.full:
                record = world.records[attempt.id]
                record.pid, record.started_ms, record.order = attempt.command.pid, attempt.started_ms, attempt.order
            attempt.stage = "running"
            self._tell({"started": self._process(attempt)})

    def _cannot(self, attempt: Attempt, errno: str, *, transient: bool) -> None:
        self._queue.popleft()
        attempt.started_ms = None
        self._settle(attempt, {"cause": "spawn_error", "errno": errno, "transient": transient}, "failed")

    def _command_ended(self, attempt: Attempt, command: Command) -> None:
        self.world.end(command)
        if attempt.adopted and attempt.cause is None:
            self._settle(attempt, {"cause": "lost", "detail": "its runner died"}, "ended")
        elif attempt.adopted:
            self._settle(attempt, {"cause": attempt.cause}, "ended")
        else:
            self._settle(attempt, {**command.facts, "cause": attempt.cause}, "ended")

    def _settle(self, attempt: Attempt, facts: Json, kind: str) -> None:
        attempt.stage = "ended"
        attempt.kill_boot_ms = None
        attempt.result = {
            **self._process(attempt), "ended_at": self.world.clock.now_ms(), "log_size": 12, **facts,
        }  # fmt: skip
        self._write(attempt)
        if kind == "ended":
            self.world.results.append(attempt.result)
        self._tell({kind: attempt.result})

    def _write(self, attempt: Attempt) -> None:
        if self.world.disk.full:
            self._write_again_boot_ms = self.world.clock.boot_ms() + _WRITE_AGAIN_MS
            return
        record = self.world.records.setdefault(attempt.id, Record(self.instance, self.world.boot, attempt.order))
        record.result = attempt.result
        attempt.on_disk = True

    def _write_results(self) -> None:
        for attempt in self.attempts.values():
            if attempt.stage == "ended" and not attempt.on_disk:
                self._write(attempt)

    # ── adoption ──────────────────────────────────────────────
    def _adopt(self) -> int:
        """What runners left that are dead."""
        count = 0
        for name, record in list(self.world.records.items()):
            if name in self.attempts or (record.instance != self.instance and self.world.is_alive(record.instance)):
                continue
            attempt = Attempt(name, record.order["run_id"], order=record.order, adopted=True)
            self.attempts[name] = attempt
            self._take(attempt, record)
            count += 1
        return count

    def _take(self, attempt: Attempt, record: Record) -> None:
        attempt.started_ms = record.started_ms
        attempt.order.setdefault("began_boot_ms", self.world.clock.boot_ms())
        if record.result is not None:
            attempt.stage, attempt.result, attempt.on_disk = "ended", record.result, True
            self._tell({"ended": attempt.result})
            return
        command = self.world.process_of(attempt.id) if record.boot == self.world.boot else None
        if command is None:
            why = "it ended unseen" if record.pid is not None else "runner died while starting"
            self._settle(attempt, {"cause": "lost", "detail": why}, "ended")
            return
        record.instance, record.pid, record.started_ms = self.instance, command.pid, command.began_ms
        attempt.command, attempt.started_ms, attempt.stage = command, command.began_ms, "running"
        self._tell({"started": self._process(attempt)})

    # ── words ──────────────────────────────────────────────
    def says_again(self, result: Json) -> None:
        """What it told before, or what nobody asked for."""
        self._tell({"ended": result})

    def _process(self, attempt: Attempt) -> Json:
        pid = attempt.command.pid if attempt.command is not None else None
        facts = {"id": attempt.id, "pid": pid, "pid_start": 1, "started_at": attempt.started_ms}
        if attempt.stage == "running" and attempt.overdue_boot_ms < _NEVER:
            facts["ends_boot_ms"] = attempt.overdue_boot_ms + attempt.order["grace_ms"]
        return facts

    def _item(self, attempt: Attempt) -> Json:
        return {**self._process(attempt), "state": attempt.state, "result": attempt.result}

    def _tell(self, message: Json) -> None:
        for client in self.clients:
            if client.watching:
                self._say(client, message)

    def _say(self, client: Client, message: Json) -> None:
        client.tell(json.dumps(message).encode() + b"\n")


def draw(seed: str, order: Json) -> tuple[int, Json, int | None]:
    """How long a command takes, how it ends, and how long it goes on after TERM: the same for the same attempt."""
    number = random.Random(f"{seed}/{order['key']}/{order['attempt']}")
    length_ms, facts = number.choice(_LENGTHS), dict(number.choice(_ENDS))
    heeds_ms = number.choice(_HEEDS)
    words = " ".join(str(word) for word in order["argv"])
    if "works" in words:
        facts = {"exit_code": 0}
    elif "fails" in words:
        facts = {"exit_code": 1}
    if "quick" in words:
        length_ms = min(length_ms, 400)
    return length_ms, facts, heeds_ms
