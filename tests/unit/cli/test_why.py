"""Why it ran, or did not: each reason in words, for one instant and for many."""

from typing import Any

import pytest

from jobctl.cli.fate import REASONS
from jobctl.states import SkipReason
from unit.cli.conftest import Cli
from unit.client.fake_daemon import PREVIEW, Answer, Asked, FakeDaemon, dead, job, queue, run

DUE = "2026-11-29T02:00:00Z"


def entry(at: str, to: str | None = None, **changed: Any) -> dict[str, Any]:
    plain = {
        "from": at, "to": to or at, "count": 1, "run_id": None, "reason": None, "detail": None, "recorded_at": at,
    }  # fmt: skip
    return plain | changed


def test_the_last_occurrences(cli: Cli, daemon: FakeDaemon) -> None:
    daemon.ledger = [
        entry("2026-11-26T02:00:00Z", "2026-11-28T02:00:00Z", count=3, reason="paused"),
        entry("2026-11-29T01:00:00Z", reason="overlap", detail="run 99 was active"),
        entry(DUE, run_id=101),
    ]
    shown = cli("why", "backup").out.splitlines()
    assert shown[0] == (
        "Thu 26 Nov 2026 03:00:00 CET to Sat 28 Nov 2026 03:00:00 CET (3×)   skipped (paused): the job was paused"
    )
    assert "skipped (overlap): run 99 was active" in shown[1]
    assert "run 101 ended exit 1, started 03:00 CET, late by 0s" in shown[2]
    assert shown[3].startswith("next: ")
    assert "run 101" in cli("why", "backup", "--at", "03:00").out
    assert "the job was added" in cli("why", "backup", "--at", "2026-01-01 03:00").out
    assert cli("why", "backup", "--at", "2026-11-30 03:00").out.endswith("due then, in the future\n")


def test_a_run_that_failed_says_what_it_printed(cli: Cli, daemon: FakeDaemon) -> None:
    daemon.runs = [
        run(
            101,
            daemon.jobs[0],
            state="failed",
            outcome="failed",
            exit_code=127,
            error="/bin/sh: 1: nosuch: not found\nmore",
        )
    ]
    daemon.ledger = [entry(DUE, run_id=101)]
    shown = cli("why", "backup").out.splitlines()[0]
    assert "run 101 ended exit 127, started" in shown
    assert shown.endswith("; /bin/sh: 1: nosuch: not found")


def test_every_reason_has_words() -> None:
    assert set(REASONS) == set(SkipReason)


@pytest.mark.parametrize("reason", list(SkipReason))
def test_a_reason_without_details(cli: Cli, daemon: FakeDaemon, reason: SkipReason) -> None:
    daemon.ledger = [entry(DUE, reason=reason.value)]
    assert f"({reason}): {REASONS[reason]}" in cli("why", "backup").out


@pytest.mark.parametrize(
    ("reason", "detail", "said"),
    [
        ("overlap", "run 7 was still active", "skipped (overlap): run 7 was still active"),
        ("limit", "2 runs were still active, the oldest is 7", "skipped (limit): 2 runs were still active"),
        (
            "down",
            "no daemon ran: last seen at 2026-11-29T01:00:00Z, back at 2026-11-29T02:10:00Z",
            "no daemon ran: last seen at Sun 29 Nov 2026 02:00:00 CET, back at Sun 29 Nov 2026 03:10:00 CET",
        ),
        (
            "clock",
            "the clock was set forward from 2026-11-29T01:00:00Z to 2026-11-29T02:10:00Z",
            "skipped (clock): the clock was set forward from Sun 29 Nov 2026 02:00:00 CET to",
        ),
        ("asked", "skipped by ana: maintenance", "skipped (asked): skipped by ana: maintenance"),
        ("coalesced", "further times of the same clock change", "not run by itself (coalesced): further times"),
        ("paused", "paused by ana\x1b[2J", "skipped (paused): paused by ana\\x1b[2J"),
    ],
)
def test_who_what_and_when_are_in_the_details(
    cli: Cli, daemon: FakeDaemon, reason: str, detail: str, said: str
) -> None:
    daemon.ledger = [entry(DUE, reason=reason, detail=detail)]
    assert said in cli("why", "backup").out
    assert cli("why", "backup", "--json").json()["items"][0]["detail"] == detail


