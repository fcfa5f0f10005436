"""The daemon in words."""

from datetime import UTC
from typing import Any

from jobctl import __version__
from jobctl.reading.times import milliseconds
from jobctl_tui.words import daemon as words
from jobctl_tui.words.daemon import Entry, Head
from jobctl_tui.words.glyphs import UTF8
from jobctl_tui.words.when import When

Json = dict[str, Any]
NOW = milliseconds("2026-11-29T02:12:41Z")
WHEN = When(local=UTC)

STATUS: Json = {
    "version": __version__, "pid": 812, "state": "running", "started_at": "2026-11-20T02:12:41Z", "system": True,
    "user": "root", "home": None, "host": "prod-db1", "now": "2026-11-29T02:12:41Z", "timezone": "Europe/Berlin",
    "timezone_from": "/etc/localtime", "tzdata": "2026a", "socket": "/run/jobctl/jobd.sock",
    "state_dir": "/var/lib/jobctl", "database_bytes": 12_400_000, "engine": {"name": "SQLite 3.53", "note": None},
    "slots": 8, "running": 3, "ready": 2, "retrying": 1, "scheduled": 14, "oldest_due_s": 4.0,
    "start_lag": {"count": 900, "p50_ms": 12, "p99_ms": 80, "max_ms": 210},
    "loop_lag": {"count": 0, "p50_ms": None, "p99_ms": None, "max_ms": None},
    "standbys": [], "jobs": {"total": 14, "paused": 1, "failed": 2, "parked": 0}, "dead": {"total": 4},
    "skipping": 0, "quarantined": 0, "untold": 0, "paused": None, "last_event": 88_120, "caller": None,
    "services": {"dispatch": {"beats": 412, "last_s": 2.1, "error": None, "stalled": None}},
    "runners": [], "warnings": [], "returns_after_reboot": True, "returns_after_reboot_why": "jobctl.service",
    "clock": {"synchronised": True, "generation": 0, "last_step": None, "last_down": None},
    "tables": [], "syslog": None,
}  # fmt: skip


def queue(name: str, **fields: Any) -> Json:
    held = {f"paused_{what}": None for what in ("by", "since", "until", "why")}
    return {"name": name, "concurrency": None, "jobs": 3, "ready": 0, "running": 1, "paused": False, **held, **fields}


def entries(status: Json | None = None, queues: list[Json] | None = None) -> dict[tuple[str, str], Entry]:
    rows = words.now({**STATUS, **(status or {})}, queues or [], WHEN, NOW, UTF8)
    return {row.identity: row for row in rows if isinstance(row, Entry)}


def test_what_is_well_says_so_in_few_words() -> None:
    found = entries()
    assert found["fact", "jobd"].text == f"{__version__}, running for 9d00h, pid 812, system"
    assert found["fact", "reboot"].text == "comes back after a reboot: jobctl.service"
    assert found["fact", "starts"].text == "half within 12ms, 99 % within 80ms, at most 210ms"
    assert found["service", "dispatch"].text == "412 passes, last 2.1s ago"
    assert words.about(STATUS, NOW) == "healthy, up 9d00h"
    assert not [entry for entry in found.values() if entry.style in {"-failed", "-late"}]


def test_what_was_not_measured_is_left_out() -> None:
    assert ("fact", "loop") not in entries()
    assert ("fact", "syslog") not in entries()


def test_trouble_stands_first_and_is_counted() -> None:
    status = {
        **STATUS, "warnings": ["the disk is nearly full"], "oldest_due_s": 400.0, "quarantined": 2, "state": "stopping",
        "paused": queue("", paused=True, paused_by="ana", paused_since="2026-11-29T00:12:41Z", paused_why="move"),
    }  # fmt: skip
    rows = words.now(status, [], WHEN, NOW, UTF8)
    assert [row.text for row in rows[1:6]] == [
        "the daemon is stopping",
        "no job is started: paused 2h00m ago by ana: move",
        "the disk is nearly full",
        "the oldest due run has been waiting for 6m40s",
        "2 jobs are quarantined after dying too often, until somebody resumes",
    ]
    assert words.about(status, NOW).startswith("5 troubles")


