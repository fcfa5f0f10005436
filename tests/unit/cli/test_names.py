"""The names that completions offer: out of a file, as long as they are what they were."""

import json
import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from jobctl.cli import names
from jobctl.cli.complete import complete
from jobctl.cli.world import World
from kit.clock import ManualClock
from unit.cli.conftest import NOW_MS, Cli, Stream
from unit.client.fake_daemon import FakeDaemon, job


class Shell:
    """TAB, at a time that the test sets."""

    def __init__(self, environ: dict[str, str]) -> None:
        self.environ = environ
        self.now_ms = NOW_MS

    def boot_ms(self) -> int:
        return 0

    def clock_now_ms(self) -> int:
        return self.now_ms

    def __call__(self, *words: str) -> list[str]:
        out = Stream()

        class Clock:
            now_ms = self.clock_now_ms
            boot_ms = self.boot_ms
            awake_ms = self.boot_ms

        complete(words, World(self.environ, Stream(), out, Stream(), Clock(), os.getuid()))
        out.flush()
        return [line.split("\t")[0] for line in out.raw_bytes.getvalue().decode().splitlines() if line != "\t"]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    made = tmp_path / "home"
    made.mkdir()
    return made


@pytest.fixture
def tab(daemon: FakeDaemon, home: Path) -> Shell:
    return Shell({"JOBCTL_SOCKET": daemon.path, "HOME": str(home)})


def kept(home: Path) -> Path:
    (found,) = (home / ".cache" / "jobctl").glob("names-*.json")
    return found


def asked(daemon: FakeDaemon) -> list[str]:
    """The paths that were asked for since the last time."""
    paths = [one.path for one in daemon.asked]
    daemon.asked.clear()
    return paths


def test_the_second_time_nobody_is_asked(tab: Shell, daemon: FakeDaemon, home: Path) -> None:
    assert tab("show", "") == ["backup", "hand", "sync"]
    assert asked(daemon) == ["/v1/status", "/v1/jobs"]
    assert tab("show", "b") == ["backup"]
    assert asked(daemon) == []
    found = kept(home)
    assert stat.S_IMODE(found.stat().st_mode) == 0o600
    assert stat.S_IMODE(found.parent.stat().st_mode) == stat.S_IMODE(found.parent.parent.stat().st_mode) == 0o700


def test_after_a_while_it_is_asked_whether_anything_has_happened_to_a_job(tab: Shell, daemon: FakeDaemon) -> None:
    tab("show", "")
    asked(daemon)
    tab.now_ms += 6_000
    assert tab("show", "b") == ["backup"]
    assert asked(daemon) == ["/v1/status"]
    daemon.status["last_event"] += 5  # of runs
    tab.now_ms += 6_000
    assert tab("show", "b") == ["backup"]
    assert asked(daemon) == ["/v1/status", "/v1/events"]
    tab.now_ms += 6_000
    tab("show", "b")
    assert asked(daemon) == ["/v1/status"]


def test_a_new_job_is_offered_seconds_later(tab: Shell, daemon: FakeDaemon) -> None:
    tab("show", "")
    daemon.jobs.append(job(9, "brand-new"))
    daemon.status["last_event"] = 4
    daemon.events.append({"id": 4, "at": "2026-11-29T02:12:41Z", "kind": "job.created", "job_id": 9, "data": {}})
    tab.now_ms += 6_000
    assert tab("show", "br") == ["brand-new"]


def test_after_very_many_events_the_names_are_read_again(tab: Shell, daemon: FakeDaemon) -> None:
    tab("show", "")
    asked(daemon)
    daemon.status["last_event"] += 5_000
    tab.now_ms += 6_000
    tab("show", "")
    assert asked(daemon) == ["/v1/status", "/v1/status", "/v1/jobs"]


@pytest.mark.parametrize(("later_ms", "offered"), [(6_000, 3), (80_000_000, 3), (90_000_000, 0), (-6_000, 0)])
def test_without_a_daemon_they_are_offered_for_a_day(
    tab: Shell, daemon: FakeDaemon, later_ms: int, offered: int
) -> None:
    tab("show", "")
    daemon.close()
    tab.now_ms += later_ms
    assert len(tab("show", "")) == offered


