"""Jobs that come after others, with real commands: which end starts which, once each, whoever is killed in between."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from kit.daemon import Json, RealDaemon, real_daemon
from kit.gate import Gates
from kit.marks import Marks

ENDS = ("success", "failure", "any")


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealDaemon]:
    """One for all tests; each has jobs of its own."""
    with real_daemon(tmp_path_factory.mktemp("after") / "home") as made:
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


def follow(daemon: RealDaemon, marks: Marks, upstream: str) -> None:
    """A job for each end of the upstream job."""
    for end in ENDS:
        daemon.add(f"{upstream}-{end}", marks.line(end), schedule={"after": f"{upstream}:{end}"})


def came(daemon: RealDaemon, upstream: str) -> dict[str, list[Json]]:
    """The ended runs of each of them."""
    runs = {end: daemon.runs_of(f"{upstream}-{end}") for end in ENDS}
    return {end: [daemon.finished(run) for run in some] for end, some in runs.items()}


@pytest.mark.parametrize(
    ("name", "command", "state", "starts"),
    [
        ("works", "exit 0", "succeeded", {"success", "any"}),
        ("dies", "exit 65", "dead", {"failure", "any"}),
        ("fails", "exit 1", "failed", {"failure", "any"}),
        ("is stopped", "exec tail -f /dev/null", "cancelled", {"any"}),
    ],
)
def test_each_end_starts_the_jobs_that_wait_for_it(
    daemon: RealDaemon, marks: Marks, name: str, command: str, state: str, starts: set[str]
) -> None:
    on_failure = "record" if state == "failed" else "dead"
    daemon.add(name, command, retry={"max": 1, "backoff": 0.1}, on_failure=on_failure)
    follow(daemon, marks, name)
    run = daemon.triggered(name)
    if state == "cancelled":
        daemon.client.cancel_run(daemon.state(run, "running")["id"])
    ended = daemon.finished(run)
    later = came(daemon, name)

    assert ended["state"] == state
    assert {end for end, runs in later.items() if runs} == starts
    for runs in later.values():
        assert [(each["state"], each["trigger"]) for each in runs] == [("succeeded", "after")] * len(runs)
        assert all(each["key"].endswith(f"/a:{run['id']}") for each in runs)
    assert sorted(mark.what for mark in marks.all()) == sorted(starts)


def test_a_chain_of_three_runs_in_its_order(daemon: RealDaemon, marks: Marks) -> None:
    daemon.add("extract", marks.around("exit 0"))
    daemon.add("transform", marks.around("exit 0"), schedule={"after": "extract"})
    daemon.add("load", marks.around("exit 0"), schedule={"after": "transform"})
    first = daemon.finished(daemon.triggered("extract"))
    second = daemon.finished(daemon.until(lambda: next(iter(daemon.runs_of("transform")), None)))
    third = daemon.finished(daemon.until(lambda: next(iter(daemon.runs_of("load")), None)))

    assert (second["key"].partition("/")[2], third["key"].partition("/")[2]) == (
        f"a:{first['id']}",
        f"a:{second['id']}",
    )
    assert [(mark.what, mark.key) for mark in marks.all()] == [
        (what, run["key"]) for run in (first, second, third) for what in ("start", "end")
    ]


def test_a_replay_starts_what_waits_for_success_and_nothing_twice(
    daemon: RealDaemon, marks: Marks, tmp_path: Path
) -> None:
    daemon.add("mended", f"test -e {tmp_path}/mended || exit 65")
    follow(daemon, marks, "mended")
    run = daemon.finished(daemon.triggered("mended"))
    assert {end for end, runs in came(daemon, "mended").items() if runs} == {"failure", "any"}
    (tmp_path / "mended").touch()
    daemon.client.replay({"ids": [run["id"]]})
    daemon.finished(run)
    assert {end: len(runs) for end, runs in came(daemon, "mended").items()} == dict.fromkeys(ENDS, 1)
    assert sorted(mark.what for mark in marks.all()) == sorted(ENDS)


def test_an_upstream_run_that_ends_without_a_daemon_is_followed_when_there_is_one(
    daemon: RealDaemon, marks: Marks, gates: Gates
) -> None:
    daemon.add("gated", gates.command("gated"))
    follow(daemon, marks, "gated")
    run = daemon.until_says(daemon.triggered("gated"), b"begin")
    daemon.kill9()
    gates.open("gated")
    daemon.start()
    daemon.finished(run)
    assert {end: len(runs) for end, runs in came(daemon, "gated").items()} == {"success": 1, "failure": 0, "any": 1}
    daemon.restart()
    assert {end: len(runs) for end, runs in came(daemon, "gated").items()} == {"success": 1, "failure": 0, "any": 1}
    assert sorted(mark.what for mark in marks.all()) == ["any", "success"]


def test_a_daemon_killed_between_the_end_and_the_start_starts_it_once(
    daemon: RealDaemon, marks: Marks, gates: Gates
) -> None:
    daemon.client.set_queue("narrow", 1)
    daemon.add("holder", gates.command("holder"), queue="narrow")
    daemon.add("opening", ["/bin/true"])
    daemon.add("closing", marks.line("second"), queue="narrow", schedule={"after": "opening"})
    holder = daemon.until_says(daemon.triggered("holder"), b"begin")
    daemon.finished(daemon.triggered("opening"))
    (waiting,) = daemon.runs_of("closing")
    daemon.restart()
    assert [run["id"] for run in daemon.runs_of("closing")] == [waiting["id"]]
    gates.open("holder")
    daemon.finished(holder)

    assert daemon.finished(waiting)["state"] == "succeeded"
    assert [mark.key for mark in marks.all()] == [waiting["key"]]


def test_a_daemon_killed_at_the_very_end_starts_it_once(daemon: RealDaemon, marks: Marks) -> None:
    daemon.add("knock", ["/bin/true"])
    daemon.add("enter", marks.line("second"), schedule={"after": "knock"})
    ids = []
    for _ in range(2):
        ids.append(daemon.finished(daemon.triggered("knock"))["id"])
        daemon.restart()
    ended = [daemon.finished(run) for run in daemon.runs_of("enter")]
    assert [run["key"].partition("/")[2] for run in ended] == [f"a:{run_id}" for run_id in ids]
    assert [mark.key for mark in marks.all()] == [run["key"] for run in ended]
