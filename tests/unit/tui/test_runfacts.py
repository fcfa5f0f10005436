"""What is asked about one run, and all of it on lines of a screen."""

from datetime import UTC
from typing import Any

import pytest

from jobctl.errors import NotFound
from jobctl.reading.times import Viewer, milliseconds
from jobctl.reading.width import width
from jobctl_tui.live.runfacts import Facts, read
from jobctl_tui.words.glyphs import UTF8
from jobctl_tui.words.rundetails import details
from kit.scripted import Scripted

Json = dict[str, Any]
VIEWER = Viewer(milliseconds("2026-11-29T02:12:41Z"), zone=UTC)
RUN: Json = {
    "id": 7, "key": "k" * 80, "job_id": 3, "job": "backup", "queue": "pg", "version": 2, "edited": False,
    "trigger": "manual", "scheduled_at": "2026-11-29T02:00:00Z", "due_at": "2026-11-29T02:00:00Z",
    "started_at": "2026-11-29T02:00:00Z", "finished_at": "2026-11-29T02:00:41Z", "state": "failed",
    "class": "exit_code", "reason": "exit 1",
    "attempt": 1, "uncounted": 0, "max_attempts": 1, "replays": 0, "put_back": None,
    "retry_of": None, "error": "\x1b]0;title\x07no space", "fence": 9, "node": "db1", "exit_code": 1, "signal": None,
    "late": True, "coalesced": 0,
}  # fmt: skip
WORK: Json = {"target": {"shell": "a " * 200}, "stdin": None, "payload_ref": None, "env": {"PASSWORD": "hunter2"},
              "env_file": None, "user": "ana", "cwd": "/srv", "version": 2, "edited": False}  # fmt: skip
DURATIONS: Json = {
    "count": 3,
    "p50": 4.0,
    "p95": 8.0,
    "items": [{"duration": 8.0}, {"duration": 4.0}, {"duration": 1.0}],
}


def daemon(**more: Any) -> Scripted:
    return Scripted({
        "/v1/runs/7": RUN, "/v1/runs/7/attempts": [], "/v1/runs/7/work": WORK, "/v1/jobs/3": {"timeout": 60},
        "/v1/jobs/3/durations": DURATIONS, **more,
    })  # fmt: skip


def test_all_of_it_is_asked_for_once_and_then_what_may_have_changed() -> None:
    source = daemon()
    first = read(source.client(), 7)
    assert (first.limit_s, first.durations["p95"], first.work) == (60, 8.0, WORK)
    source.asked.clear()
    assert read(source.client(), 7, first) == first
    assert [request.path.partition("?")[0] for request in source.asked] == ["/v1/runs/7", "/v1/runs/7/attempts"]


def test_a_replay_with_another_command_is_asked_for_anew() -> None:
    source = daemon()
    first = read(source.client(), 7)
    source.answers["/v1/runs/7"] = RUN | {"edited": True}
    source.answers["/v1/runs/7/work"] = WORK | {"cwd": "/tmp"}
    again = read(source.client(), 7, first)
    assert again.work is not None
    assert again.work["cwd"] == "/tmp"


def test_a_job_that_is_gone_leaves_what_is_known_of_the_run() -> None:
    source = Scripted({"/v1/runs/7": RUN, "/v1/runs/7/attempts": []})
    assert read(source.client(), 7) == Facts(RUN, [])


def test_a_run_that_is_gone_is_an_error() -> None:
    with pytest.raises(NotFound):
        read(Scripted({}).client(), 7)


@pytest.mark.parametrize("columns", [20, 40, 80, 200])
def test_every_line_fits_and_nothing_of_it_is_lost_or_dangerous(columns: int) -> None:
    known = Facts(RUN, (), DURATIONS, WORK, 60)
    lines = ["".join(text for text, _ in line) for line in details(known, VIEWER, UTF8, columns)]
    assert all(width(line) <= max(columns, 30) and line.isprintable() for line in lines), lines
    words = "".join(line[14:] for line in lines)
    assert words.replace(" ", "").count("a") >= 200
    assert "k" * 80 in words.replace(" ", "")


def test_values_of_variables_stay_away() -> None:
    known = Facts(RUN, (), DURATIONS, WORK, 60)
    text = "\n".join("".join(text for text, _ in line) for line in details(known, VIEWER, UTF8, 80))
    assert "PASSWORD" in text
    assert "hunter2" not in text
    assert "▁▄█" in text
    assert "timeout      1m for each attempt" in text
