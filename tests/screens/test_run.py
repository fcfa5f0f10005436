"""The screen of a run: why it is as it is, its attempts, and its log as it grows, over the death of a daemon too."""

import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from jobctl.client.transport import Request, Response
from jobctl_tui.screens.run import RunScreen
from kit.daemon import RealDaemon, real_daemon
from kit.screens import SHAPES, VIEWS, Shown, screens
from kit.scripted import Scripted, log, problem

Json = dict[str, Any]


def run(ident: int, job: str, state: str, **more: Any) -> Json:
    """A Run of tonight."""
    return {
        "id": ident, "key": f"{ident}:2026-11-29T02:00:00Z", "job_id": 7, "job": job, "queue": "default", "version": 9,
        "edited": False, "trigger": "schedule", "scheduled_at": "2026-11-29T02:00:00Z",
        "due_at": "2026-11-29T02:00:32Z", "started_at": "2026-11-29T02:00:32Z", "finished_at": None, "state": state,
        "outcome": None, "class": None, "reason": None, "attempt": 1, "uncounted": 0, "max_attempts": 1, "replays": 0,
        "put_back": None, "retry_of": None, "error": None, "fingerprint": None, "fence": 4812, "node": "prod-db1",
        "lease_until": None, "exit_code": None, "signal": None, "late": False, "coalesced": 0, **more,
    }  # fmt: skip


def attempt(number: int, begun: str, ended: str | None, **more: Any) -> Json:
    at = f"2026-11-29T{begun}Z"
    return {
        "run_id": 4812, "attempt": number, "fence": number, "node": "prod-db1", "pid": 20_000 + number,
        "claimed_at": at, "started_at": at, "ended_at": None if ended is None else f"2026-11-29T{ended}Z",
        "exit_code": 1, "signal": None, "class": "exit_code", "detail": None, "cpu": 2.5, "max_rss": 31_000_000,
        "log_size": 500, "log_dropped": 0, "signals": [], "left_behind": [], **more,
    }  # fmt: skip


LOG = b"""backup.sh: starting full backup to s3://bk/prod-db1
disk /var/lib/postgresql 100% used
pg_dump: reading extensions
pg_dump: dumping contents of table "customers"
\x1b[1mpg_dump\x1b[0m: dumping contents of table "orders_2026"
FATAL: could not write to file "base/pgsql_tmp/t3_0": No space left on device
"""
WORK = {"target": {"command": ["/opt/bin/backup.sh", "--full"]}, "stdin": None, "payload_ref": None,
        "env": {"PGHOST": "secret", "LANG": "C.UTF-8"}, "env_file": None, "user": "postgres", "cwd": "/srv/backup",
        "version": 9, "edited": False}  # fmt: skip
FAILED = run(
    4812, "backup-db", "dead", attempt=3, max_attempts=3, finished_at="2026-11-29T02:00:41Z", exit_code=1,
    reason="exit 1; 3 attempts have failed", error="FATAL: could not write to file", **{"class": "exit_code"},
)  # fmt: skip
TRIES = [attempt(1, "02:00:00.2", "02:00:10"), attempt(2, "02:00:16", "02:00:26"), attempt(3, "02:00:32", "02:00:41")]


def scripted(of: Json, tries: list[Json], answer: Any = None, **more: Any) -> Scripted:
    def whole(request: Request) -> Response:
        return log(LOG, request.path.partition("?")[2], attempt=of["attempt"])

    base = f"/v1/runs/{of['id']}"
    times = {"attempt": of["attempt"], "complete": True, "items": [[60, "2026-11-29T02:00:33Z"],
             [180, "2026-11-29T02:00:38Z"], [len(LOG) + 1, "2026-11-29T02:00:41Z"]]}  # fmt: skip
    return Scripted({
        base: of, f"{base}/attempts": tries, f"{base}/work": WORK, f"{base}/log": answer or whole,
        f"{base}/log/times": times,
        "/v1/jobs/7": {"id": 7, "timeout": 3600},
        "/v1/jobs/7/durations": {"schema": 1, "count": 30, "p50": 1680.0, "p95": 1860.0, "items": []}, **more,
    })  # fmt: skip


async def opened(ui: Shown, ident: int, words: str) -> None:
    ui.app.open_run(ident)
    await ui.shows(words)


