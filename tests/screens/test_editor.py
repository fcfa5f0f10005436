"""The job editor: written, looked at, saved and taken back; what somebody else changes meanwhile is never lost."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from textual import events

from jobctl.client.sync import Client
from jobctl.client.transport import Request, Response, unreachable
from jobctl.errors import NotFound
from kit.daemon import RealDaemon, real_daemon
from kit.screens import SHAPES, VIEWS, Shown, screens
from kit.scripted import Scripted, answered
from kit.seat import UI, seat
from unit.client.fake_daemon import job

Json = dict[str, Any]
PLAN = {"timezone": "Europe/Berlin", "words": "every day at 03:00", "cron": "0 3 * * *", "dst_gap": "auto",
        "dst_overlap": "auto"}  # fmt: skip
HOSTILE = "\x1b]52;c;QUJD\x07[/x] \x1b[2J"


def report(**fields: Any) -> Json:
    whole = {"target": {"command": ["/opt/bin/report", "--day", "yesterday"]}, "schedule": PLAN, "timeout": 3600,
             "tags": ["report", "finance"], "env": {"DB_PASSWORD": "hunter2", "LANG": "C.UTF-8"}, "declared": None,
             "next_run_at": "2026-11-30T02:00:00Z"}  # fmt: skip
    return job(7, "report-daily", **whole | fields)


class Daemon(Scripted):
    """Says what would change, and has one job."""

    def __init__(self, of: Json) -> None:
        super().__init__({"/v1/jobs/7": self.job, "/v1/jobs": self.new})
        self.of = of
        self.changes: list[Json] = []
        self.sent: list[Request] = []

    def job(self, request: Request) -> Response:
        if request.method == "PATCH":
            self.sent.append(request)
            return answered({"job": self.of, "before": {}, "preview": {}, "changes": self.changes, "warnings": []})
        return answered(self.of)

    def new(self, request: Request) -> Response:
        return answered({"job": self.of, "preview": {}, "warnings": []})


@pytest.fixture
def tonight() -> Iterator[Daemon]:
    daemon = Daemon(report())
    yield daemon
    daemon.close()


async def editing(ui: Shown, of: Json | None) -> None:
    ui.app.open_editor(of)
    await ui.shows("next fires")
    await ui.until(lambda: ui.app.focused is not None or ui.app.screen.closed)


async def instead(ui: Shown, text: str) -> None:
    """The whole field."""
    await ui.press("end", "ctrl+u")
    await paste(ui, text)


async def paste(ui: Shown, text: str, *keys: str) -> None:
    """Quicker than by keys; and then some keys."""
    ui.app.focused.post_message(events.Paste(text))
    await ui.pilot.pause()
    await ui.press(*keys)


# ── what it looks like ───────────────────────────────────────
@pytest.mark.parametrize(("size", "look"), VIEWS)
async def test_a_job_that_is_changed_and_its_review_look_like_this(
    tonight: Daemon, size: tuple[int, int], look: str
) -> None:
    tonight.changes = [
        {"field": "schedule.cron", "before": "0 3 * * *", "after": "30 2 * * *"},
        {"field": "timeout", "before": 3600, "after": 1800},
    ]
    async with screens(tonight.client(), size, look, clock=tonight.clock) as ui:
        await editing(ui, report())
        await instead(ui, "30 2 * * *")
        await ui.shows("02:30 CET")
        await ui.until(lambda: ui.app.screen.dry is not None)
        await ui.snapshot("editor")
        await ui.press("ctrl+s")
        await ui.shows("press s")
        await ui.snapshot("review")


@pytest.mark.parametrize("size", SHAPES, ids=str)
async def test_a_new_job_looks_like_this(tonight: Daemon, size: tuple[int, int]) -> None:
    async with screens(tonight.client(), size, clock=tonight.clock) as ui:
        await editing(ui, None)
        await ui.press(*"hello", "tab", "tab")
        await paste(ui, "cd /srv && ls", "tab", *"10m")
        await ui.shows("five fields")
        await ui.snapshot("new-job")


@pytest.mark.long
async def test_it_is_readable_in_sixteen_colours_and_in_ascii(tonight: Daemon) -> None:
    async with screens(tonight.client(), (80, 24), "ansi", clock=tonight.clock, ascii_only=True) as ui:
        await editing(ui, report())
        await ui.shows("every day at 03:00")
        assert "(*) the command as it is" in ui.text()
        assert "> runs" not in ui.text()
        assert not {"•", "✓", "→", "─"} & set(ui.text())


@pytest.mark.long
async def test_on_a_small_screen_all_fields_can_be_reached(tonight: Daemon) -> None:
    async with screens(tonight.client(), (40, 10), clock=tonight.clock) as ui:
        await editing(ui, report())
        seen = set()
        for _ in range(22):
            seen.add(ui.app.screen.at)
            ui.app.screen.act_editor_next()
            await ui.pilot.pause()
            assert ui.app.screen.focused.region.y < 10 - 3
        assert len(seen) == 21


# ── keys ─────────────────────────────────────────────────────
async def test_keys_that_come_in_one_burst_do_what_they_would_one_by_one(tonight: Daemon) -> None:
    async with screens(tonight.client(), (120, 40), clock=tonight.clock) as ui:
        await editing(ui, None)
        for key in (*"hello", "ctrl+u", *"again", "home", "x", "tab", "tab", *"ls"):
            ui.app.post_message(events.Key(key, key if len(key) == 1 else None))
        await ui.until(lambda: ui.app.screen.draft.text("command") == "ls")
        assert ui.app.screen.draft.text("name") == "xagain"


@pytest.mark.long
async def test_a_field_is_told_of_by_keys_that_it_leaves(tonight: Daemon) -> None:
    async with screens(tonight.client(), (80, 24), clock=tonight.clock) as ui:
        await editing(ui, report())
        await ui.until(lambda: "F1 Help  ^c Quit" in ui.lines()[-1])
        await ui.press("shift+tab", "shift+tab")
        await ui.until(lambda: "? Help  q Quit" in ui.lines()[-1])


@pytest.mark.long
async def test_it_is_painted_once_and_whole(tonight: Daemon) -> None:
    async with screens(tonight.client(), (80, 24), clock=tonight.clock) as ui:
        await ui.until(lambda: ui.app.feed.link.reached)
        painted: list[str] = []
        paint = ui.app._display

        def seen(screen: Any, what: Any) -> None:
            if what is not None and screen is ui.app.screen:
                painted.append(ui.text())
            paint(screen, what)

        ui.app._display = seen  # type: ignore[method-assign]
        ui.app.open_editor(report())
        await ui.until(lambda: any("next fires" in text for text in painted))
        first = next(text for text in painted if "Command " in text)
    assert "every day at 03:00" in first
    assert "^s Review & save" in first
    assert " Schedule: " in first
    assert "● live" in first


@pytest.mark.long
async def test_what_has_no_field_is_told_with_the_key_that_leads_there(tonight: Daemon) -> None:
    async with screens(tonight.client(), (120, 60), clock=tonight.clock) as ui:
        await editing(ui, report(umask="077", nice=5))
        await ui.shows("umask 077, nice 5; also stdin")
        await ui.shows("F2, as a text in")


# ── what comes of it, without a daemon ───────────────────────
def nobody() -> Client:
    def refuses(request: Request) -> Response:
        raise unreachable("/run/jobd.sock: connection refused")

    return Client(refuses)


@pytest.mark.long
async def test_while_the_daemon_is_away_fires_and_mistakes_are_told_and_saving_says_why_not() -> None:
    async with screens(nobody, (120, 40)) as ui:
        await editing(ui, None)
        await paste(ui, "hello", "tab", "tab")
        await paste(ui, "/bin/true", "tab")
        await paste(ui, "30 2 * * *", "tab")
        await paste(ui, "Europe/Berlin")
        await ui.shows("every day at 02:30")
        await ui.shows("does not exist")
        await ui.press("ctrl+s")
        await ui.shows("be saved until it does")
        await ui.press("s")
        await ui.shows("the daemon does not answer")
        assert "/bin/true" in ui.text()


@pytest.mark.long
async def test_a_mistake_is_told_below_its_field_and_the_keys_go_there(tonight: Daemon) -> None:
    async with screens(tonight.client(), (120, 40), clock=tonight.clock) as ui:
        await editing(ui, report())
        await instead(ui, "61 * * * *")
        await ui.shows("is not within 0-59")
        await ui.press("tab", "tab")
        await ui.press("ctrl+s")
        await ui.until(lambda: ui.app.screen.at == "schedule")
        assert all("dry_run" in asked.path for asked in tonight.sent)


@pytest.mark.long
async def test_what_nobody_has_got_to_is_no_mistake_until_it_is_to_be_saved(tonight: Daemon) -> None:
    async with screens(tonight.client(), clock=tonight.clock) as ui:
        await editing(ui, None)
        await ui.press(*"hello")
        await ui.shows("by hand only")
        assert "there is no command" not in ui.text()
        await ui.press("ctrl+s")
        await ui.shows("✗ there is no command")
        assert ui.app.screen.at == "command"


@pytest.mark.long
async def test_d_changes_the_policy_for_clock_changes_where_nothing_is_typed(tonight: Daemon) -> None:
    async with screens(tonight.client(), (120, 40), clock=tonight.clock) as ui:
        await editing(ui, report())
        await instead(ui, "30 2 * * *")
        await ui.shows("[gap: auto]")
        await ui.press("tab", "tab", "tab", "d")
        await ui.shows("[gap: run-after]")
        await ui.press("right")
        await ui.shows("[gap: skip]")
        await ui.shows("does not run")


@pytest.mark.long
async def test_a_field_and_all_of_it_go_back_to_what_they_were(tonight: Daemon) -> None:
    async with screens(tonight.client(), (120, 40), clock=tonight.clock) as ui:
        await editing(ui, report())
        await instead(ui, "30 2 * * *")
        await ui.shows("1 change, not saved")
        await ui.press("ctrl+r")
        await ui.until(lambda: "not saved" not in ui.text())
        assert "0 3 * * *" in ui.text()


@pytest.mark.long
async def test_secrets_are_covered_until_they_are_asked_for(tonight: Daemon) -> None:
    async with screens(tonight.client(), (120, 40), clock=tonight.clock) as ui:
        await editing(ui, report())
        assert "hunter2" not in ui.text()
        await ui.press("ctrl+t")
        await ui.shows("DB_PASSWORD=hunter2")
        await ui.press("ctrl+t")
        await ui.shows("DB_PASSWORD=********")
        assert "not saved" not in ui.text()


# ── leaving ──────────────────────────────────────────────────
@pytest.mark.long
async def test_it_is_left_at_once_when_nothing_is_changed(tonight: Daemon) -> None:
    async with screens(tonight.client(), clock=tonight.clock) as ui:
        await editing(ui, report())
        await ui.press("escape")
        await ui.until(lambda: "next fires" not in ui.text())


@pytest.mark.parametrize("key", ["escape", pytest.param("ctrl+c", marks=pytest.mark.long)])
async def test_what_was_typed_is_not_given_up_unasked(tonight: Daemon, key: str) -> None:
    async with screens(tonight.client(), clock=tonight.clock) as ui:
        await editing(ui, report())
        await instead(ui, "30 2 * * *")
        await ui.press(key)
        await ui.shows("without saving")
        await ui.press("escape")
        await ui.until(lambda: "without saving" not in ui.text())
        assert "30 2 * * *" in ui.text()
        await ui.press(key)
        await ui.shows("press l")
        await ui.press("l")
        if key == "escape":
            await ui.until(lambda: "next fires" not in ui.text())
        else:
            await ui.until(lambda: not ui.app.is_running or ui.app._exit)


# ── what others wrote ────────────────────────────────────────
async def test_what_a_terminal_would_act_on_is_shown_by_its_escapes_and_cannot_be_typed_into(tonight: Daemon) -> None:
    hostile = report(target={"shell": HOSTILE}, note=HOSTILE, notify=[f"exec:{HOSTILE}"], env={HOSTILE: HOSTILE})
    async with screens(tonight.client(), (120, 40), clock=tonight.clock) as ui:
        await editing(ui, hostile)
        await ui.shows("\\x1b]52;c;QUJD\\x07[/x]")
        assert "\x1b" not in ui.text()
        await ui.shows("it has characters that cannot be typed here")
        await ui.press("shift+tab", "x")
        assert ui.app.screen.draft.patch == {}


@pytest.mark.long
async def test_what_is_pasted_brings_nothing_that_a_terminal_acts_on(tonight: Daemon) -> None:
    async with screens(tonight.client(), (120, 40), clock=tonight.clock) as ui:
        await editing(ui, report())
        await ui.press("end", "ctrl+u")
        ui.app.focused.post_message(events.Paste("30 2 * * *\x1b]52;c;QUJD\x07\x1b[2J"))
        await ui.until(lambda: "30 2" in ui.text())
        assert "\x1b" not in ui.text()
        assert "\x1b" not in ui.app.screen.draft.text("schedule")


# ── with a daemon ────────────────────────────────────────────
@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealDaemon]:
    with real_daemon(tmp_path_factory.mktemp("d")) as made:
        yield made


async def test_a_job_is_added_by_keys_alone_and_taken_back(daemon: RealDaemon) -> None:
    async with screens(daemon.client) as ui:
        await ui.until(lambda: ui.app.feed.link.reached)
        await ui.press("n")
        await ui.shows("new job")
        await paste(ui, "by-keys", "tab", "tab")
        await paste(ui, "/bin/echo 'a b'", "tab")
        await paste(ui, "0 3 * * *", "tab")
        await paste(ui, "Europe/Berlin")
        await ui.shows("every day at 03:00")
        await ui.shows("now, UTC+")  # what was pasted has been looked at
        await ui.press("ctrl+s")
        await ui.shows("Add by-keys")
        assert "jobctl add by-keys --cron '0 3 * * *' --tz Europe/Berlin" in ui.text()
        await ui.press("s")
        await ui.shows("added by-keys")
        made = daemon.client.job("by-keys")
        assert made["target"]["command"] == ["/bin/echo", "a b"]
        assert made["schedule"]["timezone"] == "Europe/Berlin"
        await ui.shows("by-keys")
        await ui.press("u")
        await ui.shows("taken back")
        with pytest.raises(NotFound):
            daemon.client.job("by-keys")


@pytest.mark.long
async def test_a_change_is_saved_on_the_revision_that_was_read_and_taken_back(daemon: RealDaemon) -> None:
    made = daemon.add("edited", ["/bin/true"], schedule={"cron": "0 3 * * *", "timezone": "UTC"}, env={"A": "1"})
    async with screens(daemon.client) as ui:
        await ui.until(lambda: ui.app.feed.link.reached)
        await editing(ui, daemon.client.job(made["id"]))
        await instead(ui, "every 10m")
        await ui.shows("every 10 minutes")
        await ui.press("ctrl+s")
        await ui.shows("Save edited")
        await ui.press("s")
        await ui.shows("changed edited")
        assert daemon.client.job("edited")["schedule"]["every"] == 600
        await ui.press("u")
        await ui.shows("taken back")
    after = daemon.client.job("edited")
    assert {name: after[name] for name in after if name not in ("rev", "version", "next_run_at")} == {
        name: made[name] for name in made if name not in ("rev", "version", "next_run_at")
    }


@pytest.mark.long
async def test_what_only_the_daemon_knows_stands_at_its_field_too(daemon: RealDaemon) -> None:
    daemon.add("taken", ["/bin/true"])
    mine = daemon.add("mine", ["/bin/true"])
    async with screens(daemon.client) as ui:
        await ui.until(lambda: ui.app.feed.link.reached)
        await editing(ui, daemon.client.job(mine["id"]))
        await ui.press(*["shift+tab"] * 3)
        await ui.until(lambda: ui.app.screen.at == "name")
        await instead(ui, "taken")
        await ui.shows("there is a job taken")
        await ui.press("tab", "tab", "tab")
        await paste(ui, "after nowhere")
        await ui.press(*["shift+tab"] * 3)
        await instead(ui, "mine")
        await ui.shows("no job nowhere")


async def test_what_somebody_else_changes_is_shown_and_never_written_over_unseen(daemon: RealDaemon) -> None:
    made = daemon.add("shared", ["/bin/true"], timeout="1h")
    async with screens(daemon.client, (80, 30)) as ui:
        await ui.until(lambda: ui.app.feed.link.reached)
        await editing(ui, daemon.client.job(made["id"]))
        await instead(ui, "every 10m")
        daemon.client.edit_job(made["id"], {"timeout": "5m", "note": "theirs"})
        await ui.shows("changed by somebody else meanwhile")
        await ui.press("ctrl+s")
        await ui.shows("was changed meanwhile")
        assert "~ timeout  1h → 5m" in ui.text()
        assert "+ note" in ui.text()
        await ui.press("escape")
        assert daemon.client.job("shared")["schedule"] is None
        await ui.press("ctrl+s")
        await ui.shows("press p")
        await ui.press("p")
        await ui.until(lambda: "5m" in ui.line_with("Timeout"))
        await ui.press("ctrl+s")
        await ui.shows("Save shared")
        await ui.press("s")
        await ui.shows("changed shared")
    after = daemon.client.job("shared")
    assert (after["timeout"], after["note"], after["schedule"]["every"]) == (300, "theirs", 600)


@pytest.mark.long
async def test_a_pause_meanwhile_stands_in_nobodys_way(daemon: RealDaemon) -> None:
    made = daemon.add("rested", ["/bin/true"], timeout="1h", schedule={"every": "1h"})
    async with screens(daemon.client, (80, 30)) as ui:
        await ui.until(lambda: ui.app.feed.link.reached)
        await editing(ui, daemon.client.job(made["id"]))
        await instead(ui, "every 10m")
        await ui.press("ctrl+s")
        await ui.shows("Save rested")
        daemon.client.pause_job(made["id"])
        assert daemon.client.job("rested")["rev"] != made["rev"]
        await ui.press("s")
        await ui.shows("changed rested")
    after = daemon.client.job("rested")
    assert (after["schedule"]["every"], after["paused"]) == (600, True)


@pytest.mark.long
async def test_enter_saves_and_leaving_the_review_says_that_nothing_is_saved(daemon: RealDaemon) -> None:
    made = daemon.add("entered", ["/bin/true"], schedule={"every": "1h"})
    async with screens(daemon.client, (80, 30)) as ui:
        await ui.until(lambda: ui.app.feed.link.reached)
        await editing(ui, daemon.client.job(made["id"]))
        await instead(ui, "every 10m")
        await ui.press("ctrl+s")
        await ui.shows("Save entered")
        await ui.press("escape")
        await ui.shows("not saved; ^s asks again")
        assert daemon.client.job("entered")["rev"] == made["rev"]
        await ui.press("ctrl+s")
        await ui.shows("Save entered")
        await ui.press("enter")
        await ui.shows("changed entered")


@pytest.mark.long
async def test_a_long_command_line_is_read_to_its_end_in_the_review(daemon: RealDaemon) -> None:
    made = daemon.add("long-line", ["/bin/true"])
    words = [f"--option-number-{number}=value" for number in range(8)]
    async with screens(daemon.client, (80, 30)) as ui:
        await ui.until(lambda: ui.app.feed.link.reached)
        await editing(ui, daemon.client.job(made["id"]))
        await ui.press("shift+tab")
        await instead(ui, " ".join(["/bin/true", *words]))
        await ui.press("ctrl+s")
        await ui.shows("Save long-line")
        assert words[-1] in ui.text().partition("Save long-line")[2]


@pytest.mark.long
async def test_a_change_between_the_review_and_the_save_is_refused_and_shown(daemon: RealDaemon) -> None:
    made = daemon.add("raced", ["/bin/true"], timeout="1h")
    async with screens(daemon.client, (80, 30)) as ui:
        await ui.until(lambda: ui.app.feed.link.reached)
        await editing(ui, daemon.client.job(made["id"]))
        await instead(ui, "every 10m")
        await ui.press("ctrl+s")
        await ui.shows("Save raced")
        daemon.client.edit_job(made["id"], {"timeout": "5m"})
        await ui.press("s")
        await ui.shows("was changed meanwhile")
        await ui.shows("~ timeout  1h → 5m")
        assert daemon.client.job("raced")["schedule"] is None


@pytest.mark.long
async def test_an_untouched_editor_follows_what_others_do(daemon: RealDaemon) -> None:
    made = daemon.add("followed", ["/bin/true"], timeout="1h")
    async with screens(daemon.client) as ui:
        await ui.until(lambda: ui.app.feed.link.reached)
        await editing(ui, daemon.client.job(made["id"]))
        await ui.until(lambda: "1h" in ui.line_with("Timeout"))
        daemon.client.edit_job(made["id"], {"timeout": "5m"})
        await ui.until(lambda: "5m" in ui.line_with("Timeout"))
        assert "not saved" not in ui.text()


@pytest.mark.long
async def test_a_job_that_a_file_declares_is_shown_with_where_it_is_changed(daemon: RealDaemon, tmp_path: Path) -> None:
    path = str(tmp_path / "web.toml")
    draft = {"name": "declared", "target": {"command": ["/bin/true"]}, "schedule": {"every": "1h"}}
    daemon.client.apply(path, [draft])
    async with screens(daemon.client, (120, 40)) as ui:
        await ui.until(lambda: ui.app.feed.link.reached)
        await editing(ui, daemon.client.job("declared"))
        await ui.shows("a file owns it")
        words = " ".join(ui.text().replace("│", " ").split())
        assert "edit it there" in words
        await ui.press("x", "ctrl+s")
        await ui.shows("only be read")
        assert daemon.client.job("declared")["rev"] == 1
        await ui.press("escape")
        await ui.until(lambda: "next fires" not in ui.text())


@pytest.mark.long
async def test_a_row_of_a_list_is_read_whole_first(daemon: RealDaemon) -> None:
    made = daemon.add("of-a-list", ["/bin/true"], env={"LANG": "C"})
    async with screens(daemon.client, (120, 40)) as ui:
        await ui.until(lambda: ui.app.feed.link.reached)
        await editing(ui, {"id": made["id"], "name": "of-a-list"})
        await ui.shows("LANG=C")


@pytest.mark.long
def test_the_text_is_edited_in_the_persons_editor_and_mistakes_come_back_by_line(
    daemon: RealDaemon, tmp_path: Path
) -> None:
    failing = {"schedule": {"cron": "0 3 * * *", "timezone": "UTC"}, "retry": {"max": 0}}
    daemon.add("by-text", ["/bin/false"], **failing)  # trouble stands first, under the cursor
    daemon.finished(daemon.triggered("by-text"))
    script = tmp_path / "editor.py"
    script.write_text(
        "import sys\n"
        f"again = {str(tmp_path / 'again')!r}\n"
        "import os\n"
        "text = open(sys.argv[1]).read()\n"
        "old, new = ('0 3 * * *', '61 3 * * *') if not os.path.exists(again) else ('61 3 * * *', '15 4 * * *')\n"
        "open(again, 'w').close()\n"
        "open(sys.argv[1], 'w').write(text.replace(old, new, 1))\n"
    )
    environ = {**daemon.environ, "TERM": "xterm-256color", "LANG": "C.UTF-8", "EDITOR": f"{sys.executable} {script}"}
    with seat(UI, environ) as person:
        person.shows("by-text")
        person.type("e")
        person.shows("next fires")
        person.type("\x1bOQ")  # F2
        person.shows("The text is not right")
        person.shows("61 is not within 0-59")
        person.type("e")
        person.shows("every day at 04:15")
        person.type("\x13")
        person.shows("Save by-text")
        person.type("s")
        person.until(lambda: daemon.client.job("by-text")["schedule"]["cron"] == "15 4 * * *")
        person.type("q")
        assert person.ended() == 0
