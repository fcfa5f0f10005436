"""`runs -f` and `events -f` in a pipe while the daemon is killed and comes back: nothing is left out or comes twice.
And the times of a log that a real runner notes."""

import json
import os
import struct
import subprocess
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from kit.crontab_host import soon
from kit.daemon import CLI, Json, RealDaemon, real_daemon


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealDaemon]:
    with real_daemon(tmp_path_factory.mktemp("f") / "h") as started:
        yield started


class Followed:
    """A verb that goes on, line by line."""

    def __init__(self, daemon: RealDaemon, *argv: str) -> None:
        self.process = subprocess.Popen(
            [*CLI, *argv], env=daemon.environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        self.lines: list[Json] = []

    def until(self, wanted: Callable[[Json], bool]) -> None:
        assert self.process.stdout is not None
        for text in self.process.stdout:
            self.lines.append(json.loads(text))
            if wanted(self.lines[-1]):
                return
        raise AssertionError(f"it ended: {self.process.stderr.read() if self.process.stderr else ''}")

    def close(self) -> None:
        self.process.kill()
        self.process.communicate(timeout=20)


@pytest.fixture
def follow(daemon: RealDaemon) -> Iterator[Callable[..., Followed]]:
    made: list[Followed] = []

    def begin(*argv: str) -> Followed:
        made.append(Followed(daemon, *argv))
        return made[-1]

    yield begin
    for one in made:
        one.close()


def test_runs_and_events_are_followed_over_a_kill_of_the_daemon(
    daemon: RealDaemon, follow: Callable[..., Followed]
) -> None:
    daemon.add("ticks", "true", overlap="allow")
    before = daemon.triggered("ticks")
    daemon.finished(before)
    begin = daemon.client.status()["last_event"]
    events = follow("events", "-f", "--after", str(begin), "-o", "ndjson")
    runs = follow("runs", "ticks", "-f", "-o", "ndjson")
    runs.until(lambda line: line["kind"] is None and _run(line) == before["id"])  # from here on it misses nothing
    ids: list[int] = []

    def some() -> None:
        for _ in range(3):
            run = daemon.triggered("ticks")
            daemon.finished(run)
            ids.append(run["id"])

    some()
    for one in (events, runs):
        one.until(lambda line: line["kind"] == "run.succeeded" and ids[2] in (line.get("run_id"), _run(line)))
    daemon.kill9()
    daemon.start()
    some()
    for one in (events, runs):
        one.until(lambda line: line["kind"] == "run.succeeded" and ids[5] in (line.get("run_id"), _run(line)))
    told = [line["id"] for line in events.lines]
    kept = [json.loads(one.data)["id"] for one in daemon.client.events(after=begin)]
    assert told == kept[: len(told)]
    assert [(line["kind"], _run(line)) for line in runs.lines[1:]] == [
        (kind, run_id) for run_id in ids for kind in ("run.running", "run.succeeded")
    ]


def _run(line: dict[str, Any]) -> object:
    return (line.get("run") or {}).get("id")


def test_a_runner_notes_when_a_log_grew(daemon: RealDaemon, tmp_path: Path) -> None:
    """Three lines, each when the test says so."""
    # Open all the time: who opened it anew for each line could find the writer of the line before still there.
    each = "read -r _ <&3; echo line $n; date -u +%FT%T.%3NZ >> wrote"
    script = f"exec 3<>gate; for n in 1 2 3; do {each}; done; read -r _ <&3"
    daemon.add("talks", script, cwd=str(tmp_path))
    os.mkfifo(tmp_path / "gate")
    started = daemon.triggered("talks")
    run = started["id"]
    for number in range(1, 4):
        with (tmp_path / "gate").open("w") as gate:
            gate.write("go\n")
        soon(daemon, lambda number=number: _noted(daemon, run, number * len("line 1\n")), 20)
    (tmp_path / "gate").write_text("go\n")
    daemon.finished(started)
    wrote = [datetime.fromisoformat(text) for text in (tmp_path / "wrote").read_text().split()]
    items = daemon.client.log_times(run)["items"]
    for number, at in enumerate(wrote, 1):
        end = number * len("line 1\n")
        told = next(datetime.fromisoformat(text) for size, text in items if size >= end)
        assert -0.1 <= (told - at).total_seconds() < 5
    lines = daemon.jobctl("log", str(run), "-t", "--utc").stdout.splitlines()
    assert [line.rpartition("  ")[2] for line in lines] == ["line 1", "line 2", "line 3"]


def _noted(daemon: RealDaemon, run: int, size: int) -> bool:
    """Whether a record of the runner's own has it: what has been written by now is told in any case."""
    folder = daemon.home / "state" / "runs" / str(run // 1000)
    files = list(folder.glob(f"{run}-*.times"))
    return bool(files) and any(noted >= size for noted, _ in struct.iter_unpack("<qq", files[0].read_bytes()))
