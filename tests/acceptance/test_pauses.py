"""Pauses of a job, of a queue and of the daemon, with real commands: what they hold, and that nothing lifts them."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from jobctl.errors import Conflict
from jobctl.reading.times import milliseconds, rfc3339
from kit.daemon import Json, RealDaemon, real_daemon
from kit.gate import Gates
from kit.marks import Marks

EVERY_SECOND = {"every": 1}


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealDaemon]:
    """One for all tests."""
    with real_daemon(tmp_path_factory.mktemp("pauses") / "home") as made:
        yield made


@pytest.fixture
def daemon(shared: RealDaemon) -> Iterator[RealDaemon]:
    daemon = shared.up()
    yield daemon
    daemon.up()
    with contextlib.suppress(Conflict):
        daemon.client.resume_daemon()
    with contextlib.suppress(Conflict):
        daemon.client.resume_queue("night")
    for job in list(daemon.client.jobs()):
        daemon.client.delete_job(job["id"], cancel_runs=True)


@pytest.fixture
def marks(tmp_path: Path) -> Marks:
    return Marks(tmp_path / "marks")


def each_second(daemon: RealDaemon, marks: Marks, name: str, **fields: object) -> Json:
    return daemon.add(name, marks.line(name), schedule=EVERY_SECOND, **fields)


def slots_pass(daemon: RealDaemon, seconds: float) -> None:
    """So many seconds go by in a command that was asked for by hand, which no pause holds."""
    ended = daemon.finished(daemon.run(f"sleep {seconds}"))
    assert ended["state"] == "succeeded"


def ran(marks: Marks) -> dict[str, int]:
    return {name: len(marks.all(name)) for name in ("own", "queued", "other")}


def paused_rows(daemon: RealDaemon, name: str) -> list[Json]:
    return [row for row in daemon.ledger(name) if row["reason"] == "paused"]


@pytest.mark.long
@pytest.mark.case("F064")
def test_what_is_paused_stays_so_over_every_end_of_the_daemon(daemon: RealDaemon, marks: Marks) -> None:
    each_second(daemon, marks, "own")
    each_second(daemon, marks, "queued", queue="night")
    each_second(daemon, marks, "other")
    daemon.until(lambda: min(ran(marks).values()) >= 1)
    daemon.client.pause_job("own", why="the provider is down")
    daemon.client.pause_queue("night", why="backups")
    daemon.client.pause_daemon(why="moving")
    daemon.until(lambda: daemon.client.status()["running"] == 0)
    before = ran(marks)
    daemon.restart()
    slots_pass(daemon, 1.5)
    daemon.stop()
    daemon.start()
    slots_pass(daemon, 1)

    assert ran(marks) == before
    me = daemon.client.status()["user"]
    own, queued, other = (daemon.client.job(name) for name in ("own", "queued", "other"))
    assert [job["state"] for job in (own, queued, other)] == ["paused"] * 3
    assert [job["next_run_at"] for job in (own, queued, other)] == [None] * 3
    assert (own["paused_by"], own["paused_why"]) == (me, "the provider is down")
    assert own["paused_since"] is not None
    assert (queued["suspended_by"], other["suspended_by"]) == ("queue", "daemon")
    night = next(queue for queue in daemon.client.queues() if queue["name"] == "night")
    whole = daemon.client.status()["paused"]
    assert (night["paused"], night["paused_by"], night["paused_why"]) == (True, me, "backups")
    assert (whole["paused_by"], whole["paused_why"]) == (me, "moving")

    by_hand = daemon.finished(daemon.triggered("own"))
    assert (by_hand["state"], by_hand["trigger"]) == ("succeeded", "manual")
    before["own"] += 1

    daemon.client.resume_daemon()
    daemon.until(lambda: len(marks.all("other")) > before["other"])
    assert ran(marks) == before | {"other": len(marks.all("other"))}
    daemon.client.resume_queue("night")
    daemon.client.resume_job("own")
    daemon.until(lambda: all(ran(marks)[name] > before[name] for name in ("own", "queued")))
    for name in ("own", "queued", "other"):
        assert sum(row["count"] for row in paused_rows(daemon, name)) >= 2
        slots = [row["from"] for row in daemon.ledger(name) if row["run_id"] and row["run_id"] != by_hand["id"]]
        assert len(slots) == len(set(slots))


@pytest.mark.case("F064")
def test_a_resumption_with_catch_up_runs_what_the_misfire_policy_says(daemon: RealDaemon, marks: Marks) -> None:
    jobs = {
        misfire: each_second(daemon, marks, misfire, misfire=misfire, overlap="allow", queue="night")
        for misfire in ("all", "once")
    }
    daemon.client.pause_queue("night")
    daemon.restart()
    # Between two slots of both, so that none falls due while they are resumed.
    now_ms = milliseconds(daemon.client.status()["now"])
    phases_ms = [(now_ms - milliseconds(job["created_at"])) % 1000 for job in jobs.values()]
    slots_pass(daemon, (2_500 - min(phases_ms)) / 1000)
    daemon.client.resume_queue("night", catch_up=True)
    resumed_at = daemon.client.status()["now"]
    daemon.until(lambda: all(daemon.ledger(name) for name in jobs))
    rows = {name: list(daemon.client.ledger(name, None, resumed_at)) for name in jobs}
    runs = {name: [row["run_id"] for row in some if row["run_id"]] for name, some in rows.items()}
    missed = {name: [row for row in some if not row["run_id"]] for name, some in rows.items()}

    assert min(sum(row["count"] for row in some) for some in rows.values()) >= 2
    assert {daemon.finished({"id": run_id})["state"] for some in runs.values() for run_id in some} == {"succeeded"}
    assert (missed["all"], len(runs["once"]), len(missed["once"])) == ([], 1, 1)
    assert missed["once"][0]["reason"] == "paused"
    assert "misfire once" in missed["once"][0]["detail"]


def test_a_retry_that_waits_is_held_with_its_gate_and_goes_on_where_it_was(daemon: RealDaemon, marks: Marks) -> None:
    command = f"{marks.line('own')}; test $JOBCTL_ATTEMPT = 2"
    daemon.add("own", command, retry={"backoff": 0.8}, schedule=EVERY_SECOND)
    run = daemon.until(lambda: next((run for run in daemon.runs_of("own") if run["attempt"] == 1), None))
    run = daemon.state(run, "ready", attempt=1)
    daemon.client.pause_job("own")
    held = daemon.client.run(run["id"])
    slots_pass(daemon, 1)
    daemon.restart()
    slots_pass(daemon, 0.2)

    assert (held["state"], held["reason"]) == ("scheduled", "held: its job is paused")
    assert len(marks.all("own")) == 1
    daemon.client.resume_job("own")
    ended = daemon.finished(run)
    assert (ended["state"], ended["attempt"], ended["key"]) == ("succeeded", 2, run["key"])


def test_a_run_that_was_started_before_the_pause_ends_in_its_own_time(
    daemon: RealDaemon, tmp_path: Path, marks: Marks
) -> None:
    gates = Gates(tmp_path / "gates")
    daemon.add("gated", gates.command("gated"), overlap="queue", schedule=EVERY_SECOND)
    first = daemon.until(lambda: next(iter(daemon.runs_of("gated")), None))
    first = daemon.until_says(first, b"begin")
    second = daemon.until(lambda: next(iter(daemon.runs_of("gated")[1:]), None))
    daemon.client.pause_job("gated")
    daemon.restart()
    gates.open("gated")
    assert daemon.finished(first)["state"] == "succeeded"
    slots_pass(daemon, 0.2)
    assert daemon.client.run(second["id"])["state"] == "scheduled"
    assert gates.starts() == ["gated"]


def test_a_pause_ends_at_its_time_also_when_no_daemon_sees_it(daemon: RealDaemon, marks: Marks) -> None:
    each_second(daemon, marks, "own")
    until = rfc3339(milliseconds(daemon.client.status()["now"]) + 1_500)
    daemon.client.pause_job("own", until=until)
    daemon.restart()
    daemon.until(lambda: marks.all("own"))
    first = daemon.until(lambda: next((run for run in daemon.runs_of("own") if run["started_at"]), None))
    assert milliseconds(first["started_at"]) >= milliseconds(until)
    assert not daemon.client.job("own")["paused"]


def test_occurrences_that_somebody_skips_are_left_out_and_no_more(daemon: RealDaemon, marks: Marks) -> None:
    each_second(daemon, marks, "own")
    skipped = daemon.client.skip_next("own", 2, "holidays")
    daemon.restart()
    run = daemon.until(lambda: next((run for run in daemon.runs_of("own") if run["started_at"]), None))
    asked = [row for row in daemon.ledger("own") if row["reason"] == "asked"]

    assert [row["count"] for row in asked] == [2]
    assert "holidays" in asked[0]["detail"]
    assert milliseconds(run["scheduled_at"]) >= milliseconds(skipped["next_run_at"])
