"""What would not run as it does with Debian's cron is told before a host is taken over, and nothing else."""

import json
from datetime import datetime
from pathlib import Path

import pytest

from jobctl.crontabs.against_cron import Difference, differences
from jobctl.crontabs.jobs import Origin, plan
from jobctl.crontabs.read import read
from jobctl.crontabs.report import TableReport
from jobctl.schedule import local_time

BERLIN = "Europe/Berlin"


def ms(text: str) -> int:
    return round(datetime.fromisoformat(text).timestamp() * 1000)


NOW_MS = ms("2026-03-02T12:00:30+01:00")


def told(
    table: str | bytes, *, takes_over: bool = True, zone: str = BERLIN, tz: str | None = None, owner: str = "root"
) -> list[Difference]:
    data = table if isinstance(table, bytes) else table.encode()
    crontab = read(data)
    report = TableReport("/t", crontab, plan(crontab, Origin("/t", "root", owner), tz=tz), {}, {})
    return differences([report], NOW_MS, zone, takes_over=takes_over)


def test_lines_that_mean_the_same_are_not_told() -> None:
    table = """
* * * * * a
*/15 2 * * * b
30 2 * * * c
0 0 * * 7 d
@daily e
@hourly f
@reboot g
0 4 1,15 * mon h
0 0 30 2 * never
59 23 31 12 * i
"""
    assert told(table) == []
    assert told(table, zone="Australia/Lord_Howe") == []


def test_several_times_in_one_gap_are_one_start_of_ours() -> None:
    (one,) = told("0,20,40 2 * * * x\n")
    assert (one.kind, one.line, one.schedule) == ("gap", 1, "0,20,40 2 * * *")
    assert one.reason == (
        "at 2026-03-29T03:00:00+02:00 the clock has skipped 3 of its times: cron starts it 3 times, jobd once"
    )
    assert one.cron == one.jobd * 3


def test_another_zone_moves_the_times() -> None:
    (one,) = told("CRON_TZ=Asia/Tokyo\n0 3 * * * x\n")
    assert one.kind == "zone"
    assert one.reason == "its times are of Asia/Tokyo, and cron takes the host's zone, Europe/Berlin"
    assert [local_time(at, "Asia/Tokyo")[11:16] for at in one.jobd] == ["03:00"] * 3
    assert [local_time(at, BERLIN)[11:16] for at in one.cron] == ["03:00"] * 3
    assert told("0 3 * * * x\n", tz="Asia/Tokyo")[0].kind == "zone"
    assert told("* * * * * x\n", tz="Asia/Tokyo") == []


def test_a_line_of_a_file_that_cron_drops_would_begin() -> None:
    begins, also = told("0 3 * * * x\n61 * * * * bad\n@reboot y\n")
    assert (begins.kind, begins.reason) == ("begins", "Debian's cron ignores the whole file: it refuses line 2")
    assert len(begins.jobd) == 3
    assert begins.cron == ()
    assert (also.kind, also.jobd) == ("begins", ())
    assert told("0 3 * * * x\n61 * * * * bad\n", takes_over=False) == []


def test_a_line_that_is_no_job_would_stop() -> None:
    table = "5; * * * * x\n22-2 * * * * never\nHOME=here\n0 4 * * * y\n@reboot z\n"
    odd, relative, boot = told(table)
    assert (odd.kind, odd.line, odd.jobd) == ("stops", 1, ())
    assert [local_time(at, BERLIN)[14:16] for at in odd.cron] == ["05"] * 3
    assert (relative.line, relative.reason) == (4, "HOME=here is no absolute path")
    assert (boot.line, boot.cron) == (5, ())
    assert told(table, takes_over=False) == []


def test_the_line_that_starts_jobd_is_none_of_it_but_for_the_daemons_of_others() -> None:
    line = "@reboot /usr/bin/jobd # jobctl: starts the daemon\n"
    assert told(line) == []
    (one,) = told(line, owner="ada")
    assert (one.kind, one.reason) == ("stops", "at boot it starts the daemon of ada, which nothing else would do")
    assert told(line, owner="ada", takes_over=False) == []


def test_a_random_delay_is_told() -> None:
    (one,) = told("RANDOM_DELAY=10\n0 3 * * * x\n")
    assert one.kind == "delay"
    assert "up to 10 min" in one.reason


@pytest.mark.parametrize("zone", ["UTC", BERLIN, "America/St_Johns", "Africa/Casablanca"])
def test_in_all_handed_tables_only_known_reasons_are_told(zone: str) -> None:
    folder = Path(__file__).parents[2] / "data" / "crontabs"
    for case in map(json.loads, (folder / "index.jsonl").read_text("utf-8").splitlines()):
        found = told((folder / case["file"]).read_bytes(), takes_over=False, zone=zone)
        assert {one.kind for one in found} <= {"zone", "gap", "delay"}, (case["file"], found)
