"""The folder jobs.d as a service: over a real store and real files, which look as if they were written long ago."""

import asyncio
import os
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from jobctl.clock import SystemClock
from jobctl.drafts import Circumstances
from jobctl.errors import Unavailable
from jobctl_daemon.health import Health
from jobctl_daemon.jobsdir import Trust, look_into, read_file
from jobctl_daemon.rows import Caller, Declaration, JobFilter
from jobctl_daemon.services.jobfiles import JobFiles
from jobctl_daemon.store.sqlite import SqliteStore

ME = Caller(uid=os.getuid(), name="me")
CLOCK = SystemClock()


class Folder:
    """jobs.d, and the service that reads it."""

    def __init__(self, base: Path, store: SqliteStore) -> None:
        self.path = base / "jobs.d"
        self.path.mkdir(exist_ok=True)
        self.store = store
        self.changes = 0
        self.anew()

    def anew(self) -> None:
        """Another daemon."""
        self.health = Health(CLOCK)
        self.service = JobFiles(self.store, CLOCK, self.health, str(self.path), ME, self._here, self._changed)

    def _here(self) -> Circumstances:
        return Circumstances(CLOCK.now_ms(), "UTC", "me", ME.uid, False, "/usr/bin:/bin")

    def _changed(self) -> None:
        self.changes += 1

    def write(self, name: str, text: str, age_s: int = 60) -> Path:
        path = self.path / name
        path.write_text(text)
        then = CLOCK.now_ms() / 1000 - age_s
        os.utime(path, (then, then))
        return path

    async def jobs(self) -> dict[str, str | None]:
        """Name → note."""
        found, _ = await self.store.jobs(ME, JobFilter())
        return {job.name: job.note for job in found}

    def problems(self, path: Path) -> list[str]:
        return [problem.reason for problem in self.health.tables[str(path)].problems]


@pytest.fixture
async def folder(tmp_path: Path) -> AsyncIterator[Folder]:
    store = SqliteStore(tmp_path / "jobctl.db")
    await store.open()
    await store.take_epoch("node", CLOCK.now_ms())
    try:
        yield Folder(tmp_path, store)
    finally:
        await store.close()


def job(name: str, note: str = "x") -> str:
    return f'[job.{name}]\nshell = "true"\ncron = "@daily"\nnote = "{note}"\n'


async def placed(folder: Folder) -> dict[str, tuple[int, str, bool]]:
    """Name → id, name of the file, whether it is paused."""
    found, _ = await folder.store.jobs(ME, JobFilter())
    return {one.name: (one.id, os.path.basename(str(one.declared)), one.paused) for one in found}


async def paused(folder: Folder, name: str) -> None:
    """By hand."""
    one = await folder.store.job(ME, name)
    await folder.store.pause_job(ME, one.id, "me", None, None, CLOCK.now_ms())


async def test_a_look_takes_over_what_is_whole_and_is_quiet_then(folder: Folder) -> None:
    path = folder.write("a.toml", job("a") + job("b"))
    folder.write(".hidden.toml", job("hidden"))
    folder.write("b.toml~", job("backup"))
    folder.write("readme.txt", "no job")
    (folder.path / "d.toml").mkdir()
    done = await folder.service.run_once()
    assert (done.next_ms, folder.changes) == (None, 1)
    assert await folder.jobs() == {"a": "x", "b": "x"}
    state = folder.health.tables[str(path)]
    assert (state.kind, state.jobs, state.owner_uid, state.problems) == ("jobs", 2, ME.uid, ())
    assert (await folder.service.run_once()).next_ms is None
    assert folder.changes == 1


async def test_what_was_just_written_is_waited_for(folder: Folder) -> None:
    folder.write("a.toml", job("a"), age_s=0)
    done = await folder.service.run_once()
    assert done.next_ms is not None
    assert await folder.jobs() == {}
    await folder.service.load_now()
    assert await folder.jobs() == {"a": "x"}


@pytest.mark.case("F112")
@pytest.mark.parametrize("broken", ['[job.a]\nshell = "tr', "[job.b\n", "\xff", "[job.a]\nshel = 'x'\n"])
async def test_a_broken_file_keeps_its_jobs_also_over_a_start(folder: Folder, broken: str) -> None:
    path = folder.write("a.toml", job("a") + job("b"))
    await folder.service.run_once()
    path.write_bytes(broken.encode("latin-1"))
    os.utime(path, (1, 1))
    for _ in range(2):
        await folder.service.run_once()
        assert await folder.jobs() == {"a": "x", "b": "x"}
        assert folder.problems(path)[0].endswith("; its jobs stay as they are")
        assert folder.health.tables[str(path)].jobs == 2
        folder.anew()
    await folder.service.begin()
    (told,) = [one for one in await folder.service.load_now() if one.path == str(path)]
    assert (told.declared, told.jobs, len(told.problems)) == (None, 2, len(folder.problems(path)))


