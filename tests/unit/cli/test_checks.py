"""`doctor` on failures: what waits for somebody, and whether anybody would hear of it."""

from typing import Any

import pytest

from jobctl.cli import checks, slips
from unit.cli.conftest import Cli
from unit.client.fake_daemon import FakeDaemon


@pytest.mark.parametrize(
    ("status", "level", "said"),
    [
        ({"quarantined": 1}, "bad", "1 quarantined after too many dead letters in a row"),
        ({"skipping": 2}, "warn", "2 skipped again and again"),
        ({"dead": {"total": 3, "newest_at": None}}, "warn", "3 to be replayed or given up"),
        ({"untold": 1}, "note", "1 of 1 jobs tell nobody when they fail"),
        ({"clock": {"synchronised": False}}, "warn", "the host's clock is not synchronised: times may be wrong"),
    ],
)
def test_what_waits_for_somebody(cli: Cli, daemon: FakeDaemon, status: dict[str, Any], level: str, said: str) -> None:
    found = {item["text"]: item["level"] for item in cli("doctor", "--json").json()["items"]}
    assert not any(text.startswith(said) for text in found)
    daemon.status |= {**status, "now": "2026-11-29T02:12:41Z"}
    found = {item["text"]: item["level"] for item in cli("doctor", "--json").json()["items"]}
    assert [found[text] for text in found if text.startswith(said)] == [level]


def test_what_is_said_of_programs_tells_in_which_lines_nobody_looked(cli: Cli, daemon: FakeDaemon) -> None:
    daemon.jobs[0]["target"] = {"shell": "/nonexistent/sync"}
    texts = {item["text"] for item in cli("doctor", "--json").json()["items"]}
    assert "the programs that jobs name are there; lines for a shell (1) were not looked into" in texts


def test_mail_that_nobody_would_send(cli: Cli, daemon: FakeDaemon, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slips, "_SENDMAIL", "/nonexistent")
    daemon.jobs[0]["notify"] = ["exec:page", "mail:ana@example.org"]
    result = cli("doctor", PATH="/nonexistent")
    assert (result.code, "backup would tell by mail, and there is no sendmail" in result.out) == (1, True)


@pytest.mark.parametrize(
    ("free", "total", "level"),
    [
        (46_000_000, 52_000_000, "ok"),
        (9_000_000, 52_000_000, "warn"),
        (2_500_000, 52_000_000, "bad"),
        (63_000_000, 1_000_000_000_000, "bad"),
        (40_000_000_000, 1_000_000_000_000, "warn"),
        (60_000_000_000, 1_000_000_000_000, "ok"),
    ],
)
def test_a_disk_is_bad_where_new_work_is_refused_and_not_because_it_is_small(free: int, total: int, level: str) -> None:
    assert checks.disk_level(free, total) == level
