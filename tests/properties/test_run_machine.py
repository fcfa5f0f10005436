"""The life of runs, in any order of events: the real store and services against a model that knows nothing of them.

People add, edit, pause, replay and cancel, runners and daemons die, results come twice or late, services stop half-way
through a pass, and time goes on. After every step the tables are what the model says and the invariants hold; in the
end faults stop, and every run must end.

JOBCTL_LONG=1 goes on for ten minutes, JOBCTL_LONG=N for N seconds.
"""

import contextlib
import functools
import itertools
import os
import time
from collections.abc import Callable, Iterator
from typing import Any, Final

import msgspec
import pytest
import structlog
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from jobctl.model import Execution, JobSpec, Policies, ScheduleSpec
from jobctl.states import ENDED, After, Misfire, OnFailure, Overlap, RunState
from jobctl_daemon.rows import Caller, DeadFilter
from jobctl_daemon.store.sqlite import dead
from kit.laws import Laws
from kit.machine import CALLS, SERVICES, Effort, Host
from kit.model import ACTIVE, Job, Run
from kit.people import ADA, BOB, ROOT, People, Write, changed, some

T0: Final = 1_800_057_600_000
SECOND, MINUTE, HOUR = 1_000, 60_000, 3_600_000
#: So few dead letters are kept of a job that a test has too many.
KEPT: Final = 4
QUEUES: Final = ("default", "slow", "fast")

# ── what is drawn ──────────────────────────────────────────────
pick = st.integers(0, 12)
callers = st.sampled_from(["owner", "owner", "root", "other"])
owners = st.sampled_from([ADA, BOB])
keys = st.sampled_from([None, None, "k1", "k2"])
mostly = st.sampled_from([True, True, True, False])
seldom = st.sampled_from([False, False, True])
overtaken = st.sampled_from([*sorted(CALLS), "due", "due", "resumable", "pending", "pending", "claim", "efforts"])
meddling = st.sampled_from(
    ["pause", "pause its queue", "resume", "remove", "edit", "edit the command", "leave out", "run", "stop"]
)
spans = st.sampled_from([1, 1, SECOND, 10 * SECOND, MINUTE, 10 * MINUTE, HOUR])
lengths = st.sampled_from([MINUTE, 20 * MINUTE, MINUTE, None])
moods = st.sampled_from([{}, {"retries": 1, "lost_retries": 1}, {"on_failure": OnFailure.RECORD, "retries": 1}, {}])
plans = st.sampled_from(
    [
        {},
        {"every_ms": 10 * MINUTE},
        {"every_ms": 7 * MINUTE},
        {"cron": "*/15 * * * *"},
        {"at_ms": 20 * MINUTE},
        {"on_start": True},
        *({"after": on} for on in After),
    ]
)
rules_of = {
    "overlap": st.sampled_from(list(Overlap)),
    "limit": st.sampled_from([None, 1, 2]),
    "overlap_queue": st.sampled_from([1, 0, 2]),
    "misfire": st.sampled_from(list(Misfire)),
    "misfire_within_ms": st.sampled_from([24 * HOUR, 10 * MINUTE]),
    "retries": st.sampled_from([0, 1, 2]),
    "lost_retries": st.sampled_from([0, 1, 2]),
    "backoff_ms": st.sampled_from([10 * SECOND, HOUR]),
    "on_lost": st.sampled_from(["retry", "dead", "ask:check"]),
    "on_failure": st.sampled_from([OnFailure.DEAD, OnFailure.RECORD]),
    "no_retry_on": st.sampled_from([[], ["3"], ["timed_out"]]),
}
places_of = {"queue": st.sampled_from(QUEUES), "priority": st.sampled_from([0, -5, 5])}
shapes = st.fixed_dictionaries({"plan": plans}, optional={**rules_of, **places_of, "after": pick})
changes = st.fixed_dictionaries(
    {},
    optional={
        **rules_of,
        **places_of,
        "plan": plans,
        "after": pick,
        "name": st.sampled_from("abcde"),
        "shell": st.just("other"),
    },
)
ends = st.sampled_from(
    [
        {"exit_code": 0},
        *[{"exit_code": 1}] * 4,
        {"exit_code": 3},
        {"exit_code": 64},
        {"signal": 9},
        {"signal": 9, "oom": True},
        {"cause": "timed_out", "signal": 15},
        {"cause": "lost"},
        {"cause": "log_failed", "signal": 9},
        {"cause": "spawn_error", "errno": "ENOENT"},
        {"cause": "spawn_error", "errno": "EAGAIN", "transient": True},
    ]
)
lines = st.sampled_from([b"", b"no space left on device\n", b"worker 17 gave up\n"])


