"""People and programs who use a daemon while things happen to it: everything through its API, chosen by a seed."""

import collections
import contextlib
import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from jobctl.client.sync import Client
from jobctl.client.transport import Request, Response
from jobctl.errors import InternalError, JobctlError, NotFound, Unreachable
from jobctl.reading.times import milliseconds, rfc3339
from kit.daemon import AnyonesTransport
from kit.rig.commands import Commands
from kit.rig.verdict import Done, Metronome

Json = dict[str, Any]
#: Nobody waits longer for a daemon that may be stopped.
_PATIENCE_S: Final = 4.0
_QUEUE: Final = "narrow"
_LOST: Final = {"max": 0, "lost": 50, "backoff": 0.2, "backoff_max": 1}
_TIMEOUT_S: Final = 0.7


@dataclass(frozen=True, slots=True)
class Asked:
    """Something that is asked for again, with the same key, until it is answered."""

    key: str
    what: str
    ask: Callable[[], Json]


class Load:
    """One person who does one thing after another; a thread of its own."""

    def __init__(self, socket: str, commands: Commands, seed: int, pause_s: float) -> None:
        self.client = hasty_client(socket)
        self.done = Done()
        self.metronomes: list[Metronome] = []
        self.answers: collections.Counter[str] = collections.Counter()
        """What was asked and answered, and every kind of refusal."""
        self.bugs: list[str] = []
        """Answers that are nobody's fault but the daemon's."""
        self._commands = commands
        self._chance = random.Random(f"{seed} load")
        self._pause_s = pause_s
        self._names = 0
        self._open: list[Asked] = []
        self._first: dict[str, Json] = {}
        self._brief: list[str] = []
        self._halt = threading.Event()
        self._thread = threading.Thread(target=self._work, name="load")

    # ── life ─────────────────────────────────────────────────────
    def prepare(self) -> None:
        """The jobs that are there all the time, in a daemon to which nothing has happened yet."""
        self.client.set_queue(_QUEUE, 2)
        for name, (words, fields) in _JOBS.items():
            body = self._body(name, words, fields)
            if isinstance(fields.get("retry"), dict) and "on_lost" in fields["retry"]:
                told = " ".join(self._commands.of("asked")["command"])
                body["retry"] = {**fields["retry"], "on_lost": f"ask:{told}"}
                self.done.asking.add(name)
            if "timeout" in fields:
                self.done.timeouts[name] = fields["timeout"]
            if fields.get("overlap") == "replace":
                self.done.replacing.add(name)
            self._first[name] = self.client.create_job(body)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._halt.set()
        self._thread.join()

    def settle(self) -> None:
        """What was never answered is asked for once more; schedules and pauses end. Of a daemon that is well."""
        for asked in self._open:
            with contextlib.suppress(JobctlError):
                self._acknowledge(asked, asked.ask())
        self._open.clear()
        self._resume_all()
        for name, job in self._first.items():
            every = _JOBS[name][1]["schedule"].get("every")
            if every and name not in _EDITED:
                first_ms, until_ms = (milliseconds(at) for at in (job["next_run_at"], self.client.status()["now"]))
                self.metronomes.append(Metronome(name, first_ms, every * 1000, until_ms))
            self.client.edit_job(name, {"schedule": None})
        for name in self._brief:
            with contextlib.suppress(JobctlError):
                self.client.delete_job(name)

    def leave(self) -> None:
        """Nothing of the load is left in the daemon but its history."""
        with contextlib.suppress(JobctlError):
            self.client.discard({"all": True})
        for job in list(self.client.jobs()):
            self.client.delete_job(job["id"])

    def _resume_all(self) -> None:
        with contextlib.suppress(JobctlError):
            self.client.resume_daemon()
        with contextlib.suppress(JobctlError):
            self.client.resume_queue(_QUEUE)
        for job in self.client.jobs():
            if job["paused"]:
                self.client.resume_job(job["id"])

    # ── one thing after another ──────────────────────────────────
    def _work(self) -> None:
        doings, weights = zip(*self._doings(), strict=True)
        while not self._halt.wait(self._chance.expovariate(1 / self._pause_s)):
            doing = self._chance.choices(doings, weights)[0]
            try:
                doing()
                self.answers[doing.__name__.strip("_")] += 1
            except InternalError as error:
                self.bugs.append(f"{doing.__name__.strip('_')}: {error.message}")
            except JobctlError as error:
                self.answers[f"refused: {error.code}"] += 1

    def _doings(self) -> list[tuple[Callable[[], object], int]]:
        return [
            (self._submit, 40),
            (self._trigger, 14),
            (self._again, 20),
            (self._look, 10),
            (self._cancel, 6),
            (self._retry, 3),
            (self._replay, 8),
            (self._discard, 1),
            (self._pause, 4),
            (self._hold, 4),
            (self._edit, 6),
            (self._skip, 2),
            (self._make, 2),
            (self._remove, 2),
        ]

    def _submit(self) -> None:
        words, fields = self._chance.choice(_ADHOC)
        name, key = self._new("adhoc"), self._key()
        body = self._body(name, words, fields)
        if "timeout" in fields:
            self.done.timeouts[name] = fields["timeout"]
        self._ask(Asked(key, "submit", lambda: self.client.create_run(body, key)))

    def _trigger(self) -> None:
        name, key = self._job(), self._key()
        self._ask(Asked(key, "trigger", lambda: self.client.trigger(name, {}, key)))

    def _again(self) -> None:
        if self._open:
            asked = self._open.pop(self._chance.randrange(len(self._open)))
            self._ask(asked)

    def _look(self) -> None:
        look = self._chance.choice([self.client.status, self.client.queues, self.client.dead_groups])
        look()
        for run in self.client.runs(20):
            if self._chance.random() < 0.1:
                with contextlib.suppress(NotFound):
                    self.client.log(run["id"]).read()
        list(self.client.job_runs(self._job(), 10))

    def _cancel(self) -> None:
        run = self._some(state="scheduled,ready,running")
        if run is not None:
            self.done.stopped.add(run["id"])
            if self._chance.random() < 0.5:
                self.client.cancel_run(run["id"], self._chance.choice([None, 0.3]))
            else:
                self.client.kill_run(run["id"])

    def _retry(self) -> None:
        run = self._some(state=self._chance.choice(["ready", "failed", "dead"]))
        if run is not None:
            ident, key = run["id"], self._key()
            self._ask(Asked(key, "retry", lambda: self.client.retry_run(ident, key)["run"]))

    def _replay(self) -> None:
        dead = list(self.client.dead(20))
        if not dead:
            return
        one, key, ids = self._chance.choice(dead), self._key(), [each["id"] for each in dead[:5]]
        bodies: list[Json] = [
            {"ids": [one["id"]]},
            {"ids": [one["id"]], "edit": {"target": self._commands.of("sleep", 0.1)}},
            {"job": one["job"], "force": True, "stop_on_failure": True},
            {"ids": ids, "force": True, "pace": 0.2, "current": self._chance.random() < 0.5},
        ]
        self.client.replay(self._chance.choice(bodies), key)

    def _discard(self) -> None:
        for run in self.client.dead(1):
            self.client.discard({"ids": [run["id"]], "why": "not wanted"})

    def _pause(self) -> None:
        paused = [job["id"] for job in self.client.jobs() if job["paused"]]
        if paused:
            self.client.resume_job(self._chance.choice(paused), catch_up=self._chance.random() < 0.5)
        else:
            self.client.pause_job(self._job(), why="for a while")

    def _hold(self) -> None:
        held = {queue["name"]: queue["paused"] for queue in self.client.queues()}
        if held.get(_QUEUE):
            self.client.resume_queue(_QUEUE)
        elif self.client.status()["paused"]:
            self.client.resume_daemon(catch_up=self._chance.random() < 0.5)
        elif self._chance.random() < 0.3:
            self.client.pause_daemon(rfc3339(time.time_ns() // 1_000_000 + 3_000), "all of it")
        else:
            self.client.pause_queue(_QUEUE, why="the queue")

    def _edit(self) -> None:
        if self._chance.random() < 0.5:
            name, every = self._chance.choice(_EDITED), self._chance.choice([1, 2])
            seconds = self._chance.choice([0.1, 0.4])
            self.client.edit_job(name, {"schedule": {"every": every}, "target": self._commands.of("sleep", seconds)})
        else:
            self.client.edit_job(self._job(), {"priority": self._chance.randint(-9, 9), "note": "looked at"})

    def _skip(self) -> None:
        self.client.skip_next(self._job(), self._chance.randint(1, 3))

    def _make(self) -> None:
        name, key = self._new("brief"), self._key()
        body = self._body(name, ("sleep", 0.1), _every(1))
        self._brief.append(name)
        self._ask(Asked(key, "make", lambda: {"job": self.client.create_job(body, key)}))

    def _remove(self) -> None:
        if self._brief:
            name = self._chance.choice(self._brief)
            self.client.delete_job(name, cancel_runs=False)
            self._brief.remove(name)

    # ── with a key, until it is answered ─────────────────────────
    def _ask(self, asked: Asked) -> None:
        try:
            self._acknowledge(asked, asked.ask())
        except Unreachable:  # nobody knows whether it was done
            self._open.append(asked)
            raise

    def _acknowledge(self, asked: Asked, answer: Json) -> None:
        if "id" in answer:
            self.done.asked[answer["id"]] = f"{asked.what} {asked.key}"

    # ── whom ─────────────────────────────────────────────────────
    def _job(self) -> str:
        return self._chance.choice(list(_JOBS))

    def _some(self, **filters: object) -> Json | None:
        runs = list(self.client.runs(30, **filters))
        return self._chance.choice(runs) if runs else None

    def _body(self, name: str, words: tuple[object, ...], fields: Json) -> Json:
        return {"name": name, "target": self._commands.of(*words), "env": self._commands.env, **fields}

    def _new(self, kind: str) -> str:
        self._names += 1
        return f"{kind}-{self._names}"

    def _key(self) -> str:
        return f"{self._chance.getrandbits(64):016x}"


def hasty_client(socket: str) -> Client:
    """One who does not wait for long."""
    return Client(_Hasty(socket))


class _Hasty:
    def __init__(self, socket: str) -> None:
        self._ask = AnyonesTransport(socket, timeout_s=1.0)

    def __call__(self, request: Request) -> Response:
        return self._ask(request._replace(timeout_s=_PATIENCE_S))


def _every(seconds: int, **fields: Any) -> Json:
    return {"schedule": {"every": seconds}, "retry": _LOST, "overlap": "allow", **fields}


_ONCE: Final[Json] = {"retry": {"max": 0, "lost": 0}, "on_failure": "record"}
_EDITED: Final = ("edited", "edited-too")
_JOBS: Final[dict[str, tuple[tuple[object, ...], Json]]] = {
    "tick": (("sleep", 0.2), _every(1, misfire="all")),
    "tick-once": (("sleep", 0.1), _every(2, misfire="skip", **_ONCE)),
    "single": (("single", "sleep", 1.2), _every(1, overlap="skip", **_ONCE)),
    "single-again": (("single", "sleep", 0.8), _every(1, overlap="skip")),
    "line": (("single", "sleep", 1.4), _every(2, overlap="queue", overlap_queue=3, queue=_QUEUE)),
    "replaced": (("single", "polite", 3), _every(2, overlap="replace", grace=0.5)),
    "flaky": (("flaky", 3), _every(2, retry={**_LOST, "max": 3})),
    "coin": (("coin", 65), _every(3)),
    "coin-retried": (("coin", 1), _every(3, retry={**_LOST, "max": 1}, misfire="once")),
    "slow": (("stubborn", 2), _every(3, timeout=_TIMEOUT_S, grace=0.3, **_ONCE)),
    "told": (("polite", 2), _every(4, timeout=_TIMEOUT_S, grace=2, **_ONCE)),
    "words": (("print", 600, 0.3), _every(2, log_max=16_384)),
    "leaves": (("leave", 1.5), _every(4)),
    "asks": (("sleep", 0.7), _every(2, retry={**_LOST, "on_lost": "ask"})),
    "some": (("sleep", 1.5), _every(1, limit=2)),
    "minute": (("sleep", 0.1), {"schedule": {"cron": "* * * * *"}, "retry": _LOST, "misfire": "all"}),
    "booted": (("sleep", 0.1), {"schedule": {"on_boot": True}, "retry": _LOST}),
    "started": (("sleep", 0.1), {"schedule": {"on_start": True}, "retry": _LOST, "overlap": "allow"}),
    "after-coin": (("sleep", 0.1), {"schedule": {"after": "coin:failure"}, "retry": _LOST, "overlap": "allow"}),
    "after-flaky": (("sleep", 0.1), {"schedule": {"after": "flaky"}, "retry": _LOST, "overlap": "queue"}),
    "edited": (("sleep", 0.1), _every(1)),
    "edited-too": (("sleep", 0.3), _every(2, overlap="queue")),
}
_ADHOC: Final[list[tuple[tuple[object, ...], Json]]] = [
    (("sleep", 0.05), {}),
    (("sleep", 0.1, 3), {}),
    (("sleep", 0.3), {"retry": _LOST, "on_failure": "dead"}),
    (("sleep", 0.2, 65), {"retry": {**_LOST, "max": 2}, "on_failure": "dead"}),
    (("sleep", 2), {"retry": _LOST, "queue": _QUEUE}),
    (("flaky", 2), {"retry": {**_LOST, "max": 3}, "priority": -3}),
    (("stubborn", 5), {"timeout": _TIMEOUT_S, "grace": 0.2}),
    (("polite", 5), {"timeout": _TIMEOUT_S, "grace": 1}),
    (("print", 2_000, 0.2), {"retry": _LOST}),
    (("leave", 1), {"retry": _LOST}),
]