@pytest.mark.parametrize(("size", "look"), VIEWS)
async def test_a_failed_run_looks_like_this(size: tuple[int, int], look: str) -> None:
    daemon = scripted(FAILED, TRIES)
    async with screens(daemon.client(), size, look, clock=daemon.clock) as ui:
        await opened(ui, 4812, "FATAL: could not")
        await ui.until(lambda: "02:00:41 │" in ui.text())
        await ui.until(lambda: "6 lines" in ui.text())
        await ui.snapshot("run-failed")
    daemon.close()


@pytest.mark.parametrize("size", SHAPES[1:], ids=str)
async def test_a_run_that_is_slow_looks_like_this(size: tuple[int, int]) -> None:
    seen = run(4785, "etl-orders", "running", started_at="2026-11-29T01:30:00Z", scheduled_at="2026-11-29T01:30:00Z")
    tries = [attempt(1, "01:30:00", None, **{"class": None})]

    def growing(request: Request) -> Response:
        return log(LOG, request.path.partition("?")[2], complete=False)

    daemon = scripted(seen, tries, growing)
    async with screens(daemon.client(), size, "colour", clock=daemon.clock) as ui:
        await opened(ui, 4785, "slower than usual")
        await ui.shows("FATAL: could not")
        await ui.until(lambda: "6 lines" in ui.text() and "02:00:41 │" in ui.text())
        await ui.snapshot("run-slow")
    daemon.close()


FACTS = (
    "trigger      schedule, version 9",
    "key          4812:2026",
    "fence 4812",
    "/opt/bin/backup.sh --full",
    "directory    /srv/backup",
    "user         postgres",
    "env          LANG, PGHOST",
    "timeout      1h for each attempt",
    "attempt 3    exit 1 after 9.0s, 6.0s after attempt 2, pid 20003",
)


async def test_everything_that_jobctl_show_says_is_there() -> None:
    daemon = scripted(FAILED, TRIES)
    async with screens(daemon.client(), (100, 40), clock=daemon.clock) as ui:
        await opened(ui, 4812, "FATAL: could not")
        await ui.press("d")
        await ui.shows("everything known")
        for fact in FACTS:
            assert fact in ui.text(), fact
        assert "secret" not in ui.text()
        await ui.snapshot("run-details")
    daemon.close()


SKIPPED = run(4812, "backup-db", "skipped", attempt=0, started_at=None, reason="an earlier run was still active")
TO_COME = run(4812, "backup-db", "scheduled", attempt=0, started_at=None, due_at="2026-11-29T03:00:00Z")


@pytest.mark.parametrize(
    ("of", "says", "words"),
    [
        (FAILED, "its log has been removed by retention", "removed by retention"),
        (SKIPPED, "run 4812 has not started", "an earlier run was still active"),
        (TO_COME, "run 4812 has not started", "has not begun"),
    ],
)
async def test_why_there_is_no_log_is_said_in_words(of: Json, says: str, words: str) -> None:
    daemon = scripted(of, TRIES[: of["attempt"]], lambda _: problem(404, "not_found", says))
    async with screens(daemon.client(), clock=daemon.clock) as ui:
        await opened(ui, 4812, words)
    daemon.close()


async def test_nothing_that_a_job_wrote_acts_on_the_terminal() -> None:
    evil = "\x1b]52;c;QUJD\x07[/x] [red]a[/red]\u202e"
    of = FAILED | {"job": evil, "reason": evil, "error": evil, "key": evil, "node": evil, "queue": evil}
    tries = [attempt(3, "02:00:32", "02:00:41", detail=evil)]

    def printed(request: Request) -> Response:
        return log(evil.encode() + b"\nends\n", request.path.partition("?")[2], attempt=3)

    daemon = scripted(of, tries, printed)
    async with screens(daemon.client(), (120, 40), clock=daemon.clock) as ui:
        await opened(ui, 4812, "ends")
        for keys in (("d",), ("d", "y"), ("escape", "s"), ("escape", "K"), ("R",)):
            await ui.press(*keys)
            await ui.pilot.pause()
            assert all(line.isprintable() for line in ui.lines()), ui.lines()
            assert "[red]" in ui.text()
    daemon.close()


async def test_a_run_that_is_no_more_is_said() -> None:
    daemon = Scripted({})
    async with screens(daemon.client(), clock=daemon.clock) as ui:
        await opened(ui, 99, "There is no run 99")
        await ui.press("escape")
        await ui.until(lambda: "There is no run" not in ui.text())
    daemon.close()