class _NothingThere(Exception):
    """What a rule was meant for has gone in the time before it."""


def act(**drawn: Any) -> Callable[[Callable[..., None]], Any]:
    """A rule before which time passes, so that no two things happen at one instant; mostly the services keep up."""

    def made(does: Callable[..., None]) -> Any:
        @functools.wraps(does)
        def step(self: "RunMachine", after_ms: int, served: bool, **values: Any) -> None:
            self.sound = False
            self.host.clock.tick(after_ms)
            if served:
                self.serve_all()
            with contextlib.suppress(_NothingThere):
                does(self, **values)

        return rule(**{"after_ms": spans, "served": mostly} | drawn)(step)

    return made


class RunMachine(RuleBasedStateMachine):
    """What people, commands, runners, daemons and time do."""

    host: Host
    laws: Laws
    people: People
    sound = False
    """The last step was looked at, and nothing was wrong."""

    @initialize(slots=st.sampled_from([2, 1, 4]), mood=moods, jobs=st.lists(shapes, min_size=1, max_size=3))
    def begin(self, slots: int, mood: dict[str, Any], jobs: list[dict[str, Any]]) -> None:
        """`mood`: the policies of a job that says nothing else."""
        self.host = Host(slots, KEPT, T0)
        self.laws = Laws(self.host)
        self.people = People(self.host)
        self.results: list[dict[str, Any]] = []
        self.mood = {"on_failure": OnFailure.DEAD, **mood}
        for shape in jobs:
            self.people.add(ADA, self.spec(shape))

    @invariant()
    def holds(self) -> None:
        self.laws.check()
        self.sound = True

    def teardown(self) -> None:
        if not hasattr(self, "host"):
            return
        try:
            if self.sound:
                self.drain()
        finally:
            self.host.close()

    # ── time, services, daemons ──────────────────────────────────────────────
    @act(name=st.sampled_from(SERVICES))
    def a_service_makes_a_pass(self, name: str) -> None:
        self.host.serve(name)

    @act(behind=st.sampled_from(sorted(CALLS)), served=st.just(False))
    def a_service_stops_half_way(self, behind: str) -> None:
        """Behind a call of the store; it goes on when it is woken, or its daemon dies before that."""
        self.host.serve(CALLS[behind], behind)

    @act(rounds=st.lists(st.tuples(st.lists(ends, min_size=1, max_size=3), lines), min_size=1, max_size=3))
    def everything_goes_on(self, rounds: list[tuple[list[dict[str, Any]], bytes]]) -> None:
        """What is woken is served, and every command ends, in each round in a few ways."""
        for kinds, line in rounds:
            self.serve_all()
            for effort, facts in zip(self.efforts(), itertools.cycle(kinds), strict=False):
                self.end(effort, facts, line, heeds=True)

    @act(clean=st.booleans(), boot=st.sampled_from([False, False, True]))
    def the_daemon_is_restarted(self, clean: bool, boot: bool) -> None:
        self.host.restart(clean=clean, boot=boot)

    @act(started=st.booleans())
    def the_runner_dies(self, started: bool) -> None:
        self.host.happens(self.host.runner.dies, started=started)

    # ── commands ──────────────────────────────────────────────
    @precondition(lambda self: self.efforts())
    @act(number=pick)
    def a_command_begins(self, number: int) -> None:
        effort = self.one(self.efforts(), number)
        if effort.state == "starting":
            self.host.happens(self.host.runner.begins, effort)

    @precondition(lambda self: self.efforts())
    @act(number=pick, facts=ends, line=lines, heeds=st.booleans())
    def a_command_ends(self, number: int, facts: dict[str, Any], line: bytes, heeds: bool) -> None:
        self.end(self.one(self.efforts(), number), facts, line, heeds=heeds)

    @precondition(lambda self: self.efforts())
    @act(number=pick)
    def a_start_is_refused(self, number: int) -> None:
        effort = self.one(self.efforts(), number)
        if effort.state == "starting":
            self.host.happens(self.host.runner.refuses, effort)

    @precondition(lambda self: self.results)
    @act(number=pick, how=st.sampled_from(["as before", "as a success", "of nobody"]))
    def a_result_comes_again(self, number: int, how: str) -> None:
        """Late, under an old fence, with another word than the first time, or of a run that never was."""
        result = self.one(self.results, number)
        if how != "as before":
            result = {**result, "exit_code": 0, "cause": None}
        if how == "of nobody":
            result["id"] = "999999-1"
        self.host.happens(self.host.runner.tells_again, result)

    # ── definitions ──────────────────────────────────────────────
    @precondition(lambda self: len(self.jobs()) < 7)
    @act(shape=shapes, owner=owners, paused=seldom, key=keys)
    def a_job_is_added(self, shape: dict[str, Any], owner: Caller, paused: bool, key: str | None) -> None:
        self.people.add(owner, self.spec(shape, paused=paused), key)

    @precondition(lambda self: self.jobs())
    @act(number=pick, who=callers, change=changes)
    def a_job_is_edited(self, number: int, who: str, change: dict[str, Any]) -> None:
        self.edit(self.one(self.jobs(), number), who, change)()

    @precondition(lambda self: self.jobs())
    @act(number=pick, who=callers, count=st.integers(1, 3))
    def occurrences_are_left_out(self, number: int, who: str, count: int) -> None:
        self.people.leave_out(self.one(self.jobs(), number), who, count)()

    @precondition(lambda self: any(job.skip_until for job in self.jobs()))
    @act(number=pick, who=callers)
    def nothing_is_left_out_any_more(self, number: int, who: str) -> None:
        left_out = [job for job in self.jobs() if job.skip_until]
        self.people.leave_out_no_more(self.one(left_out, number), who)()

    @precondition(lambda self: self.jobs())
    @act(number=pick, who=callers)
    def a_job_is_removed(self, number: int, who: str) -> None:
        self.people.remove(self.one(self.jobs(), number), who)

    # ── pauses and queues ──────────────────────────────────────────────
    @precondition(lambda self: self.jobs())
    @act(number=pick, who=callers, length=lengths)
    def a_job_is_paused(self, number: int, who: str, length: int | None) -> None:
        self.people.pause(self.one(self.jobs(), number), who, self.until(length))

    @precondition(lambda self: self.jobs())
    @act(number=pick, who=callers, catch_up=st.booleans(), aims=st.booleans())
    def a_job_is_resumed(self, number: int, who: str, catch_up: bool, aims: bool) -> None:
        """It is aimed at once, or by the due scan."""
        job = self.one(sorted(self.jobs(), key=lambda job: not job.paused), number)
        aim = self.people.resume(job, who, catch_up=catch_up)
        if aims:
            aim()

    @act(name=st.sampled_from(["", *QUEUES]), length=lengths)
    def a_queue_is_paused(self, name: str, length: int | None) -> None:
        self.people.pause_queue(name, self.until(length))

    @precondition(lambda self: any(queue.paused for queue in self.host.model.queues.values()))
    @act(number=pick, catch_up=st.booleans())
    def a_queue_is_resumed(self, number: int, catch_up: bool) -> None:
        paused = sorted(name for name, queue in self.host.model.queues.items() if queue.paused)
        self.people.resume_queue(self.one(paused, number), catch_up=catch_up)

    @act(name=st.sampled_from(QUEUES), concurrency=st.sampled_from([1, 2, None]))
    def a_queue_is_set(self, name: str, concurrency: int | None) -> None:
        self.people.set_queue(name, concurrency)

    # ── runs ──────────────────────────────────────────────
    @precondition(lambda self: self.jobs())
    @act(number=pick, who=callers, key=keys, delay=st.sampled_from([0, 0, MINUTE]))
    def a_run_is_asked_for(self, number: int, who: str, key: str | None, delay: int) -> None:
        self.people.run(self.one(self.jobs(), number), who, key, delay)

    @act(shape=shapes, owner=owners, delay=st.sampled_from([0, MINUTE]))
    def a_command_is_run(self, shape: dict[str, Any], owner: Caller, delay: int) -> None:
        self.people.run_command(owner, self.command(shape), delay)

    @act(count=st.integers(2, 5), owner=owners, line=lines)
    def commands_fail(self, count: int, owner: Caller, line: bytes) -> None:
        """Several at once, and alike."""
        for _ in range(count):
            self.people.run_command(owner, self.command({"retries": 0, "on_failure": OnFailure.DEAD}))
        self.serve_all()
        for effort in self.efforts():
            self.end(effort, {"exit_code": 1}, line, heeds=True)

    @precondition(lambda self: self.runs())
    @act(number=pick, who=callers, how=st.sampled_from(["cancel", "kill"]))
    def a_run_is_stopped(self, number: int, who: str, how: str) -> None:
        self.people.stop(self.one(self.runs(), number), who, how)

    @precondition(lambda self: self.runs())
    @act(number=pick, who=callers, key=keys)
    def a_run_is_retried(self, number: int, who: str, key: str | None) -> None:
        retries_first = sorted(self.runs(), key=lambda run: (run.state not in ACTIVE, run.attempt == 0))
        self.people.retry(self.one(retries_first, number), who, key)

    @precondition(lambda self: self.people.asked)
    @act(number=pick)
    def a_request_is_sent_again(self, number: int) -> None:
        self.people.ask(*self.one(self.people.asked, number))

    # ── dead letters ──────────────────────────────────────────────
    @precondition(lambda self: self.runs(RunState.DEAD))
    @act(
        number=pick,
        what=st.sampled_from(["one", "all", "those of a job", "those that failed alike", "some", "some"]),
        who=callers,
        pace=st.sampled_from([0, 5 * MINUTE]),
        stop=st.booleans(),
        current=st.booleans(),
        force=st.booleans(),
        key=keys,
    )
    def dead_letters_are_replayed(
        self, number: int, what: str, who: str, pace: int, stop: bool, current: bool, force: bool, key: str | None
    ) -> None:
        run = self.one(self.runs(RunState.DEAD), number)
        how = {"pace_ms": pace, "stop_on_failure": stop, "current": current, "force": force}
        self.people.replay(run, who, self.meant(run, what), key, **how)

    @precondition(lambda self: self.runs(RunState.DEAD))
    @act(number=pick, what=st.sampled_from(["one", "those of a job"]), who=callers)
    def dead_letters_are_discarded(self, number: int, what: str, who: str) -> None:
        run = self.one(self.runs(RunState.DEAD), number)
        self.people.discard(run, who, self.meant(run, what))

    # ── one thing in the middle of another ──────────────────────────────────────────────
    @act(behind=overtaken, what=meddling, number=pick, dies=seldom, served=st.just(False))
    def a_service_is_overtaken(self, behind: str, what: str, number: int, dies: bool) -> None:
        """When it has something to do it stops behind a call of the store, and somebody does something to what it is
        about; then it goes on, or its daemon dies."""
        self.host.finish_steps()
        self.give_it_something_to_do(behind)
        concerned = self.concerned(behind)
        self.host.serve(CALLS[behind], behind)
        self.meddle(what, self.one(concerned, number))
        self.laws.check()
        if dies:
            self.host.restart()
        else:
            self.host.serve(CALLS[behind])

    @precondition(lambda self: self.jobs())
    @act(
        decides=st.sampled_from(["edit", "leave out", "leave out no more", "resume"]),
        change=changes,
        what=st.sampled_from(["becomes due", "edit", "leave out", "pause", "remove"]),
        number=pick,
    )
    def a_decision_is_overtaken(self, decides: str, change: dict[str, Any], what: str, number: int) -> None:
        """Between somebody's look and the write the job becomes due, or somebody else does something to it."""
        job = self.one(sorted(self.jobs(), key=lambda job: (job.next is None, not job.paused)), number)
        match decides:
            case "edit":
                write = self.edit(job, "owner", change)
            case "leave out":
                write = self.people.leave_out(job, "owner", 2)
            case "leave out no more":
                write = self.people.leave_out_no_more(job, "owner")
            case _:
                write = self.people.resume(job, "owner", catch_up=True)
        if what == "becomes due":
            self.until_something_is_due(job.next)
            self.serve_all()
        else:
            self.meddle(what, job)
        self.laws.check()
        write()

    def meddle(self, what: str, job: Job) -> None:
        people = self.people
        match what:
            case "pause":
                people.pause(job, "owner")
            case "pause its queue":
                people.pause_queue(job.queue, self.until(MINUTE))
            case "resume":
                people.resume(job, "owner", catch_up=False)()
            case "remove":
                people.remove(job, "owner")
            case "edit":
                self.edit(job, "owner", {"plan": {"every_ms": 7 * MINUTE}, "limit": 1})()
            case "edit the command":
                self.edit(job, "owner", {"shell": "other", "overlap": Overlap.ALLOW})()
            case "leave out":
                people.leave_out(job, "owner", 1)()
            case "run":
                people.run(job, "owner")
            case "stop":
                for run in [run for run in self.runs() if run.job == job.id and run.state in ACTIVE]:
                    people.stop(run, "owner", "cancel")

    def give_it_something_to_do(self, behind: str) -> None:
        match CALLS[behind]:
            case "materialise":
                self.until_something_is_due()
            case "dispatch":
                self.until_something_is_due()
                self.host.serve("materialise")
            case "collect":
                for effort in self.efforts():
                    self.end(effort, {"exit_code": 1}, b"", heeds=True)
            case "rescue":
                self.host.happens(self.host.runner.dies, started=False)

    def concerned(self, behind: str) -> list[Job]:
        """The jobs that the service is going to do something about, or else any."""
        now_ms, model = self.host.clock.now_ms(), self.host.model
        match CALLS[behind]:
            case "materialise":
                found = [job for job in self.jobs() if job.resuming or (job.next is not None and job.next <= now_ms)]
            case "dispatch":
                runs = self.runs(RunState.SCHEDULED, RunState.READY)
                found = [model.jobs[run.job] for run in runs if run.due <= now_ms]
            case _:
                found = [model.jobs[run.job] for run in self.runs(RunState.RUNNING)]
        return [job for job in found if not job.deleted] or self.jobs()

    def until_something_is_due(self, at_ms: int | None = None) -> None:
        next_ms = self.host.model.next_wake(self.host.clock.now_ms()) if at_ms is None else at_ms
        if next_ms is not None:
            self.host.clock.tick(max(0, next_ms - self.host.clock.now_ms()))

    # ── the end ──────────────────────────────────────────────
    def drain(self) -> None:
        """Faults stop, nothing is paused any more: every run ends, by what wakes the services alone (I7)."""
        host, now_ms = self.host, self.host.clock.now_ms()
        host.finish_steps()
        for name in [name for name, queue in host.model.queues.items() if queue.paused]:
            host.call("resume_queue", name, False, now_ms)
        for job in [job for job in host.model.jobs.values() if job.paused and not job.deleted]:  # the hidden ones too
            host.call("resume_job", ROOT, job.id, False, now_ms)
        for _ in range(300):
            self.serve_all()
            for effort in self.efforts():
                self.end(effort, {"exit_code": 0}, b"", heeds=True)
            if host.wanted():
                continue
            self.laws.check()
            active = [run for run in host.model.runs.values() if run.state in ACTIVE]
            if not active:
                break
            next_ms = host.next_ms()
            assert next_ms is not None, f"nobody will ever look at {active}"
            host.clock.tick(max(1, next_ms - host.clock.now_ms()))
        else:
            raise AssertionError(f"these do not end: {active}")
        assert not host.runner.efforts
        assert not host.pool.flights
        counts = host.call("counts", None, host.clock.now_ms())
        assert (counts.scheduled, counts.ready, counts.running) == (0, 0, 0)
        assert counts.dead == len(self.runs(RunState.DEAD))

    # ── helpers ──────────────────────────────────────────────
    def serve_all(self) -> None:
        for _ in range(200):
            wanted = self.host.wanted()
            if not wanted:
                return
            for name in wanted:
                self.host.serve(name)
        raise AssertionError(f"{wanted} never come to rest")

    def end(self, effort: Effort, facts: dict[str, Any], line: bytes, *, heeds: bool) -> None:
        """One that is told to stop heeds it, or ends by itself first."""
        if effort.stop is not None and heeds:
            facts = {"cause": effort.stop, "signal": 15}
        elif effort.state == "starting" and facts.get("cause") != "spawn_error":
            self.host.happens(self.host.runner.begins, effort)
        elif effort.state == "running" and facts.get("cause") == "spawn_error":
            facts = {"exit_code": 127}
        self.host.happens(self.host.runner.ends, effort, line, **facts)
        assert effort.result is not None
        self.results.append(effort.result)

    def efforts(self) -> list[Effort]:
        return [effort for effort in self.host.runner.efforts.values() if effort.alive]

    def jobs(self) -> list[Job]:
        return [job for job in self.host.model.jobs.values() if not (job.deleted or job.hidden)]

    def runs(self, *states: RunState) -> list[Run]:
        """Those that live first, the newest before the others."""
        runs = [run for run in self.host.model.runs.values() if not states or run.state in states]
        return sorted(runs, key=lambda run: (run.state in ENDED, -run.id))

    def one(self, things: list[Any], number: int) -> Any:
        if not things:
            raise _NothingThere
        return things[number % len(things)]

    def until(self, length: int | None) -> int | None:
        return None if length is None else self.host.clock.now_ms() + length

    def meant(self, run: Run, what: str) -> DeadFilter:
        if what == "one":
            return DeadFilter(ids=(run.id,))
        if what == "some":
            return DeadFilter(ids=tuple(other.id for other in self.runs() if other.id % 2 == run.id % 2))
        if what == "those of a job":
            return DeadFilter(job_id=run.job)
        return DeadFilter(fingerprint=run.fingerprint if what == "those that failed alike" else None, limit=1000)

    # ── definitions that are drawn ──────────────────────────────────────────────
    def spec(self, shape: dict[str, Any], **facts: Any) -> JobSpec:
        return JobSpec(
            name="abcdefgh"[len(self.host.model.jobs) % 8],
            schedule=self.schedule(shape.get("plan", {}), shape.get("after", 0)),
            execution=Execution(shell="true"),
            policies=Policies(**self.mood | some(rules_of, shape)),
            **some(places_of, shape),
            **facts,
        )

    def command(self, shape: dict[str, Any]) -> JobSpec:
        return self.spec({**shape, "plan": {}, "overlap": Overlap.ALLOW, "limit": None}, hidden=True)

    def schedule(self, plan: dict[str, Any], after: int, but: int | None = None) -> ScheduleSpec:
        now_ms, plan = self.host.clock.now_ms(), dict(plan)
        if "at_ms" in plan:
            plan["at_ms"] += now_ms
        if "every_ms" in plan:
            plan["anchor_ms"] = now_ms
        if "after" in plan:
            upstream = [job.id for job in self.jobs() if job.id != but]
            on = plan.pop("after")
            plan = {"after_job": self.one(upstream, after), "after_on": on} if upstream else {}
        return ScheduleSpec(timezone="UTC", **plan)

    def edit(self, job: Job, who: str, change: dict[str, Any]) -> Write:
        def changes(old: JobSpec) -> JobSpec:
            new = changed(old, change, rules_of, [*places_of, "name"])
            if "shell" in change:
                new = msgspec.structs.replace(new, execution=Execution(shell=f"echo {job.version}"))
            if "plan" in change:
                schedule = self.schedule(change["plan"], change.get("after", 0), but=job.id)
                new = msgspec.structs.replace(new, schedule=schedule)
            return new

        return self.people.edit(job, who, changes)


