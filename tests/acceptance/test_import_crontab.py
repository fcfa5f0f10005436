"""`jobctl import crontab` as a person uses it: a real daemon, and a stand-in for the crontab program."""

import io
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from jobctl.cli.main import run
from jobctl.cli.world import World
from jobctl.clock import SystemClock
from kit.daemon import RealDaemon, real_daemon

HANDED = Path(__file__).parents[1] / "data" / "crontabs"
MINE = b"""\
# mine
MAILTO=me@example.net
0 3 1 1 * /opt/backup.sh --full # note
30 4 1 1 * cat%hello%you \\% x
@reboot /usr/bin/jobd # jobctl: starts the daemon
0 22-2 * * * odd
0 5 1 1 * printf '\xc3('
"""
PROGRAM = """#!/bin/sh
T={table}
case "$1" in
-l) [ -f $T ] && exec cat $T; echo "no crontab for you" >&2; exit 1;;
-) cat > $T.new && mv $T.new $T;;
*) exit 2;;
esac
"""


@dataclass
class Desk:
    """A home with a crontab, and the command line in it."""

    folder: Path

    @property
    def table(self) -> Path:
        return self.folder / "table"

    def jobctl(self, *arguments: str, home: Path | None = None, code: int = 0, **extra: Any) -> Any:
        """Standard output; the JSON in it where --json was asked for."""
        environ = {
            "PATH": f"{self.folder}/bin:/usr/bin:/bin",
            "HOME": str(self.folder),
            "JOBCTL_HOME": str(home or self.folder / "home"),
            "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
        }
        done = subprocess.run(
            [sys.executable, "-c", "from jobctl.cli.main import main; main()", *arguments],
            env=environ,
            capture_output=True,
            check=False,
            **extra,
        )
        assert done.returncode == code, done.stderr.decode()
        self.words = done.stderr.decode()
        return json.loads(done.stdout) if "--json" in arguments and code != 2 else done.stdout.decode()


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "crontab"
    program.write_text(PROGRAM.format(table=tmp_path / "table"))
    program.chmod(0o755)
    return Desk(tmp_path)


@pytest.fixture
def daemon(desk: Desk) -> Iterator[RealDaemon]:
    with real_daemon(desk.folder / "home") as made:
        yield made


# ── the report, which needs no daemon ─────────────────────────────────────────────


@pytest.mark.parametrize("name", ["double-backslash", "field-typos", "supercronic-parse", "invalid-utf8-tail"])
def test_the_report_has_the_shape_that_scripts_build_on(desk: Desk, name: str) -> None:
    case = next(
        case
        for case in map(json.loads, (HANDED / "index.jsonl").read_text("utf-8").splitlines())
        if case["file"] == f"{name}.crontab"
    )
    report = desk.jobctl("import", "crontab", str(HANDED / case["file"]), "--dialect", "debian", "--json")
    assert report["schema"] == 1
    keys = ("line", "schedule", "user", "command", "stdin")
    assert [{key: item[key] for key in keys} for item in report["items"]] == [
        {"user": None, "stdin": None, **job} for job in case["jobs"]
    ]
    assert [line["line"] for line in report["refused"]] == case["rejects"]
    assert all(set(line) >= {"line", "text", "reason"} for line in report["refused"])
    assert [[env["line"], f"{env['name']}={env['value']}"] for env in report["env"]] == case["env"]
    assert report["debian"] == ("loads" if case["file_accepted"] else "drops the file")
    assert not (desk.folder / "home").exists()


def test_a_system_table_names_users_and_says_where_a_line_is_wrong(desk: Desk) -> None:
    file = str(HANDED / "unknown-users.crontab")
    text = desk.jobctl("import", "crontab", file, "--system", "--strict", code=1)
    assert "1 job, 5 lines refused" in text
    assert "Debian's cron ignores the whole file: it refuses lines 1, 2, 3, 4, 5" in text
    assert "user column missing" in text
    assert "nothing was changed" in desk.words
    users = desk.jobctl("import", "crontab", file, "--system", "--users", "root,nosuchuser", "--json")
    assert [item["user"] for item in users["items"]] == ["nosuchuser", "root"]


def test_next_fires_have_a_zone_and_cron_tz_is_flagged(desk: Desk) -> None:
    table = b"CRON_TZ=Asia/Tokyo\n0 3 * * * x\n"
    report = desk.jobctl("import", "crontab", "-", "--json", input=table)
    (item,) = report["items"]
    assert [fire["local"][-6:] for fire in item["next"]] == ["+09:00"] * 3
    flagged = "CRON_TZ: the times of line 2 are of Asia/Tokyo; Debian's cron would take the host's zone"
    assert (item["notes"], report["remarks"]) == ([], [flagged])
    plain = desk.jobctl("import", "crontab", "-", "--json", "--dialect=debian", "--tz=Europe/Berlin", input=table)
    assert plain["items"][0]["next"][0]["zone"] in ("CET", "CEST")
    assert plain["remarks"] == ["CRON_TZ is kept as a variable and moves no schedule, as with Debian's cron"]


