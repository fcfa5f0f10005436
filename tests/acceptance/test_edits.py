"""Definitions that change under way, with real commands: no surprise fire, and what runs is not touched."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

import pytest

from jobctl.errors import Conflict, JobctlError
from jobctl.reading.times import milliseconds
from kit.daemon import Json, RealDaemon, real_daemon
from kit.gate import Gates
from kit.marks import Marks

EVERY_SECOND = {"every": 1}


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealDaemon]:
    """One for all tests; each has jobs of its own."""
    with real_daemon(tmp_path_factory.mktemp("edits") / "home") as made:
        yield made


@pytest.fixture
def daemon(shared: RealDaemon) -> RealDaemon:
    return shared.up()


@pytest.fixture
def marks(tmp_path: Path) -> Marks:
    return Marks(tmp_path / "marks")


@pytest.fixture
def gates(tmp_path: Path) -> Gates:
    return Gates(tmp_path / "gates")


def now_ms(daemon: RealDaemon) -> int:
    return milliseconds(daemon.client.status()["now"])


def first_run(daemon: RealDaemon, name: str, number: int = 1) -> Json:
    """The job's run of this number, as soon as there is one."""
    return daemon.until(lambda: next(iter(daemon.runs_of(name)[number - 1 :]), None))


# ── when ──────────────────────────────────────────────


def test_a_time_that_has_just_passed_does_not_fire(daemon: RealDaemon, marks: Marks) -> None:
    daemon.add("nightly", marks.line("fired"), schedule={"cron": "0 0 1 1 *", "timezone": "UTC"})
    now = datetime.fromisoformat(daemon.client.status()["now"])  # its minute began up to 60 s ago
    edited = daemon.client.edit_job("nightly", {"schedule": {"cron": f"{now.minute} {now.hour} * * *"}})
    daemon.finished(daemon.run(["/bin/sleep", "1"]))

    assert milliseconds(edited["next_run_at"]) - now_ms(daemon) > 86_000_000
    assert daemon.runs_of("nightly") == []
    assert marks.all() == []


@pytest.mark.case("F062")
def test_an_interval_counts_from_the_moment_of_its_edit(daemon: RealDaemon, marks: Marks) -> None:
    job = daemon.add("often", marks.line("fired"), schedule=EVERY_SECOND)
    first_run(daemon, "often")
    before_ms = now_ms(daemon)
    edited = daemon.client.edit_job("often", {"schedule": {"every": 2}})
    old = {row["from"] for row in daemon.ledger("often")}
    daemon.until(lambda: len(daemon.ledger("often")) > len(old))
    daemon.client.pause_job("often")
    new = [milliseconds(row["from"]) for row in daemon.ledger("often") if row["from"] not in old]

    assert (edited["id"], edited["version"]) == (job["id"], 2)
    assert milliseconds(edited["next_run_at"]) >= before_ms + 2_000
    assert new == [milliseconds(edited["next_run_at"])]


@pytest.mark.case("F062")
def test_the_run_that_waits_is_superseded_and_the_one_that_runs_is_not_touched(
    daemon: RealDaemon, gates: Gates
) -> None:
    daemon.add("queued", gates.command("queued", "echo old; exit 3"), overlap="queue", schedule=EVERY_SECOND,
               retry={"max": 0})  # fmt: skip
    running = daemon.until_says(first_run(daemon, "queued"), b"begin")
    waiting = first_run(daemon, "queued", 2)
    target = {"command": ["/bin/echo", "new"]}
    daemon.client.edit_job("queued", {"schedule": {"every": 3600}, "target": target})
    superseded = daemon.finished(waiting)
    (row,) = [row for row in daemon.ledger("queued") if row["run_id"] == waiting["id"]]
    untouched = daemon.client.run(running["id"])
    gates.open("queued")
    ended = daemon.finished(running)

    assert (superseded["state"], superseded["reason"]) == ("superseded", "the schedule was edited before it began")
    assert (row["reason"], row["detail"]) == ("edited", "the schedule was edited before it began")
    assert (untouched["state"], untouched["version"]) == ("running", 1)
    assert (ended["state"], ended["exit_code"], daemon.output(ended)) == ("dead", 3, b"begin\nend\nold\n")
    by_hand = daemon.finished(daemon.triggered("queued"))
    assert (by_hand["version"], daemon.output(by_hand)) == (2, b"new\n")


# ── what ──────────────────────────────────────────────


def test_another_command_is_taken_by_what_has_not_begun_and_not_by_a_retry(daemon: RealDaemon, gates: Gates) -> None:
    daemon.add("worded", gates.command("worded"), overlap="queue")
    running = daemon.until_says(daemon.triggered("worded"), b"begin")
    waiting = daemon.triggered("worded")
    daemon.add("tried", "echo old; test $JOBCTL_ATTEMPT = 2", retry={"backoff": 3600})
    retry = daemon.state(daemon.triggered("tried"), "ready", attempt=1)
    for name in ("worded", "tried"):
        daemon.client.edit_job(name, {"target": {"command": ["/bin/echo", "new"]}})
    gates.open("worded")
    daemon.client.retry_run(retry["id"])

    assert daemon.output(daemon.finished(running)) == b"begin\nend\n"
    assert daemon.output(daemon.finished(waiting)) == b"new\n"
    assert (daemon.finished(retry)["state"], daemon.output(retry)) == ("succeeded", b"old\n")