def test_neighbours_with_the_same_reason_are_one_line_for_people(cli: Cli, daemon: FakeDaemon) -> None:
    minutes = [f"2026-11-28T{hour:02d}:{minute:02d}:00Z" for hour in range(24) for minute in range(0, 60, 5)]
    daemon.ledger = [entry(at, reason="overlap", detail="run 99 was still active") for at in minutes]
    daemon.ledger.append(entry(DUE, reason="overlap", detail="run 100 was still active"))
    shown = cli("why", "backup").out.splitlines()
    assert shown[0] == (
        "Sat 28 Nov 2026 01:00:00 CET to Sun 29 Nov 2026 00:55:00 CET (288×)"
        "   skipped (overlap): run 99 was still active"
    )
    assert "run 100" in shown[1]
    assert len(cli("why", "backup", "--since", "7d", "--json").json()["items"]) == 289


def test_runs_that_never_began_are_told_by_the_ledgers_reason(cli: Cli, daemon: FakeDaemon) -> None:
    never = {"started_at": None, "finished_at": DUE, "attempt": 0}
    daemon.runs += [
        run(90, daemon.jobs[0], state="superseded", **never),
        run(91, daemon.jobs[0], state="superseded", **never),
        run(92, daemon.jobs[0], state="cancelled", **never),
        run(93, daemon.jobs[0], state="skipped", **never),
    ]
    edit = {"reason": "edited", "detail": "the schedule was edited before it began"}
    daemon.ledger = [
        entry("2026-11-29T01:00:00Z", run_id=90, **edit),
        entry("2026-11-29T01:05:00Z", run_id=91, **edit),
        entry("2026-11-29T01:10:00Z", run_id=92, reason="deleted"),
        entry("2026-11-29T01:15:00Z", run_id=93, reason="limit"),
    ]
    shown = cli("why", "backup").out.splitlines()
    assert "(2×)   superseded (edited): the schedule was edited before it began" in shown[0]
    assert "cancelled (deleted): the job was removed" in shown[1]
    assert "skipped (limit): as many" in shown[2]


RANGE = entry("2026-11-26T02:00:00Z", "2026-11-28T02:00:00Z", count=3, reason="paused", detail="the job was paused")


def test_one_instant_inside_a_range(cli: Cli, daemon: FakeDaemon) -> None:
    daemon.ledger = [RANGE]
    assert cli("why", "backup", "--at", "2026-11-27 03:00").out == (
        "Fri 27 Nov 2026 03:00:00 CET   skipped (paused): the job was paused; one of 3 from"
        " Thu 26 Nov 2026 03:00:00 CET to Sat 28 Nov 2026 03:00:00 CET\n"
    )
    daemon.override("GET", "/v1/jobs/1/next", Answer(200, PREVIEW | {"items": []}))
    assert "not due then by today's schedule; inside a range" in cli("why", "backup", "--at", "2026-11-27 04:00").out
    edge = cli("why", "backup", "--at", "2026-11-28 03:00", "--json").json()["items"][0]
    assert (edge["from"], edge["reason"]) == ("2026-11-28T02:00:00Z", "paused")


def test_what_a_pause_swallows_while_it_lasts(cli: Cli, daemon: FakeDaemon) -> None:
    daemon.jobs[0] |= {"paused": True, "paused_by": "ana", "paused_since": "2026-11-29T01:12:41Z",
                       "paused_why": "provider is down", "suspended_by": "job"}  # fmt: skip
    fires = {"items": [{"at": "2026-11-29T01:30:00Z"}, {"at": DUE}]}
    daemon.override("GET", "/v1/jobs/1/next", Answer(200, PREVIEW | fires))
    said = "not started: the job is paused by ana 1h00m ago: provider is down"
    assert cli("why", "backup").out.splitlines() == [
        f"Sun 29 Nov 2026 02:30:00 CET to Sun 29 Nov 2026 03:00:00 CET (2×)   {said}; 2 so far",
        "now: paused by ana 1h00m ago: provider is down; jobctl resume backup",
    ]
    assert said in cli("why", "backup", "--at", "03:00").out
    assert "was added" in cli("why", "backup", "--at", "2026-11-28 03:00").out


