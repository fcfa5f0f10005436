"""What is coming, how long jobs take, and what the daemon has said."""

from typing import Any

import pytest

from jobctl.cli.upcoming import bar
from unit.cli.conftest import Cli
from unit.client.fake_daemon import FakeDaemon, problem

Json = dict[str, Any]


def item(number: int, name: str, **changed: Any) -> Json:
    plain: Json = {
        "id": number, "name": name, "state": "ok", "paused": False, "late_since": None,
        "next_run_at": "2026-11-29T03:00:00Z", "fires": 1, "lane": [0] * 23 + [1], "p50": None,
    }  # fmt: skip
    return plain | changed


@pytest.fixture(autouse=True)
def coming(daemon: FakeDaemon) -> Json:
    daemon.upcoming = {
        "schema": 1, "event": 3, "from": "2026-11-29T02:00:00Z", "until": "2026-11-30T02:00:00Z",
        "timezone": "Europe/Berlin", "cells": 24, "total": 3, "offset": 0, "jobs": 2, "fires": 25,
        "density": [1] * 24, "busy": [0.0] * 23 + [1.5], "slots": 4,
        "crowded": [{"at": "2026-11-29T03:00:00Z", "count": 7, "jobs": ["a", "b"]}],
        "transitions": [{"at": "2026-11-29T10:00:00Z", "local": "", "timezone": "Europe/Berlin", "kind": "gap",
                         "offset_before": 3600, "offset_after": 7200, "jobs": 2}],
        "next_transition": None, "left_out": {"jobs": 5, "busy": 0},
        "items": [item(1, "late", late_since="2026-11-29T02:00:00Z"),
                  item(2, "hourly", fires=24, lane=[1] * 24, p50=41), item(3, "held", paused=True, next_run_at=None)],
    }  # fmt: skip
    return daemon.upcoming


def test_a_line_for_each_job_and_what_all_come_to(cli: Cli) -> None:
    shown = cli("next", "--all")
    lines = shown.out.splitlines()
    assert lines[0].split() == ["NEXT", "IN", "JOB", "FIRES", "TAKES", "NEXT", "HOURS"]
    assert lines[1].startswith("late since 03:00 CET")
    assert lines[2].split() == ["04:00", "CET", "in", "47m19s", "hourly", "24", "41s", "█" * 24]
    assert lines[3].startswith("paused")
    assert lines[3].endswith("·" * 23 + "█")
    for text in ("2 jobs fire 25 times, 03:00 CET to Mon 03:00 CET", "at most 1.5 of 4 slots",
                 "7 together 04:00 CET, in 47m19s: a, b …", "the clock of Europe/Berlin goes forward 11:00 CET",
                 "5 jobs are not in these sums"):  # fmt: skip
        assert text in shown.err


def test_what_was_asked_for_is_asked(cli: Cli, daemon: FakeDaemon) -> None:
    cli("next", "--all", "--hours", "6", "-q", "x", "-n", "2")
    query = next(one.query for one in daemon.asked if one.path == "/v1/upcoming")
    assert query == {"hours": "6", "cells": "24", "q": "x", "offset": "0", "limit": "2"}


def test_for_programs(cli: Cli, coming: Json) -> None:
    assert cli("next", "--all", "--json").json() == coming
    assert cli("next", "--all", "-o", "name").out.split() == ["late", "hourly", "held"]
    assert cli("next", "--all", "-o", "name", "-n", "1").out.split() == ["late"]
    assert cli("next", "--all", "-o", "csv").out.startswith(
        "id,name,state,paused,late_since,next_run_at,fires,p50,lane\r\n"
    )


def test_what_is_left_out_is_told_below(cli: Cli, coming: Json, daemon: FakeDaemon) -> None:
    skips = {"count": 2, "first": "2026-11-29T04:00:00Z", "last": "2026-11-29T05:00:00Z"}
    coming["items"][1]["skips"] = skips
    coming["items"][2]["skips"] = skips | {"count": 1}
    told = cli("next", "--all").err
    assert "hourly leaves out 05:00 CET to 06:00 CET, 2 times: jobctl skip hourly --undo" in told
    assert "held leaves out 05:00 CET: jobctl skip held --undo" in told
    coming["items"][0] |= {"id": 1, "skips": skips}
    assert "late leaves out 05:00 CET to 06:00 CET, 2 times" in cli("next", "backup").err
    daemon.override("GET", "/v1/upcoming", lambda asked, match: problem(422, "invalid_input", "there is no job"))
    assert cli("next", "backup").code == 0