@pytest.mark.case("F112")
async def test_an_empty_file_has_no_jobs_and_a_removed_one_takes_its_jobs_along(folder: Folder) -> None:
    first, second = folder.write("a.toml", job("a")), folder.write("b.toml", job("b"))
    await folder.service.run_once()
    folder.write("a.toml", "")
    await folder.service.run_once()
    assert await folder.jobs() == {"b": "x"}
    first.unlink()
    second.unlink()
    done = await folder.service.run_once()
    assert done.next_ms is not None  # it may come back
    assert await folder.jobs() == {"b": "x"}
    found = {one.path: one.prepared for one in await folder.service.foresee()}[str(second)]
    assert found is not None
    assert (found.wanted, [job.spec.name for job in found.existing]) == ((), ["b"])
    gone = await folder.service.load_now()
    assert [(one.path, one.declared.removed) for one in gone if one.declared] == [(str(second), ("b",))]
    assert await folder.jobs() == {}
    assert folder.health.tables == {}


@pytest.mark.case("F112")
async def test_a_folder_that_is_gone_or_another_one_is_believed_only_when_it_is_said(folder: Folder) -> None:
    path = folder.write("a.toml", job("a"))
    await folder.service.run_once()
    folder.path.rename(folder.path.with_name("aside"))
    for _ in range(2):
        assert (await folder.service.run_once()).next_ms is None
        assert await folder.jobs() == {"a": "x"}
        assert "is not there: if that is meant" in folder.problems(path)[0]
        folder.anew()
    folder.path.mkdir()
    await folder.service.run_once()
    assert "another folder than before" in folder.problems(path)[0]
    assert await folder.jobs() == {"a": "x"}
    shutil.rmtree(folder.path)
    folder.path.with_name("aside").rename(folder.path)
    await folder.service.run_once()
    assert folder.problems(path) == []
    shutil.rmtree(folder.path)
    folder.path.mkdir()
    await folder.service.load_now()
    assert await folder.jobs() == {}


@pytest.mark.case("F112")
@pytest.mark.parametrize("how", ["apply", "reload"])
async def test_what_is_said_of_a_folder_ends_with_the_look_whatever_fails_elsewhere(folder: Folder, how: str) -> None:
    await folder.service.load_now()
    path, other = folder.write("a.toml", job("a")), folder.write("b.toml", job("b") + 'after = "nobody"\n')
    other.write_text(other.read_text().replace('cron = "@daily"\n', ""))
    os.utime(other, (1, 1))
    await folder.service.run_once()
    assert "no job 'nobody'" in folder.problems(other)[0]  # it is tried again for as long as it is there
    if how == "apply":
        await folder.service.load_now()
    else:
        folder.service.reload()
        await folder.service.run_once()
    away = folder.path.rename(folder.path.with_name("away"))
    folder.path.mkdir()  # as a file system that is not mounted
    for _ in range(2):
        await folder.service.run_once()
        assert "another folder than before" in folder.problems(path)[0]
        await asyncio.sleep(1.3)  # a removed file would be believed to be gone
    assert await folder.jobs() == {"a": "x"}
    folder.path.rmdir()
    away.rename(folder.path)


@pytest.mark.case("F112")
@pytest.mark.parametrize("how", ["apply", "reload"])
async def test_a_folder_that_is_gone_takes_its_jobs_along_when_that_is_said(folder: Folder, how: str) -> None:
    path = folder.write("a.toml", job("a"))
    await folder.service.run_once()
    away = folder.path.rename(folder.path.with_name("away"))
    await folder.service.run_once()
    assert folder.problems(path) == [
        f"the folder {folder.path} is not there: if that is meant, say so: jobctl apply; its jobs stay as they are"
    ]
    (plan,) = await folder.service.foresee()
    assert (plan.path, plan.problems) == (str(path), ())
    if how == "apply":
        assert [one.declared.removed for one in await folder.service.load_now() if one.declared] == [("a",)]
    else:
        folder.service.reload()
        assert (await folder.service.run_once()).next_ms is not None
        assert await folder.jobs() == {"a": "x"}  # it may come back
        await asyncio.sleep(1.3)
        await folder.service.run_once()
    assert (await folder.jobs(), folder.health.tables, await folder.service.foresee()) == ({}, {}, [])
    away.rename(folder.path)
    await folder.service.run_once()
    assert await folder.jobs() == {"a": "x"}


