"""The tables that are run as they stand, over the socket: who sees which, and who decides whether they are run."""

import os
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from jobctl_daemon.api.context import HealthReport
from jobctl_daemon.files import FileState, Problem
from jobctl_daemon.rows import Caller
from unit.api.world import NOW_MS, World, world

ROOT = Caller(uid=0, name="root", all_owners=True)
ADMIN = Caller(uid=1000, name="ada", all_owners=True)
BOB = Caller(uid=1001, name="bob")
#: Has got his number since.
EVE = Caller(uid=1001, name="eve")
FILES = (
    FileState(path="/etc/cron.d/site", kind="crontab", owner_uid=0, jobs=2, loaded_ms=NOW_MS,
              problems=(Problem(line=3, text="x", reason="bad minute"),)),
    FileState(path="/spool/bob", kind="crontab", owner_uid=BOB.uid, owner_name="bob", jobs=1),
    FileState(path="/jobs.d/a.toml", kind="jobs", owner_uid=0, jobs=1),
)  # fmt: skip


@dataclass
class Asked:
    """Tables that only remember what they were asked."""

    live: bool = False
    spool: str = "/spool"
    root: str = "/"
    wanted: str = "auto"
    asked: list[tuple[bool, int | None]] = field(default_factory=list)

    def owns(self, path: str) -> bool:
        return path.startswith("/etc/cron.d/")

    async def set_live(self, on: bool, since_ms: int | None) -> None:
        self.live = on
        self.asked.append((on, since_ms))


class Told:
    """Health that knows the files."""

    def __init__(self, health: Any) -> None:
        self._health = health
        self.polling: dict[str, str] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._health, name)

    def snapshot(self) -> HealthReport:
        report: HealthReport = self._health.snapshot()
        return msgspec.structs.replace(report, tables=FILES, polling=self.polling)


class Here:
    def __init__(self, api: World, root: Path) -> None:
        self.api = api
        self.tables = Asked(root=str(root))
        self.told = Told(api.health)
        self.be(uid=0)
        object.__setattr__(api.services, "tables", self.tables)
        object.__setattr__(api.services, "health", self.told)

    def be(self, uid: int) -> None:
        """The daemon is this user's."""
        object.__setattr__(self.api.services, "host", replace(self.api.services.host, uid=uid))

    async def ask(self, who: Caller, method: str, path: str, body: Any = None) -> Any:
        self.api.who.caller_now = who
        return await self.api.ask(method, path, body)


@pytest.fixture
async def here(tmp_path: Path) -> AsyncIterator[Here]:
    (tmp_path / "host").mkdir()
    async with world(tmp_path, system=True) as made:
        yield Here(made, tmp_path / "host")


async def test_each_sees_their_own_tables_and_who_sees_all_sees_all(here: Here) -> None:
    for who, paths in ((ROOT, ["/etc/cron.d/site", "/spool/bob"]), (ADMIN, ["/etc/cron.d/site", "/spool/bob"]),
                       (BOB, ["/spool/bob"]), (EVE, [])):  # fmt: skip
        shown = (await here.ask(who, "GET", "/v1/crontabs")).json
        assert [one["path"] for one in shown["items"]] == paths
        status = (await here.ask(who, "GET", "/v1/status")).json
        assert [one["path"] for one in status["tables"] if one["kind"] == "crontab"] == paths
    shown = (await here.ask(ROOT, "GET", "/v1/crontabs")).json
    assert (shown["live"], shown["spool"], shown["watch"]) == (False, "/spool", {"how": "events", "why": None})
    assert shown["items"][0] == {
        "path": "/etc/cron.d/site", "kind": "crontab", "jobs": 2, "loaded_at": "2027-01-15T08:00:00Z",
        "problems": [{"line": 3, "column": None, "text": "x", "reason": "bad minute"}],
    }  # fmt: skip
    here.told.polling["crontabs"] = "no events"
    assert (await here.ask(ROOT, "GET", "/v1/crontabs")).json["watch"] == {"how": "polling", "why": "no events"}


async def test_only_root_decides_and_says_since_when(here: Here) -> None:
    for who in (ADMIN, BOB):
        assert (await here.ask(who, "POST", "/v1/crontabs/live", {"on": True})).status == 403
    answer = await here.ask(ROOT, "POST", "/v1/crontabs/live", {"on": True, "since": "2027-01-15T07:59:00Z"})
    assert (answer.status, answer.json["live"]) == (200, True)
    assert (await here.ask(ROOT, "POST", "/v1/crontabs/live", {"on": False})).json["live"] is False
    assert here.tables.asked == [(True, NOW_MS - 60_000), (False, None)]
    assert here.api.changes == 2


@pytest.mark.parametrize(
    ("wanted", "body", "status"),
    [
        ("off", {"on": True}, 409),
        ("on", {"on": False}, 409),
        ("auto", {"on": True, "since": "2027-01-15T08:01:00Z"}, 409),
        ("auto", {"on": True, "since": "x"}, 422),
        ("auto", {"on": "yes"}, 422),
        ("auto", {"on": True, "further": 1}, 422),
    ],
)
async def test_what_cannot_be_is_refused(here: Here, wanted: str, body: dict[str, Any], status: int) -> None:
    here.tables.wanted = wanted
    assert (await here.ask(ROOT, "POST", "/v1/crontabs/live", body)).status == status
    assert here.tables.asked == []


async def test_a_users_daemon_takes_nobody_over(here: Here) -> None:
    here.be(uid=os.getuid() or 1000)
    assert (await here.ask(ROOT, "POST", "/v1/crontabs/live", {"on": True})).status == 409


async def test_nobody_declares_jobs_in_the_name_of_a_table(here: Here) -> None:
    body = {"path": "/etc/cron.d/site", "jobs": [{"name": "a", "target": {"shell": "true"}}]}
    answer = await here.ask(BOB, "POST", "/v1/apply", body)
    assert (answer.status, answer.json["detail"]) == (409, "/etc/cron.d/site is a crontab and no file of jobs")
    assert (await here.ask(BOB, "POST", "/v1/apply", {**body, "path": "/home/bob/jobs.toml"})).status == 200
