"""An import is done once and can be undone, wherever it was cut off; and tables keep every byte of the rest."""

import inspect
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from jobctl.crontabs import live
from jobctl.crontabs.commenting import MARK, comment_out, lines_of, put_back
from jobctl.crontabs.jobs import Origin, plan
from jobctl.crontabs.live import LiveTable
from jobctl.crontabs.read import read
from jobctl.crontabs.record import Record, Records, TakenTable
from jobctl.crontabs.takeover import Takeover
from jobctl.errors import Conflict, Forbidden, JobctlError, NotFound
from jobctl_daemon.api import crontab

Json = dict[str, Any]
TABLE = b"# mine\n0 3 * * * a\nA=1\n0 4 * * * b \xff\n0 4 * * * b \xff\n@reboot keep\n"


class Crash(BaseException):
    """The process dies here."""


class FakeJobs:
    """A daemon's jobs in memory. Dies before or after its step number `crash_at`."""

    def __init__(self) -> None:
        self.kept: dict[int, Json] = {}
        self.crash_at: int | None = None
        self.steps = 0

    def step(self) -> None:
        self.steps += 1
        if self.steps == self.crash_at:
            raise Crash

    def import_jobs(self, drafts: list[Json]) -> list[Json]:
        self.step()
        made = [{"id": len(self.kept) + at + 1, **draft} for at, draft in enumerate(drafts)]
        self.kept |= {job["id"]: job for job in made}
        self.step()
        return made

    def jobs(self, limit: int | None = None, **filters: object) -> Iterator[Json]:
        yield from [dict(job) for job in self.kept.values() if filters.get("tag") in job["tags"]]

    def pause_job(self, ident: Any, until: str | None = None, why: str | None = None) -> Json:
        self.kept[ident]["paused"] = True
        return self.kept[ident]

    def resume_job(self, ident: Any) -> Json:
        self.step()
        self.kept[ident]["paused"] = False
        self.step()
        return self.kept[ident]

    def delete_job(self, ident: Any, *, cancel_runs: bool = False) -> None:
        self.step()
        if ident not in self.kept:
            raise NotFound("gone")
        del self.kept[ident]
        self.step()


