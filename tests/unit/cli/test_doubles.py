"""`doctor` looks for jobs that a live crontab runs as well."""

from pathlib import Path

from jobctl.crontabs.doubles import KnownTable, find_doubles
from jobctl.crontabs.jobs import Origin
from jobctl.crontabs.read import read
from unit.client.fake_daemon import job


def test_a_job_without_a_schedule_or_with_another_program_is_no_double(tmp_path: Path) -> None:
    table = KnownTable(Origin("/etc/cron.d/app", "root", None), read(b"0 3 * * * root /usr/bin/backup\n", system=True))
    schedule = {"cron": "0 3 * * *", "timezone": "UTC", "words": ""}
    jobs = [
        job(1, "backup", schedule=schedule, target={"shell": "/usr/bin/backup"}, owner="root"),
        job(2, "other", schedule=schedule, target={"shell": "/usr/bin/other"}, owner="root"),
        job(3, "hand", schedule=None, target={"shell": "/usr/bin/backup"}, owner="root"),
        job(4, "paused", schedule=schedule, target={"shell": "/usr/bin/backup"}, owner="root", paused=True),
    ]

    assert [double.job for double in find_doubles([table], jobs, caller="root")] == ["backup"]