def test_the_pause_of_a_queue_and_of_the_daemon(cli: Cli, daemon: FakeDaemon) -> None:
    fires = {"items": [{"at": DUE}]}
    daemon.override("GET", "/v1/jobs/1/next", Answer(200, PREVIEW | fires))
    pause = {"suspended_since": "2026-11-29T01:12:41Z", "suspended_until": "2026-11-29T05:00:00Z",
             "suspended_why": "the queue mail was paused by root: smtp"}  # fmt: skip
    daemon.jobs[0] |= pause | {"suspended_by": "queue", "queue": "mail"}
    shown = cli("why", "backup").out
    assert "not started: the queue mail was paused by root: smtp, until 06:00 CET\n" in shown
    assert "now: held: the queue mail was paused by root: smtp, until 06:00 CET; jobctl queue resume mail\n" in shown
    endless = {"suspended_why": "the daemon was paused by root", "suspended_until": None}
    daemon.jobs[0] |= {"suspended_by": "daemon", **endless}
    shown = cli("why", "backup").out
    assert "not started: the daemon was paused by root\n" in shown
    assert "now: held: the daemon was paused by root; jobctl daemon resume\n" in shown


def test_what_was_left_out_of_a_job_that_is_held_is_not_held_back_as_well(cli: Cli, daemon: FakeDaemon) -> None:
    daemon.jobs[0] |= {"paused": True, "suspended_by": "job", "paused_since": "2026-11-29T01:12:41Z"}
    fires = {"items": [{"at": "2026-11-29T01:30:00Z"}, {"at": DUE}]}
    daemon.override("GET", "/v1/jobs/1/next", Answer(200, PREVIEW | fires))
    daemon.ledger = [entry(DUE, reason="asked", detail="skipped by ana")]
    shown = cli("why", "backup").out.splitlines()
    assert shown[0].endswith("03:00:00 CET   skipped (asked): skipped by ana")
    assert shown[1].startswith("Sun 29 Nov 2026 02:30:00 CET   not started: the job is paused")


@pytest.mark.parametrize(
    ("after", "last", "said"),
    [
        ("backup:success", True, "it starts after backup succeeds; run 101 of backup: exit 1, 12m00s ago"),
        ("backup:failure", False, "it starts after backup has failed for good; no run of backup has ended yet"),
        ("a:b:any", True, "it starts after a:b ends, however it does"),
    ],
)
def test_a_job_that_comes_after_another(cli: Cli, daemon: FakeDaemon, after: str, last: bool, said: str) -> None:
    plan = {"timezone": "UTC", "words": "after backup", "after": after}
    daemon.jobs.append(job(4, "publish", schedule=plan, next_run_at=None))
    daemon.jobs[0]["last_run"] = daemon.jobs[0]["last_run"] if last else None
    assert cli("why", "publish").out == f"nothing was due in that time\n{said}\n"
    daemon.override("GET", "/v1/jobs/4/next", Answer(200, PREVIEW | {"items": []}))
    assert f"not due then: {said}\n" in cli("why", "publish", "--at", "02:00").out
    assert f"not due then; {said}\n" in cli("why", "publish", "--at", "2026-12-01 02:00").out
    assert f"after {after.rpartition(':')[0]}" in cli("ls").out
    for doing, words in (("retrying", "a run waits for its retry"), ("running", "it is running now")):
        daemon.jobs[0][doing] = 1
        assert (f"{said}; {words}\n" in cli("why", "publish").out) == after.startswith("backup")


def test_a_run_that_waits_for_its_place_in_a_queue(cli: Cli, daemon: FakeDaemon) -> None:
    ready = {"state": "ready", "started_at": None, "finished_at": None, "outcome": None, "attempt": 0,
             "queue": "mail", "exit_code": None}  # fmt: skip
    daemon.runs.insert(0, run(104, daemon.jobs[1], **ready))
    assert "run 104 is waiting to start, due 03:00 CET" in cli("why", "104").out
    daemon.queues = [queue("default"), queue("mail", concurrency=2, running=2, ready=5)]
    said = "run 104 waits for its place in queue mail: limit 2, 2 running, 5 ready, due 03:00 CET, 12m41s ago"
    assert said in cli("why", "104").out
    daemon.runs[0]["due_at"] = "2026-11-29T02:17:41Z"
    assert "run 104 is waiting to start" in cli("why", "104").out


