"""Dead letters of real commands: kept, replayed under the same id and key, once for each request, whoever is killed."""

import collections
import contextlib
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from jobctl.errors import JobctlError
from kit.daemon import Json, RealDaemon, real_daemon
from kit.marks import Marks


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealDaemon]:
    """One for all tests; each has jobs of its own."""
    with real_daemon(tmp_path_factory.mktemp("dead_letters") / "home") as made:
        yield made


@pytest.fixture
def daemon(shared: RealDaemon) -> RealDaemon:
    return shared.up()


@pytest.fixture
def marks(tmp_path: Path) -> Marks:
    return Marks(tmp_path / "marks")


class Mendable:
    """A job that dies at once until its cause is mended."""

    def __init__(self, daemon: RealDaemon, marks: Marks, folder: Path, name: str, **fields: object) -> None:
        self._cause = folder / f"{name}-mended"
        self.command = marks.around(f"test -e {self._cause} || {{ echo no space left; exit 65; }}")
        daemon.add(name, self.command, **{"overlap": "allow", **fields})

    def mend(self) -> None:
        self._cause.touch()


def dead(daemon: RealDaemon, name: str) -> Json:
    """A run of the job, by hand, that dies."""
    run = daemon.finished(daemon.triggered(name))
    assert run["state"] == "dead", run
    return run


# ── one of them ──────────────────────────────────────────────


def test_what_always_fails_is_kept_with_its_reason_and_its_last_line(daemon: RealDaemon, marks: Marks) -> None:
    daemon.add("hopeful", f"{marks.line('start')}; echo disk /dev/sda{{1}} full; exit 1", retry={"backoff": 0.1})
    run = daemon.finished(daemon.triggered("hopeful"))
    (listed,) = daemon.client.dead(job="hopeful")
    (group,) = [group for group in daemon.client.dead_groups() if group["jobs"] == ["hopeful"]]

    assert (run["state"], run["attempt"], run["reason"]) == ("dead", 4, "exit 1; 4 attempts have failed")
    assert listed == run
    assert run["error"] == "disk /dev/sda{1} full"
    assert (group["count"], group["fingerprint"], group["newest_run_id"]) == (1, run["fingerprint"], run["id"])
    assert daemon.output(run) == b"disk /dev/sda{1} full\n"
    assert daemon.client.job("hopeful")["dead"] == 1
    assert len({mark.key for mark in marks.all()}) == 1


def test_a_replay_keeps_id_and_key_raises_the_fence_and_is_made_once_for_its_key(
    daemon: RealDaemon, marks: Marks, tmp_path: Path
) -> None:
    job = Mendable(daemon, marks, tmp_path, "mendable")
    first = dead(daemon, "mendable")
    body = {"ids": [first["id"]]}
    replayed = daemon.client.replay(body, key="one")
    again = daemon.state(first, "dead", attempt=2)
    assert replayed["replayed"] == [first["id"]]
    assert (again["key"], again["replays"], again["state"]) == (first["key"], 1, "dead")
    assert again["fence"] > first["fence"]

    job.mend()
    assert daemon.client.replay(body, key="one") == replayed
    daemon.restart()
    assert daemon.client.replay(body, key="one") == replayed
    assert daemon.client.run(first["id"]) == again

    last = daemon.client.replay(body, key="two")
    ended = daemon.finished(first)
    fences = [mark.fence for mark in marks.all("start")]
    assert (ended["state"], ended["replays"], ended["attempt"]) == ("succeeded", 2, 3)
    assert {mark.key for mark in marks.all()} == {first["key"]}
    assert fences == sorted(set(fences))
    assert len(fences) == 3
    assert daemon.client.replay(body, key="three") == {
        "batch": last["batch"] + 1,
        "replayed": [],
        "skipped": [{"id": first["id"], "reason": "it is no dead letter: succeeded"}],
    }


