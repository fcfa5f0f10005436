"""Runs as they begin and end: each once, over a daemon that goes away."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from jobctl.cli import patience
from unit.cli.conftest import Cli
from unit.client.fake_daemon import Answer, Asked, FakeDaemon, problem, run

Json = dict[str, Any]


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patience, "_FIRST_S", 0.001)
    monkeypatch.setattr(patience, "_LONGEST_S", 0.002)


def event(number: int, kind: str, run_id: int, job_id: int = 2, **data: Any) -> Json:
    facts = {"name": "sync", **data}
    return {"id": number, "at": "2026-11-29T02:12:41Z", "kind": kind, "job_id": job_id, "run_id": run_id, "data": facts}


class Stream:
    """Events in parts: after each the connection breaks, or the daemon is away; at last it refuses, which ends it."""

    def __init__(self, *parts: list[Json] | None) -> None:
        self.parts = list(parts)
        self.asked: list[str | None] = []

    def __call__(self, asked: Asked, match: object) -> Answer:
        self.asked.append(asked.query.get("after"))
        if not self.parts:
            return problem(403, "forbidden", "enough of this test")
        part = self.parts.pop(0)
        if part is None:
            return problem(503, "unavailable", "the daemon is stopping")
        body = "".join(f"id: {one['id']}\nevent: {one['kind']}\ndata: {json.dumps(one)}\n\n" for one in part)
        return Answer(200, body.encode(), {"Transfer-Encoding": "chunked"}, cut=True)


@pytest.fixture
def followed(cli: Cli, daemon: FakeDaemon) -> Callable[..., list[str]]:
    def follow(*parts: list[Json] | None, argv: tuple[str, ...] = ()) -> list[str]:
        stream = Stream(*parts)
        daemon.override("GET", "/v1/events", stream)
        result = cli("runs", "-f", *argv)
        assert result.code == 6
        follow.asked = stream.asked  # type: ignore[attr-defined]
        return result.out.splitlines()

    return follow


def test_the_last_ones_come_first_oldest_at_the_top_and_then_what_happens(
    followed: Callable[..., list[str]], daemon: FakeDaemon
) -> None:
    daemon.runs.insert(0, run(104, daemon.jobs[1], state="succeeded"))
    lines = followed([event(4, "run.running", 104, attempt=1), event(5, "run.succeeded", 104)])
    assert [line.split()[2] for line in lines] == ["101", "102", "103", "104", "104", "104"]
    assert lines[0].endswith("backup                exit 1 after 41s")
    assert lines[2].endswith("sync                  running for 2m41s")
    assert lines[4].endswith("sync                  begins")
    assert lines[5].endswith("sync                  ok after 41s")


def test_none_is_left_out_and_none_comes_twice_over_a_daemon_that_goes_away(
    followed: Callable[..., list[str]], daemon: FakeDaemon
) -> None:
    daemon.runs = []
    daemon.status["last_event"] = 10
    lines = followed(
        [event(11, "run.running", 7)], None, None, [event(12, "run.failed", 7), event(13, "run.running", 8)]
    )
    assert [line.split()[2] for line in lines] == ["7", "7", "8"]
    assert followed.asked == ["10", "11", "11", "11", "13"]  # type: ignore[attr-defined]


def test_a_connection_that_breaks_before_the_first_event_loses_none(
    followed: Callable[..., list[str]], daemon: FakeDaemon
) -> None:
    daemon.runs = []
    daemon.status["last_event"] = 10
    assert len(followed([], None, [event(11, "run.running", 7)])) == 1
    assert followed.asked == ["10", "10", "10", "11"]  # type: ignore[attr-defined]


def test_what_the_list_has_shown_is_not_told_again(followed: Callable[..., list[str]], daemon: FakeDaemon) -> None:
    """Events are heard from before the list was read."""
    numbers = iter([3, 6])
    real = dict(daemon.status)
    daemon.override("GET", "/v1/status", lambda asked, match: Answer(200, {**real, "last_event": next(numbers)}))
    lines = followed([
        event(4, "run.running", 103, attempt=1), event(5, "run.succeeded", 102), event(6, "run.dead", 99),
        event(7, "run.running", 102, attempt=2),
    ])  # fmt: skip
    assert [line.split()[2] for line in lines] == ["101", "102", "103", "99", "102"]


@pytest.mark.parametrize(
    ("argv", "told"),
    [
        (("sync",), ["running", "succeeded"]),
        (("backup",), ["dead"]),
        (("--state", "dead,succeeded"), ["succeeded", "dead"]),
    ],
)
def test_only_those_that_were_asked_for(
    followed: Callable[..., list[str]], daemon: FakeDaemon, argv: tuple[str, ...], told: list[str]
) -> None:
    daemon.runs = []
    lines = followed(
        [
            event(4, "run.running", 7),
            event(5, "run.ready", 7),
            event(6, "run.succeeded", 7),
            event(7, "run.dead", 8, 1),
        ],
        argv=(*argv, "-o", "ndjson"),
    )
    assert [json.loads(line)["kind"].removeprefix("run.") for line in lines] == told


def test_a_run_that_is_no_longer_kept_is_told_by_its_event(
    followed: Callable[..., list[str]], daemon: FakeDaemon
) -> None:
    daemon.runs = []
    lines = followed([
        event(4, "run.retrying", 7, exit_code=3, **{"class": "exit_code"}),
        event(5, "run.dead", 7, exit_code=3, **{"class": "exit_code"}), event(6, "run.running", 8, attempt=2),
    ])  # fmt: skip
    assert lines[0].endswith("failed: exit 3; it is tried again")
    assert lines[1].endswith("dead: exit 3")
    assert lines[2].endswith("begins, attempt 2")


def test_what_is_no_longer_kept_in_between_is_said(cli: Cli, daemon: FakeDaemon) -> None:
    daemon.runs = []
    reset = b'id: 900\nevent: reset\ndata: {"event": 900, "asked": 3}\n\n'
    parts = iter([Answer(200, reset, {"Transfer-Encoding": "chunked"}), problem(403, "forbidden", "enough")])
    asked: list[str | None] = []

    def stream(request: Asked, match: object) -> Answer:
        asked.append(request.query.get("after"))
        return next(parts)

    daemon.override("GET", "/v1/events", stream)
    result = cli("runs", "-f")
    assert "what happened between event 3 and 900 is no longer kept" in result.err
    assert asked == ["3", "900"]


@pytest.mark.parametrize("output", ["csv", "name"])
def test_for_programs(followed: Callable[..., list[str]], daemon: FakeDaemon, output: str) -> None:
    daemon.runs = daemon.runs[1:2]
    lines = followed([event(4, "run.succeeded", 102)], argv=("-o", output))
    if output == "csv":
        assert [line.split(",")[0] for line in lines] == ["id", "102", "102"]
    else:
        assert lines == ["102", "102"]


def test_on_a_terminal_a_line_is_no_wider_than_it(cli: Cli, daemon: FakeDaemon) -> None:
    daemon.runs[0]["job"] = "\x1b[31m" + "x" * 200
    daemon.override("GET", "/v1/events", lambda asked, match: problem(403, "forbidden", "enough"))
    shown = cli("runs", "-f", terminal=True, COLUMNS="40", TERM="xterm", NO_COLOR="1").out
    assert "\x1b" not in shown
    assert all(len(line) <= 40 for line in shown.splitlines())


def test_without_a_daemon_it_does_not_begin(alone: Cli) -> None:
    assert alone("runs", "-f").code == alone("events", "-f").code == 4


def test_whether_a_run_matches_a_filter_is_the_daemons_to_say(
    followed: Callable[..., list[str]], daemon: FakeDaemon
) -> None:
    daemon.runs = []
    asked: list[dict[str, str]] = []

    def window(request: Asked, match: object) -> Answer:
        asked.append(request.query)
        return Answer(200, {"schema": 1, "event": 1, "total": 1, "offset": 0, "items": [{"id": 7}]})

    daemon.override("GET", "/v1/runs/window", window)
    lines = followed([event(4, "run.running", 7), event(5, "run.running", 8)], argv=("-q", "tag:prod"))
    assert [line.split()[2] for line in lines] == ["7"]
    assert [(query["q"], query["around"]) for query in asked] == [("tag:prod", "7"), ("tag:prod", "8")]
