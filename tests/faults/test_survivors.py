"""Daemon and runners are killed at once and their commands live on: no second copy while the first one lives."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from kit.daemon import Json, RealDaemon, kill, real_daemon
from kit.gate import Gates

MANY = 50
LOST_ONCE = {"retry": {"max": 0, "lost": 1, "backoff": 0.1, "backoff_max": 0.1}}


@pytest.fixture
def gates(tmp_path: Path) -> Gates:
    return Gates(tmp_path / "gates")


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[RealDaemon]:
    with real_daemon(tmp_path / "home") as made:
        yield made


def strike(daemon: RealDaemon) -> None:
    """kill -9 of the daemon and of all runners; then another daemon."""
    runners = daemon.runners()
    daemon.kill9()
    for pid in runners:
        kill(pid)
    daemon.start()


class Diary:
    """What commands write: who begins and ends, and who finds another copy of his run at work."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / "diary"
        self._file.touch()
        self._locks = folder / "locks"
        self._locks.mkdir()

    def around(self, command: str) -> str:
        facts = f"$JOBCTL_JOB $JOBCTL_ATTEMPT $JOBCTL_FENCE $JOBCTL_RUN_KEY >> {self._file}"
        alone = f"exec 9>>{self._locks}/$JOBCTL_RUN_ID; flock -n 9 || echo clash {facts}"
        return f"{alone}; echo begin {facts}; {command}; echo end {facts}"

    def lines(self) -> list[list[str]]:
        return [line.split() for line in self._file.read_text().splitlines()]


@pytest.mark.long
@pytest.mark.case("F065")
def test_fifty_survivors_are_each_lost_when_they_end_and_only_then_run_again(
    daemon: RealDaemon, gates: Gates, tmp_path: Path
) -> None:
    diary = Diary(tmp_path)
    names = [f"job-{number}" for number in range(MANY)]
    runs: dict[str, Json] = {}
    for name in names:
        waits = f"test $JOBCTL_ATTEMPT = 1 || exit 0; {gates.command(name)[2]}"
        daemon.add(name, diary.around(f"( {waits} )"), **LOST_ONCE)
        runs[name] = daemon.triggered(name)
    runs = {name: daemon.until_says(run, b"begin") for name, run in runs.items()}
    strike(daemon)
    for name in names[: MANY // 2]:
        gates.open(name)
    first = [daemon.finished(runs[name]) for name in names[: MANY // 2]]
    alive = [daemon.client.run(runs[name]["id"]) for name in names[MANY // 2 :]]
    begun = [line[1] for line in diary.lines() if line[0] == "begin"]
    for name in names[MANY // 2 :]:
        gates.open(name)
    ended = [*first, *(daemon.finished(runs[name]) for name in names[MANY // 2 :])]
    attempts = [daemon.client.attempts(run["id"]) for run in ended]
    lines = diary.lines()

    assert [run["state"] for run in ended] == ["succeeded"] * MANY
    assert {(run["state"], run["attempt"]) for run in alive} == {("running", 1)}
    assert all(begun.count(name) == 1 for name in names[MANY // 2 :])
    assert [[one["class"] for one in each] for each in attempts] == [["lost", None]] * MANY
    assert not [line for line in lines if line[0] == "clash"]
    for name, run in zip(names, ended, strict=True):
        mine = [line for line in lines if line[1] == name]
        assert [(line[0], line[2]) for line in mine] == [("begin", "1"), ("end", "1"), ("begin", "2"), ("end", "2")]
        assert int(mine[0][3]) < int(mine[2][3])
        assert {line[4] for line in mine} == {run["key"]}


@pytest.mark.case("F057")
def test_a_survivor_of_daemon_and_runner_holds_the_gate_of_its_job(daemon: RealDaemon, gates: Gates) -> None:
    daemon.add("gated", gates.command("gated"), schedule={"every": 1}, overlap="skip", retry={"max": 0, "lost": 0})
    first = daemon.until(lambda: next(iter(daemon.runs_of("gated", state="running")), None))
    daemon.until_says(first, b"begin")
    strike(daemon)
    skipped = daemon.until(lambda: [row for row in daemon.ledger("gated") if row["reason"] == "overlap"][2:])
    starts = gates.starts()
    gates.open("gated")
    ended = daemon.finished(first)
    second = daemon.until(lambda: next(iter(daemon.runs_of("gated", state="running")), None))
    daemon.client.edit_job("gated", {"schedule": None})
    daemon.until_says(second, b"begin")
    gates.open("gated")

    assert skipped
    assert starts == ["gated"]
    assert ended["class"] == "lost"
    assert daemon.finished(second)["state"] == "succeeded"
    assert gates.starts() == ["gated", "gated"]


def test_what_cannot_start_again_and_again_leaves_a_line_and_no_heap(daemon: RealDaemon) -> None:
    """Every second, with retries: each occurrence is one failed run with one attempt, and one line for all of them."""
    daemon.add("gone", ["/no/such/program"], schedule={"every": 1}, on_failure="record", retry={"max": 3})
    daemon.until(lambda: daemon.runs_of("gone", state="failed")[4:])
    daemon.client.edit_job("gone", {"schedule": None})
    runs = daemon.runs_of("gone", state="failed")
    shown = daemon.jobctl("status").stdout
    state = daemon.home / "state"
    records = [path.name for path in (state / "runner" / "records").iterdir() if not path.name.startswith(".")]

    assert {(run["class"], run["attempt"]) for run in runs} == {("spawn_error", 1)}
    assert daemon.client.status()["warnings"] == []
    assert len([line for line in shown.splitlines() if "failed" in line and "jobctl ls" in line]) == 1
    assert records == []
    assert sum(path.stat().st_size for path in (state / "runs").rglob("*.log")) == 0


def test_a_state_folder_too_deep_for_a_socket_of_its_runners_is_no_trouble(tmp_path: Path) -> None:
    """The daemon's own socket still fits into an address; the path of a runner's is longer."""
    room = 107 - len("/run/jobd.sock") - len(str(tmp_path)) - 1
    if room < 8:
        pytest.skip("the folder for tests is too deep itself")
    with real_daemon(tmp_path / ("d" * room)) as daemon:
        run = daemon.finished(daemon.run(["/bin/echo", "deep"]))
        daemon.restart()
        again = daemon.finished(daemon.run(["/bin/echo", "again"]))
        longest = max(len(str(path)) for path in (daemon.home / "state" / "runner").glob("*.sock"))

    assert longest > 107
    assert [run["state"], again["state"]] == ["succeeded", "succeeded"]