# ── with a daemon ────────────────────────────────────────────
@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealDaemon]:
    with real_daemon(tmp_path_factory.mktemp("d")) as made:
        yield made


@pytest.fixture(scope="module")
def failed(daemon: RealDaemon) -> Json:
    """Two attempts, and then a dead letter."""
    daemon.add("loser", "echo try; seq 40; echo FATAL: no space left; exit 3", retry={"max": 1, "backoff": 0.05})
    return daemon.finished(daemon.triggered("loser"))


async def test_a_failed_run_opens_at_the_line_where_it_failed(daemon: RealDaemon, failed: Json) -> None:
    async with screens(daemon.client) as ui:
        await opened(ui, failed["id"], "FATAL: no space left")
        await ui.shows("exit 3 after")
        assert "attempt 2 of 2" in ui.text()
        await ui.press("left_square_bracket")
        await ui.shows("log · attempt 1")
        await ui.press("left_square_bracket")
        await ui.shows("this is its first attempt")
        await ui.press("right_square_bracket")
        await ui.shows("log · attempt 2")


async def test_what_is_looked_for_is_gone_to_and_can_be_all_that_is_shown(daemon: RealDaemon, failed: Json) -> None:
    async with screens(daemon.client) as ui:
        await opened(ui, failed["id"], "FATAL")
        await ui.press("slash", *"3[0-4]", "enter")
        await ui.shows("1 of 5")
        await ui.press("n")
        await ui.shows("2 of 5")
        await ui.press("N", "ampersand")
        await ui.until(lambda: "only lines that match" in ui.text() and "FATAL: no space left" not in _log(ui))
        await ui.press("escape")
        await ui.until(lambda: "3[0-4]" not in ui.text())
        assert isinstance(ui.app.screen, RunScreen)
        await ui.press("escape")
        await ui.until(lambda: not isinstance(ui.app.screen, RunScreen))


async def test_what_is_no_pattern_is_said_and_not_run(daemon: RealDaemon, failed: Json) -> None:
    async with screens(daemon.client) as ui:
        await opened(ui, failed["id"], "FATAL")
        await ui.press("slash", *"a(b", "enter")
        await ui.shows("not a pattern")


def _log(ui: Shown) -> str:
    """What is between the two lines around the log."""
    return ui.text().partition("── log")[2]


async def test_a_run_that_ends_while_it_is_shown_changes_in_place(daemon: RealDaemon, tmp_path: Path) -> None:
    go = tmp_path / "go"
    made = daemon.run(f"echo waiting; until [ -e {go} ]; do sleep 0.05; done; echo over; exit 2", on_failure="record")
    daemon.until_says(made, b"waiting")
    async with screens(daemon.client) as ui:
        await opened(ui, made["id"], "waiting")
        await ui.shows("following")
        go.touch()
        await ui.shows("FAILED  exit 2")
        await ui.shows("exit 2 after")
        await ui.shows("end of log")


async def test_the_next_attempt_takes_the_place_of_the_one_that_failed(daemon: RealDaemon, tmp_path: Path) -> None:
    go = tmp_path / "go"
    made = daemon.run(
        f"echo attempt $JOBCTL_ATTEMPT; until [ -e {go} ]; do sleep 0.05; done; exit 2",
        retry={"max": 1, "backoff": 0.05}, on_failure="record",
    )  # fmt: skip
    daemon.until_says(made, b"attempt 1")
    async with screens(daemon.client) as ui:
        await opened(ui, made["id"], "attempt 1")
        go.touch()
        await ui.shows("log · attempt 2")


@pytest.mark.long
async def test_what_the_limit_of_the_log_has_removed_is_named(daemon: RealDaemon) -> None:
    made = daemon.finished(daemon.run("echo first; seq 20000; echo last", name="talker", log_max=8192))
    async with screens(daemon.client, (80, 70)) as ui:
        await opened(ui, made["id"], "last")
        await ui.shows("kB removed")
        await ui.press("g")
        await ui.shows("first")
        for _ in range(30):
            if "removed here by the log's limit" in ui.text():
                return
            await ui.press("pagedown")
        raise AssertionError(ui.text())


async def test_a_log_that_the_command_cuts_short_begins_anew(daemon: RealDaemon, tmp_path: Path) -> None:
    go = tmp_path / "go"
    made = daemon.run(
        f"echo before; until [ -e {go} ]; do sleep 0.05; done; truncate -s 0 /proc/self/fd/1; echo after; sleep 300"
    )
    daemon.until_says(made, b"before")
    async with screens(daemon.client) as ui:
        await opened(ui, made["id"], "before")
        go.touch()
        await ui.shows("cut its log short")
        await ui.shows("after")
        assert "before" not in _log(ui)
    daemon.client.kill_run(made["id"])
    daemon.finished(made)