def test_who_lists_all_jobs_keeps_their_names(cli: Cli, tab: Shell, daemon: FakeDaemon, home: Path) -> None:
    cli.environ["HOME"] = str(home)
    assert cli("ls", "backup").code == cli("ls", "--tag", "nightly").code == 0
    assert not (home / ".cache").exists()
    assert cli("ls").code == 0
    assert [name for name, _ in json.loads(kept(home).read_text())[3]] == ["backup", "hand", "sync"]


def test_a_list_that_was_left_before_its_end_is_not_kept(home: Path) -> None:
    class Session:
        class common:  # noqa: N801
            socket = None

    going = names.kept(Session, iter([job(1, "a"), job(2, "b")]))  # type: ignore[arg-type]
    next(going)
    going.close()  # type: ignore[attr-defined]
    assert list(home.iterdir()) == []


def test_of_many_jobs_a_thousand_are_kept_and_the_rest_are_asked_for(
    tab: Shell, daemon: FakeDaemon, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(names, "_MOST", 2)
    assert tab("show", "") == ["backup", "hand"]
    assert json.loads(kept(home).read_text())[2] is False
    asked(daemon)
    tab("show", "s")
    (request,) = daemon.asked
    assert (request.path, request.query) == ("/v1/jobs", {"q": '"s"', "limit": "2"})


Spoil = Callable[[Path], object]


@pytest.mark.parametrize(
    "spoil",
    [
        lambda path: path.write_bytes(b"\xff not json"),
        lambda path: path.write_text("[]"),
        lambda path: path.write_text('[0, null, true, [["x"]]]'),
        lambda path: path.write_text("[" * 100_000),
        lambda path: path.write_text("[1e400,null,true,[]]"),
        lambda path: path.write_text("[NaN,null,true,[]]"),
        lambda path: path.write_text(f"[{NOW_MS},-1e400,true,[]]"),
        lambda path: path.write_text(f"[{NOW_MS},null,null,[]]"),
        lambda path: path.write_text(f"[{'9' * 5_000},null,true,[]]"),
        lambda path: path.write_text(f'[{NOW_MS},null,true,"backup"]'),
        lambda path: path.write_text(f'[{NOW_MS},null,true,["bx"]]'),
        lambda path: path.write_text(f'[{NOW_MS},null,true,[["bx",null]]]'),
        lambda path: path.write_text(f'[{NOW_MS},null,true,{{"bx":1}}]'),
        lambda path: path.chmod(0o644),
        lambda path: (path.unlink(), path.mkdir()),
        lambda path: (path.unlink(), os.mkfifo(path, 0o600)),
        lambda path: (path.rename(path.with_suffix(".other")), path.symlink_to(path.with_suffix(".other"))),
    ],
)
def test_a_file_that_is_not_as_it_was_written_is_not_believed(
    tab: Shell, daemon: FakeDaemon, home: Path, spoil: Spoil
) -> None:
    tab("show", "")
    asked(daemon)
    spoil(kept(home))
    assert tab("show", "b") == ["backup"]
    assert asked(daemon)[0] == "/v1/status"


@pytest.mark.parametrize("answer", [b"[]", b'{"last_event":1e400}', b'{"items":[1]}', b"[" * 100_000, b"\xff"])
def test_of_an_answer_that_is_none_of_the_daemons_nothing_is_offered(home: Path, answer: bytes) -> None:
    world = World({"HOME": str(home)}, Stream(), Stream(), Stream(), ManualClock(NOW_MS), os.getuid())
    assert names.offered(world, ["/nowhere"], "", lambda _: answer) == []


@pytest.mark.parametrize("base", ["relative", "/nonexistent/deep", "/proc"])
def test_where_nothing_can_be_kept_the_daemon_is_asked(tab: Shell, base: str) -> None:
    tab.environ["XDG_CACHE_HOME"] = base
    assert tab("show", "b") == tab("show", "b") == ["backup"]


def test_each_daemon_has_its_own_names(tab: Shell, home: Path, tmp_path: Path) -> None:
    tab("show", "")
    tab.environ["JOBCTL_SOCKET"] = str(tmp_path / "other.sock")
    assert tab("show", "") == []


def test_a_name_that_would_move_a_cursor_is_not_offered_out_of_the_file_either(tab: Shell, daemon: FakeDaemon) -> None:
    daemon.jobs.append(job(9, "\x1b[31m"))
    assert tab("show", "") == tab("show", "") == ["backup", "hand", "sync"]