@pytest.mark.case("F112")
async def test_what_is_said_while_a_folder_is_missing_is_not_about_the_one_that_comes(folder: Folder) -> None:
    path = folder.write("a.toml", job("a"))
    await folder.service.run_once()
    away = folder.path.rename(folder.path.with_name("away"))
    folder.service.reload()
    await folder.service.run_once()
    folder.path.mkdir()
    for _ in range(2):
        await folder.service.run_once()
        await asyncio.sleep(1.3)
    assert await folder.jobs() == {"a": "x"}
    assert "another folder than before" in folder.problems(path)[0]
    folder.path.rmdir()
    away.rename(folder.path)


async def test_what_one_file_lets_go_another_takes_in_the_same_look(folder: Folder) -> None:
    folder.write("a.toml", job("a") + job("web"))
    await folder.service.run_once()
    folder.write("0.toml", job("web", "moved"))
    folder.write("a.toml", job("a"))
    await folder.service.run_once()
    await folder.service.run_once()
    assert await folder.jobs() == {"a": "x", "web": "moved"}
    assert not any(state.problems for state in folder.health.tables.values())


async def test_of_very_many_mistakes_some_are_told(folder: Folder) -> None:
    path = folder.write("a.toml", "x\n" * 5000)
    await folder.service.run_once()
    told = folder.problems(path)
    assert len(told) == 101
    assert told[-1] == f"4,900 more mistakes: jobctl validate {path} shows them; its jobs stay as they are"


async def test_a_file_that_is_renamed_keeps_its_jobs(folder: Folder) -> None:
    folder.write("a.toml", job("a") + job("b") + job("c"))
    await folder.service.run_once()
    before = {one.name: one.id for one in (await folder.store.jobs(ME, JobFilter()))[0]}
    (folder.path / "a.toml").unlink()
    second = folder.write("z.toml", job("a") + job("b", "new"))
    await folder.service.load_now()
    after = {one.name: (one.id, one.declared) for one in (await folder.store.jobs(ME, JobFilter()))[0]}
    assert after == {name: (before[name], str(second)) for name in ("a", "b")}
    assert await folder.jobs() == {"a": "x", "b": "new"}
    # What was made by hand, or is another file's, stays whose it is.
    folder.write("0.toml", job("a"))
    await folder.service.load_now()
    assert "z.toml declares it" in folder.problems(folder.path / "0.toml")[0]


@pytest.mark.case("F112")
@pytest.mark.parametrize("alive", [True, False])
async def test_a_file_that_gets_the_old_name_of_another_takes_nothing_of_it(folder: Folder, alive: bool) -> None:
    for name in ("r1", "r2"):
        folder.write(f"{name}.toml", job(name))
    await folder.service.run_once()
    before = await placed(folder)
    await paused(folder, "r2")
    (folder.path / "r2.toml").rename(folder.path / "r3.toml")
    (folder.path / "r1.toml").rename(folder.path / "r2.toml")
    if not alive:
        folder.anew()
    assert [one.problems for one in await folder.service.foresee()] == [(), (), ()]
    await folder.service.load_now()
    after = await placed(folder)
    assert after == {"r1": (before["r1"][0], "r2.toml", False), "r2": (before["r2"][0], "r3.toml", True)}
    assert {one.jobs for one in folder.health.tables.values()} == {1}


@pytest.mark.case("F112")
@pytest.mark.parametrize("how", ["contents", "names"])
@pytest.mark.parametrize("alive", [True, False])
async def test_names_that_are_swapped_between_files_take_their_jobs_along(
    folder: Folder, how: str, alive: bool
) -> None:
    a, b = folder.write("a.toml", job("x") + job("k")), folder.write("b.toml", job("y"))
    await folder.service.run_once()
    before = await placed(folder)
    await paused(folder, "x")
    if how == "names":
        a.rename(folder.path / "t")
        b.rename(a)
        (folder.path / "t").rename(b)
    else:
        folder.write("a.toml", job("y"))
        folder.write("b.toml", job("x") + job("k"))
    if not alive:
        folder.anew()
    plans = {one.path: one for one in await folder.service.foresee()}
    assert [one.problems for one in plans.values()] == [(), ()]
    assert {path: [job.spec.name for job in one.prepared.existing] for path, one in plans.items() if one.prepared} == {
        str(a): ["y"], str(b): ["x", "k"],
    }  # fmt: skip
    assert (await folder.service.run_once()).next_ms is None
    wanted = {"x": ("b.toml", True), "k": ("b.toml", False), "y": ("a.toml", False)}
    assert await placed(folder) == {name: (before[name][0], *rest) for name, rest in wanted.items()}
    assert {path: (one.jobs, one.problems) for path, one in folder.health.tables.items()} == {
        str(a): (1, ()), str(b): (2, ()),
    }  # fmt: skip