def test_a_daemon_that_will_not_come_back_is_told_in_yellow() -> None:
    status = {"returns_after_reboot": False, "returns_after_reboot_why": "started by hand"}
    reboot = entries(status)["trouble", "reboot"]
    assert (reboot.text, reboot.style) == ("will NOT come back after a reboot or logout: started by hand", "-late")
    assert words.about({**STATUS, **status}, NOW).startswith("1 trouble")


def test_trouble_is_told_whole_on_as_many_lines_as_it_takes() -> None:
    status = {**STATUS, "returns_after_reboot": False, "returns_after_reboot_why": "started by hand"}
    rows = [row for row in words.now(status, [], WHEN, NOW, UTF8, columns=30) if isinstance(row, Entry)][:3]
    assert " ".join(row.text for row in rows) == words.no_return(status)
    assert all(len(row.text) <= 30 for row in rows)
    assert [row.label for row in rows] == ["trouble", "", ""]
    assert len({row.identity for row in rows}) == 3
    assert {row.about[""] for row in rows} == {words.no_return(status)}


def test_slots_are_a_bar_with_what_waits_beside_it() -> None:
    assert entries()["fact", "slots"].text == "3 of 8 busy ████░░░░░░  1 ready, 1 retrying, 14 scheduled"
    full = entries({"running": 8})["fact", "slots"]
    assert (full.text[:21], full.style) == ("8 of 8 busy █████████", "-late")


def test_queues_say_their_limit_and_who_paused_them() -> None:
    found = entries(queues=[
        queue("default"), queue("mail", concurrency=2, running=2),
        queue("pg", paused=True, paused_by="ana", paused_since="2026-11-29T02:11:41Z", paused_why="vacuum",
              paused_until="2026-11-29T06:00:00Z"),
    ])  # fmt: skip
    assert found["queue", "default"].text == "1 running, 0 ready, 3 jobs, no limit but the slots"
    assert (found["queue", "mail"].text, found["queue", "mail"].style) == ("2 of 2 running, 0 ready, 3 jobs", "-late")
    assert found["queue", "pg"].text.startswith("paused 1m00s ago by ana until 06:00 UTC: vacuum, 1 running")
    assert found["queue", "pg"].sign == "paused"


def test_a_service_says_its_last_pass_its_error_or_that_it_is_stalled() -> None:
    def beat(**fields: Any) -> Json:
        return {"beats": 12_345, "last_s": 0.25, "error": None, "stalled": None, **fields}

    found = entries({"services": {
        "mail": beat(error="no route to host"), "tell": beat(stalled="silent for 61 s"),
        "retain": beat(beats=1), "rescue": beat(last_s=None), "api": beat(),
    }})  # fmt: skip
    assert found["service", "mail"].text == "fails: no route to host (last 250ms ago)"
    assert found["service", "mail"].style == "-failed"
    assert found["service", "tell"].text == "stalled: silent for 61 s"
    assert found["service", "retain"].text == "1 pass, last 250ms ago"
    assert found["service", "rescue"].text.endswith("none yet")
    assert found["service", "api"].text.startswith("12 k passes")


def test_runners_that_owe_an_answer_are_told() -> None:
    def runner(**fields: Any) -> Json:
        return {"instance": "0.1.0-ab-1", "pid": 30, "running": 2, "kill_by": "cgroup", "draining": False,
                "silent_s": None, **fields}  # fmt: skip

    found = entries({"runners": [runner(), runner(instance=None, running=None, kill_by=None, silent_s=14.0)]})
    assert found["runner", "0.1.0-ab-1"].label == "runner 1"
    assert found["runner", "0.1.0-ab-1"].text == "pid 30, 2 running, ends commands by cgroup"
    assert found["runner", "pid 30"].text == "pid 30, has not said who it is, owes an answer for 14s"


def test_files_have_a_line_for_each_problem() -> None:
    problem = {"line": 4, "column": None, "text": "61 * * * * x", "reason": "61 is no minute"}
    file = {"path": "/etc/crontab", "kind": "crontab", "jobs": 3, "loaded_at": "2026-11-29T02:00:41Z",
            "problems": [problem, {**problem, "line": None}]}  # fmt: skip
    found = entries({"tables": [file]})
    assert found["file", "/etc/crontab"].text == "/etc/crontab: 3 jobs, read 12m00s ago"
    assert (found["file", "/etc/crontab 0"].label, found["file", "/etc/crontab 0"].text) == (
        "  line 4",
        "61 is no minute: 61 * * * * x",
    )
    assert found["file", "/etc/crontab 1"].label == "  file"


