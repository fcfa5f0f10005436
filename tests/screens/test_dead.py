"""The tab of dead letters: groups, what each letter is about, and replaying or giving them up."""

from collections.abc import Iterator
from typing import Any

import pytest

from kit.daemon import RealDaemon, real_daemon
from kit.screens import SHAPES, VIEWS, Shown, screens
from kit.scripted import Scripted

Json = dict[str, Any]
HOSTILE = "\x1b]52;c;QUJD\x07[/x] \x1b[2J"


def letter(ident: int, job: str, died: str, **more: Any) -> Json:
    """A Run that is dead."""
    return {
        "id": ident, "key": f"k{ident}", "job_id": 1 if job == "backup-db" else 2, "job": job, "queue": "default",
        "version": 9, "edited": False, "trigger": "schedule", "scheduled_at": died, "due_at": died, "started_at": died,
        "finished_at": died, "state": "dead", "outcome": "exit_code", "class": "exit_code", "reason": "exit 1",
        "attempt": 3, "uncounted": 0, "max_attempts": 3, "replays": 0, "put_back": None, "retry_of": None,
        "error": "FATAL: No space left on device", "fingerprint": "3f2a91c07d18", "fence": 3, "node": "prod-db1",
        "lease_until": None, "exit_code": 1, "signal": None, "late": False, "coalesced": 0, **more,
    }  # fmt: skip


TIMED = {"class": "timed_out", "exit_code": None, "error": None, "reason": "timed out after 5m", "fingerprint": "00ff"}
LETTERS = [
    letter(4812, "backup-db", "2026-11-29T02:00:41Z"),
    letter(4371, "backup-db", "2026-11-27T02:00:41Z", replays=2),
    letter(2102, "backup-db", "2026-11-20T02:00:41Z", version=7),
    letter(4793, "sync-crm", "2026-11-29T02:00:30Z", **TIMED),
]
GROUPS = [
    {"fingerprint": "3f2a91c07d18", "count": 3, "jobs": ["backup-db"], "class": "exit_code", "reason": "exit 1",
     "error": "FATAL: No space left on device", "first_at": "2026-11-20T02:00:41Z", "last_at": "2026-11-29T02:00:41Z",
     "replays": 2, "newest_run_id": 4812},
    {"fingerprint": "00ff", "count": 1, "jobs": [HOSTILE], "class": "timed_out", "reason": "timed out after 5m",
     "error": None, "first_at": "2026-11-29T02:00:30Z", "last_at": "2026-11-29T02:00:30Z", "replays": 0,
     "newest_run_id": 4793},
]  # fmt: skip
ATTEMPTS = [{"attempt": n, "class": "exit_code", "exit_code": 1, "signal": None, "ended_at": "x"} for n in (1, 2, 3)]
WORK: Json = {"target": {"command": ["/opt/bin/backup.sh", "--full"]}, "stdin": None, "payload_ref": None,
              "env": {"PGPASSWORD": "s3cret"}, "env_file": None, "user": None, "cwd": "/", "version": 9,
              "edited": False}  # fmt: skip
LOG = b"pg_dump: dumping contents\nFATAL: No space left on device\npg_dump: error: query failed\n"


@pytest.fixture
def tonight() -> Iterator[Scripted]:
    runs: Json = {}
    for run in LETTERS:
        at = f"/v1/runs/{run['id']}"
        runs |= {at: run, f"{at}/attempts": ATTEMPTS, f"{at}/work": WORK, f"{at}/log": LOG}
    daemon = Scripted({
        "/v1/dead/groups": GROUPS, "/v1/dead": LETTERS[:3], **runs,
        "/v1/jobs/1": {"id": 1, "name": "backup-db", "version": 9},
        "/v1/jobs/1/durations": {"schema": 1, "count": 30, "p50": 660.0, "p95": 840.0, "items": []},
    })  # fmt: skip
    yield daemon
    daemon.close()


# ── how it looks ─────────────────────────────────────────────
@pytest.mark.parametrize(("size", "look"), VIEWS)
async def test_dead_letters_look_like_this(tonight: Scripted, size: tuple[int, int], look: str) -> None:
    async with screens(tonight.client(), size, look, clock=tonight.clock, tab="dead") as ui:
        await ui.shows("FATAL")
        await ui.press("right")
        await ui.shows("run 4371")
        await ui.press("j", "space")
        await ui.shows("replayed before")
        await ui.shows("1 marked")
        await ui.snapshot("dead")


@pytest.mark.parametrize("size", SHAPES, ids=str)
async def test_the_question_of_a_replay_looks_like_this(tonight: Scripted, size: tuple[int, int]) -> None:
    async with screens(tonight.client(), size, clock=tonight.clock, tab="dead") as ui:
        await ui.shows("FATAL")
        await ui.shows("replayed before")
        await ui.press("R")
        await ui.shows("press r")
        await ui.snapshot("dead-replay")