@pytest.mark.case("F112")
@pytest.mark.parametrize(("giver", "taker"), [("a", "z"), ("z", "a")])
async def test_a_job_moves_to_another_file_and_what_is_foreseen_comes_about(
    folder: Folder, giver: str, taker: str
) -> None:
    folder.write(f"{giver}.toml", job("m") + job("n"))
    folder.write(f"{taker}.toml", job("k"))
    await folder.service.run_once()
    before = await placed(folder)
    folder.write(f"{giver}.toml", job("n"))
    folder.write(f"{taker}.toml", job("k") + job("m"))
    plans = await folder.service.foresee()
    assert [(one.problems, one.prepared and one.prepared.adopted) for one in sorted(plans, key=lambda one: one.path)
            ] == [((), ("m",) if name == taker else ()) for name in ("a", "z")]  # fmt: skip
    loaded = {os.path.basename(one.path)[0]: one for one in await folder.service.load_now()}
    assert (loaded[taker].adopted, loaded[giver].declared) == (("m",), None)
    assert (await placed(folder))["m"] == (before["m"][0], f"{taker}.toml", False)
    assert (loaded[taker].jobs, loaded[giver].jobs) == (2, 1)


@pytest.mark.case("F112")
@pytest.mark.parametrize("taker", ["a", "z"])
@pytest.mark.parametrize("wrong", ["", "shel = 1\n", "timeout = 0\n", 'user = "nobody-is-called-so"\n'])
async def test_a_file_that_is_wrong_itself_neither_takes_jobs_nor_lets_them_go(
    folder: Folder, taker: str, wrong: str
) -> None:
    folder.write("m.toml", job("m") + job("n"))
    folder.write(f"{taker}.toml", job("k"))
    await folder.service.run_once()
    before = await placed(folder)
    # It lets go of m in a version that is not taken over.
    folder.write("m.toml", job("n") + (wrong or "broken"))
    folder.write(f"{taker}.toml", job("k") + job("m"))
    assert [bool(one.problems) for one in await folder.service.foresee()] == [True, True]
    await folder.service.run_once()
    assert await placed(folder) == before
    assert "m.toml declares it" in folder.problems(folder.path / f"{taker}.toml")[0]
    # It wants m in a version that is not taken over: who declares it no more has it no more.
    folder.write("m.toml", job("n"))
    folder.write(f"{taker}.toml", job("k") + job("m") + (wrong or "broken"))
    await folder.service.run_once()
    assert (await placed(folder)).keys() == {"k", "n"}


