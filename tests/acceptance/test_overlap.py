"""Two runs of one job at once, or not: real commands under the four policies, and what happens to the others."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from jobctl.errors import Conflict
from kit.daemon import ENDED, Json, RealDaemon, real_daemon
from kit.gate import Gates
from kit.marks import Marks

EVERY_SECOND = {"every": 1}


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealDaemon]:
    """One for all tests; each has jobs of its own."""
    with real_daemon(tmp_path_factory.mktemp("overlap") / "home") as made:
        yield made


@pytest.fixture
def daemon(shared: RealDaemon) -> RealDaemon:
    return shared.up()


@pytest.fixture
def gates(tmp_path: Path) -> Gates:
    return Gates(tmp_path / "gates")


@pytest.fixture
def marks(tmp_path: Path) -> Marks:
    return Marks(tmp_path / "marks")


def nth(daemon: RealDaemon, name: str, number: int, *states: str) -> Json:
    """The job's run of this number, from 1 on, once it is in one of the states."""

    def there() -> Json | None:
        runs = daemon.runs_of(name)
        return runs[number - 1] if len(runs) >= number and runs[number - 1]["state"] in states else None

    return daemon.until(there)


def by_itself(daemon: RealDaemon, name: str) -> str:
    """The name of a job whose end starts the job: an occurrence that nobody asked for, at will."""
    daemon.add(f"before {name}", ["/bin/true"])
    daemon.client.edit_job(name, {"schedule": {"after": f"before {name}"}})
    return f"before {name}"


# ── queue ──────────────────────────────────────────────


def test_under_queue_one_waits_and_a_third_is_skipped_with_its_reason(daemon: RealDaemon, gates: Gates) -> None:
    daemon.add("queued", gates.command("queued"), overlap="queue", schedule=EVERY_SECOND)
    first = nth(daemon, "queued", 1, "running")
    third = nth(daemon, "queued", 3, "skipped")
    first, second = daemon.runs_of("queued")[:2]
    daemon.client.pause_job("queued")

    assert (first["state"], second["state"]) == ("running", "scheduled")
    assert (third["outcome"], third["attempt"]) == ("overlap", 0)
    assert third["reason"] == f"run {first['id']} was still active, and 1 run waits for it already"
    skipped = [row for row in daemon.ledger("queued") if row["run_id"] == third["id"]]
    assert [(row["reason"], row["detail"]) for row in skipped] == [("overlap", third["reason"])]


def test_what_waits_starts_when_the_one_before_it_is_gone_in_their_order(daemon: RealDaemon, gates: Gates) -> None:
    daemon.add("line", gates.command("line"), overlap="queue", overlap_queue=2)
    runs = [daemon.triggered("line") for _ in range(3)]
    daemon.until_says(runs[0], b"begin")
    waiting = daemon.until(lambda: _waits(daemon, runs[2]))
    assert waiting["reason"] == "waits for an earlier run of its job"
    for done, run in enumerate(runs, 1):
        daemon.until_says(run, b"begin")
        assert len(gates.starts()) == done
        gates.open("line")
        assert daemon.finished(run)["state"] == "succeeded"


def _waits(daemon: RealDaemon, run: Json) -> Json | None:
    seen = daemon.client.run(run["id"])
    return seen if str(seen["reason"]).startswith("waits") else None


def test_what_waits_outlives_the_daemon_and_a_survivor_counts_as_active(daemon: RealDaemon, gates: Gates) -> None:
    daemon.add("survivor-queue", gates.command("queue"), overlap="queue")
    daemon.add("survivor-skip", gates.command("skip"), overlap="skip")
    daemon.add("survivor-limit", gates.command("limit"), overlap="allow", limit=1)
    held = {name: daemon.triggered(f"survivor-{name}") for name in ("queue", "skip", "limit")}
    for run in held.values():
        daemon.until_says(run, b"begin")
    second = daemon.triggered("survivor-queue")
    daemon.until(lambda: _waits(daemon, second))
    daemon.restart()

    for name in ("skip", "limit"):
        with pytest.raises(Conflict, match=f"run {held[name]['id']} of survivor-{name} is still active"):
            daemon.triggered(f"survivor-{name}")
    assert daemon.until(lambda: _waits(daemon, second))["attempt"] == 0
    for name in held:
        gates.open(name)
    assert {daemon.finished(run)["state"] for run in held.values()} == {"succeeded"}
    daemon.until_says(second, b"begin")
    gates.open("queue")
    assert daemon.finished(second)["state"] == "succeeded"
    assert sorted(gates.starts()) == ["limit", "queue", "queue", "skip"]


