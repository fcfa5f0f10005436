"""The tab of the daemon: how it looks, and that its keys do what they say to a real one."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from jobctl.clock import SystemClock
from kit.daemon import RealDaemon, real_daemon
from kit.screens import VIEWS, Shown, screens
from kit.scripted import Scripted

Json = dict[str, Any]
HOSTILE = "\x1b]52;c;QUJD\x07[/x] \x1b[2J"


def lag(*ms: int) -> Json:
    return {"count": 900, "p50_ms": ms[0], "p99_ms": ms[1], "max_ms": ms[2]}


def queue(name: str, **fields: Any) -> Json:
    held = {f"paused_{what}": None for what in ("by", "since", "until", "why")}
    return {"name": name, "concurrency": None, "jobs": 3, "ready": 0, "running": 1, "paused": False, **held, **fields}


def beat(passes: int, last_s: float, error: str | None = None) -> Json:
    return {"beats": passes, "last_s": last_s, "error": error, "stalled": None}


STATUS: Json = {
    "socket": "/run/jobctl/jobd.sock", "timezone_from": "/etc/localtime", "tzdata": "2026a", "oldest_due_s": 4.0,
    "database_bytes": 12_400_000, "engine": {"name": "SQLite 3.53.0", "note": None}, "start_lag": lag(12, 80, 210),
    "loop_lag": lag(0, 7, 38), "standbys": [], "returns_after_reboot": True,
    "returns_after_reboot_why": "jobctl.service", "caller": {"uid": 0, "name": "root", "role": "root"},
    "clock": {"synchronised": True, "generation": 0, "last_step": None, "last_down": None}, "syslog": None,
    "services": {"materialise": beat(4120, 2.1), "dispatch": beat(12_345, 2.1),
                 "mail": beat(12, 61, "no transport takes it")},
    "runners": [{"instance": "0.1-ab-1", "pid": 830, "version": "0.1-ab", "protocol": "1", "running": 3,
                 "kill_by": "cgroup", "draining": False, "silent_s": None}],
    "warnings": ["mail fails: no transport takes it"],
    "tables": [{"path": "/etc/crontab", "kind": "crontab", "jobs": 3, "loaded_at": "2026-11-29T02:00:41Z",
                "problems": [{"line": 4, "column": None, "text": "61 * * * * x", "reason": "61 is no minute"}]}],
}  # fmt: skip
QUEUES = [
    queue("default", running=2),
    queue("mail", concurrency=2, running=1, paused=True, paused_by="ana", paused_since="2026-11-29T01:12:41Z",
          paused_why="provider down"),
]  # fmt: skip


@pytest.fixture
def tonight() -> Iterator[Scripted]:
    daemon = Scripted({"/v1/queues": QUEUES}, STATUS)
    yield daemon
    daemon.close()


@pytest.mark.parametrize(("size", "look"), VIEWS)
async def test_the_daemon_looks_like_this(tonight: Scripted, size: tuple[int, int], look: str) -> None:
    async with screens(tonight.client(), size, look, clock=tonight.clock, tab="daemon") as ui:
        await ui.shows("by ana")
        await ui.snapshot("daemon")


async def test_what_others_wrote_is_shown_by_its_escapes(tonight: Scripted) -> None:
    tonight.answers["/v1/queues"] = [queue(HOSTILE)]
    tonight.status["warnings"] = [HOSTILE]
    async with screens(tonight.client(), (120, 40), clock=tonight.clock, tab="daemon") as ui:
        await ui.shows("\\x1b]52")
        await ui.press("enter")
        await ui.shows("esc goes back")
        assert "\x1b" not in ui.text()


async def test_a_line_that_is_too_long_can_be_opened(tonight: Scripted) -> None:
    tonight.status["version"] = "0.1 " + "and so on " * 10 + "to the end"
    async with screens(tonight.client(), (60, 15), clock=tonight.clock, tab="daemon") as ui:
        await ui.shows("0.1 and so on")
        assert "to the end" not in ui.text()
        await ui.press("j", "enter")
        await ui.shows("to the end")
        await ui.press("escape")
        await ui.until(lambda: "to the end" not in ui.text())


async def test_trouble_is_told_whole_and_each_of_its_lines_opens_all_of_it(tonight: Scripted) -> None:
    tonight.status["returns_after_reboot"] = False
    tonight.status["returns_after_reboot_why"] = "nothing was set up to start it again; ./install.sh does that"
    async with screens(tonight.client(), (60, 15), clock=tonight.clock, tab="daemon") as ui:
        await ui.shows("does that")
        assert "2 tro" in ui.text()
        assert "healthy" not in ui.text()
        await ui.press("j", "enter")
        await ui.until(lambda: "does that" in ui.text() and "mail fails" not in ui.text(), "all of it is opened")


async def test_on_a_narrow_screen_what_happened_stands_behind_how_it_is(tonight: Scripted) -> None:
    async with screens(tonight.client(), (80, 24), clock=tonight.clock, tab="daemon") as ui:
        await ui.shows("what happened lately")
        await ui.press("z")
        await ui.press("right")
        await ui.shows("times are UTC")
        assert "limits and queues" not in ui.text()
        await ui.press("left")
        await ui.shows("limits and queues")


async def test_a_screen_that_only_reads_has_no_keys_that_change_something(tonight: Scripted) -> None:
    async with screens(tonight.client(), (120, 40), clock=tonight.clock, read_only=True, tab="daemon") as ui:
        await ui.shows("Doctor")
        assert "Pause" not in ui.lines()[-1]


async def test_there_is_nothing_to_pause_on_a_line_that_is_no_queue(tonight: Scripted) -> None:
    async with screens(tonight.client(), (80, 24), clock=tonight.clock, tab="daemon") as ui:
        await ui.shows("by ana")
        await ui.press("p")
        await ui.shows("move to a queue first")


# ── with a daemon ────────────────────────────────────────────
@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealDaemon]:
    with real_daemon(tmp_path_factory.mktemp("d") / "h") as made:
        made.add("mailer", ["/bin/false"], queue="mail", retry={"max": 0})
        made.finished(made.triggered("mailer"))
        yield made


def showing(daemon: RealDaemon, size: tuple[int, int] = (120, 40)) -> Any:
    return screens(daemon.client, size, clock=SystemClock(), tab="daemon")


async def to_the_queue(ui: Shown, name: str) -> None:
    """Once the queues have come: a service may have the same name, and is there before them."""

    def there() -> list[str]:
        return [line for line in ui.lines() if f" {name} " in line[:16] and " running, " in line]

    await ui.until(there, f"the queue {name} is not shown")
    for _ in range(40):
        if any(line.startswith("▌") for line in there()):
            return
        await ui.press("j")
    raise AssertionError(f"the cursor does not come to it:\n{ui.text()}")


def the_queue(daemon: RealDaemon, name: str) -> Json:
    return next(one for one in daemon.client.queues() if one["name"] == name)


async def test_a_queue_is_paused_at_once_and_taken_back(daemon: RealDaemon) -> None:
    async with showing(daemon) as ui:
        await to_the_queue(ui, "mail")
        await ui.press("p")
        await ui.shows("paused the queue mail; u takes it back")
        assert the_queue(daemon, "mail")["paused"]
        await ui.until(lambda: "paused" in ui.line_with(" mail "))
        await ui.press("u")
        await ui.until(lambda: not the_queue(daemon, "mail")["paused"])
        await ui.until(lambda: "paused" not in ui.line_with(" mail "))


@pytest.mark.long
async def test_a_queue_that_is_resumed_and_taken_back_is_paused_as_it_was(daemon: RealDaemon) -> None:
    daemon.client.pause_queue("mail", None, "provider down")
    async with showing(daemon) as ui:
        await to_the_queue(ui, "mail")
        await ui.shows("provider down")
        await ui.press("p")
        await ui.shows("resumed the queue mail")
        assert not the_queue(daemon, "mail")["paused"]
        await ui.press("u")
        await ui.until(lambda: the_queue(daemon, "mail")["paused"])
        assert the_queue(daemon, "mail")["paused_why"] == "provider down"
    daemon.client.resume_queue("mail")


@pytest.mark.long
async def test_the_limit_of_a_queue_is_asked_for_and_can_be_taken_back(daemon: RealDaemon) -> None:
    async with showing(daemon) as ui:
        await to_the_queue(ui, "mail")
        await ui.press("e")
        await ui.shows("Limit of the queue mail")
        await ui.press("backspace", "backspace", "backspace", "backspace", "x", "enter")
        assert "Limit of the queue mail" in ui.text(), "it is no number yet"
        await ui.press("backspace", "3")
        await ui.shows("jobctl queue set mail --concurrency 3")
        await ui.press("enter")
        await ui.shows("the queue mail has 3 at once")
        assert the_queue(daemon, "mail")["concurrency"] == 3
        await ui.press("u")
        await ui.until(lambda: the_queue(daemon, "mail")["concurrency"] is None)


async def test_pausing_all_asks_with_cancel_focused(daemon: RealDaemon) -> None:
    async with showing(daemon) as ui:
        await ui.shows("slots")
        await ui.press("P")
        await ui.shows("jobctl daemon pause")
        await ui.press("enter")
        await ui.until(lambda: "Pause all jobs" not in ui.text())
        assert daemon.client.status()["paused"] is None
        await ui.press("P")
        await ui.shows("Pause all jobs")
        await ui.press("a")
        await ui.shows("paused the daemon")
        assert daemon.client.status()["paused"]
        await ui.shows("daemon PAUSED")
        await ui.press("P")
        await ui.until(lambda: daemon.client.status()["paused"] is None)


async def test_doctor_looks_around_and_what_is_wrong_stands_first(
    daemon: RealDaemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JOBCTL_HOME", str(daemon.home))
    async with showing(daemon) as ui:
        await ui.shows("slots")
        await ui.press("d")
        await ui.shows("What doctor found")
        await ui.shows("✗ jobs")
        assert "try: jobctl" in ui.text()
        await ui.press("escape")
        await ui.shows("slots")


async def test_the_daemons_own_words_can_be_read(daemon: RealDaemon) -> None:
    async with showing(daemon) as ui:
        await ui.shows("slots")
        await ui.press("L")
        await ui.shows("daemon.ready")
        assert ui.line_with("daemon.ready").startswith("▌"), "the cursor is on the last line"


async def test_what_has_happened_is_there_from_the_beginning_and_grows(daemon: RealDaemon) -> None:
    async with showing(daemon) as ui:
        await ui.shows("run.dead")
        daemon.add("newcomer", ["/bin/true"])
        await ui.shows("newcomer")


async def test_the_run_of_an_event_is_opened(daemon: RealDaemon, tmp_path: Path) -> None:
    async with showing(daemon, (80, 24)) as ui:
        await ui.press("right")
        await ui.shows("run.dead")
        for _ in range(40):
            if any(line.startswith("▌") and "run.dead" in line for line in ui.lines()):
                break
            await ui.press("j")
        await ui.press("enter")
        await ui.until(lambda: "recent events" not in ui.text())
        await ui.shows("mailer")
