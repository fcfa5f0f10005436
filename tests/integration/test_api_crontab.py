"""GET, PUT and DELETE /v1/crontab over a real spool: what goes in comes out, and what is refused changes nothing."""

import base64
import hashlib
import json
import os
import pwd
import re
import socket
import stat
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from jobctl.cli.crontab_table import BYTES_MAX
from jobctl.client.sync import NO_CRONTAB
from jobctl.crontabs import read
from jobctl.crontabs.check import CRONTAB_BYTES_MAX
from jobctl.crontabs.jobs import ENV_MAX
from jobctl.drafts.work import ENV_MAX as WORK_ENV_MAX
from jobctl.errors import Unavailable
from jobctl_daemon.rows import Caller
from jobctl_daemon.spool import Spool
from kit.descriptors import held_open
from kit.small_disk import small_disk
from kit.syslog import Syslog
from unit.api.world import Answer, World, world

DATA = Path(__file__).parents[1] / "data" / "crontabs"
INDEX = [json.loads(line) for line in (DATA / "index.jsonl").read_text().splitlines()]
OF_USERS = [entry for entry in INDEX if not entry["system"]]
ME = "me"


@dataclass
class Loaded:
    """Tables that are told what to say, and remember what they were asked."""

    spool: str
    live: bool = True
    fails: bool = False
    asked: list[str] = field(default_factory=list)

    async def load_now(self, path: str) -> None:
        self.asked.append(path)
        if self.fails:
            raise Unavailable("the database is busy", "wait")


class Here:
    """The world with its spool."""

    def __init__(self, made: World, folder: Path) -> None:
        self.world = made
        self.folder = folder
        self.tables = Loaded(str(folder))
        object.__setattr__(made.services, "tables", self.tables)

    async def get(self, **query: str) -> Answer:
        return await self.world.ask("GET", _path(query))

    async def put(self, data: bytes, seen: str | None = None, **query: str) -> Answer:
        body = {"base64": base64.b64encode(data).decode()}
        return await self.world.ask("PUT", _path(query), body, **({"If_Match": seen} if seen else {}))

    async def delete(self, **query: str) -> Answer:
        return await self.world.ask("DELETE", _path(query))

    async def text(self, **query: str) -> bytes:
        answer = await self.get(**query)
        assert answer.status == 200, answer
        return base64.b64decode(answer.json["base64"])

    def file(self, user: str = ME) -> Path:
        return self.folder / user


def _path(query: dict[str, str]) -> str:
    return "/v1/crontab" + ("?" + "&".join(f"{name}={value}" for name, value in query.items()) if query else "")


def _socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(path))


@pytest.fixture
async def here(tmp_path: Path) -> AsyncIterator[Here]:
    async with world(tmp_path) as made:
        yield Here(made, tmp_path / "spool" / "crontabs")


async def test_a_table_is_installed_and_read_back_and_removed(here: Here) -> None:
    assert (await here.get()).status == 404
    installed = await here.put(b"# mine\n*/5 * * * * true\n")
    assert installed.status == 200
    assert installed.json == {"user": ME, "path": str(here.file()), "jobs": 1, "problems": [], "loaded": True,
                              "why": None}  # fmt: skip
    assert here.file().read_bytes() == b"# mine\n*/5 * * * * true\n"
    assert stat.S_IMODE(here.file().stat().st_mode) == 0o600
    assert await here.text() == b"# mine\n*/5 * * * * true\n"
    assert (await here.delete()).status == 204
    assert not here.file().exists()
    assert (await here.delete()).status == 404
    assert here.tables.asked == [str(here.file())] * 2


async def test_every_file_that_cron_loads_comes_back_to_the_byte(here: Here) -> None:
    count = 0
    for entry in OF_USERS:
        data = (DATA / entry["file"]).read_bytes()
        answer = await here.put(data)
        if not read(data).drops:
            assert answer.status == 200, (entry["file"], answer)
            assert await here.text() == data
            count += 1
        else:
            assert answer.status == 400, entry["file"]
    assert count > 10