async def test_a_replay_warns_of_what_has_died_again_and_says_what_has_changed(tonight: Scripted) -> None:
    async with screens(tonight.client(), (120, 40), clock=tonight.clock, tab="dead") as ui:
        await ui.shows("FATAL")
        await ui.press("R")
        await ui.shows("the last 2 replays of this failure died again")
        await ui.shows("the jobs of 1 of them have changed since: what they are now is run")
        assert "jobctl dlq replay 4812 4371 2102 --current --force" in ui.text()
        await ui.shows("about 11m00s each")


async def test_of_an_environment_no_value_is_shown(tonight: Scripted) -> None:
    async with screens(tonight.client(), (120, 40), clock=tonight.clock, tab="dead") as ui:
        await ui.shows("PGPASSWORD")
        assert "s3cret" not in ui.text()


async def test_what_somebody_wrote_is_shown_by_its_escapes(tonight: Scripted) -> None:
    async with screens(tonight.client(), (120, 40), clock=tonight.clock, tab="dead") as ui:
        await ui.shows("\\x1b]52")
        await ui.press("j")
        assert "\x1b" not in ui.text()


async def test_a_group_unfolds_and_folds_with_the_cursor_on_it(tonight: Scripted) -> None:
    async with screens(tonight.client(), clock=tonight.clock, tab="dead") as ui:
        await ui.shows("▸ FATAL")
        await ui.press("enter")
        await ui.shows("run 2102")
        await ui.press("j", "j", "left")
        await ui.until(lambda: "run 2102" not in ui.text())
        assert "▌▸ FATAL" in ui.text()


async def test_without_dead_letters_the_screen_says_so(tonight: Scripted) -> None:
    tonight.answers |= {"/v1/dead/groups": [], "/v1/dead": []}
    async with screens(tonight.client(), clock=tonight.clock, tab="dead") as ui:
        await ui.shows("No dead letters")
        await ui.snapshot("dead-none")


# ── with a daemon ────────────────────────────────────────────
@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealDaemon]:
    with real_daemon(tmp_path_factory.mktemp("d")) as made:
        yield made


def dead(daemon: RealDaemon, name: str, command: str, times: int = 1) -> list[Json]:
    """A job whose runs have died, newest first."""
    job = daemon.add(name, command, retry={"max": 0})
    return [daemon.finished(daemon.client.trigger(job["id"], {})) for _ in range(times)][::-1]


async def at_group(ui: Shown, words: str) -> None:
    """The cursor on the group of that error, by the keys of a person."""
    await ui.shows(words)
    await ui.press("g")
    for _ in range(40):
        if words in await ui.under_cursor():
            return
        await ui.press("j")
    raise AssertionError(ui.text())


async def test_a_group_is_replayed_as_a_whole_and_what_succeeds_is_gone(daemon: RealDaemon, tmp_path: Any) -> None:
    mended = tmp_path / "mended"
    runs = dead(daemon, "mends", f"test -e {mended} || {{ echo not yet mended; exit 1; }}", 2)
    async with screens(daemon.client, tab="dead") as ui:
        await at_group(ui, "not yet mended")
        mended.touch()
        await ui.press("R")
        await ui.shows("Replay 2 dead letters")
        await ui.press("r")
        await ui.shows("replayed 2 dead letters")
        await ui.until(lambda: "not yet mended" not in ui.text())
    assert [daemon.finished(run)["state"] for run in runs] == ["succeeded", "succeeded"]


async def test_a_marked_letter_alone_is_replayed_not_its_group(daemon: RealDaemon) -> None:
    newer, older = dead(daemon, "marks", "echo of these one; exit 2", 2)
    async with screens(daemon.client, tab="dead") as ui:
        await at_group(ui, "of these one")
        await ui.press("right")
        await ui.shows(f"run {older['id']}")
        await ui.press("j", "j", "space", "R")
        await ui.shows("Replay 1 dead letter")
        await ui.press("r")
        await ui.until(lambda: daemon.client.run(older["id"])["replays"] == 1)
    assert daemon.client.run(newer["id"])["replays"] == 0


@pytest.mark.long
async def test_a_letter_is_replayed_with_another_command(daemon: RealDaemon) -> None:
    (run,) = dead(daemon, "edits", "echo wrong command; exit 4")
    async with screens(daemon.client, (120, 40), tab="dead") as ui:
        await at_group(ui, "wrong command")
        await ui.press("R")
        await ui.shows("another command")
        await ui.press("tab", "left")
        await ui.shows("Command")
        await ui.press("tab", "ctrl+u", *"echo right now")
        await ui.shows("--edit")
        await ui.press("tab", "r")
        await ui.until(lambda: daemon.client.run(run["id"])["state"] == "succeeded")
    assert daemon.client.log(run["id"]).read().endswith(b"right now\n")