@pytest.mark.long
async def test_times_of_lines_are_by_the_clock_since_the_start_or_not_there(daemon: RealDaemon, failed: Json) -> None:
    async with screens(daemon.client) as ui:
        await opened(ui, failed["id"], "FATAL")
        await ui.until(lambda: ":" in ui.line_with("FATAL: no").partition("│")[0])
        await ui.press("t")
        await ui.until(lambda: "+0s" in ui.line_with("│ FATAL"))
        await ui.press("t")
        await ui.until(lambda: "│ FATAL" not in ui.text())


async def test_a_kill_is_asked_here_too(daemon: RealDaemon) -> None:
    made = daemon.run("echo here; sleep 300", name="doomed")
    daemon.until_says(made, b"here")
    async with screens(daemon.client) as ui:
        await opened(ui, made["id"], "here")
        await ui.press("K", "k")
        await ui.until(lambda: daemon.client.run(made["id"])["state"] == "cancelled")
        await ui.shows("killed")


async def test_a_retry_of_what_is_in_the_history_shows_the_new_run(daemon: RealDaemon) -> None:
    made = daemon.finished(daemon.run("echo said; exit 2", name="repeat", on_failure="record"))
    async with screens(daemon.client) as ui:
        await opened(ui, made["id"], "FAILED  exit 2")
        await ui.press("R", "r")
        await ui.until(lambda: isinstance(ui.app.screen, RunScreen) and ui.app.screen.run_id != made["id"])


@pytest.mark.long
async def test_a_log_is_saved_and_nothing_is_written_over_unasked(
    daemon: RealDaemon, failed: Json, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "log"
    async with screens(daemon.client) as ui:
        await opened(ui, failed["id"], "FATAL")
        await ui.press("s")
        await ui.shows("Save the log")
        await ui.press("ctrl+u", *path.name, "enter")
        await ui.until(path.exists)
        await ui.until(lambda: path.stat().st_size > 0 and "saved" in ui.text())
        assert path.read_bytes() == daemon.output(failed)
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        path.write_text("mine")
        await ui.press("s")
        await ui.shows("Save the log")
        await ui.press("ctrl+u", *path.name, "enter")
        await ui.shows("Overwrite it?")
        assert path.read_text() == "mine"
        await ui.press("o")
        await ui.until(lambda: path.read_bytes() == daemon.output(failed))


async def test_things_of_a_run_are_copied_by_a_letter(daemon: RealDaemon, failed: Json, tmp_path: Path) -> None:
    async with screens(daemon.client, state_dir=tmp_path) as ui:
        await opened(ui, failed["id"], "FATAL")
        await ui.until(lambda: ui.app.screen.known)  # the log may be there before it
        await ui.press("y")
        await ui.shows("the line it failed with")
        await ui.press("e")
        await ui.until(lambda: any("FATAL" in file.read_text() for file in tmp_path.rglob("*") if file.is_file()))


@pytest.mark.long
async def test_a_daemon_that_is_killed_loses_and_repeats_no_line(tmp_path: Path) -> None:
    """What was followed is gone on with where it was, without a key; meanwhile it is shown as old."""
    with real_daemon(tmp_path / "d") as own:
        made = own.run("for i in $(seq 1 100000); do echo line $i; sleep 0.05; done", name="counter")
        own.until_says(made, b"line 3\n")
        async with screens(own.client, (80, 24)) as ui:
            await opened(ui, made["id"], "line ")
            await ui.shows("following")
            own.kill9()
            await ui.shows("not current")
            await ui.shows("DOWN")
            seen = ui.app.screen.log_view.pages.size  # type: ignore[attr-defined]
            own.start()
            await ui.until(lambda: "● live" in ui.text() and "following" in ui.text())
            await ui.until(lambda: ui.app.screen.log_view.pages.size > seen + 200)  # type: ignore[attr-defined]
            pages = ui.app.screen.log_view.pages  # type: ignore[attr-defined]
            lines, whole = pages.forward(0, 10_000)
            assert whole
            assert [line.data for line in lines] == [f"line {n}".encode() for n in range(1, len(lines) + 1)]
        own.client.kill_run(made["id"])
