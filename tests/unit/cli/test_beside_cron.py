"""`status` and `doctor` tell of a cron beside a jobd that runs the host's tables."""

import pytest

from jobctl.cli.beside_cron import cut_short, judged, live_lines
from jobctl.crontabs.crond import Cron, CronProcess, CronService
from jobctl.crontabs.record import Record, TakenHost

TABLES = [
    {"path": "/etc/crontab", "kind": "crontab", "jobs": 4, "loaded_at": None, "problems": []},
    {"path": "/etc/cron.d/x", "kind": "crontab", "jobs": 2, "loaded_at": None, "problems": []},
    {"path": "/etc/jobctl/jobs.d/a.toml", "kind": "jobs", "jobs": 9, "loaded_at": None, "problems": []},
]
LIVE = {"system": True, "tables": TABLES}
RUNS = Cron((CronProcess(77, "cron"),), (CronService("systemd", "cron.service", True, True),))
RETURNS = Cron((), (CronService("systemd", "cron.service", True, False),))


def test_only_a_system_daemon_with_tables_runs_those_of_the_host() -> None:
    assert live_lines(LIVE) == 6
    assert live_lines({"system": True, "tables": TABLES[2:]}) is None
    assert live_lines({"system": False, "tables": TABLES}) is None
    assert live_lines({"system": True}) is None


def test_a_cron_that_runs_or_will_run_is_told_with_how_many_lines() -> None:
    (runs,) = judged(LIVE, RUNS)
    assert (runs.bad, runs.text) == (True, "cron, pid 77, runs beside jobd: 6 lines of this host's tables run twice")
    assert "--rollback" in runs.hint
    (returns,) = judged(LIVE, RETURNS)
    assert not returns.bad
    assert returns.text.startswith("cron.service is started at the next boot: 6 lines")
    assert list(judged(LIVE, Cron())) == []


@pytest.mark.parametrize(
    ("state", "said"),
    [("stopped", "taking the host over was cut short (id)"), ("undoing", "giving the host back to cron"), ("done", "")],
)
def test_a_takeover_that_was_cut_short(state: str, said: str) -> None:
    record = Record("id", "now", state, host=TakenHost())
    assert [one.text.startswith(said) for one in cut_short([record, Record("x", "now", "created")])] == [True] * bool(
        said
    )