def test_a_dead_letter_and_what_to_do(cli: Cli, daemon: FakeDaemon) -> None:
    daemon.runs.append(dead(90, daemon.jobs[0], reason="exit 1; 4 attempts have failed", attempt=4))
    daemon.jobs[0]["dead"] = 1
    daemon.ledger = [entry(DUE, run_id=90)]
    shown = cli("why", "backup").out
    assert (
        "run 90 failed 4 times: exit 1; disk is full; dead letter since 03:00:41 CET; replay: jobctl dlq replay 90\n"
        in shown
    )
    assert "1 dead letter: jobctl dlq ls backup" in shown
    daemon.jobs[0]["version"] = 2
    older = "as version 1; backup is version 2 now: --current takes that"
    assert f"replay: jobctl dlq replay 90 ({older})\n" in cli("why", "backup").out
    daemon.runs[-1] |= {"state": "discarded", "attempt": 1}
    assert "run 90 failed once: exit 1; disk is full; discarded 03:00:41 CET" in cli("why", "backup").out


def test_why_it_could_not_start_is_said_without_names_of_errno(cli: Cli, daemon: FakeDaemon) -> None:
    why = "it could not be started: ENOENT: program ./x.sh: No such file or directory"
    daemon.runs.append(dead(90, daemon.jobs[0], reason=why, attempt=1, error=None, **{"class": "spawn_error"}))
    daemon.ledger = [entry(DUE, run_id=90)]
    assert "run 90 failed once: it could not be started: no such program: ./x.sh; dead" in cli("why", "backup").out
    daemon.runs[-1]["reason"] = "it could not be started: EACCES: program /x: it is not executable: chmod +x /x"
    said = "failed once: it could not be started: program /x: it is not executable: chmod +x /x; dead"
    assert said in cli("why", "backup").out


def test_a_run_that_waits_for_another(cli: Cli, daemon: FakeDaemon) -> None:
    waiting = {"state": "scheduled", "started_at": None, "finished_at": None, "outcome": None, "attempt": 0,
               "reason": "waits for an earlier run of its job", "exit_code": None}  # fmt: skip
    daemon.runs.insert(0, run(104, daemon.jobs[1], **waiting))
    daemon.ledger = [entry(DUE, run_id=104)]
    active = Answer(200, {"schema": 1, "items": [daemon.runs[0], daemon.runs[1]], "next": None})
    daemon.override("GET", "/v1/jobs/2/runs", active)
    assert "run 104 waits for run 103 to end, due 02:00 UTC, 12m41s ago" in cli("why", "sync").out
    daemon.jobs[1] |= {"paused": True, "paused_by": "ana"}
    daemon.runs[0]["reason"] = "held: its job is paused"
    assert "run 104 is held: the job is paused by ana, due 02:00 UTC" in cli("why", "sync").out


def test_a_replay_that_waits_for_its_turn(cli: Cli, daemon: FakeDaemon) -> None:
    waiting = {"state": "scheduled", "started_at": None, "finished_at": None, "replays": 1, "exit_code": None,
               "uncounted": 4, "reason": "waits for its turn in the replay",
               "due_at": "2026-11-29T02:12:51Z"}  # fmt: skip
    daemon.runs.append(dead(90, daemon.jobs[0], **waiting))
    said = "run 90 failed: exit_code; replayed, it waits for its turn in the replay, due 03:12:51 CET, in 10s"
    assert said.replace("exit_code", "exit code") in cli("why", "90").out
    assert "its replay is due 03:12:51 CET, in 10s" in cli("show", "90", "--run").out
    assert "retrying" not in cli("runs").out
    daemon.runs[-1] |= {"reason": "exit 1"}
    assert "run 90 failed: exit 1; replayed, it is waiting to start, due" in cli("why", "90").out


def test_runs_that_gave_way_to_others(cli: Cli, daemon: FakeDaemon) -> None:
    gone = {"state": "superseded", "outcome": "superseded", "started_at": None, "attempt": 0}
    by = "it was cancelled by run 99, which replaces it"
    daemon.runs += [
        run(97, daemon.jobs[0], reason="its schedule was edited by ana", **gone),
        run(98, daemon.jobs[0], state="cancelled", outcome="cancelled", reason=by, **{"class": "cancelled"}),
    ]
    assert "run 97 was superseded: its schedule was edited by ana" in cli("why", "97").out
    assert "run 98 was cancelled by run 99, which replaces it, started 03:00 CET" in cli("why", "98").out


