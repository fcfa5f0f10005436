"""What is there on every screen: tabs, help, commands, questions, themes, times, undo, copying, reading only."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from textual import events

from jobctl.client.transport import Request, Response
from jobctl_tui.keys import BY_ID
from jobctl_tui.live.changes import Changes
from jobctl_tui.screens.ask import Ask
from kit.screens import SIZES, VIEWS, Shown, screens
from kit.scripted import Scripted, answered

Json = dict[str, Any]
HOSTILE = "\x1b]52;c;QUJD\x07[/x]"


def line(ident: int, name: str, state: str, **more: Any) -> Json:
    return {
        "id": ident, "name": name, "owner": "root", "state": state, "rank": 5, "words": "every day at 03:00",
        "expression": "0 3 * * *", "timezone": "UTC", "paused_why": None, "suspended_by": None,
        "suspended_until": None, "quarantined": False, "next_run_at": "2026-11-30T03:00:00Z", "late_since": None,
        "active": None, "last": None, "recent": "", "error": None, "dead": 0, "tags": [], "queue": "default",
        "priority": 0, "declared": None, "rev": 1, "p50": None, "p95": None, **more,
    }  # fmt: skip


JOBS = [line(1, "backup-db", "ok"), line(2, HOSTILE, "ok"), line(3, "sync-crm", "paused", suspended_by="job")]
WHOLE = {"id": 1, "name": "backup-db", "paused": False, "paused_until": None, "paused_why": None}


class Daemon(Scripted):
    """Who is asked to pause a job and to let it go remembers both."""

    def __init__(self) -> None:
        window = {"schema": 1, "event": 88120, "total": len(JOBS), "offset": 0, "items": JOBS}
        super().__init__({"/v1/jobs/window": window, "/v1/jobs/1": WHOLE, "/v1/jobs/backup-db": WHOLE,
                          "/v1/jobs/1/pause": self.done, "/v1/jobs/1/resume": self.done})  # fmt: skip
        self.was_asked: list[str] = []

    def done(self, request: Request) -> Response:
        self.was_asked.append(request.path.rpartition("/")[2])
        return answered({**WHOLE, "paused": request.path.endswith("pause")})


@pytest.fixture
def daemon() -> Iterator[Daemon]:
    daemon = Daemon()
    yield daemon
    daemon.close()


def looks(daemon: Daemon, *args: Any, **more: Any) -> Any:
    return screens(daemon.client(), *args, clock=daemon.clock, **more)


# ── as they look ─────────────────────────────────────────────
@pytest.mark.parametrize(("size", "look"), VIEWS)
async def test_help_looks_like_this(daemon: Daemon, size: tuple[int, int], look: str) -> None:
    async with looks(daemon, size, look) as ui:
        await ui.shows("backup-db")
        await ui.press("question_mark")
        await ui.shows("type to search")
        await ui.snapshot("help")


@pytest.mark.parametrize(("size", "look"), VIEWS)
async def test_commands_look_like_this(daemon: Daemon, size: tuple[int, int], look: str) -> None:
    async with looks(daemon, size, look) as ui:
        await ui.shows("backup-db")
        await ui.press("colon", *"pau")
        await ui.until(lambda: "Go to job sync-crm" in ui.text() or size[1] < 20)
        await ui.snapshot("palette")


@pytest.mark.parametrize(
    ("size", "look"),
    [
        pytest.param(SIZES[0], "colour", marks=pytest.mark.long),
        (SIZES[1], "colour"),
        pytest.param(SIZES[1], "mono", marks=pytest.mark.long),
    ],
    ids=str,
)
async def test_a_question_looks_like_this(daemon: Daemon, size: tuple[int, int], look: str) -> None:
    async with looks(daemon, size, look) as ui:
        await ui.shows("backup-db")
        facts = [[("etl-orders", "-bold"), ("   run 4785, for 42m41s", "")], [("KILL at once, without grace", "-late")]]
        ui.app.push_screen(Ask("Kill run 4785", facts, "Kill", "k", "jobctl kill 4785"))
        await ui.shows("Cancel")
        await ui.snapshot("ask")


async def test_signs_of_ascii_are_all_that_is_shown_where_there_are_no_others(daemon: Daemon) -> None:
    async with looks(daemon, ascii_only=True) as ui:
        await ui.shows("backup-db")
        for keys in (("question_mark",), ("escape", "colon"), ("escape", "2"), ("3",), ("4",), ("5",)):
            await ui.press(*keys)
            await ui.pilot.pause()
            sent = ui.text().encode("ascii", "jobctl.columns").decode()
            assert sent.count("?") == ui.text().count("?"), sent  # nothing is shown by what stands for the unknown


@pytest.mark.parametrize(
    "size",
    [(200, 60), *(pytest.param(size, marks=pytest.mark.long) for size in ((44, 20), (40, 10))), (10, 3)],
    ids=str,
)
async def test_no_terminal_is_too_small_and_how_the_daemon_is_reached_is_on_all_of_them(
    daemon: Daemon, size: tuple[int, int]
) -> None:
    async with looks(daemon, size) as ui:
        await ui.shows("live")
        for keys in ("2", "3", "4", "5", "1", "question_mark", "escape", "colon", "escape"):
            await ui.press(keys)
            await ui.pilot.pause()
            assert len(ui.lines()) == size[1]
        await ui.resize(80, 24)
        await ui.shows("Daemon")


# ── keys ─────────────────────────────────────────────────────
async def test_tabs_are_changed_by_digits_tab_and_a_click(daemon: Daemon) -> None:
    async with looks(daemon) as ui:
        for key, words in (("2", "[2 Runs]"), ("tab", "[3 Upcoming]"), ("shift+tab", "[2 Runs]"),
                           ("5", "[5 Daemon]"), ("tab", "[1 Jobs]")):  # fmt: skip
            await ui.press(key)
            await ui.shows(words)
        await ui.pilot.click("#tabbar", offset=(ui.lines()[1].index("Dead"), 0))
        await ui.shows("[4 Dead")
        await ui.pilot.click("#keys", offset=(ui.lines()[-1].index("Help"), 0))
        await ui.shows("Help: Dead")


@pytest.mark.long
async def test_help_is_searched_by_typing_and_says_what_is_not_there(daemon: Daemon) -> None:
    async with looks(daemon) as ui:
        await ui.shows("backup-db")
        await ui.press("question_mark", *"reverse")
        await ui.shows("looking for 'reverse'")
        assert "S " in ui.text()
        assert "run it now" not in ui.text()
        await ui.press(*"xyz")
        await ui.shows("no key does that here")
        await ui.press(*["backspace"] * 10)
        await ui.shows("run it now")
        await ui.press("q")
        await ui.shows("e Edit")


async def test_every_key_that_does_something_is_in_the_help(daemon: Daemon) -> None:
    async with looks(daemon, (120, 90)) as ui:
        await ui.shows("backup-db")
        await ui.press("question_mark")
        await ui.shows("type to search")
        shown = ui.text()
        for action in ui.app.keymap.of(ui.app.screen_stack[0].scopes):  # type: ignore[attr-defined]
            assert action.help in shown or action.label in shown, action


async def test_a_command_with_a_name_does_it_from_every_tab(daemon: Daemon) -> None:
    async with looks(daemon) as ui:
        await ui.shows("live")
        for number, tab in enumerate("15", 1):
            await ui.press(tab, "colon", *"pause", "space", *"backup-db", "enter")
            await ui.until(lambda number=number: len(daemon.was_asked) == number, "it is paused")  # type: ignore[misc]
        await ui.shows("paused backup-db")


async def test_a_command_shows_its_form_on_the_command_line_and_copies_it(daemon: Daemon, tmp_path: Path) -> None:
    async with looks(daemon, (60, 15), state_dir=tmp_path) as ui:
        await ui.shows("backup-db")
        await ui.press("colon", *"pause", "space", *"tag:pg")
        assert "jobctl pause -q tag:pg" not in ui.text()
        await ui.press("tab")
        await ui.shows("jobctl pause -q tag:pg")
        await ui.press("ctrl+y")
        await ui.until(lambda: (tmp_path / "clipboard.txt").exists())
        assert (tmp_path / "clipboard.txt").read_text() == "jobctl pause -q tag:pg"


@pytest.mark.parametrize(
    ("letter", "text"), [("n", "backup-db"), ("c", "jobctl show backup-db"), ("l", "jobctl log backup-db")]
)
async def test_what_is_under_the_cursor_is_copied_by_its_name_or_its_command(
    daemon: Daemon, tmp_path: Path, letter: str, text: str
) -> None:
    async with looks(daemon, state_dir=tmp_path) as ui:
        await ui.shows("backup-db")
        await ui.press("y", letter)
        await ui.until(lambda: (tmp_path / "clipboard.txt").exists())
        assert (tmp_path / "clipboard.txt").read_text() == text
        await ui.shows(f"copied {text}")


async def test_what_was_done_is_taken_back_once_and_not_after_its_time(daemon: Daemon) -> None:
    async with looks(daemon) as ui:
        await ui.shows("backup-db")
        await ui.press("p")
        await ui.shows("u takes it back")
        await ui.press("u")
        await ui.until(lambda: daemon.was_asked == ["pause", "resume"], "it is taken back")
        await ui.shows("pause of backup-db taken back: it runs again")
        await ui.press("u")
        await ui.shows("there is nothing to take back")
        assert daemon.was_asked == ["pause", "resume"]


async def test_a_screen_that_only_reads_offers_and_does_nothing_that_changes_anything(daemon: Daemon) -> None:
    async with looks(daemon, read_only=True) as ui:
        await ui.shows("backup-db")
        await ui.press("p", "r", "x")
        await ui.press("colon", *"pause", "space", *"backup-db")
        await ui.pilot.pause()
        assert "Pause backup-db" not in ui.text()
        await ui.press("escape", "question_mark")
        await ui.shows("type to search")
        assert BY_ID["job.pause"].help not in ui.text()
        assert daemon.was_asked == []


async def test_keys_that_a_person_has_moved_are_where_they_were_moved_to(daemon: Daemon) -> None:
    async with looks(daemon, keys={"job.pause": ("F9",)}) as ui:
        await ui.shows("backup-db")
        assert "F9 Pause" in ui.lines()[-1]
        await ui.press("p")
        await ui.press("f9")
        await ui.until(lambda: daemon.was_asked == ["pause"], "it is paused")


@pytest.mark.long
async def test_times_are_shown_in_the_zone_and_the_form_that_is_asked_for(daemon: Daemon) -> None:
    async with looks(daemon) as ui:
        await ui.shows("24h47m")
        await ui.press("t")
        await ui.shows("times are absolute")
        assert "24h47m" not in ui.line_with("0 3 * * *")
        await ui.press("z")
        await ui.shows("times are UTC")


async def test_a_frozen_screen_says_so_and_shows_what_it_missed_afterwards(daemon: Daemon) -> None:
    async with looks(daemon, (120, 40)) as ui:
        await ui.shows("backup-db")
        await ui.press("F")
        await ui.shows("frozen")
        asked = len(daemon.asked)
        ui.app.changed(Changes(reset=True))
        await ui.pilot.pause()
        assert not [one for one in daemon.asked[asked:] if one.path.startswith("/v1/jobs/window")]
        await ui.press("F")
        await ui.until(lambda: "frozen" not in ui.text())
        await ui.until(lambda: [one for one in daemon.asked[asked:] if one.path.startswith("/v1/jobs/window")])


@pytest.mark.long
async def test_looks_are_changed_while_it_runs_and_without_colour_there_is_none(daemon: Daemon) -> None:
    async with looks(daemon) as ui:
        await ui.shows("backup-db")
        assert ui.style_of("live") == "ok"
        await ui.press("colon", *"theme", "space", *"mono", "enter")
        await ui.shows("the theme is mono")
        assert ui.app.no_color
        assert ui.style_of("sync-crm") == ""
        assert "reverse" in ui.style_of("backup-db")
        await ui.press("colon", *"theme", "space", *"light", "enter")
        await ui.until(lambda: not ui.app.no_color)
        await ui.press("colon", *"theme", "space", *"pink", "enter")
        await ui.shows("there is no theme pink")


@pytest.mark.parametrize(
    ("typed", "words"),
    [("/state:paused", "state:paused"), (":pause sync", "jobctl pause sync"), ("?reverse", "looking for 'reverse'")],
)
async def test_what_is_typed_ahead_goes_to_what_the_first_key_opens(daemon: Daemon, typed: str, words: str) -> None:
    async with looks(daemon) as ui:
        await ui.shows("backup-db")
        for character in typed:
            key = {"/": "slash", ":": "colon", "?": "question_mark", " ": "space"}.get(character, character)
            ui.app.post_message(events.Key(key, character))
        await ui.shows(words)
        assert daemon.was_asked == []
        assert len(ui.app.screen_stack) <= 2


# ── questions ────────────────────────────────────────────────
async def asked(ui: Shown, question: Ask) -> list[Any]:
    answers: list[Any] = []
    ui.app.push_screen(question, answers.append)
    await ui.shows("Cancel")
    return answers


async def test_nothing_but_its_letter_does_it_and_enter_cancels(daemon: Daemon) -> None:
    async with looks(daemon) as ui:
        await ui.shows("backup-db")
        for keys, answer in (
            (("k",), True),
            (("enter",), None),
            (("escape",), None),
            (("x", "K", "y", "escape"), None),
        ):
            answers = await asked(ui, Ask(f"Kill {HOSTILE}", [[("facts", "")]], "Kill", "k", "jobctl kill 1"))
            await ui.press(*keys)
            await ui.until(lambda answers=answers: answers, "there is an answer")  # type: ignore[misc]
            assert answers == [answer], keys


async def test_what_is_removed_has_to_be_written_out(daemon: Daemon) -> None:
    async with looks(daemon) as ui:
        await ui.shows("backup-db")
        answers = await asked(ui, Ask("Delete job", [], "Delete", "", "jobctl rm backup-db", typed="backup-db"))
        await ui.press("enter", *"backup-d", "enter")
        await ui.pilot.pause()
        assert answers == []
        assert "does nothing yet" in ui.text()
        await ui.press("b", "enter")
        await ui.until(lambda: answers, "there is an answer")
        assert answers == [True]


async def test_a_question_shows_and_copies_its_form_on_the_command_line(daemon: Daemon, tmp_path: Path) -> None:
    async with looks(daemon, state_dir=tmp_path) as ui:
        await ui.shows("backup-db")
        await asked(ui, Ask("Kill", [], "Kill", "k", "jobctl kill 4711"))
        assert "jobctl kill 4711" in ui.text()
        await ui.press("ctrl+y")
        await ui.until(lambda: (tmp_path / "clipboard.txt").exists())
        assert (tmp_path / "clipboard.txt").read_text() == "jobctl kill 4711"
