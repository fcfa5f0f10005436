"""The service that follows crontabs, over a real store and real files: what it takes over, and what it leaves alone."""

import asyncio
import os
import pwd
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from jobctl import wire
from jobctl.clock import SystemClock
from jobctl.drafts import Circumstances
from jobctl.errors import Conflict, Unavailable
from jobctl.paths import Places
from jobctl_daemon.files import FileState
from jobctl_daemon.health import Health
from jobctl_daemon.rows import Caller, JobFilter, RunFilter
from jobctl_daemon.services import once
from jobctl_daemon.services import tables as service
from jobctl_daemon.services.tables import Tables
from jobctl_daemon.store.sqlite import SqliteStore
from jobctl_daemon.tables.places import table_places
from jobctl_daemon.tables.reading import Reading, read_table
from kit.invariants import invariants

ME = pwd.getpwuid(os.getuid()).pw_name
OLD_S = 1_700_000_000
EVERYBODY = Caller(uid=0, name="root", all_owners=True)


class Follower:
    """A user's daemon's tables: those that anybody can test."""

    def __init__(self, folder: Path) -> None:
        self.store = SqliteStore(folder / "jobctl.db")
        self.health = Health(SystemClock())
        self.changes = 0
        self.epoch = 0
        places = Places(str(folder), str(folder), "", None, system=False)
        self.places = table_places(places, "/", ME, system=False)
        self.path = Path(self.places.spool) / ME
        self.path.parent.mkdir()
        self.exists = lambda _: True
        self.tables = self.fresh()

    def fresh(self) -> Tables:
        """As of a daemon that has just begun."""
        self.tables = Tables(self.store, SystemClock(), self.health, self.places, self._here, self._changed)
        return self.tables

    def write(self, *lines: str, path: Path | None = None) -> Path:
        """A table that has stood there for long."""
        path = path or self.path
        draft = path.parent / ".draft"
        draft.write_text("".join(f"{line}\n" for line in lines))
        draft.chmod(0o600)
        os.utime(draft, (OLD_S, OLD_S))
        os.rename(draft, path)
        return path

    async def commands(self) -> set[str | None]:
        jobs, _ = await self.store.jobs(EVERYBODY, JobFilter(limit=1000))
        return {job.target.get("shell") for job in jobs if job.declared}

    @property
    def told(self) -> FileState:
        return self.health.tables[str(self.path)]

    def _changed(self) -> None:
        self.changes += 1

    def _here(self) -> Circumstances:
        return Circumstances(
            now_ms=0, host_tz="UTC", daemon_user=ME, caller_uid=os.getuid(), system=False, path="/bin",
            user_exists=lambda name: self.exists(name),
        )  # fmt: skip


@pytest.fixture
async def follower(tmp_path: Path) -> AsyncIterator[Follower]:
    made = Follower(tmp_path)
    await made.store.open()
    made.epoch = await made.store.take_epoch("node", 1)
    yield made
    await made.store._read(invariants)
    await made.store.close()


async def test_a_users_daemon_follows_that_users_table_alone(follower: Follower) -> None:
    follower.write("0 1 * * * a", "0 2 * * * b")
    follower.write("0 1 * * * theirs", path=follower.path.with_name("somebody"))
    await follower.tables.begin()
    assert await follower.commands() == {"a", "b"}
    assert (follower.told.jobs, follower.told.owner_uid, follower.told.kind) == (2, os.getuid(), "crontab")
    assert follower.health.tables.keys() == {str(follower.path)}
    assert follower.changes == 1


async def test_a_look_at_what_did_not_change_reads_nothing_and_writes_nothing(follower: Follower) -> None:
    follower.write("0 1 * * * a")
    await follower.tables.begin()
    before = await follower.store.event_span(), follower.told.loaded_ms
    for tables in (follower.tables, follower.fresh()):
        assert (await tables.run_once()).next_ms is None
    assert (await follower.store.event_span(), follower.changes) == (before[0], 1)
    assert before[1] is not None


async def test_crontabs_that_are_switched_off_are_let_go_and_come_back(follower: Follower) -> None:
    follower.write("0 1 * * * a")
    aims: list[tuple[str, ...]] = []
    follower.tables.aimed = lambda folders, files: aims.append(tuple(folders))
    await follower.tables.begin()
    follower.tables.wanted = "off"
    await follower.tables.run_once()
    assert (await follower.commands(), follower.health.tables, follower.tables.live) == (set(), {}, False)
    with pytest.raises(Conflict, match="no crontab that this daemon runs"):
        await follower.tables.load_now(str(follower.path))
    follower.tables.wanted = "auto"
    await follower.tables.run_once()
    assert await follower.commands() == {"a"}
    assert aims == [(follower.places.spool,), (), (follower.places.spool,)]