def test_nothing_comes(cli: Cli, coming: Json) -> None:
    coming |= {"items": [], "total": 0}
    shown = cli("next", "--all")
    assert (shown.code, shown.out) == (0, "")
    assert "nothing fires before Mon 30 Nov 2026 03:00:00 CET" in shown.err


def test_where_blocks_cannot_be_written_there_are_signs(cli: Cli) -> None:
    assert "@" * 24 in cli("next", "--all", encoding="ascii").out


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        ((), "of what? an expression or a job"),
        (("backup", "--all"), "--all is of all jobs"),
        (("--all", "--tz", "UTC"), "--all is of all jobs"),
        (("backup", "--hours", "3"), "--hours and -q go with --all"),
        (("--all", "--hours", "193"), "193"),
    ],
)
def test_what_makes_no_sense(cli: Cli, argv: tuple[str, ...], said: str) -> None:
    result = cli("next", *argv)
    assert result.code == 2
    assert said in result.err


@pytest.mark.parametrize(
    ("counts", "drawn"), [([0, 1, 8], "·▁█"), ([0.5, 4, 7.9, 8], "▁▄██"), ([0, 0], "··"), ([], "")]
)
def test_bars(counts: list[float], drawn: str) -> None:
    assert bar(counts, 8, "▁▂▃▄▅▆▇█") == drawn


# ── how long, and how it went ──────────────────────────────────────────────


def test_show_tells_how_long_a_job_usually_takes(cli: Cli, daemon: FakeDaemon) -> None:
    daemon.durations[1] = {"schema": 1, "count": 30, "p50": 41, "p95": 62.5, "items": []}
    assert "  takes      half within 41s, 95 % within 1m02s, of 30 runs that succeeded\n" in cli("show", "backup").out
    daemon.durations[1] |= {"count": 1}
    assert "  takes      41s, the one run that succeeded\n" in cli("show", "backup").out
    daemon.durations[1] = {"schema": 1, "count": 0, "p50": None, "p95": None, "items": []}
    assert "takes" not in cli("show", "backup").out
    daemon.override("GET", "/v1/jobs/1/durations", lambda asked, match: problem(404, "not_found", "no such path"))
    assert "takes" not in cli("show", "backup").out


def test_the_wide_list_tells_how_the_last_runs_went_and_how_long_they_take(cli: Cli, daemon: FakeDaemon) -> None:
    head, first, *_ = cli("ls", "-o", "wide").out.splitlines()
    assert ("LAST 10" in head, "HALF" in head, "95 %" in head, "TAGS" in head) == (True,) * 4
    assert ("..x>" in first, " 41s " in first, " 1m02s " in first, "nightly" in first) == (True,) * 4
    daemon.override("GET", "/v1/jobs/window", lambda asked, match: problem(404, "not_found", "no such path"))
    assert "..x>" not in cli("ls", "-o", "wide").out
    assert cli("ls", "-o", "wide").code == 0


def test_few_jobs_of_very_many_are_asked_for_one_by_one(cli: Cli, daemon: FakeDaemon) -> None:
    from unit.client.fake_daemon import Answer, Asked

    asked: list[dict[str, str]] = []

    def window(request: Asked, match: object) -> Answer:
        asked.append(request.query)
        line = {"id": 2, "recent": "....", "p50": None, "p95": None}
        items = [line] if "around" in request.query else []
        return Answer(200, {"schema": 1, "event": 1, "total": 100_000, "offset": 0, "items": items})

    daemon.override("GET", "/v1/jobs/window", window)
    assert "...." in cli("ls", "sync", "-o", "wide").out
    assert [query.get("around") for query in asked] == [None, "2"]


# ── the daemon's log ──────────────────────────────────────────────


def test_the_last_lines_of_the_daemons_log(cli: Cli, daemon: FakeDaemon) -> None:
    daemon.said = [{"at": "2026-11-29T02:12:41Z", "level": level, "text": f"something {level}\x1b[31m"} for level in
                   ("info", "error")]  # fmt: skip
    assert cli("daemon", "log").out == (
        "03:12:41 CET  info      something info\\x1b[31m\n03:12:41 CET  error     something error\\x1b[31m\n"
    )
    assert cli("daemon", "log", "-n", "1", "-o", "ndjson").out.count("\n") == 1
    assert "\x1b[31msomething error" in cli("daemon", "log", terminal=True, TERM="xterm").out
    daemon.said = []
    assert "it has said nothing yet" in cli("daemon", "log").err