# ── replace ──────────────────────────────────────────────


def test_under_replace_the_old_one_gets_term_and_the_new_one_starts_when_it_is_gone(
    daemon: RealDaemon, marks: Marks, tmp_path: Path
) -> None:
    command = (
        f"trap '{marks.line('term')}; sleep 0.3; {marks.line('gone')}; exit 0' TERM;"
        f" {marks.line('start')}; echo up; test -e {tmp_path}/last || while :; do sleep 0.05; done"
    )
    daemon.add("replaced", command, overlap="replace")
    old = daemon.until_says(daemon.triggered("replaced"), b"up")
    (tmp_path / "last").touch()
    new = daemon.triggered("replaced")
    ended, after = daemon.finished(old), daemon.finished(new)
    (attempt,) = daemon.client.attempts(old["id"])

    assert (ended["state"], ended["exit_code"]) == ("cancelled", 0)
    assert ended["reason"] == f"it was cancelled by run {new['id']}, which replaces it"
    assert [name for _, name in attempt["signals"]][:1] == ["TERM"]
    assert after["state"] == "succeeded"
    assert [(mark.what, mark.key) for mark in marks.all()] == [
        ("start", old["key"]),
        ("term", old["key"]),
        ("gone", old["key"]),
        ("start", new["key"]),
    ]


def test_of_many_that_replace_each_other_the_last_one_runs(daemon: RealDaemon, marks: Marks) -> None:
    command = f"{marks.line('start')}; echo up; exec tail -f /dev/null"
    daemon.add("hurried", command, overlap="replace")
    first = daemon.until_says(daemon.triggered("hurried"), b"up")
    others = [daemon.triggered("hurried") for _ in range(4)]
    ended = [daemon.finished(run) for run in (first, *others[:-1])]
    last = daemon.until_says(others[-1], b"up")
    daemon.client.kill_run(last["id"])
    daemon.finished(last)

    assert ended[0]["state"] == "cancelled"
    assert {run["state"] for run in ended[1:]} <= {"superseded", "cancelled"}
    assert all("replace" in run["reason"] for run in ended)
    starts, most = [mark.key for mark in marks.all("start")], 5
    assert starts[0] == first["key"]
    assert starts[-1] == last["key"]
    assert len(starts) == len(set(starts)) <= most


@pytest.mark.case("F079")
def test_a_retry_that_waits_is_replaced_too(daemon: RealDaemon) -> None:
    daemon.add("newer", "test $JOBCTL_TRIGGER = after", overlap="replace", retry={"backoff": 3600})
    cause = by_itself(daemon, "newer")
    old = daemon.state(daemon.triggered("newer"), "ready", attempt=1)
    daemon.finished(daemon.triggered(cause))
    ended = daemon.finished(old)
    new = nth(daemon, "newer", 2, *ENDED)
    assert (ended["state"], ended["reason"]) == ("superseded", f"replaced by run {new['id']}")
    assert new["state"] == "succeeded"


# ── skip ──────────────────────────────────────────────


@pytest.mark.case("F148")
@pytest.mark.case("F057")
def test_a_hung_run_leaves_a_row_for_each_slot_it_takes_and_people_hear_of_it(daemon: RealDaemon, gates: Gates) -> None:
    daemon.add("hung", gates.command("hung"), overlap="skip", schedule=EVERY_SECOND)
    first = nth(daemon, "hung", 1, "running")
    skipped = [nth(daemon, "hung", number, "skipped") for number in (2, 3, 4)]
    job, status = daemon.client.job("hung"), daemon.client.status()
    told = [json.loads(message.data) for message in daemon.client.events(after=0, kind="job.skipping")]
    shown = daemon.jobctl("status")
    daemon.client.pause_job("hung")
    gates.open("hung")

    assert job["skipping"] >= 3
    assert [event["data"]["count"] for event in told if event["job_id"] == job["id"]] == [3]
    assert {(run["outcome"], run["reason"]) for run in skipped} == {
        ("overlap", f"run {first['id']} was still active"),
    }
    assert status["skipping"] >= 1
    assert "skip" in shown.stdout, shown
    assert daemon.finished(first)["state"] == "succeeded"