async def test_a_table_can_be_read_at_once(follower: Follower) -> None:
    await follower.tables.begin()
    follower.write("0 1 * * * a")
    os.utime(follower.path)  # just written: a look would wait
    await follower.tables.load_now(str(follower.path))
    assert await follower.commands() == {"a"}
    follower.path.chmod(0o644)
    with pytest.raises(Conflict, match="0644, and cron wants 0600"):
        await follower.tables.load_now(str(follower.path))
    follower.path.unlink()
    await follower.tables.load_now(str(follower.path))
    assert await follower.commands() == set()
    with pytest.raises(Conflict, match="no crontab that this daemon runs"):
        await follower.tables.load_now("/etc/passwd")


async def test_ten_thousand_lines_are_taken_and_one_more_is_not(follower: Follower) -> None:
    lines = [f"{number % 60} 1 * * * run {number}" for number in range(10_000)]
    follower.write(*lines[:600])
    await follower.tables.begin()
    assert follower.told.jobs == 600
    follower.write(*lines, "0 1 * * * one more")
    await follower.tables.run_once()
    (problem,) = follower.told.problems
    assert (problem.line, problem.reason) == (
        None,
        "it has more than 10,000 lines: cron ignores the whole file; its jobs stay as they are",
    )
    assert follower.told.jobs == 600


async def test_a_table_of_ten_thousand_lines_lets_others_write_meanwhile(follower: Follower) -> None:
    """Every transaction of it is small."""
    pieces: list[int] = []
    declare = follower.store.declare

    async def counted(owner: Caller, wanted: object, now_ms: int) -> list[str]:
        pieces.append(max(len(getattr(wanted, field)) for field in ("created", "edits", "removed")))
        return await declare(owner, wanted, now_ms)  # type: ignore[arg-type]

    follower.store.declare = counted  # type: ignore[method-assign,assignment]
    follower.write(*(f"{number % 60} 1 * * * run {number}" for number in range(1_200)))
    await follower.tables.begin()
    assert (sum(pieces), max(pieces) <= 150, follower.told.jobs) == (1_200, True, 1_200)


@pytest.fixture
def gate() -> Iterator[threading.Event]:
    made = threading.Event()
    yield made
    made.set()