def test_policies_hold_at_once_for_what_has_not_ended(daemon: RealDaemon) -> None:
    daemon.add("impatient", "exit 1", retry={"max": 5, "backoff": 3600})
    run = daemon.state(daemon.triggered("impatient"), "ready", attempt=1)
    daemon.client.edit_job("impatient", {"retry": {"max": 1}, "on_failure": "record"})
    daemon.client.retry_run(run["id"])
    ended = daemon.finished(run)
    assert (ended["state"], ended["attempt"]) == ("failed", 2)


# ── who ──────────────────────────────────────────────


@pytest.mark.case("F062")
def test_a_name_is_of_one_job_whatever_happens_to_it(daemon: RealDaemon, marks: Marks) -> None:
    old = daemon.add("series", marks.line("old"), schedule=EVERY_SECOND)
    first_run(daemon, "series")
    renamed = daemon.client.edit_job("series", {"name": "episodes"})
    daemon.client.delete_job("episodes")
    new = daemon.add("series", marks.line("new"), schedule=EVERY_SECOND)
    count = len(marks.all("old"))
    first_run(daemon, "series")
    daemon.client.pause_job("series")

    assert (renamed["id"], renamed["uid"]) == (old["id"], old["uid"])
    assert new["id"] != old["id"]
    assert new["uid"] != old["uid"]
    assert {run["job_id"] for run in daemon.runs_of("series")} == {new["id"]}
    assert len(marks.all("old")) <= count + 1
    assert {mark.key.partition("/")[0] for mark in marks.all("new")} <= {new["uid"]}


@pytest.mark.case("F062")
def test_of_two_callers_who_add_the_same_job_one_has_a_conflict(daemon: RealDaemon) -> None:
    answers: list[Json | JobctlError] = []

    def add() -> None:
        try:
            answers.append(daemon.add("twin", ["/bin/true"], schedule={"every": 3600}))
        except JobctlError as error:
            answers.append(error)

    threads = [threading.Thread(target=add) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    errors = [answer for answer in answers if isinstance(answer, JobctlError)]

    assert len(answers) == 2
    assert [type(error) for error in errors] == [Conflict]
    assert "twin" in errors[0].message
    assert [job["name"] for job in daemon.client.jobs(q="twin")] == ["twin"]


def test_an_edit_that_was_answered_outlives_the_daemon(daemon: RealDaemon) -> None:
    daemon.add("kept", ["/bin/echo", "old"], schedule={"cron": "0 0 1 1 *"})
    edited = daemon.client.edit_job("kept", {"target": {"shell": "echo new"}, "retry": {"max": 7}})
    daemon.restart()
    assert daemon.client.job("kept") == edited
    assert daemon.output(daemon.finished(daemon.triggered("kept"))) == b"new\n"


# ── between reading and starting ──────────────────────────────────────────────

#: A daemon whose loop stands still behind a read that found something, until whoever listens lets it go on.
STANDS_STILL = """
import asyncio
from jobctl_daemon.__main__ import main
from jobctl_daemon.store.sqlite import SqliteStore

def still(name):
    read = getattr(SqliteStore, name)
    async def standing(*arguments):
        found = await read(*arguments)
        if found:
            try:
                reader, writer = await asyncio.open_unix_connection({folder!r} + name)
            except OSError:
                return found
            writer.write(name.encode())
            await reader.read()
            writer.close()
        return found
    setattr(SqliteStore, name, standing)

still("due")
still("pending")
raise SystemExit(main())
"""


@contextmanager
def standing(place: Path) -> Iterator[None]:
    """While the loop stands still."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.settimeout(20)
        listener.bind(str(place))
        listener.listen()
        try:
            still, _ = listener.accept()
        finally:
            place.unlink()
        with still:
            yield


@pytest.mark.case("F072")
def test_what_changes_between_reading_and_starting_is_heeded(tmp_path: Path, marks: Marks) -> None:
    faulty = RealDaemon(tmp_path / "home")
    faulty.program = ["-c", STANDS_STILL.format(folder=f"{tmp_path}/")]
    try:
        daemon = faulty.start()
        for read in ("due", "pending"):
            for change in ("deleted", "paused", "edited"):
                name = f"{change}-{read}"
                daemon.add(name, marks.line("old"), schedule=EVERY_SECOND)
                with standing(tmp_path / read):
                    if change == "deleted":
                        daemon.client.delete_job(name)
                    elif change == "paused":
                        daemon.client.pause_job(name)
                    else:
                        daemon.client.edit_job(name, {"target": {"shell": marks.line("new")}})
            edited = daemon.client.job(f"edited-{read}")
            daemon.until(lambda uid=edited["uid"]: [mark for mark in marks.all() if mark.key.startswith(uid)])
            daemon.client.pause_job(f"edited-{read}")
        daemon.finished(daemon.run(["/bin/sleep", "1"]))
        states = {run["job"]: run["state"] for run in daemon.client.runs() if run["attempt"] == 0}
    finally:
        faulty.close()

    assert {mark.what for mark in marks.all()} == {"new"}
    assert {state for name, state in states.items() if name.startswith("deleted")} <= {"cancelled"}
    assert {state for name, state in states.items() if name.startswith("paused")} <= {"scheduled"}