def test_a_report_goes_by_line_and_tells_apart_what_cron_refuses(desk: Desk) -> None:
    table = b"0 3 * * * mail%hi\n61 * * * * bad\nCRON_TZ=Mars/Base\n0 5 * * * mars\n0 6 * * * b%c\n"
    said = desk.jobctl("import", "crontab", "-", input=table).splitlines()
    assert "1 job, 2 lines become no job, 1 line refused" in said[0]
    assert [line[:6] for line in said if line.startswith("line ")] == ["line 1", "line 2", "line 4", "line 5", "line 5"]
    assert "line 4: becomes no job: 0 5 * * * mars" in said
    assert not any("CRON_TZ: the times" in line for line in said)


def test_what_a_crontab_wrote_does_nothing_to_a_terminal(desk: Desk) -> None:
    text = desk.jobctl("import", "crontab", "-", input=b"@daily a\x1b]52;c;x\x07\nbad\x1b[2J\n")
    assert "\x1b" not in text
    assert "\x07" not in text


def test_usage(desk: Desk) -> None:
    desk.jobctl("import", "crontab", str(desk.folder / "nowhere"), code=2)
    assert "cannot be read" in desk.words
    desk.jobctl("import", "crontab", "--dialect", "vixie", code=2)
    desk.jobctl("import", "crontab", "--tz", "Mars/Base", code=2)
    desk.jobctl("import", "crontab", "--system", "--apply", code=2)
    assert "--yes" in desk.words
    help_text = desk.jobctl("import", "crontab", "--help")
    assert "Ends with 0" in help_text
    assert json.loads(desk.jobctl("import", "crontab", "--json") and "{}") == {}


# ── the live crontab ─────────────────────────────────────────────


@pytest.mark.case("F053")
def test_a_live_crontab_is_taken_over_once_and_given_back(desk: Desk, daemon: RealDaemon) -> None:
    desk.table.write_bytes(MINE)
    applied = desk.jobctl("import", "crontab", "--apply", "--json")["applied"]
    assert applied["created"] == ["backup", "cat", "printf"]
    assert applied["commented"] == 3
    assert desk.table.read_bytes() == MINE.replace(b"\n0 3 1", b"\n#jobctl# 0 3 1").replace(
        b"\n30 4", b"\n#jobctl# 30 4"
    ).replace(b"\n0 5", b"\n#jobctl# 0 5")
    jobs = {job["name"]: daemon.client.job(job["id"]) for job in daemon.client.jobs()}
    assert [job["paused"] for job in jobs.values()] == [False, False, False]
    assert jobs["cat"]["stdin"] == "hello\nyou % x\n"
    assert jobs["cat"]["env"] == {"PATH": "/usr/bin:/bin", "MAILTO": "me@example.net"}
    assert (jobs["backup"]["overlap"], jobs["backup"]["misfire"], jobs["backup"]["misfire_within"]) == (
        "allow",
        "skip",
        60,
    )

    again = desk.jobctl("import", "crontab", "--apply", "--json")
    assert [item["line"] for item in again["items"]] == [5, 6]
    assert again["applied"]["import"] is None

    manifest = desk.folder / "home" / "state" / "imports" / applied["import"]
    assert (manifest / "0.crontab").read_bytes() == MINE
    assert manifest.stat().st_mode & 0o777 == 0o700
    undone = desk.jobctl("import", "crontab", "--rollback", "--json")
    assert sorted(undone["removed"]) == ["backup", "cat", "printf"]
    assert desk.table.read_bytes() == MINE
    assert list(daemon.client.jobs()) == []
    desk.jobctl("import", "crontab", "--rollback", applied["import"], code=5)
    desk.jobctl("import", "crontab", "--rollback", code=3)


@pytest.mark.case("F053")
def test_imported_commands_run_as_cron_would_run_them(desk: Desk, daemon: RealDaemon) -> None:
    table = (
        b"SHELL=/bin/bash\nA='x y'\n0 3 1 1 * cat; echo \"$A $PATH $0\" \\%; [[ 1 ]]; printf 'caf\xe9'%in\\%put%two\n"
    )
    desk.jobctl("import", "crontab", "-", "--apply", input=table)
    (job,) = daemon.client.jobs()
    run = daemon.finished(daemon.client.trigger(job["id"], {}))
    assert daemon.output(run) == b"in%put\ntwo\nx y /usr/bin:/bin /bin/bash %\ncaf\xe9"
    assert run["state"] == "succeeded"


