"""Queues, the daemon's pause, skips, retries and resumption: what is sent, and what is said."""

import re
from pathlib import Path

import pytest

from jobctl.cli.verbs import EVENT_KINDS, FAILURE_CLASSES, RUN_STATES
from jobctl.states import FailureClass, RunState
from unit.cli.conftest import Cli
from unit.client.fake_daemon import FakeDaemon, job, queue, run

STORE = Path(__file__).parents[3] / "daemon" / "jobctl_daemon" / "store"


def bodies(daemon: FakeDaemon, path: str) -> list[object]:
    return [asked.body for asked in daemon.asked if asked.path == path and asked.method != "GET"]


# ── queues ──────────────────────────────────────────────


def test_queues_are_listed(cli: Cli, daemon: FakeDaemon) -> None:
    pause = {"paused": True, "paused_by": "ana", "paused_since": "2026-11-29T01:12:41Z", "paused_why": "smtp"}
    daemon.queues = [queue("default", jobs=3, running=2), queue("mail", concurrency=2, ready=4, **pause)]
    assert cli("queue", "ls").out.splitlines() == [
        "QUEUE    LIMIT  RUNNING  READY  JOBS  STATE",
        "default   none        2      0     3  open",
        "mail         2        0      4     1  paused by ana 1h00m ago: smtp",
    ]
    assert cli("queue", "ls", "-o", "name").out == "default\nmail\n"
    assert cli("queue", "ls", "-o", "csv").out.startswith("name,concurrency,jobs,ready,running,paused")
    daemon.queues = []
    assert "jobctl add --queue NAME" in cli("queue", "ls").err


@pytest.mark.parametrize(
    ("word", "number", "said"),
    [("2", 2, "queue mail: at most 2 at once\n"), ("none", None, "queue mail: no limit but the slots\n")],
)
def test_the_limit_of_a_queue(cli: Cli, daemon: FakeDaemon, word: str, number: int | None, said: str) -> None:
    assert cli("queue", "set", "mail", "--concurrency", word).out == said
    assert bodies(daemon, "/v1/queues/mail") == [{"concurrency": number}]
    assert cli("queue", "set", "mail", "--concurrency", word, "-o", "name").out == "mail\n"


def test_a_queue_is_paused_and_resumed(cli: Cli, daemon: FakeDaemon) -> None:
    said = cli("queue", "pause", "mail", "--why", "smtp", "--until", "2026-11-29T05:00Z").out
    assert said == "queue mail is paused by ana 12m41s ago until 06:00 CET: smtp\n"
    assert bodies(daemon, "/v1/queues/mail/pause") == [{"until": "2026-11-29T05:00:00Z", "why": "smtp"}]
    assert cli("queue", "resume", "mail", "--catch-up").out == "resumed queue mail\n"
    assert bodies(daemon, "/v1/queues/mail/resume") == [{"catch_up": True}]
    assert cli("queue", "pause", "mail", "--until", "soon").code == 2


def test_the_daemon_is_paused_and_resumed(cli: Cli, daemon: FakeDaemon) -> None:
    assert cli("daemon", "pause", "--why", "moving").out == (
        "the daemon is paused by ana 12m41s ago: moving; jobctl daemon resume\n"
    )
    assert bodies(daemon, "/v1/daemon/pause") == [{"why": "moving"}]
    assert cli("daemon", "resume").out == "the daemon starts jobs again\n"
    assert bodies(daemon, "/v1/daemon/resume") == [None]


def test_the_pause_of_the_daemon_starts_none(alone: Cli, tmp_path: Path) -> None:
    for verb in ("pause", "resume"):
        assert alone("daemon", verb).code == 4
    assert not (tmp_path / "home").exists()


# ── pause, resume, skip ──────────────────────────────────────────────


def test_resuming_may_catch_up(cli: Cli, daemon: FakeDaemon) -> None:
    daemon.jobs[0] |= {"paused": True, "quarantined": True}
    assert cli("resume", "backup", "--catch-up").out == "resumed backup, next in 23h47m, Mon 03:00 CET\n"
    cli("resume", "backup")
    assert bodies(daemon, "/v1/jobs/1/resume") == [{"catch_up": True}, None]


def _answer(body: dict[str, object]) -> object:
    from unit.client.fake_daemon import Answer

    return Answer(200, body)


def test_what_still_holds_a_job_is_said(cli: Cli, daemon: FakeDaemon) -> None:
    words = "the queue mail was paused by root"
    held = job(1, "backup", suspended_by="queue", suspended_why=words, queue="mail", next_run_at=None)
    daemon.override("POST", "/v1/jobs/1/resume", _answer(held))
    assert cli("resume", "backup").out == f"resumed backup; held: {words}; jobctl queue resume mail\n"