@pytest.mark.case("F112")
async def test_a_job_that_the_store_does_not_let_move_stays_until_it_does(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder.write("a.toml", job("m") + job("n"))
    z = folder.write("z.toml", job("k"))
    await folder.service.run_once()
    before = await placed(folder)
    folder.write("a.toml", job("n"))
    folder.write("z.toml", job("m"))
    real = folder.store.declare

    async def full(owner: Caller, wanted: Declaration, now_ms: int) -> tuple[str, ...]:
        if wanted.path == str(z):
            raise Unavailable("the disk is full", "make room")
        return await real(owner, wanted, now_ms)

    with monkeypatch.context() as patch:
        patch.setattr(folder.store, "declare", full)
        assert (await folder.service.run_once()).next_ms is not None
    assert await placed(folder) == before
    assert (await folder.service.run_once()).next_ms is None
    assert await placed(folder) == {"m": (before["m"][0], "z.toml", False), "n": before["n"]}


@pytest.mark.parametrize(("giver", "taker"), [("a", "z"), ("z", "a")])
async def test_what_comes_after_a_job_that_moves_goes_on_coming_after_it(
    folder: Folder, giver: str, taker: str
) -> None:
    after = job("n").replace('cron = "@daily"', 'after = "m"')
    folder.write(f"{giver}.toml", job("m") + after)
    folder.write(f"{taker}.toml", job("k"))
    await folder.service.run_once()
    before = await placed(folder)
    folder.write(f"{giver}.toml", after)
    folder.write(f"{taker}.toml", job("k") + job("m"))
    assert [one.problems for one in await folder.service.foresee()] == [(), ()]
    assert [one.problems for one in await folder.service.load_now()] == [(), ()]
    assert await placed(folder) == {**before, "m": (before["m"][0], f"{taker}.toml", False)}


async def test_what_is_made_by_one_file_is_foreseen_for_another(folder: Folder) -> None:
    folder.write("a.toml", job("a").replace('cron = "@daily"', 'after = "m"'))
    folder.write("m.toml", job("m").replace('cron = "@daily"', 'after = "z"'))
    folder.write("z.toml", job("z"))
    folder.write("c.toml", job("c").replace('cron = "@daily"', 'after = "d"'))
    folder.write("d.toml", job("d").replace('cron = "@daily"', 'after = "c"'))
    plans = {one.path[-6]: bool(one.problems) for one in await folder.service.foresee()}
    loaded = {one.path[-6]: bool(one.problems) for one in await folder.service.load_now()}
    assert plans == loaded == {"a": False, "m": False, "z": False, "c": True, "d": True}


async def test_who_may_write_there_may_run_commands_so_others_are_refused(tmp_path: Path) -> None:
    if os.getuid() != 0:
        pytest.skip("files of others are made by root alone")
    path = tmp_path / "a.toml"
    path.write_text("")
    root, ana = Trust(0), Trust(54_321)
    for owner, mode, of_root, of_ana in (
        (0, 0o644, True, True),
        (0, 0o664, False, True),
        (0, 0o646, False, False),
        (54_321, 0o600, False, True),
        (54_321, 0o666, False, False),
        (54_322, 0o600, False, False),
    ):
        path.chmod(mode)
        os.chown(path, owner, 0)
        assert [read_file(str(path), who).data is not None for who in (root, ana)] == [of_root, of_ana]
        assert [bool(read_file(str(path), who).refused) for who in (root, ana)] == [not of_root, not of_ana]
        tmp_path.chmod(mode | 0o111)
        os.chown(tmp_path, owner, 0)
        assert [look_into(str(tmp_path), who).identity is not None for who in (root, ana)] == [of_root, of_ana]
    os.chown(tmp_path, 0, 0)
    tmp_path.chmod(0o755)


async def test_links_are_followed_to_what_is_trusted_and_no_further(tmp_path: Path) -> None:
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    (theirs / "real.toml").write_text("x = 1\n")
    link = tmp_path / "a.toml"
    link.symlink_to(theirs / "real.toml")
    trust = Trust(os.getuid())
    assert read_file(str(link), trust).data == b"x = 1\n"
    theirs.chmod(0o777)
    assert "the folder that the link leads to" in str(read_file(str(link), trust).refused)
    link.unlink()
    link.symlink_to("/dev/zero")
    assert "no regular file" in str(read_file(str(link), trust).refused)
    link.unlink()
    link.symlink_to("/nowhere/at/all")
    assert "cannot be read: No such file" in str(read_file(str(link), trust).refused)
    link.unlink()
    os.mkfifo(link)
    assert "no regular file" in str(read_file(str(link), trust).refused)


async def test_a_name_that_is_not_utf_8_is_told_and_stops_nobody(folder: Folder) -> None:
    folder.write("a.toml", job("a"))
    bad = os.fsencode(folder.path) + b"/n\xff.toml"
    with open(bad, "w", encoding="utf-8") as file:
        file.write(job("bad"))
    await folder.service.begin()
    assert await folder.jobs() == {"a": "x"}
    assert folder.health.warnings["jobs.d"].startswith(f"{folder.path}/n\\xff.toml: no file whose name is not UTF-8")
    os.rename(bad, folder.path / "b.toml")
    os.utime(folder.path / "b.toml", (1, 1))
    await folder.service.run_once()
    assert (await folder.jobs(), folder.health.warnings) == ({"a": "x", "bad": "x"}, {})


async def test_an_error_of_ours_is_no_reason_not_to_start_and_the_file_is_read_again(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder.write("a.toml", job("a"))
    with monkeypatch.context() as patch:
        patch.setattr(folder.store, "declare", None)
        await folder.service.begin()
    assert folder.service.wake.is_set()
    await folder.service.run_once()
    assert await folder.jobs() == {"a": "x"}
