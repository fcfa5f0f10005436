"""What can happen in a history: what people ask, what time does, what breaks. Each act draws what it needs.

An act for which there is nothing says "nothing there" and does nothing, so that any part of a history can be left out.
"""

import random
from datetime import UTC, datetime
from typing import Any, Final

from simulation.process import Process
from simulation.world import Asked, World

SECOND, MINUTE, HOUR = 1_000, 60_000, 3_600_000

_JOBS: Final = "SELECT id, name, paused FROM jobs WHERE deleted_ms IS NULL AND hidden = 0 AND done = 0 ORDER BY id"
_RUNS: Final = """
    SELECT id, state FROM runs UNION ALL SELECT * FROM (SELECT id, state FROM history ORDER BY id DESC LIMIT 20)
    ORDER BY 1 DESC"""
_DEAD: Final = "SELECT id, job_id, fingerprint FROM runs WHERE state = 'dead' ORDER BY id"
_QUEUES: Final = ("default", "slow", "fast")
_SHELLS: Final = ("works", "quick works", "quick", "quick", "any", "any", "fails", "quick fails")
_SCHEDULES: Final[tuple[dict[str, Any], ...]] = (
    {},
    {},
    {"every": 600},
    {"every": 420},
    {"every": 150},
    {"cron": "*/15 * * * *"},
    {"cron": "40 0 * * *"},
    {"cron": "10,50 1 * * *"},
    {"on_start": True},
    {"on_boot": True},
    {"after": "any"},
    {"after": "success"},
    {"after": "failure"},
    {"at": 20 * MINUTE},
    {"at": 3 * MINUTE},
)
#: How the disk can refuse a write, and how often each is tried.
_TRAPS: Final = ("full", "broken", "commit full", "commit full", "group full", "group full", "group full", "busy")
#: Calls of the store behind which somebody is overtaken, and what makes somebody call them.
_HELD: Final[dict[str, str]] = {
    "due": "nothing", "expand": "nothing", "pending": "run", "admit": "run", "claim": "run", "started": "run",
    "too_late": "crowd", "efforts": "command_is_killed", "finish": "command_is_killed", "notices": "command_is_killed",
    "running": "runner_is_killed", "returned": "runner_is_killed", "unclaim": "starts_are_refused",
    "resumable": "resume_queue", "unsuspend": "resume", "job": "resume", "cursor": "leave_out", "spec": "edit",
    "left_out": "edit", "run": "stop", "replay": "replay",
}  # fmt: skip
_MEDDLING: Final = (
    "edit", "edit", "remove", "leave_out", "pause", "pause", "pause_queue", "resume", "resume_queue", "set_queue",
    "run", "stop", "stop", "retry", "replay", "discard", "command_is_killed", "runner_hangs_up", "runner_is_killed",
    "result_comes_again",
)  # fmt: skip
_WITH_CURSORS: Final = ("edit", "edit", "edit", "leave_out", "leave_out", "pause", "resume", "remove", "run")