@pytest.mark.parametrize("where", ["file", "folder"])
async def test_a_file_system_that_hangs_holds_up_nobody_and_changes_nothing(
    follower: Follower, gate: threading.Event, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    follower.write("0 1 * * * a")
    await follower.tables.begin()
    monkeypatch.setattr(service, "ANSWER_S", 0.1)

    def hung(table: object) -> Reading:
        gate.wait()
        return read_table(table)  # type: ignore[arg-type]

    listdir = os.listdir

    def hung_folder(path: str) -> list[str]:
        gate.wait()
        return listdir(path)

    follower.write("0 1 * * * b")
    if where == "file":
        monkeypatch.setattr(service, "read_table", hung)
    else:
        monkeypatch.setattr("jobctl_daemon.tables.scan.os.listdir", hung_folder)
    for words in ("does not answer within", "still does not answer"):
        assert (await follower.tables.run_once()).next_ms is not None
        assert words in follower.told.problems[0].reason
    assert await follower.commands() == {"a"}


async def test_a_store_that_takes_nothing_leaves_all_as_it_was_and_is_asked_again(
    follower: Follower, monkeypatch: pytest.MonkeyPatch
) -> None:
    follower.write("0 1 * * * a")
    await follower.tables.begin()

    async def full(*_: object) -> list[str]:
        raise Unavailable("the disk is full", "make room")

    follower.write("0 1 * * * b")
    with monkeypatch.context() as patch:
        patch.setattr(follower.store, "declare", full)
        assert (await follower.tables.run_once()).next_ms is not None
    assert follower.told.problems[0].reason == "the disk is full (make room); its jobs stay as they are"
    assert await follower.commands() == {"a"}
    await follower.tables.run_once()
    assert (await follower.commands(), follower.told.problems) == ({"b"}, ())


async def test_an_error_of_ours_at_the_start_does_not_end_the_daemon(
    follower: Follower, monkeypatch: pytest.MonkeyPatch
) -> None:
    follower.write("0 1 * * * a")
    with monkeypatch.context() as patch:
        patch.setattr(follower.store, "meta", None)
        with suppress(TypeError):
            await follower.tables.begin()
    assert follower.tables.wake.is_set()
    await follower.tables.run_once()
    assert await follower.commands() == {"a"}


async def test_a_user_has_no_more_jobs_by_a_table_than_by_hand(follower: Follower) -> None:
    follower.tables.taking.owner_jobs = 2
    follower.write("0 1 * * * a", "0 2 * * * b")
    await follower.tables.begin()
    follower.write("0 1 * * * a", "0 3 * * * b")
    await follower.tables.run_once()
    assert follower.told.problems == ()
    follower.write("0 1 * * * a", "0 3 * * * b", "0 3 * * * c")
    await follower.tables.run_once()
    assert f"{ME} may have 2 jobs, and no more" in follower.told.problems[0].reason
    assert await follower.commands() == {"a", "b"}


async def test_reboot_lines_run_once_for_each_boot_with_what_the_file_says_then(follower: Follower) -> None:
    async def boot(key: str) -> int:
        await follower.fresh().begin()
        return await once.expand_boot(follower.store, SystemClock(), key, follower.epoch)

    follower.write("@reboot a", "0 1 * * * b")
    assert await boot("first") == 1
    follower.write("X=1", "@reboot a", "@reboot c")
    assert await boot("first") == 0
    follower.write("@reboot c", "@reboot d")
    assert await boot("second") == 2
    runs, _ = await follower.store.runs(EVERYBODY, RunFilter())
    assert sorted(run.job for run in runs) == ["a", "c", "d"]


async def test_what_was_due_while_no_daemon_ran_is_neither_lost_nor_run_twice(follower: Follower) -> None:
    """The cursor of a line is where it was, also when the line has moved and its neighbours have changed."""
    follower.write("* * * * * a", "0 1 * * * b")
    await follower.tables.begin()
    (before,) = [one for one in await follower.store.due(1 << 60, None, 10) if one.name == "a"]
    follower.write("# c", "0 2 * * * b", "", "* * * * * a")
    await follower.fresh().begin()
    (after,) = [one for one in await follower.store.due(1 << 60, None, 10) if one.name == "a"]
    assert (after.next_ms, after.handled_ms, after.revision, after.version) == (
        before.next_ms, before.handled_ms, before.revision, before.version,
    )  # fmt: skip


async def test_of_very_many_refused_lines_the_first_are_told(follower: Follower) -> None:
    follower.write("0 1 * * * a", *["bad"] * 5_000)
    await follower.tables.begin()
    assert (len(follower.told.problems), follower.told.jobs) == (101, 1)
    assert follower.told.problems[-1].reason == "4900 more lines are refused"


@pytest.mark.skipif(os.getuid() != 0, reason="tables of a host belong to root")
@pytest.mark.parametrize("alive", [True, False])
async def test_a_table_that_is_renamed_keeps_its_jobs(follower: Follower, tmp_path: Path, alive: bool) -> None:
    """The old one is gone for good a while after the new one is there: both would start what is due in between."""
    follower.places = table_places(
        Places(str(tmp_path), str(tmp_path), "", None, system=False), str(tmp_path), ME, system=True
    )
    folder = Path(str(follower.places.cron_d))
    folder.mkdir(parents=True)
    follower.write("* * * * * root a", "* * * * * root a", "0 1 * * * root b", path=folder / "one")
    follower.write("0 5 * * * root other", path=folder / "other")

    async def begun() -> None:
        follower.fresh().wanted = "on"
        await follower.tables.begin()

    async def cursors() -> set[tuple[int, int, int | None]]:
        return {(one.job_id, one.handled_ms, one.next_ms) for one in await follower.store.due(1 << 60, None, 10)}

    await begun()
    before = await cursors()
    assert len(before) == 4
    os.rename(folder / "one", folder / "two")
    follower.write("0 5 * * * root other", "0 1 * * * root b", path=folder / "other")
    if alive:
        assert (await follower.tables.run_once()).next_ms is not None
        assert await cursors() == before
        await follower.tables.begin()
    else:
        await begun()
    after = await cursors()
    assert len(after) == 5
    assert before < after
    jobs, _ = await follower.store.jobs(EVERYBODY, JobFilter(limit=10))
    owned = sorted((os.path.basename(str(job.declared)), str(job.target.get("shell"))) for job in jobs)
    assert owned == [("other", "b"), ("other", "other"), ("two", "a"), ("two", "a"), ("two", "b")]


@pytest.fixture
def cron_d(follower: Follower, tmp_path: Path) -> Path:
    """Of a host whose tables the follower runs, with one table of a user's that fails for good."""
    places = Places(str(tmp_path), str(tmp_path), "", None, system=False)
    follower.places = table_places(places, str(tmp_path / "host"), ME, system=True)
    folder = Path(str(follower.places.cron_d))
    folder.mkdir(parents=True)
    Path(follower.places.spool).mkdir(parents=True)
    follower.write("0 1 * * * x", "0 1 * * * y", path=Path(follower.places.spool) / ME)
    follower.fresh().wanted = "on"
    follower.tables.taking.owner_jobs = 1
    return folder


async def waited_out(follower: Follower) -> None:
    """Looked at until nothing is waited for but what fails."""
    while (delay_ms := (await follower.tables.run_once()).next_ms) is not None:
        left_ms = delay_ms - SystemClock().now_ms()
        if left_ms > 2_000:
            return
        await asyncio.sleep(left_ms / 1000)


@pytest.mark.case("F112")
@pytest.mark.skipif(os.getuid() != 0, reason="tables of a host belong to root")
async def test_a_reload_means_the_folder_as_it_was_found_then_whatever_fails_elsewhere(
    follower: Follower, cron_d: Path
) -> None:
    follower.write("0 1 * * * root a", path=cron_d / "site")
    await follower.tables.begin()
    follower.tables.reload()
    await waited_out(follower)
    assert "may have 1 jobs" in follower.health.tables[str(Path(follower.places.spool) / ME)].problems[0].reason
    away = cron_d.rename(cron_d.with_name("away"))
    cron_d.mkdir()  # as a file system that is not mounted
    await waited_out(follower)
    assert await follower.commands() == {"a"}
    assert "another folder than before" in follower.health.tables[str(cron_d / "site")].problems[0].reason
    follower.tables.reload()
    await follower.tables.run_once()
    assert await follower.commands() == {"a"}  # it may come back, and so may the folder
    cron_d.rename(cron_d.with_name("other"))
    cron_d.mkdir()
    await waited_out(follower)
    assert await follower.commands() == {"a"}
    follower.tables.reload()
    await waited_out(follower)
    assert await follower.commands() == set()
    cron_d.rmdir()
    away.rename(cron_d)
    await waited_out(follower)
    assert await follower.commands() == {"a"}


@pytest.mark.case("F112")
@pytest.mark.skipif(os.getuid() != 0, reason="tables of a host belong to root")
async def test_a_folder_that_is_gone_is_let_go_by_a_reload_alone(follower: Follower, cron_d: Path) -> None:
    follower.write("0 1 * * * root a", path=cron_d / "site")
    follower.write("0 1 * * * root b", path=Path(str(follower.places.crontab)))
    await follower.tables.begin()
    away = cron_d.rename(cron_d.with_name("away"))
    await waited_out(follower)
    assert await follower.commands() == {"a", "b"}
    (told,) = follower.health.tables[str(cron_d / "site")].problems
    assert told.reason == (
        f"the folder {cron_d} is not there: if that is meant, reload the daemon (kill -HUP); its jobs stay as they are"
    )
    follower.tables.reload()
    assert (await follower.tables.run_once()).next_ms is not None
    away.rename(cron_d)  # as a file that is written anew
    await waited_out(follower)
    cron_d.rename(away)
    await waited_out(follower)
    assert await follower.commands() == {"a", "b"}
    follower.tables.reload()
    await waited_out(follower)
    assert await follower.commands() == {"b"}
    assert str(cron_d / "site") not in follower.health.tables


async def test_a_name_that_is_not_utf_8_is_told_and_can_be_shown(follower: Follower) -> None:
    follower.places = replace(follower.places, only=None)
    follower.write("0 1 * * * a")
    with open(os.fsencode(follower.path.parent) + b"/us\xffer", "w", encoding="utf-8") as file:
        file.write("0 2 * * * b\n")
    follower.fresh().wanted = "on"
    await follower.tables.begin()
    assert await follower.commands() == {"a"}
    told = follower.health.tables[f"{follower.path.parent}/us\\xffer"]
    assert "not UTF-8" in told.problems[0].reason
    assert b"xffer" in wire.encode({"path": told.path, "reason": told.problems[0].reason})