class Desk:
    """A folder with one live table, and what an import needs."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "table"
        self.path.write_bytes(TABLE)
        self.path.chmod(0o640)
        self.fake = FakeJobs()
        self.records = Records(str(folder / "state"))
        self.takeover = Takeover(self.fake, self.records, {})

    def start(self) -> None:
        table = LiveTable(str(self.path), self.path.read_bytes())
        planned = plan(read(table.data), Origin(table.path, "root"))[:3]
        drafts = [{**one.draft, "paused": True} for one in planned if one.draft]
        lines = [b"0 3 * * * a", b"0 4 * * * b \xff", b"0 4 * * * b \xff"]
        taken = TakenTable(table.path, None, False, [line.hex() for line in lines], "0.crontab")
        names = [draft["name"] for draft in drafts]
        self.takeover.begin(Record("id-1", "now", tables=[taken], resume=names, jobs=names), [table.data], drafts)

    def go_on(self) -> None:
        """What the next `import crontab --apply` does first."""
        for record in self.takeover.unfinished():
            self.takeover.finish(record)

    def active_lines(self) -> int:
        lines = self.path.read_bytes().split(b"\n")
        return sum(line.startswith((b"0 3", b"0 4")) for line in lines)

    def active_jobs(self) -> int:
        return sum(not job["paused"] for job in self.fake.kept.values())


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def test_lines_become_jobs_and_come_back(desk: Desk) -> None:
    with desk.records.locked():
        desk.start()
    assert desk.path.read_bytes() == TABLE.replace(b"0 ", MARK + b"0 ")
    assert desk.active_jobs() == 3
    assert desk.path.stat().st_mode & 0o777 == 0o640
    outcome = desk.takeover.undo(desk.records.find(None))
    assert outcome.missing == []
    assert desk.path.read_bytes() == TABLE
    assert desk.fake.kept == {}
    with pytest.raises(NotFound):
        desk.records.find(None)
    with pytest.raises(NotFound):
        desk.records.find("nope")


@pytest.mark.parametrize("at", range(1, 9))
def test_a_crash_while_importing_neither_loses_nor_doubles(desk: Desk, at: int) -> None:
    with desk.records.locked():
        desk.fake.crash_at = at
        with pytest.raises(Crash):
            desk.start()
        assert desk.active_lines() + desk.active_jobs() <= 3
        desk.go_on()
    assert (desk.active_lines(), desk.active_jobs()) in ((3, 0), (0, 3))
    assert len(desk.fake.kept) in (0, 3)
    assert desk.takeover.unfinished() == []


@pytest.mark.parametrize("before", [True, False])
def test_a_crash_around_the_write_of_a_table(desk: Desk, before: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    def dying(write: Callable[..., None]) -> Callable[..., None]:
        def write_and_die(*args: Any) -> None:
            if not before:
                write(*args)
            raise Crash

        return write_and_die

    with monkeypatch.context() as patch:
        patch.setattr("jobctl.crontabs.takeover.write", dying(live.write))
        with pytest.raises(Crash):
            desk.start()
    assert desk.active_jobs() == 0
    desk.go_on()
    assert (desk.active_lines(), desk.active_jobs()) == (0, 3)


@pytest.mark.parametrize("at", range(9, 15))
def test_a_crash_while_undoing_is_undone_by_the_next(desk: Desk, at: int) -> None:
    desk.start()
    desk.fake.crash_at = at
    with pytest.raises(Crash):
        desk.takeover.undo(desk.records.find("id-1"))
    assert desk.active_lines() + desk.active_jobs() == 3
    desk.takeover.undo(desk.records.find(None))
    assert (desk.active_lines(), desk.fake.kept) == (3, {})


def test_what_somebody_changed_meanwhile_stays(desk: Desk) -> None:
    desk.start()
    changed = desk.path.read_bytes().replace(MARK + b"0 3 * * * a\n", b"0 5 * * * mine\n") + b"@daily new\n"
    desk.path.write_bytes(changed)
    outcome = desk.takeover.undo(desk.records.find(None))
    assert [text for _, text in outcome.missing] == ["0 3 * * * a"]
    assert Path(outcome.originals[0]).read_bytes() == TABLE
    now = desk.path.read_bytes()
    assert now == changed.replace(MARK, b"")
    assert desk.fake.kept == {}


def test_a_table_that_changes_while_the_import_is_at_work(desk: Desk) -> None:
    desk.fake.crash_at = 2
    with pytest.raises(Crash):
        desk.start()
    desk.path.write_bytes(TABLE.replace(b"0 3 * * * a\n", b""))
    (record,) = desk.takeover.unfinished()
    assert [text for _, text in desk.takeover.finish(record).missing] == ["0 3 * * * a"]
    assert desk.active_lines() == 0


def test_one_import_at_a_time(desk: Desk) -> None:
    with desk.records.locked(), pytest.raises(Conflict), desk.records.locked():
        pass


def test_very_many_jobs_go_in_parts_and_wait_for_each_other(desk: Desk) -> None:
    drafts = [{"name": f"j{at}", "target": {"shell": "x" * 900}, "tags": []} for at in range(1500)]
    calls: list[int] = []
    plain = desk.fake.import_jobs

    def counted(part: list[Json]) -> list[Json]:
        calls.append(len(part))
        assert all(draft["paused"] for draft in part)
        return plain(part)

    desk.fake.import_jobs = counted  # type: ignore[method-assign]
    desk.takeover.begin(Record("big", "now", jobs=[draft["name"] for draft in drafts]), [], drafts)
    assert len(calls) == 2
    assert sum(calls) == desk.active_jobs() == 1500


def test_commenting_is_done_once_and_reversed() -> None:
    lines = lines_of(TABLE, {2, 4})
    once, missing = comment_out(TABLE, lines)
    assert missing == []
    assert once == TABLE.replace(b"0 3", MARK + b"0 3").replace(b"0 4", MARK + b"0 4", 1)
    assert comment_out(once, [lines[0]]) == (once, [])
    assert comment_out(once, [b"gone"]) == (once, [b"gone"])
    assert put_back(once, lines) == (TABLE, [])
    assert put_back(TABLE, lines) == (TABLE, [])


# ── the tables of a host ─────────────────────────────────────────────


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "etc/cron.d").mkdir(parents=True)
    (tmp_path / live.SPOOL).mkdir(parents=True)
    files = {
        "etc/crontab": "@daily root a\n",
        "etc/cron.d/good": "@daily root b\n",
        "etc/cron.d/not.read": "x\n",
        "etc/cron.d/open": "@daily root c\n",
        "etc/cron.d/other": "@daily root e\n",
        live.SPOOL + "/nobody": "@daily d\n",
        live.SPOOL + "/root": "@daily f\n",
        live.SPOOL + "/no-such-user": "@daily g\n",
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o622 if name.endswith("open") else 0o640 if name.endswith("root") else 0o600)
    if os.getuid() == 0:
        for name in ("etc/cron.d/other", live.SPOOL + "/nobody"):
            os.chown(tmp_path / name, 65534, 65534)
    (tmp_path / "etc/cron.d/folder").mkdir()
    monkeypatch.setattr(live, "ROOT", str(tmp_path))
    return tmp_path


@pytest.mark.skipif(os.getuid() != 0, reason="whose a table is matters to root")
def test_only_what_cron_reads_is_found(host: Path) -> None:
    tables = live.host_tables({}, "root", 0)
    assert [(table.path.removeprefix(str(host)), table.owner, table.system) for table in tables] == [
        ("/etc/crontab", None, True),
        ("/etc/cron.d/good", None, True),
        ("/" + live.SPOOL + "/nobody", "nobody", False),
    ]
    (host / "etc/cron.d/good").unlink()
    (host / "etc/cron.d/good").symlink_to(host / "etc/crontab")  # packages do that, and cron follows
    os.link(host / live.SPOOL / "nobody", host / "second-name")
    (host / live.SPOOL / "root").chmod(0o600)
    (host / live.SPOOL / "daemon").write_text("@daily h\n")  # root's may be anybody's
    (host / live.SPOOL / "daemon").chmod(0o600)
    assert [table.path.removeprefix(str(host)) for table in live.host_tables({}, "root", 0)] == [
        "/etc/crontab",
        "/etc/cron.d/good",
        f"/{live.SPOOL}/daemon",
        f"/{live.SPOOL}/root",
    ]


def test_our_own_program_of_a_daemon_that_keeps_no_tables_yet_has_none_of_a_host_without_a_spool(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What `install.sh --crontab` leaves on a minimal Debian: our crontab(1) comes first, and refuses."""
    monkeypatch.setattr(live, "ROOT", str(tmp_path))
    program = tmp_path / "crontab"
    program.write_text("#!/bin/sh\necho 'crontab: this daemon does not run crontabs as they stand' >&2\nexit 1\n")
    program.chmod(0o755)
    assert "this daemon does not run crontabs as they stand" in inspect.getsource(crontab)
    environ = {"PATH": str(tmp_path)}
    assert live.host_tables(environ, "root", 0) == []
    with pytest.raises(Forbidden):
        live.host_tables(environ, "me", 1000)


def test_the_own_table_goes_through_the_program(tmp_path: Path) -> None:
    def program(text: str) -> dict[str, str]:
        path = tmp_path / "crontab"
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)
        return {"PATH": f"{tmp_path}:/usr/bin:/bin"}

    environ = program(f"test $1 = -l && echo '@daily x' || cat > {tmp_path}/out")
    table = live.own_table(environ, "bob")
    assert table == LiveTable("crontab of bob", b"@daily x\n", "bob", own=True)
    live.write(table, b"new\n", environ)
    assert (tmp_path / "out").read_bytes() == b"new\n"
    assert live.own_table(program("echo no crontab for bob >&2; exit 1"), "bob") is None
    for failing in ("echo you are not allowed >&2; exit 1",):
        with pytest.raises(JobctlError) as caught:
            live.own_table(program(failing), "bob")
        assert "not allowed" in str(caught.value.details)
    with pytest.raises(Conflict):
        live.write(table, b"x", program("echo bad minute >&2; exit 1"))
    assert live.own_table({"PATH": str(tmp_path / "nowhere")}, "bob") is None