async def test_all_lines_that_are_refused_are_named_and_nothing_changes(here: Here) -> None:
    before = b"0 3 * * * keep\n"
    await here.put(before)
    for entry in OF_USERS:
        data = (DATA / entry["file"]).read_bytes()
        refused = read(data).refused
        if refused:
            answer = await here.put(data)
            assert answer.status == 400
            assert [one["line"] for one in answer.json["problems"]] == [one.line for one in refused], entry["file"]
            assert [one["reason"] for one in answer.json["problems"]] == [one.reason for one in refused]
            assert await here.text() == before
    assert here.tables.asked == [str(here.file())]


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\n",
        b"# only a comment",
        b"* * * * * echo \xff\xfe\x80\n",
        b"* * * * * a\0* * * * * b\n",
        b"* * * * * crlf\r\n",
        b"A='  x  '\n\t \n* * * * * x%y\\%z\n",
        b"* * * * * x\n" * 10_000,
    ],
    ids=["empty", "blank", "comment without newline", "not UTF-8", "NUL", "CRLF", "blanks", "10,000 lines"],
)
async def test_bytes_are_kept(here: Here, data: bytes) -> None:
    assert (await here.put(data)).status == 200
    assert await here.text() == data == here.file().read_bytes()


@pytest.mark.parametrize(
    ("data", "kind", "words"),
    [
        (b"* * * * * x", "newline", "no newline at its end"),
        (b"* * * * * x\n" * 10_001, "length", "maximum number of lines is 10000"),
        (b"\r\n", "line", "Windows line ends"),
        (b"\xef\xbb\xbf# x\n", "line", "byte order mark"),
        (b"* * * * * " + b"x" * 999 + b"\n", "line", "longer than 998 bytes"),
    ],
)
async def test_what_crontab_refuses_is_refused(here: Here, data: bytes, kind: str, words: str) -> None:
    answer = await here.put(data)
    assert answer.status == 400
    assert answer.json["problems"][0]["kind"] == kind
    assert words in answer.json["problems"][0]["reason"]
    assert not here.file().exists()


async def test_what_loads_and_does_not_run_is_told(here: Here) -> None:
    answer = await here.put(b"22-2 * * * * x\n* * * * * y\n0 0 31 2 * z\n")
    assert (answer.status, answer.json["jobs"]) == (200, 2)
    first, second = answer.json["problems"]
    assert (first["line"], second["line"]) == (1, 3)
    assert first["reason"].startswith("it does not run")
    assert (await here.get()).json["problems"] == [first, second]


async def test_a_dry_run_changes_nothing(here: Here) -> None:
    body = {"base64": base64.b64encode(b"* * * * * x\n").decode(), "dry_run": True}
    answer = await here.world.ask("PUT", "/v1/crontab", body)
    assert (answer.status, answer.json["loaded"]) == (200, False)
    assert not here.file().exists()


async def test_a_table_that_was_changed_meanwhile_is_not_overwritten(here: Here) -> None:
    assert (await here.put(b"#1\n", NO_CRONTAB)).status == 200
    seen = (await here.get()).headers["etag"]
    here.file().write_bytes(b"#2\n")
    late = await here.put(b"#3\n", seen)
    assert (late.status, late.json["field"]) == (409, "If-Match")
    assert (await here.put(b"#3\n", NO_CRONTAB)).status == 409
    assert here.file().read_bytes() == b"#2\n"
    again = await here.put(b"#3\n", (await here.get()).headers["etag"])
    assert again.status == 200
    assert again.headers["etag"] == (await here.get()).headers["etag"]


async def test_a_body_that_is_too_large_or_no_base64_is_refused(here: Here) -> None:
    assert BYTES_MAX == CRONTAB_BYTES_MAX
    line = b"#" + b"x" * 99_999 + b"\n"
    large = await here.put(line * 7 + b"#" * (BYTES_MAX - 700_007) + b"\n")
    assert (large.status, "750,000" in large.json["title"]) == (413, True)
    larger = await here.put(line * 8)
    assert (larger.status, "750,000" in larger.json["title"]) == (413, True)
    assert (await here.put(line * 7)).status == 200
    wrong = await here.world.ask("PUT", "/v1/crontab", {"base64": "%%%"})
    assert (wrong.status, wrong.json["field"]) == (422, "base64")