def test_a_file_whose_lines_cron_runs_comes_in_paused(desk: Desk, daemon: RealDaemon) -> None:
    desk.table.write_bytes(b"0 3 1 1 *  first\n")
    file = desk.folder / "file"
    file.write_bytes(b"0 3 1 1 * first\n0 4 1 1 * second\n0 4 1 1 * second\n")
    text = desk.jobctl("import", "crontab", str(file), "--apply", "--prefix", "old-")
    assert "old-first (paused)" in text
    assert "paused, because cron runs them already: old-first" in text
    states = {job["name"]: job["paused"] for job in daemon.client.jobs()}
    assert states == {"old-first": True, "old-second": False, "old-second-2": False}
    assert desk.table.read_bytes() == b"0 3 1 1 *  first\n"

    again = desk.jobctl("import", "crontab", str(file), "--apply", "--json")
    assert [item["imported_as"] for item in again["items"]] == ["old-first", "old-second", "old-second-2"]
    assert again["applied"]["created"] == []


def test_a_crontab_that_changed_is_given_back_line_by_line(desk: Desk, daemon: RealDaemon) -> None:
    desk.table.write_bytes(b"0 3 1 1 * a\n0 4 1 1 * b\n")
    desk.jobctl("import", "crontab", "--apply")
    desk.table.write_bytes(b"#jobctl# 0 4 1 1 * b\n@daily new\n")
    desk.jobctl("import", "crontab", "--rollback", code=7)
    assert "0 3 1 1 * a" in desk.words
    assert desk.table.read_bytes() == b"0 4 1 1 * b\n@daily new\n"
    assert list(daemon.client.jobs()) == []


def test_no_crontab_at_all(desk: Desk, daemon: RealDaemon) -> None:
    report = desk.jobctl("import", "crontab", "--apply", "--json")
    assert report["items"] == []
    assert "no crontab" in desk.words


@pytest.mark.skipif(os.getuid() != 0, reason="takes over the crontabs of others")
def test_a_host_is_taken_over(desk: Desk, daemon: RealDaemon, monkeypatch: pytest.MonkeyPatch) -> None:
    host = desk.folder / "host"
    tables = {
        "etc/crontab": b"SHELL=/bin/sh\n17 3 1 1 * root one\n61 * * * * root bad\n",
        "etc/cron.d/two": b"0 4 1 1 *\tdaemon\ttwo\n",
        "var/spool/cron/crontabs/nobody": b"0 5 1 1 * three\n",
    }
    for name, data in tables.items():
        (host / name).parent.mkdir(parents=True, exist_ok=True)
        (host / name).write_bytes(data)
        (host / name).chmod(0o600)
    os.chown(host / "var/spool/cron/crontabs/nobody", 65534, 65534)
    monkeypatch.setattr("jobctl.crontabs.live.ROOT", str(host))
    assert in_process(desk, "import", "crontab", "--system", "--apply", "--yes") == 0
    jobs = {job["name"]: (job["user"], job["paused"]) for job in daemon.client.jobs()}
    assert jobs == {"one": (None, False), "two": ("daemon", False), "three": ("nobody", False)}
    assert (host / "etc/crontab").read_bytes() == tables["etc/crontab"].replace(b"17 3", b"#jobctl# 17 3")
    spool = host / "var/spool/cron/crontabs/nobody"
    assert (spool.read_bytes(), spool.stat().st_uid) == (b"#jobctl# 0 5 1 1 * three\n", 65534)
    assert sorted(path.name for path in (host / "etc/cron.d").iterdir()) == ["two"]
    assert in_process(desk, "import", "crontab", "--rollback") == 0
    assert {name: (host / name).read_bytes() for name in tables} == tables


def in_process(desk: Desk, *arguments: str) -> int:
    """Where the tables of the host must be others."""
    streams = [io.TextIOWrapper(io.BytesIO(), "utf-8") for _ in range(3)]
    world = World(
        {"JOBCTL_HOME": str(desk.folder / "home"), "PATH": "/usr/bin:/bin"}, *streams, SystemClock(), os.getuid()
    )
    return run(arguments, world)


# ── and back ─────────────────────────────────────────────


def test_an_import_is_exported_as_it_was(desk: Desk, daemon: RealDaemon) -> None:
    desk.table.write_bytes(MINE)
    desk.jobctl("import", "crontab", "--apply")
    daemon.add("often", ["/bin/true"], schedule={"every": 10})
    daemon.add("limited", "true", schedule={"cron": "@daily"}, timeout=5)
    target = desk.folder / "out"
    desk.jobctl("export", "crontab", "--to", str(target))
    assert "not for cron: often: its schedule is no cron text: every 10 seconds" in desk.words
    lines = [line for line in target.read_bytes().split(b"\n") if line and not line.startswith(b"#")]
    kept = [line for line in MINE.split(b"\n") if line and b"jobd" not in line and b"odd" not in line]
    assert lines == kept[1:]
    assert b"# not for cron: limited: cron has no timeout (5s)" in target.read_bytes()
    desk.jobctl("export", "crontab", "--to", str(target), code=5)
    exported = desk.jobctl("export", "crontab", "--tag", "crontab", "--system", "--json")
    assert exported["lines"] == 3
    assert exported["not_for_cron"] == []
    assert "0 3 1 1 * root /opt/backup.sh" in exported["crontab"] or os.getuid() != 0