def test_while_a_retry_waits_its_job_is_active(daemon: RealDaemon) -> None:
    daemon.add("retrying", "exit 1", overlap="skip", retry={"backoff": 3600})
    cause = by_itself(daemon, "retrying")
    waiting = daemon.state(daemon.triggered("retrying"), "ready", attempt=1)
    with pytest.raises(Conflict, match=f"run {waiting['id']} of retrying is still active"):
        daemon.triggered("retrying")
    daemon.finished(daemon.triggered(cause))
    skipped = nth(daemon, "retrying", 2, *ENDED)
    assert (skipped["state"], skipped["outcome"]) == ("skipped", "overlap")
    assert skipped["reason"] == f"run {waiting['id']} was still active"


@pytest.mark.case("F079")
def test_retries_longer_than_the_interval_never_make_two_at_once(
    daemon: RealDaemon, marks: Marks, tmp_path: Path
) -> None:
    names = {"skip": "busy skipping", "replace": "busy replacing"}
    for overlap, name in names.items():
        alone = f"exec 9>>{tmp_path}/{overlap}; flock -n 9 || {marks.line('clash')}"
        command = f"{marks.line(overlap)}; {alone}; sleep 0.3; exit 1"
        retry = {"max": 10, "backoff": 0.5}
        daemon.add(name, command, overlap=overlap, schedule=EVERY_SECOND, retry=retry, on_failure="record")
    for name in names.values():
        nth(daemon, name, 4, *ENDED, "ready", "running")
    for overlap, name in names.items():
        active = [run for run in daemon.runs_of(name) if run["state"] in ("ready", "running")]
        daemon.client.pause_job(name)
        for run in daemon.runs_of(name):
            if run["state"] not in ENDED:
                daemon.client.cancel_run(run["id"])
        runs = [daemon.finished(run) for run in daemon.runs_of(name)]
        rows = daemon.ledger(name)

        assert len(active) <= 1
        assert len(marks.all(overlap)) > 1
        assert [row["run_id"] for row in rows if row["run_id"]] == [run["id"] for run in runs]
        if overlap == "skip":
            assert [run["state"] for run in runs] == ["cancelled"] + ["skipped"] * (len(runs) - 1)
        else:
            assert {run["state"] for run in runs} <= {"cancelled", "superseded"}
    assert marks.all("clash") == []


# ── allow ──────────────────────────────────────────────


def test_under_allow_so_many_run_at_once_as_its_limit_says(daemon: RealDaemon, gates: Gates) -> None:
    daemon.add("allowed", gates.command("allowed"), overlap="allow", limit=2)
    cause = by_itself(daemon, "allowed")
    for _ in range(2):
        daemon.finished(daemon.triggered(cause))
    two = [daemon.until_says(nth(daemon, "allowed", number, "running"), b"begin") for number in (1, 2)]
    daemon.finished(daemon.triggered(cause))
    third = nth(daemon, "allowed", 3, *ENDED)
    with pytest.raises(Conflict, match="its limit is 2"):
        daemon.triggered("allowed")
    for run in two:
        daemon.client.kill_run(run["id"])
        daemon.finished(run)

    assert (third["state"], third["outcome"]) == ("skipped", "limit")
    assert third["reason"] == f"2 runs were still active, the oldest is {two[0]['id']}"


def test_under_allow_without_a_limit_all_run(daemon: RealDaemon, gates: Gates) -> None:
    daemon.add("free", gates.command("free"), overlap="allow")
    runs = [daemon.until_says(daemon.triggered("free"), b"begin") for _ in range(3)]
    assert daemon.client.job("free")["running"] == 3
    for run in runs:
        daemon.client.kill_run(run["id"])
        daemon.finished(run)