def test_quarantine_says_how_to_release(cli: Cli, daemon: FakeDaemon) -> None:
    daemon.jobs[0] |= {"quarantined": True, "paused": True, "paused_since": "2026-11-29T01:12:41Z",
                       "paused_why": "5 dead letters in a row", "suspended_by": "job"}  # fmt: skip
    said = "now: quarantined 1h00m ago: 5 dead letters in a row; jobctl resume backup"
    assert said in cli("why", "backup").out


def test_many_runs_are_asked_for_together(cli: Cli, daemon: FakeDaemon) -> None:
    daemon.runs = [run(number, daemon.jobs[0]) for number in range(240, 200, -1)]
    daemon.ledger = [entry(DUE, run_id=number) for number in range(201, 241)]
    assert len(cli("why", "backup", "--since", "7d").out.splitlines()) == 41
    assert [asked.path for asked in daemon.asked if "runs" in asked.path] == ["/v1/jobs/1/runs"]


def test_why_not_due(cli: Cli, daemon: FakeDaemon) -> None:
    def following(asked: Asked, match: object) -> Answer:
        return Answer(200, PREVIEW if "until" not in asked.query else PREVIEW | {"items": []})

    daemon.override("GET", "/v1/jobs/1/next", following)
    later = cli("why", "backup", "--at", "2026-12-05 04:00").out
    assert "not due then; the next is Mon 30 Nov 2026 03:00:00 CET" in later
    assert "not due then" in cli("why", "backup", "--at", "2026-11-29 01:07").out


def test_why_nothing_was_due_and_what_was_around(cli: Cli, daemon: FakeDaemon) -> None:
    entries = [entry("2026-11-28T14:00:00Z", run_id=101), entry(DUE, run_id=102)]

    def ledger(asked: Asked, _match: object) -> Answer:
        begin, end = asked.query["from"], asked.query.get("to", "9")
        items = [item for item in entries if begin <= str(item["from"]) <= end]
        return Answer(200, {"schema": 1, "items": items, "next": None})

    daemon.jobs[0]["created_at"] = "2026-11-01T00:00:00Z"
    daemon.override("GET", "/v1/jobs/1/ledger", ledger)
    daemon.override("GET", "/v1/jobs/1/next", Answer(200, {"words": "", "items": []}))
    shown = cli("why", "backup", "--at", "2026-11-28 20:00").out.splitlines()
    assert "not due then" in shown[0]
    assert shown[1].startswith("before: Sat 28 Nov 2026 15:00:00 CET   run 101 ended exit 1")
    assert shown[2].startswith("after: Sun 29 Nov 2026 03:00:00 CET   run 102 ended ok")


def test_why_of_a_run(cli: Cli, daemon: FakeDaemon) -> None:
    gone = job(900, "sleep")
    cancelled = {"state": "cancelled", "outcome": "cancelled", "class": "cancelled"}
    daemon.runs += [
        run(99, gone, reason="it was cancelled", **cancelled),
        run(98, gone, reason="cancelled by ana", **cancelled),
    ]
    assert "run 99 was cancelled, started 03:00 CET" in cli("why", "99").out
    assert "run 99 was cancelled" in cli("why", "sleep").out
    assert "run 98 was cancelled by ana" in cli("why", "98").out
    assert cli("why", "997").code == 3


def test_late_in_words_and_no_reason_twice(cli: Cli, daemon: FakeDaemon) -> None:
    daemon.runs[-1] |= {"started_at": "2033-11-29T02:00:00Z"}
    at = "2026-11-29T02:00:00Z"
    daemon.ledger = [
        {"from": at, "to": at, "count": 1, "run_id": 101, "reason": None, "detail": None, "recorded_at": at},
        {"from": at, "to": at, "count": 1, "run_id": None, "reason": "paused", "detail": "the job was paused",
         "recorded_at": at},
    ]  # fmt: skip
    shown = cli("why", "backup").out
    assert "late by 7y2d" in shown
    assert "skipped (paused): the job was paused\n" in shown