async def test_who_looks_installs_and_removes_is_in_the_systems_log_as_crontab_writes_it(
    here: Here, tmp_path: Path
) -> None:
    syslog = Syslog(tmp_path / "log")
    here.world.services.audit.path = str(syslog.path)
    await here.get()
    await here.put(b"@daily x\n")
    await here.put(b"broken\n")
    await here.delete()
    await here.delete()
    here.world.services.audit.close()
    said = [line.partition(": ")[2] for line in syslog.lines()]
    assert said == [f"({ME}) {event} ({ME})" for event in ("LIST", "REPLACE", "DELETE")]
    syslog.close()


async def test_variables_that_would_become_a_flood_are_refused_at_once(here: Here) -> None:
    """A line is a job that keeps all its variables: a table of 200 kB could ask for hundreds of megabytes."""
    assert ENV_MAX == WORK_ENV_MAX
    some = b"".join(b"V%d=x\n" % number for number in range(998))
    assert (await here.put(some + b"* * * * * x\n")).json["jobs"] == 1
    over = await here.put(some + b"A=b\nB=c\n* * * * * x\n")
    assert (over.status, over.json["jobs"]) == (200, 0)
    assert "1,000 variables are in force" in over.json["problems"][0]["reason"]
    flood = await here.put(some.replace(b"x", b"x" * 100) + b"* * * * * x\n" * 5_000)
    assert (flood.status, flood.json["problems"][0]["kind"]) == (400, "variables")


async def test_a_daemon_that_runs_no_crontabs_says_so(here: Here) -> None:
    here.tables.live = False
    for answer in (await here.get(), await here.put(b""), await here.delete()):
        assert (answer.status, answer.json["field"]) == (409, "crontabs")
    object.__setattr__(here.world.services, "tables", None)
    assert (await here.get()).status == 409


async def test_a_table_that_could_not_be_loaded_is_installed_and_says_so(here: Here) -> None:
    here.tables.fails = True
    answer = await here.put(b"#\n")
    assert answer.status == 200
    assert (answer.json["loaded"], answer.json["why"]) == (False, "the database is busy")


@pytest.mark.parametrize("name", ["..%2Fetc%2Fpasswd", ".", "..", "a%2Fb", "%00", "", ".jobctl.me", "x" * 250])
async def test_no_name_leads_out_of_the_spool(here: Here, name: str) -> None:
    for method in ("GET", "PUT", "DELETE"):
        answer = await here.world.ask(method, f"/v1/crontab?user={name}", {"base64": ""} if method == "PUT" else None)
        assert answer.status in ({422} if os.geteuid() == 0 else {403}), (method, answer)
    assert not here.folder.exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root names another user")
async def test_root_names_another_user_whose_file_it_then_is(here: Here) -> None:
    other = pwd.getpwnam("daemon")
    assert (await here.put(b"#\n", user=other.pw_name)).status == 200
    found = here.file(other.pw_name).stat()
    assert (found.st_uid, stat.S_IMODE(found.st_mode)) == (other.pw_uid, 0o600)
    assert await here.text(user=other.pw_name) == b"#\n"
    assert (await here.get()).status == 404
    assert (await here.get(user="nobody-is-called-so")).status == 422


@pytest.mark.skipif(os.geteuid() != 0, reason="only root names another user")
async def test_root_sees_whoever_s_file_is_under_a_users_name(here: Here) -> None:
    here.folder.mkdir(parents=True)
    for name in (ME, "daemon"):
        here.file(name).write_bytes(b"# left\n")
        os.chown(here.file(name), 1_234, 1_234)
    assert [await here.text(), await here.text(user="daemon")] == [b"# left\n"] * 2
    seen = (await here.get(user="daemon")).headers["etag"]
    assert (await here.put(b"# new\n", seen, user="daemon")).status == 200