def test_a_replay_has_fresh_budgets_and_may_die_again(daemon: RealDaemon) -> None:
    daemon.add("stubborn", "exit 1", retry={"max": 1, "backoff": 0.1})
    run = daemon.finished(daemon.triggered("stubborn"))
    daemon.client.replay({"job": "stubborn"})
    again = daemon.state(run, "dead", attempt=4)
    assert (again["replays"], again["reason"]) == (1, "exit 1; 2 attempts have failed")
    assert [run["id"] for run in daemon.client.dead(job="stubborn")] == [run["id"]]


def test_with_on_failure_record_a_failure_is_history(daemon: RealDaemon) -> None:
    daemon.add("recorded", "exit 65", on_failure="record")
    run = daemon.finished(daemon.triggered("recorded"))
    assert (run["state"], run["attempt"]) == ("failed", 1)
    assert list(daemon.client.dead(job="recorded")) == []


def test_five_in_a_row_pause_the_job_until_somebody_resumes_it(
    daemon: RealDaemon, marks: Marks, tmp_path: Path
) -> None:
    daemon.add("cause", ["/bin/true"])
    job = Mendable(daemon, marks, tmp_path, "sick", schedule={"after": "cause"})

    def due() -> Json:
        known = {run["id"] for run in daemon.runs_of("sick")}
        daemon.finished(daemon.triggered("cause"))
        (run,) = (run for run in daemon.runs_of("sick") if run["id"] not in known)
        return daemon.finished(run)

    died = [due() for _ in range(4)]
    died.append(dead(daemon, "sick"))  # who asks for it sees how it ends
    assert not daemon.client.job("sick")["paused"]
    died.append(due())
    sick = daemon.client.job("sick")
    assert {run["state"] for run in died} == {"dead"}
    assert (sick["paused"], sick["quarantined"], sick["paused_by"]) == (True, True, "jobd")
    assert sick["paused_why"].startswith("quarantined: 5 dead letters in a row, the last one: exit 65")

    job.mend()
    replayed = daemon.client.replay({"job": "sick"})["replayed"]
    assert len(replayed) == 6
    assert {daemon.finished({"id": run_id})["state"] for run_id in replayed} == {"succeeded"}
    resumed = daemon.client.resume_job("sick")
    assert (resumed["paused"], resumed["quarantined"]) == (False, False)
    assert due()["state"] == "succeeded"


# ── a hundred of them ──────────────────────────────────────────────


def buried(daemon: RealDaemon, marks: Marks, tmp_path: Path, name: str, count: int) -> dict[int, Json]:
    """So many dead letters of a job that is mended now, by id. Four of them run at once."""
    job = Mendable(daemon, marks, tmp_path, name, queue="narrow")
    daemon.client.set_queue("narrow", 4)
    runs = [daemon.triggered(name) for _ in range(count)]
    ended = {run["id"]: daemon.finished(run) for run in runs}
    assert {run["state"] for run in ended.values()} == {"dead"}
    job.mend()
    return ended


def ran(marks: Marks, what: str = "start") -> collections.Counter[str]:
    """How often each run has said so, by key."""
    return collections.Counter(mark.key for mark in marks.all(what))


@pytest.mark.long
@pytest.mark.case("F082")
def test_a_hundred_replays_run_once_each_though_the_daemon_is_killed_in_the_middle(
    daemon: RealDaemon, marks: Marks, tmp_path: Path
) -> None:
    letters = buried(daemon, marks, tmp_path, "hundred", 100)
    before = ran(marks, "end").total()
    replayed = daemon.client.replay({"job": "hundred"}, key="all hundred")
    assert sorted(replayed["replayed"]) == sorted(letters)
    daemon.until(lambda: ran(marks, "end").total() >= before + 30)
    daemon.kill9()
    done = ran(marks, "end").total() - before
    daemon.start()

    assert daemon.client.replay({"job": "hundred"}, key="all hundred") == replayed
    assert daemon.client.replay({"job": "hundred"}, key="once more")["replayed"] == []
    ended = [daemon.finished({"id": run_id}) for run_id in letters]

    assert 30 <= done < 100
    assert {run["state"] for run in ended} == {"succeeded"}
    assert {run["id"]: run["key"] for run in ended} == {run["id"]: run["key"] for run in letters.values()}
    assert set(ran(marks).values()) == {2}
    assert ran(marks) == ran(marks, "end")
    assert {run["replays"] for run in ended} == {1}
    assert all(run["fence"] > letters[run["id"]]["fence"] for run in ended)


