"""Cron's lines in the system's log, read from the other end of a real socket."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from jobctl_daemon.auditlog import AuditLog, Written, safe
from kit.clock import ManualClock
from kit.syslog import Syslog

#: 2026-03-05 06:07:08 in UTC.
THEN = 1_772_690_828_000


@pytest.fixture
def syslog(tmp_path: Path) -> Iterator[Syslog]:
    made = Syslog(tmp_path / "log")
    yield made
    made.close()


def audit(path: Path | None, zone: str = "UTC") -> AuditLog:
    return AuditLog(ManualClock(THEN), None if path is None else str(path), zone)


def test_a_started_command_is_the_line_of_cron(syslog: Syslog) -> None:
    log = audit(syslog.path)
    log.command(4711, "ada", "backup --all >/dev/null")
    assert syslog.lines() == ["<78>Mar  5 06:07:08 CRON[4711]: (ada) CMD (backup --all >/dev/null)"]
    log.close()


def test_tables_and_crontabs_have_the_lines_of_their_programs(syslog: Syslog) -> None:
    log = audit(syslog.path, "Asia/Kolkata")
    log.reload(None, "/etc/crontab")
    log.reload("ada", "/var/spool/cron/crontabs/ada")
    log.failed("ada", "program /opt/x: No such file or directory")
    log.no_mail()
    log.crontab("ada", "REPLACE", "bob", pid=12)
    own = os.getpid()
    assert syslog.lines() == [
        f"<78>Mar  5 11:37:08 cron[{own}]: (*system*) RELOAD (/etc/crontab)",
        f"<78>Mar  5 11:37:08 cron[{own}]: (ada) RELOAD (crontabs/ada)",
        f"<76>Mar  5 11:37:08 CRON[{own}]: (ada) FAILED (program /opt/x: No such file or directory)",
        f"<78>Mar  5 11:37:08 CRON[{own}]: (CRON) info (No MTA installed, discarding output)",
        "<78>Mar  5 11:37:08 crontab[12]: (ada) REPLACE (bob)",
    ]
    log.close()


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("a\nb) CMD (rm -rf /", "a^Jb) CMD (rm -rf /"),
        ("\x1b[2J\x7f\0", "^[[2J^?^@"),
        ("größe", "gr\\303\\266\\303\\237e"),
        ("\udcff\udc80", "\\377\\200"),
        ("\ud800", "?"),
    ],
)
def test_whatever_a_command_is_made_of_it_stays_one_line_of_ascii(given: str, shown: str) -> None:
    assert safe(given) == shown


def test_a_command_that_cron_would_not_take_is_cut() -> None:
    assert safe("x" * 5_000) == "x" * 999


def test_where_nobody_listens_lines_are_left_out_and_counted_until_somebody_does(tmp_path: Path) -> None:
    log = audit(tmp_path / "log")
    log.command(1, "ada", "true")
    assert log.written() == Written(str(tmp_path / "log"), 0, 1, "No such file or directory")
    for _ in range(2):  # also one that goes, and is there again
        listening = Syslog(tmp_path / "log")
        log.command(2, "ada", "true")
        assert len(listening.lines()) == 1
        listening.close()
    assert log.written() == Written(str(tmp_path / "log"), 2, 1, None)
    log.close()


def test_a_receiver_that_does_not_read_holds_up_nobody(syslog: Syslog) -> None:
    log = audit(syslog.path)
    for _ in range(2_000):
        log.command(1, "ada", "true")
    found = log.written()
    assert found is not None
    assert (found.why, found.lines + found.dropped, found.lines) == ("it does not keep up", 2_000, len(syslog.lines()))
    log.close()


def test_a_path_that_can_be_no_socket_and_none_at_all(tmp_path: Path) -> None:
    log = audit(tmp_path / ("x" * 200))
    log.command(1, "ada", "true")
    assert log.written() == Written(str(tmp_path / ("x" * 200)), 0, 1, "AF_UNIX path too long")
    log.close()
    silent = audit(None)
    silent.command(1, "ada", "true")
    assert silent.written() is None