class Acts:
    """Everything is done to one world."""

    def __init__(self, world: World) -> None:
        self.world = world

    # ── what there is ──────────────────────────────────────────────
    def _one(self, rng: random.Random, things: list[Any]) -> Any:
        number = rng.randrange(1 << 30)
        return things[number % len(things)] if things else None

    def _job(self, rng: random.Random, *, paused_first: bool = False) -> Any:
        jobs = self.world.look.execute(_JOBS).fetchall()
        jobs = [job for job in jobs if job[0] in self.world.focus] or jobs
        if paused_first:
            jobs = [job for job in jobs if job[2]] or jobs
        return self._one(rng, jobs)

    def _process(self, rng: random.Random, *, stopped: bool | None = None) -> Process | None:
        found = [one for one in self.world.processes if stopped in (None, one.stopped)]
        process: Process | None = self._one(rng, found)
        return process

    def _at(self, ms: int) -> str:
        at_s = (self.world.clock.now_ms() + ms) // SECOND
        return datetime.fromtimestamp(at_s, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

    def _ask(self, words: str, method: str, path: str, body: Any = None, key: str | None = None) -> str:
        self.world.ask(words, method, path, body, key)
        return words

    # ── definitions ──────────────────────────────────────────────
    def _schedule(self, rng: random.Random) -> dict[str, Any]:
        plan, pick = dict(rng.choice(_SCHEDULES)), rng.randrange(1 << 30)
        if "at" in plan:
            plan["at"] = self._at(plan["at"])
        if "after" in plan:
            jobs = self.world.look.execute(_JOBS).fetchall()
            plan = {"after": f"{jobs[pick % len(jobs)][1]}:{plan['after']}"} if jobs else {}
        return {**plan, "timezone": "UTC"} if plan else {}

    def _policies(self, rng: random.Random, share: float) -> dict[str, Any]:
        """Some of them."""
        drawn: dict[str, Any] = {
            "overlap": rng.choice(("allow", "skip", "skip", "queue", "queue", "replace")),
            "limit": rng.choice((None, None, 1, 2)),
            "overlap_queue": rng.choice((1, 2, 3)),
            "misfire": rng.choice(("once", "all", "skip")),
            "misfire_within": rng.choice((86_400, 600, 60)),
            "retry": {
                "max": rng.choice((0, 1, 2)),
                "backoff": rng.choice((1, 10, 600)),
                "lost": rng.choice((0, 1, 2, 3)),
                "on_lost": rng.choice(("retry", "retry", "dead", "ask:check quick")),
            },
            "on_failure": rng.choice(("dead", "dead", "record")),
            "timeout": rng.choice((None, None, 5)),
            "grace": rng.choice((10, 1)),
            "queue": rng.choice(_QUEUES),
            "priority": rng.choice((0, 0, -5, 5)),
            "notify": rng.choice(([], [], ["exec:tell quick works"])),
        }
        chosen = {name: value for name, value in drawn.items() if rng.random() < share}
        if chosen.get("overlap") != "queue":
            chosen.pop("overlap_queue", None)  # nothing waits
        return chosen

    def add(self, rng: random.Random) -> str:
        count = len(self.world.look.execute(_JOBS).fetchall())
        name, key = rng.choice("abcdefghij"), rng.choice((None, None, "k1", "k2", "k3"))
        schedule, policies = self._schedule(rng), self._policies(rng, 0.6)
        if count >= 8:
            return "nothing there"
        draft = {"name": name, "target": {"shell": rng.choice(_SHELLS)}, **policies}
        if schedule:
            draft["schedule"] = schedule
        return self._ask(f"add {name} {schedule}", "POST", "/v1/jobs", draft, key)

    def edit(self, rng: random.Random) -> str:
        job = self._job(rng)
        patch = self._policies(rng, 0.2)
        schedule = self._schedule(rng)
        if rng.random() < (0.8 if self.world.focus else 0.4) and schedule:
            patch["schedule"] = schedule
        if rng.random() < 0.3:
            patch["target"] = {"shell": rng.choice(_SHELLS)}
        if job is None or not patch:
            return "nothing there"
        return self._ask(f"edit {job[1]} {sorted(patch)}", "PATCH", f"/v1/jobs/{job[0]}", patch)

    def remove(self, rng: random.Random) -> str:
        job = self._job(rng)
        return "nothing there" if job is None else self._ask(f"remove {job[1]}", "DELETE", f"/v1/jobs/{job[0]}")

    def leave_out(self, rng: random.Random) -> str:
        job, count = self._job(rng), rng.choice((0, 1, 1, 2, 3))
        if job is None:
            return "nothing there"
        return self._ask(f"skip {count} of {job[1]}", "POST", f"/v1/jobs/{job[0]}/skip", {"count": count})

    # ── pauses and queues ──────────────────────────────────────────────
    def _until(self, rng: random.Random) -> dict[str, str]:
        ms = rng.choice((None, MINUTE, 20 * MINUTE))
        if ms is None:
            return {}
        return {"until": self._at(ms)}

    def pause(self, rng: random.Random) -> str:
        job, until = self._job(rng), self._until(rng)
        return "nothing there" if job is None else self._ask(
            f"pause {job[1]} {until}", "POST", f"/v1/jobs/{job[0]}/pause", until
        )  # fmt: skip

    def resume(self, rng: random.Random) -> str:
        job, catch_up = self._job(rng, paused_first=True), rng.random() < 0.5
        return "nothing there" if job is None else self._ask(
            f"resume {job[1]}{' and catch up' * catch_up}", "POST", f"/v1/jobs/{job[0]}/resume", {"catch_up": catch_up}
        )  # fmt: skip

    def pause_queue(self, rng: random.Random) -> str:
        name, until = rng.choice((*_QUEUES, "")), self._until(rng)
        path = f"/v1/queues/{name}/pause" if name else "/v1/daemon/pause"
        return self._ask(f"pause {name or 'the daemon'} {until}", "POST", path, until)

    def resume_queue(self, rng: random.Random) -> str:
        paused = [row[0] for row in self.world.look.execute("SELECT name FROM queues WHERE paused = 1 ORDER BY name")]
        name, catch_up = self._one(rng, paused), rng.random() < 0.5
        if name is None:
            return "nothing there"
        path = f"/v1/queues/{name}/resume" if name else "/v1/daemon/resume"
        return self._ask(f"resume {name or 'the daemon'}", "POST", path, {"catch_up": catch_up})

    def set_queue(self, rng: random.Random) -> str:
        name, most = rng.choice(_QUEUES), rng.choice((1, 2, None))
        return self._ask(f"set queue {name} to {most}", "PUT", f"/v1/queues/{name}", {"concurrency": most})

    # ── runs ──────────────────────────────────────────────
    def run(self, rng: random.Random) -> str:
        job, key = self._job(rng), rng.choice((None, None, "k1", "k2", "k3"))
        later = rng.random() < 0.2
        if job is None:
            return "nothing there"
        body = {"run_at": self._at(2 * MINUTE)} if later else {}
        return self._ask(f"run {job[1]} {key or ''}", "POST", f"/v1/jobs/{job[0]}/runs", body, key)

    def command(self, rng: random.Random) -> str:
        draft: dict[str, Any] = {"target": {"shell": rng.choice(_SHELLS)}}
        if rng.random() < 0.5:
            draft["retry"] = {"max": rng.choice((0, 1)), "backoff": rng.choice((1, 60)), "lost": rng.choice((0, 2))}
        if rng.random() < 0.5:
            draft["on_failure"] = rng.choice(("dead", "record"))
        draft["queue"] = rng.choice(_QUEUES)
        return self._ask(
            f"run -- {draft['target']['shell']}", "POST", "/v1/runs", draft, rng.choice((None, "k1", "k2"))
        )

    def crowd(self, rng: random.Random) -> str:
        """Several at once: they are folded into one commit."""
        doings = [
            rng.choice((self.run, self.run, self.command, self.pause, self.stop)) for _ in range(rng.randint(3, 6))
        ]
        return " · ".join(does(rng) for does in doings)

    def stop(self, rng: random.Random) -> str:
        runs = self.world.look.execute(_RUNS).fetchall()
        active = [run for run in runs if run[1] in ("scheduled", "ready", "running")] or runs
        run, how = self._one(rng, active), rng.choice(("cancel", "cancel", "kill"))
        return "nothing there" if run is None else self._ask(f"{how} {run[0]}", "POST", f"/v1/runs/{run[0]}/{how}")

    def retry(self, rng: random.Random) -> str:
        run, key = self._one(rng, self.world.look.execute(_RUNS).fetchall()), rng.choice((None, "k1", "k2"))
        return "nothing there" if run is None else self._ask(
            f"retry {run[0]}", "POST", f"/v1/runs/{run[0]}/retry", None, key
        )  # fmt: skip

    def _meant(self, rng: random.Random, run: Any) -> dict[str, Any]:
        how = rng.choice(("one", "one", "alike", "all", "of its job"))
        if how == "one":
            return {"ids": [run[0]]}
        if how == "alike":
            return {"fingerprint": run[2]}
        return {"all": True} if how == "all" else {"job": str(run[1])}

    def replay(self, rng: random.Random) -> str:
        run, key = self._one(rng, self.world.look.execute(_DEAD).fetchall()), rng.choice((None, "k1", "k2"))
        pace, in_turn, current = rng.choice((None, 60)), rng.random() < 0.3, rng.random() < 0.3
        if run is None:
            return "nothing there"
        draft = {**self._meant(rng, run), "stop_on_failure": in_turn, "current": current, "force": rng.random() < 0.5}
        if pace is not None:
            draft["pace"] = pace
        return self._ask(f"replay {draft}", "POST", "/v1/dead/replay", draft, key)

    def discard(self, rng: random.Random) -> str:
        run = self._one(rng, self.world.look.execute(_DEAD).fetchall())
        if run is None:
            return "nothing there"
        draft = self._meant(rng, run)
        return self._ask(f"discard {draft}", "POST", "/v1/dead/discard", draft)

    def again(self, rng: random.Random) -> str:
        """A request that was sent before, most likely one whose answer did not come."""
        with_keys = [asked for asked in self.world.asked if asked.key is not None]
        broken = [asked for asked in with_keys if asked.broken]
        asked: Asked | None = self._one(rng, broken if broken and rng.random() < 0.7 else with_keys)
        if asked is None:
            return "nothing there"
        words, *rest = asked.again
        self.world.ask(f"again: {words}".replace("again: again:", "again:"), *rest)
        return f"again: {words}"

    # ── commands ──────────────────────────────────────────────
    def command_is_killed(self, rng: random.Random) -> str:
        """By somebody else."""
        command = self._one(rng, list(self.world.living.values()))
        if command is None:
            return "nothing there"
        command.ends_boot_ms, command.facts = self.world.clock.boot_ms(), {"signal": 9}
        return f"{command.id} is killed"

    def nothing(self, rng: random.Random) -> str:
        return "time passes"

    # ── daemons ──────────────────────────────────────────────
    def daemon_starts(self, rng: random.Random) -> str:
        if self.world.daemon is not None:
            return "nothing there"
        return f"daemon {self.world.start_daemon().number} starts"

    def daemon_is_killed(self, rng: random.Random) -> str:
        process = self._process(rng)
        if process is None:
            return "nothing there"
        self.world.count("daemons killed")
        self.world.kill_daemon(process)
        return f"daemon {process.number} is killed"

    def daemon_is_told_to_end(self, rng: random.Random) -> str:
        process = self._process(rng, stopped=False)
        if process is None:
            return "nothing there"
        self.world.count("daemons ended")
        self.world.terminate(process)
        return f"daemon {process.number} is told to end"

    def daemon_is_stopped(self, rng: random.Random) -> str:
        process = self._process(rng, stopped=False)
        if process is None:
            return "nothing there"
        self.world.count("daemons stopped")
        process.stopped = True
        return f"daemon {process.number} is stopped"

    def stopped_goes_on(self, rng: random.Random) -> str:
        process = self._process(rng, stopped=True)
        if process is None:
            return "nothing there"
        process.stopped = False
        return f"daemon {process.number} goes on"

    def daemon_is_overtaken(self, rng: random.Random) -> str:
        """It is stopped, its lock is gone with its filesystem, and another one begins; later it may go on."""
        process = self.world.daemon
        if process is None or len(self.world.processes) > 1:
            return "nothing there"
        self.world.count("daemons overtaken")
        process.stopped = True
        return f"daemon {process.number} is stopped, and daemon {self.world.start_daemon().number} takes over"

    def somebody_is_overtaken(self, rng: random.Random) -> str:
        """A service, or a request, waits behind a call of the store, and meanwhile others do something; then it goes
        on, or its daemon dies there."""
        world, name, dies = self.world, rng.choice([*_HELD, "due", "due", "pending"]), rng.random() < 0.2
        meddling = _WITH_CURSORS if name in ("due", "resumable") else _MEDDLING
        doings = [rng.choice(meddling) for _ in range(rng.randint(1, 3))]
        world.hold = name
        begins = getattr(self, _HELD[name])(rng)
        for _ in range(4):
            world.rest()
            wait_ms = world.wait_ms()
            if world.holds_somebody or wait_ms is None or wait_ms > HOUR:
                break
            world.tick(wait_ms)
        if not world.holds_somebody:
            world.hold = None
            return "nothing there"
        world.count("services overtaken")
        words = [begins]
        for does in doings:
            words.append(getattr(self, does)(rng))
            world.rest()
        if dies and world.daemon is not None:
            words.append("the daemon is killed")
            world.kill_daemon(world.daemon)
        world.let_go()
        return f"behind {name}: {' · '.join(words)}"

    # ── runners ──────────────────────────────────────────────
    def _runner(self, rng: random.Random, *, stopped: bool | None = None) -> Any:
        return self._one(rng, [one for one in self.world.runners.values() if stopped in (None, one.stopped)])

    def runner_is_killed(self, rng: random.Random) -> str:
        runner = self._runner(rng)
        if runner is None:
            return "nothing there"
        self.world.count("runners killed")
        self.world.kill_runner(runner)
        return f"the runner {runner.instance} is killed"

    def runner_is_stopped(self, rng: random.Random) -> str:
        runner = self._runner(rng, stopped=False)
        if runner is None:
            return "nothing there"
        self.world.count("runners stopped")
        runner.stopped = True
        return f"the runner {runner.instance} is stopped"

    def runner_goes_on(self, rng: random.Random) -> str:
        runner = self._runner(rng, stopped=True)
        if runner is None:
            return "nothing there"
        runner.stopped = False
        return f"the runner {runner.instance} goes on"

    def runner_hangs_up(self, rng: random.Random) -> str:
        runner = self._runner(rng)
        if runner is None:
            return "nothing there"
        self.world.count("connections cut")
        self.world.cut(runner)
        return f"the runner {runner.instance} hangs up"

    def result_comes_again(self, rng: random.Random) -> str:
        """The same once more; or one that cannot be: of an attempt that is settled with another word, or of nobody."""
        world, runner, how = self.world, self._runner(rng), rng.choice(("same", "same", "other", "nobody"))
        held = {name for one in world.runners.values() for name in one.attempts}
        results = [one for one in world.results if how == "same" or one["id"] not in held]
        late = [one for one in world.results if world.is_of_an_earlier_attempt(one["id"])]
        result = self._one(rng, late or results)
        if result in late:
            how = "other"
        if runner is None or result is None:
            return "nothing there"
        if how == "other":
            result = {**result, "exit_code": 0, "signal": None, "cause": None}
        if how == "nobody":
            result = {**result, "id": "999999-1"}
        world.count("results again")
        runner.says_again(result)
        return f"the result of {result['id']} comes again ({how})"

    def starts_are_refused(self, rng: random.Random) -> str:
        errors = [rng.choice(("EAGAIN", "EAGAIN", "EMFILE", "ENOENT")) for _ in range(rng.randint(1, 4))]
        self.world.refusals = errors
        return f"the next starts fail: {', '.join(errors)}"

    def runners_cannot_start(self, rng: random.Random) -> str:
        self.world.no_runner = not self.world.no_runner
        self.world.count("runners refused", self.world.no_runner)
        return f"runners {'cannot' if self.world.no_runner else 'can'} be started"

    # ── disk ──────────────────────────────────────────────
    def write_fails(self, rng: random.Random) -> str:
        kind = rng.choice(_TRAPS)
        after = rng.choice((0, 0, 1, 2, 5, 9)) if kind in ("full", "broken") else rng.choice((0, 0, 0, 1))
        self.world.disk.trap = (kind, after)
        return f"a write is going to fail ({kind}, after {after})"

    def read_fails(self, rng: random.Random) -> str:
        self.world.disk.read_trap = rng.choice((0, 1, 3, 8))
        return f"a read is going to fail (after {self.world.disk.read_trap})"

    def answer_is_lost(self, rng: random.Random) -> str:
        self.world.unanswered = rng.choice((0, 0, 1, 2, 3, 5))
        return f"an answer of the store is going to be lost (after {self.world.unanswered})"

    def disk_fills(self, rng: random.Random) -> str:
        if self.world.disk.full:
            return "nothing there"
        self.world.count("disks full")
        self.world.disk.full = True
        return "the disk is full"

    def disk_has_room(self, rng: random.Random) -> str:
        if not self.world.disk.full:
            return "nothing there"
        self.world.disk.full = False
        return "the disk has room"

    # ── the machine ──────────────────────────────────────────────
    def clock_is_set(self, rng: random.Random) -> str:
        ms = rng.choice((-30 * SECOND, -5 * MINUTE, -HOUR, -2 * HOUR, -5 * HOUR, 5 * MINUTE, HOUR, 26 * HOUR))
        self.world.count("clock set back" if ms < 0 else "clock set forward")
        self.world.set_clock(ms)
        return f"the clock is set by {ms // SECOND} s"

    def machine_sleeps(self, rng: random.Random) -> str:
        ms = rng.choice((5 * MINUTE, HOUR, 9 * HOUR))
        self.world.count("suspended")
        self.world.suspend(ms)
        return f"the machine sleeps for {ms // SECOND} s"

    def machine_restarts(self, rng: random.Random) -> str:
        kept = rng.random() < 0.3
        self.world.count("reboots")
        self.world.reboot(rng.choice((10 * SECOND, 10 * MINUTE, 5 * HOUR)), records_kept=kept)
        return f"the machine is started anew{', and has kept the records' * kept}"

    def program_is_upgraded(self, rng: random.Random) -> str:
        process = self.world.daemon
        if process is None or len(self.world.processes) > 1 or self.world.builds > 3:
            return "nothing there"
        self.world.count("upgrades")
        self.world.kill_daemon(process)
        self.world.builds += 1
        return f"daemon {process.number} makes room for build {self.world.builds}: {self.world.start_daemon().number}"


#: Each act, and how often it is drawn.
WEIGHTS: Final[dict[str, int]] = {
    "add": 9, "edit": 5, "remove": 1, "leave_out": 2, "pause": 3, "resume": 5, "pause_queue": 1, "resume_queue": 3,
    "set_queue": 2, "run": 8, "command": 4, "crowd": 6, "stop": 4, "retry": 4, "replay": 4, "discard": 1, "again": 3,
    "command_is_killed": 2, "nothing": 12,
    "daemon_starts": 8, "daemon_is_killed": 6, "daemon_is_told_to_end": 2, "daemon_is_stopped": 2,
    "stopped_goes_on": 5, "daemon_is_overtaken": 1, "somebody_is_overtaken": 9,
    "runner_is_killed": 4, "runner_is_stopped": 2, "runner_goes_on": 4, "runner_hangs_up": 2, "result_comes_again": 4,
    "starts_are_refused": 2, "runners_cannot_start": 1,
    "write_fails": 8, "read_fails": 2, "answer_is_lost": 4, "disk_fills": 2, "disk_has_room": 4,
    "clock_is_set": 1, "machine_sleeps": 1, "machine_restarts": 1, "program_is_upgraded": 1,
}  # fmt: skip
#: Those that are faults: every history has some of them.
FAULTS: Final = tuple(WEIGHTS)[list(WEIGHTS).index("daemon_is_killed") :]