def test_the_next_times_are_left_out(cli: Cli, daemon: FakeDaemon) -> None:
    assert cli("skip", "backup").out == "backup leaves out Mon 03:00 CET; next in 47h47m, Tue 03:00 CET\n"
    said = cli("skip", "backup", "sync", "-n", "3", "--why", "maintenance").out
    assert said.startswith("backup leaves out its next 3 times, from Mon 03:00 CET on; next in 47h47m")
    assert bodies(daemon, "/v1/jobs/1/skip") == [{"count": 1}, {"count": 3, "why": "maintenance"}]
    assert bodies(daemon, "/v1/jobs/2/skip") == [{"count": 3, "why": "maintenance"}]
    assert cli("skip", "--tag", "nightly", "-o", "name").out == "backup\n"


def test_the_next_times_of_a_job_that_is_held_are_left_out_too(cli: Cli, daemon: FakeDaemon) -> None:
    words = "the daemon was paused by root: a new disk"
    daemon.jobs[0] |= {"state": "paused", "suspended_by": "daemon", "suspended_why": words, "next_run_at": None}
    daemon.override("POST", "/v1/jobs/1/skip", _answer(daemon.jobs[0]))
    said = cli("skip", "backup").out
    assert said.startswith("backup leaves out Mon 03:00 CET; held: the daemon ")


def test_what_is_left_out_is_taken_back(cli: Cli, daemon: FakeDaemon) -> None:
    said = cli("skip", "backup", "--undo").out
    assert said == "backup leaves out nothing more; next in 47h47m, Tue 03:00 CET\n"
    assert bodies(daemon, "/v1/jobs/1/skip") == [{"count": 0}]
    for more in (["-n", "2"], ["--why", "x"]):
        assert cli("skip", "backup", "--undo", *more).code == 2
    assert len(bodies(daemon, "/v1/jobs/1/skip")) == 1


# ── retry ──────────────────────────────────────────────


def test_a_retry_of_each_kind(cli: Cli, daemon: FakeDaemon) -> None:
    waiting = {"state": "ready", "class": "exit_code", "outcome": "exit_code", "finished_at": None}
    daemon.runs += [run(90, daemon.jobs[0], state="dead"), run(91, daemon.jobs[0], **waiting)]
    assert cli("retry", "90", "91", "101").out.splitlines() == [
        "run 90 of backup is replayed, under its key", "run 91 of backup is retried now",
        "run 106 of backup, again for run 101",
    ]  # fmt: skip
    assert cli("retry", "101", "-o", "name").out == "107\n"
    assert cli("retry", "101", "--json").json()["how"] == "again"


def test_a_job_stands_for_its_newest_run_that_failed(cli: Cli, daemon: FakeDaemon) -> None:
    daemon.runs.insert(0, run(105, daemon.jobs[0]))
    cli("retry", "backup", "--key", "k")
    assert (daemon.asked[-1].path, daemon.asked[-1].headers["Idempotency-Key"]) == ("/v1/runs/101/retry", "k")
    daemon.runs.insert(0, run(106, daemon.jobs[0], state="ready", **{"class": "exit_code", "outcome": "exit_code"}))
    cli("retry", "backup")
    assert daemon.asked[-1].path == "/v1/runs/106/retry"
    nothing = cli("retry", "sync")
    assert (nothing.code, "run it now: jobctl run sync" in nothing.err) == (5, True)


def test_a_command_run_once_is_retried_by_its_name(cli: Cli, daemon: FakeDaemon) -> None:
    daemon.runs.append(run(90, job(900, "make"), state="failed", exit_code=2, **{"class": "exit_code"}))
    cli("retry", "make")
    assert daemon.asked[-1].path == "/v1/runs/90/retry"


# ── the words of jobctl.states ──────────────────────────────────────────────


def test_the_words_are_those_of_the_states() -> None:
    assert set(RUN_STATES) == set(RunState)
    assert set(FAILURE_CLASSES) == set(FailureClass)
    assert {f"run.{state}" for state in RunState} <= set(EVENT_KINDS)


def test_the_store_writes_no_other_kinds_of_events() -> None:
    written = set()
    for path in STORE.rglob("*.py"):
        written |= set(re.findall(r'"((?:job|run|occurrence|queue|daemon|clock)\.[a-z_]+)"', path.read_text()))
    assert written <= set(EVENT_KINDS)