@pytest.mark.long
async def test_with_the_definition_of_today_a_mended_job_succeeds(daemon: RealDaemon) -> None:
    (run,) = dead(daemon, "current", "echo old definition; exit 5")
    daemon.client.edit_job("current", {"target": {"shell": "echo new definition"}})
    async with screens(daemon.client, (120, 40), tab="dead") as ui:
        await at_group(ui, "old definition")
        await ui.shows("yes, version 1 → 2")
        await ui.press("R")
        await ui.shows("the job has changed since: version 2 is run, not 1")
        await ui.shows("--current")
        await ui.press("tab", "left")
        await ui.shows("version 1 is run, not 2")
        await ui.shows("Replay as recorded: press r")
        assert "--current" not in ui.text()
        await ui.press("right")
        await ui.shows("Replay as it is now: press r")
        await ui.press("r")
        await ui.shows(f"run {run['id']} of current, as version 2")
        await ui.until(lambda: daemon.client.run(run["id"])["state"] == "succeeded")


@pytest.mark.long
async def test_a_pace_that_is_none_is_refused_where_it_is_written(daemon: RealDaemon) -> None:
    runs = dead(daemon, "paced", "echo at a pace; exit 6", 2)
    async with screens(daemon.client, (120, 40), tab="dead") as ui:
        await at_group(ui, "at a pace")
        await ui.press("R")
        await ui.shows("Pace")
        await ui.press("tab", "tab", *"soon", "tab", "r")
        await ui.shows("'soon'")
        assert "press r" in ui.text()
        await ui.press("escape")
    assert [daemon.client.run(run["id"])["replays"] for run in runs] == [0, 0]


async def test_a_letter_is_given_up_with_a_reason(daemon: RealDaemon) -> None:
    (run,) = dead(daemon, "given-up", "echo no hope; exit 7")
    async with screens(daemon.client, (120, 40), tab="dead") as ui:
        await at_group(ui, "no hope")
        await ui.press("X")
        await ui.shows("Discard 1 dead letter")
        await ui.press("tab", *"data is gone", "tab", "x")
        await ui.shows("discarded 1 dead letter")
        await ui.until(lambda: "no hope" not in ui.text())
    assert "data is gone" in daemon.client.run(run["id"])["reason"]


@pytest.mark.long
async def test_escape_replays_and_discards_nothing(daemon: RealDaemon) -> None:
    (run,) = dead(daemon, "stays", "echo stays here; exit 8")
    async with screens(daemon.client, tab="dead") as ui:
        await at_group(ui, "stays here")
        for key in ("R", "X"):
            await ui.press(key)
            await ui.shows("press ")
            await ui.press("escape")
        assert daemon.client.run(run["id"])["state"] == "dead"
        assert daemon.client.run(run["id"])["replays"] == 0


@pytest.mark.long
async def test_a_filter_narrows_groups_and_what_is_replayed_of_them(daemon: RealDaemon) -> None:
    (mine,) = dead(daemon, "narrow-mine", "echo the same way; exit 9")
    (other,) = dead(daemon, "narrow-other", "echo the same way; exit 9")
    async with screens(daemon.client, (120, 40), tab="dead") as ui:
        await ui.shows("the same way")
        await ui.press("slash", *"name:narrow-mine", "enter")
        await ui.shows("1 dead letter · 1 group")
        await ui.press("g", "R")
        await ui.shows("Replay 1 dead letter")
        await ui.press("r")
        await ui.until(lambda: daemon.client.run(mine["id"])["replays"] == 1)
    assert daemon.client.run(other["id"])["replays"] == 0


async def test_what_was_replayed_meanwhile_by_somebody_else_is_said_to_be(daemon: RealDaemon) -> None:
    (run,) = dead(daemon, "meanwhile", "echo somebody else; exit 10")
    async with screens(daemon.client, (120, 40), tab="dead") as ui:
        await at_group(ui, "somebody else")
        await ui.press("R")
        await ui.shows("Replay 1 dead letter")
        daemon.client.discard({"ids": [run["id"]]})
        await ui.press("r")
        await ui.until(lambda: f"run {run['id']}: " in " ".join(said.words for said in ui.app.all_said()))


async def test_one_by_one_the_newest_death_is_first(daemon: RealDaemon) -> None:
    newer, older = dead(daemon, "one-by-one", "echo one by one; exit 11", 2)
    async with screens(daemon.client, (120, 40), tab="dead") as ui:
        await ui.shows("one by one")
        await ui.press("b")
        await ui.shows(f"run {older['id']}  one by one")
        text = ui.text()
        assert text.index(f"run {newer['id']}  ") < text.index(f"run {older['id']}  ")


@pytest.mark.case("F144")
async def test_the_cursor_stays_with_its_letter_when_others_come_above_it(daemon: RealDaemon) -> None:
    (run,) = dead(daemon, "stays-put", "echo stays put; exit 12")
    async with screens(daemon.client, (120, 40), tab="dead") as ui:
        await ui.press("b")
        await at_group(ui, f"run {run['id']}  stays put")
        (newer,) = dead(daemon, "newcomer", "echo newcomer; exit 13")
        await ui.shows(f"run {newer['id']}  newcomer")
        assert "stays put" in next(row for row in ui.lines() if row.startswith("▌"))
