"""A host in numbers, and the scripts that nothing runs today and jobd would."""

from jobctl.crontabs.against_cron import differences
from jobctl.crontabs.crond import Cron, CronProcess
from jobctl.crontabs.host import periodic, summary
from jobctl.crontabs.jobs import Origin, plan
from jobctl.crontabs.parts import Entry
from jobctl.crontabs.periodic import Anacron
from jobctl.crontabs.read import read
from jobctl.crontabs.report import TableReport

DEBIAN = b"25 6 * * * root test -x /usr/sbin/anacron || { cd / && run-parts --report /etc/cron.daily; }\n"
ANACRONTAB = b"1 5 cron.daily run-parts --report /etc/cron.daily\n7 10 own /usr/bin/own\n"
SCRIPTS = {
    "/etc/cron.daily": (Entry("logs", "file", executable=True), Entry("off", "file")),
    "/etc/cron.weekly": (Entry("man-db", "file", executable=True),),
}


def report(path: str, data: bytes, owner: str | None = None) -> TableReport:
    crontab = read(data, system=owner is None)
    return TableReport(path, crontab, plan(crontab, Origin(path, "root", owner)), {}, {})


def test_a_host_in_numbers() -> None:
    reports = [
        report("/etc/crontab", DEBIAN),
        report("/etc/cron.d/bad", b"0 4 * * * www-data x\n61 * * * * root y\n"),
        report("/var/spool/cron/crontabs/ada", b"5; * * * * x\n@daily y\n", "ada"),
    ]
    found = differences(reports, 1_772_452_800_000, "UTC", takes_over=True)
    said = summary(reports, found, Cron((CronProcess(7, "cron"),)), live=False)
    assert said["users"] == ["ada", "root", "www-data"]
    assert [said[name] for name in ("tables", "jobs", "left", "refused", "begins", "stops")] == [3, 3, 1, 1, 1, 1]
    assert said["dropped"] == ["/etc/cron.d/bad"]
    assert [text.split()[0] for text in said["remarks"]] == ["every"]
    without = summary(reports, found, Cron(), live=None, nameless_zone=True)
    assert without["remarks"][0].startswith("/etc/localtime is no link to a zone")
    assert said["cron"] == {"processes": [{"pid": 7, "name": "cron"}], "services": []}


def test_scripts_that_nothing_runs_begin() -> None:
    daily, weekly = periodic([report("/etc/crontab", DEBIAN)], None, SCRIPTS, Anacron())
    assert daily == {
        "path": "/etc/cron.daily", "run_by": "line 1 of /etc/crontab", "entries": ["logs"], "begins": [],
    }  # fmt: skip
    assert weekly == {"path": "/etc/cron.weekly", "run_by": None, "entries": ["man-db"], "begins": ["man-db"]}


def test_an_anacrontab_without_anacron_begins_but_for_what_a_crontab_runs() -> None:
    (table, _, weekly) = periodic([report("/etc/crontab", DEBIAN)], ANACRONTAB, SCRIPTS, Anacron())
    assert (table["entries"], table["begins"]) == (["cron.daily", "own"], ["own"])
    assert weekly["begins"] == ["man-db"]


def test_what_anacron_runs_goes_on() -> None:
    (table, _, _) = periodic([report("/etc/crontab", DEBIAN)], ANACRONTAB, SCRIPTS, Anacron(installed=True, timer=True))
    assert (table["run_by"], table["begins"]) == ("anacron is installed and runs it", [])