def test_a_clock_that_was_set_is_told() -> None:
    step = {"at": "2026-11-29T02:10:41Z", "from": "2026-11-29T02:10:41Z", "to": "2026-11-29T01:10:41Z"}
    clock = entries({"clock": {**STATUS["clock"], "synchronised": False, "last_step": step}})["fact", "clock"]
    assert "not synchronised, stepped back by 1h00m 2m00s ago" in clock.text


def test_a_time_without_a_daemon_is_told_for_a_day() -> None:
    down = {"from": "2026-11-29T01:00:00Z", "to": "2026-11-29T01:40:00Z", "clean": False}
    jobd = entries({"clock": {**STATUS["clock"], "last_down": down}})["fact", "jobd"].text
    assert jobd.endswith("; before that up to 40m00s without a daemon, until 01:40 UTC")
    earlier = {**down, "from": "2026-11-20T01:00:00Z", "to": "2026-11-20T01:40:00Z"}
    assert "without" not in entries({"clock": {**STATUS["clock"], "last_down": earlier}})["fact", "jobd"].text


def test_somebody_who_does_not_operate_it_sees_what_it_tells_him() -> None:
    nothing = {"count": 0, "p50_ms": None, "p99_ms": None, "max_ms": None}
    found = entries({"services": {}, "runners": [], "database_bytes": None, "start_lag": nothing})
    assert ("fact", "database") not in found
    assert ("fact", "jobd") in found


# ── what happened ──────────────────────────────────────────────


def event(number: int, kind: str, **fields: Any) -> Json:
    return {"id": number, "at": "2026-11-29T02:00:41Z", "kind": kind, "job_id": 7, "run_id": None, "data": {}, **fields}


def test_starts_are_told_once_and_trouble_before_all_else() -> None:
    begun = [event(number, f"run.{word}", run_id=9) for number, word in enumerate(("scheduled", "ready", "running"))]
    rows = words.past(begun, [event(number, "run.failed", run_id=number) for number in range(20)], WHEN, NOW, " · back")
    assert [row.text.split(",")[0] for row in rows] == [
        "recent trouble · back", *["run.failed     job 7"] * 5, "recent events", "run.running    job 7",
    ]  # fmt: skip
    assert [row.ident for row in rows if isinstance(row, Entry)][:2] == ["bad 19", "bad 18"]


def test_events_are_told_with_the_newest_first() -> None:
    dead = event(
        2, "run.dead", run_id=4812, data={"name": "backup-db", "exit_code": 1, "reason": "exit 1", "attempt": 3}
    )
    rows = words.past([event(1, "job.edited", data={"name": "backup-db", "by": "ana"}), dead], [], WHEN, NOW)
    assert rows[0] == Head("recent events")
    shown = [row for row in rows if isinstance(row, Entry)]
    assert [row.text for row in shown] == [
        "run.dead       backup-db, run 4812, exit 1, attempt 3",
        "job.edited     backup-db, by ana",
    ]
    assert (shown[0].style, shown[0].sign, shown[0].label) == ("-failed", "failed", "02:00:41")


def test_an_event_of_a_job_without_a_name_has_its_number() -> None:
    (_, row) = words.past([event(1, "job.deleted")], [], WHEN, NOW)
    assert isinstance(row, Entry)
    assert row.text == "job.deleted    job 7"


def test_nothing_happened_and_nothing_is_said() -> None:
    assert words.past([], [], WHEN, NOW) == []
    assert words.said([], WHEN, NOW) == []


def test_what_was_said_is_kept_with_its_time() -> None:
    rows = words.said([(NOW - 1000, "paused a", False), (NOW, "it cannot be", True)], WHEN, NOW)
    assert [(row.label, row.text, row.style) for row in rows if isinstance(row, Entry)] == [
        ("02:12:41", "it cannot be", "-failed"),
        ("02:12:40", "paused a", ""),
    ]