@pytest.mark.case("F082")
def test_a_replay_whose_answer_was_lost_is_pressed_again_and_made_once(
    daemon: RealDaemon, marks: Marks, tmp_path: Path
) -> None:
    letters = buried(daemon, marks, tmp_path, "pressed", 20)

    def press() -> None:
        with contextlib.suppress(JobctlError):
            daemon.client.replay({"job": "pressed"}, key="lost")

    caller = threading.Thread(target=press)
    caller.start()
    daemon.restart()
    caller.join()
    assert sorted(daemon.client.replay({"job": "pressed"}, key="lost")["replayed"]) == sorted(letters)
    assert {daemon.finished({"id": run_id})["state"] for run_id in letters} == {"succeeded"}
    assert set(ran(marks).values()) == {2}


@pytest.mark.case("F082")
def test_two_callers_at_once_replay_every_one_of_them_once(daemon: RealDaemon, marks: Marks, tmp_path: Path) -> None:
    letters = buried(daemon, marks, tmp_path, "two", 40)
    answers: list[Json] = []
    threads = [
        threading.Thread(target=lambda key=key: answers.append(daemon.client.replay({"job": "two"}, key=key)))
        for key in ("this caller", "that caller", "this caller", "that caller")
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    batches = {answer["batch"]: answer["replayed"] for answer in answers}
    ended = [daemon.finished({"id": run_id}) for run_id in letters]

    assert len(batches) == 2
    assert sorted(run_id for replayed in batches.values() for run_id in replayed) == sorted(letters)
    assert {run["state"] for run in ended} == {"succeeded"}
    assert set(ran(marks).values()) == {2}


def test_a_replay_that_stops_on_failure_leaves_the_rest_dead_over_a_kill(
    daemon: RealDaemon, marks: Marks, tmp_path: Path
) -> None:
    job = Mendable(daemon, marks, tmp_path, "ordered")
    letters = [dead(daemon, "ordered") for _ in range(4)]
    job.mend()
    bad = letters[1]["id"]
    command = f"test $JOBCTL_RUN_ID != {bad} || exit 65"
    daemon.client.edit_job("ordered", {"target": {"shell": marks.around(command)}})
    body = {"job": "ordered", "current": True, "stop_on_failure": True, "pace": 0.2}
    daemon.client.replay(body, key="in order")
    daemon.restart()
    first, second = daemon.finished(letters[0]), daemon.state(letters[1], "dead", attempt=2)
    rest = [daemon.state(letter, "dead") for letter in letters[2:]]

    assert (first["state"], second["replays"]) == ("succeeded", 1)
    assert [(run["state"], run["attempt"], run["replays"]) for run in rest] == [("dead", 1, 0)] * 2
    assert set(ran(marks).values()) == {1, 2}
    assert {run["id"] for run in daemon.client.dead(job="ordered")} == {letter["id"] for letter in letters[1:]}


def test_on_the_command_line_the_key_is_that_of_the_request(daemon: RealDaemon, marks: Marks, tmp_path: Path) -> None:
    job = Mendable(daemon, marks, tmp_path, "typed")
    run = dead(daemon, "typed")
    job.mend()
    replay = ("dlq", "replay", str(run["id"]), "--key", "typed", "--wait")
    first, second = daemon.jobctl(*replay), daemon.jobctl(*replay)

    assert (first.returncode, second.returncode) == (0, 0), (first, second)
    assert len(ran(marks)) == 1
    assert ran(marks)[run["key"]] == 2