async def test_links_and_other_things_in_the_spool_are_not_followed(here: Here, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_bytes(b"secret\n")
    here.folder.mkdir(parents=True)
    here.file().symlink_to(secret)
    refused = await here.get()
    assert (refused.status, b"secret\\n" in refused.body) == (409, False)
    assert (await here.put(b"#\n")).status == 200
    assert (secret.read_bytes(), here.file().is_symlink()) == (b"secret\n", False)
    here.file().unlink()
    os.mkfifo(here.file())
    assert (await here.get()).status == 409
    here.file().unlink()
    (here.folder / ".jobctl.me").symlink_to(secret)
    assert (await here.put(b"#\n")).status == 200
    assert secret.read_bytes() == b"secret\n"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
@pytest.mark.parametrize("admin", [False, True])
async def test_a_table_that_a_former_holder_of_the_name_has_left_is_not_shown(here: Here, admin: bool) -> None:
    """A user is removed, and another one gets the name: the spool still has what the first one had."""
    new = Caller(uid=4_321, name="ada", all_owners=admin)

    def leave() -> None:
        here.folder.mkdir(parents=True, exist_ok=True)
        here.file("ada").write_bytes(b"# secret\n")
        os.chown(here.file("ada"), 1_234, 1_234)

    leave()
    here.world.who.caller_now = new
    tag = '"' + hashlib.sha256(b"# secret\n").hexdigest() + '"'
    refused = await here.get()
    tried = [await here.put(b"#\n", seen) for seen in (tag, '"1"', NO_CRONTAB)]
    tried.append(await here.world.ask("DELETE", "/v1/crontab", If_Match=tag))
    for answer in (refused, *tried):  # whether a guess is right is not told either
        assert (answer.status, answer.json["field"]) == (403, "owner")
        assert answer.json["title"] == refused.json["title"] == f"{here.file('ada')} belongs to another account"
        assert not re.search(rb"secret|c2VjcmV0|1234|etag", answer.body + repr(answer.headers).lower().encode())
    assert here.file("ada").read_bytes() == b"# secret\n"
    assert (await here.put(b"# new\n")).status == 200
    assert (await here.text(), here.file("ada").stat().st_uid) == (b"# new\n", new.uid)
    leave()
    assert (await here.delete()).status == 204
    assert not here.file("ada").exists()
    leave()
    os.chown(here.file("ada"), 0, 0)  # cron runs it as hers, and so it is
    assert await here.text() == b"# secret\n"


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo, _socket], ids=["folder", "FIFO", "socket"])
async def test_what_is_no_file_in_the_spool_is_told_and_takes_no_descriptor(
    here: Here, make: Callable[[Path], None]
) -> None:
    here.folder.mkdir(parents=True)
    make(here.file())
    for _ in range(3):
        for answer in (await here.get(), await here.put(b"#\n", seen='"1"')):
            assert answer.status in (403, 409), answer
            assert "no regular file" in answer.json["title"] or "cannot be read" in answer.json["title"]
    assert held_open(here.file()) == 0
    if here.file().is_dir():  # anything else is replaced, and removed, as a file is
        for answer in (await here.put(b"#\n"), await here.delete()):
            assert (answer.status, "no regular file" in answer.json["title"]) == (409, True)
        assert [path.name for path in here.folder.iterdir()] == [ME]
    else:
        assert (await here.put(b"#\n")).status == 200


async def test_a_spool_that_is_a_link_is_refused(here: Here, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    here.folder.parent.mkdir()
    here.folder.symlink_to(tmp_path / "elsewhere")
    assert (await here.put(b"#\n")).status == 503
    assert list((tmp_path / "elsewhere").iterdir()) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount")
def test_a_full_disk_loses_nothing(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", "1m") as disk:
        spool = Spool(str(disk.place / "crontabs"), host=False)
        spool.replace(ME, os.getuid(), b"#1\n")
        disk.fill()
        with pytest.raises(Unavailable, match="No space left on device; it is as it was"):
            spool.replace(ME, os.getuid(), b"#" * 100_000 + b"\n")
        assert spool.read(ME) == b"#1\n"
        assert [path.name for path in (disk.place / "crontabs").iterdir()] == [ME]
        disk.empty()
        spool.replace(ME, os.getuid(), b"#2\n")
        assert spool.read(ME) == b"#2\n"


def test_what_a_killed_writer_left_is_no_hindrance(tmp_path: Path) -> None:
    spool = Spool(str(tmp_path / "crontabs"), host=False)
    spool.replace(ME, os.getuid(), b"#1\n")
    (tmp_path / "crontabs" / ".jobctl.me").write_bytes(b"half")
    spool.replace(ME, os.getuid(), b"#2\n")
    assert [path.name for path in (tmp_path / "crontabs").iterdir()] == [ME]


async def test_an_unknown_field_is_an_error(here: Here) -> None:
    body: Any = {"base64": "", "force": True}
    assert (await here.world.ask("PUT", "/v1/crontab", body)).status == 422
    assert (await here.world.ask("GET", "/v1/crontab?who=x")).status == 422