#: Rules that are drawn so many times as often as the others.
for _name, _times in {
    "everything_goes_on": 4,
    "a_service_is_overtaken": 6,
    "a_decision_is_overtaken": 4,
    "dead_letters_are_replayed": 3,
}.items():
    for _number in range(1, _times):
        setattr(RunMachine, f"{_name}_{_number}", getattr(RunMachine, _name))


@pytest.fixture
def few_dead_letters(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A job keeps so few that there are too many; and the daemon's log is not part of what is shown."""
    monkeypatch.setattr(dead, "KEPT_MAX", KEPT)
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger("critical"))
    yield
    structlog.reset_defaults()


@pytest.mark.usefixtures("few_dead_letters")
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("examples", [25, pytest.param(80, marks=pytest.mark.long)])
def test_runs_do_what_the_model_says_whatever_happens(examples: int) -> None:
    quiet = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]
    rules = settings(
        deadline=None,
        max_examples=examples,
        stateful_step_count=40,
        print_blob=True,
        report_multiple_bugs=False,
        phases=set(Phase) - {Phase.explain},
        suppress_health_check=quiet,
    )
    long_s = int(os.environ.get("JOBCTL_LONG", "0"))
    if not long_s:
        run_state_machine_as_test(RunMachine, settings=rules)
        return
    until_s = time.monotonic() + (600 if long_s == 1 else long_s)
    while time.monotonic() < until_s:
        run_state_machine_as_test(RunMachine, settings=settings(rules, max_examples=200, stateful_step_count=80))
