"""A job whose line some crontab still has would run twice."""

from pathlib import Path

from jobctl.cli.doubles import doubles
from unit.client.fake_daemon import job


def test_doubles_are_found_in_every_crontab(tmp_path: Path) -> None:
    (tmp_path / "etc/cron.d").mkdir(parents=True)
    (tmp_path / "etc/cron.d/app").write_text("0 3 * * * root /usr/bin/backup\n")
    (tmp_path / "var/spool/cron/crontabs").mkdir(parents=True)
    (tmp_path / "var/spool/cron/crontabs/ana").write_text("# a comment\n*/5 *  * * * /usr/bin/poll\n#0 0 * * * /off\n")

    def line(number: int, name: str, cron: str, command: str, **changed: object) -> dict[str, object]:
        schedule = {"cron": cron, "timezone": "UTC", "words": ""}
        return job(number, name, schedule=schedule, target={"shell": command}, **changed)

    jobs = [
        line(1, "backup", "0 3 * * *", "/usr/bin/backup"),
        line(2, "poll", "*/5 * * * *", "/usr/bin/poll"),
        line(3, "off", "0 0 * * *", "/off"),
        line(4, "paused", "0 3 * * *", "/usr/bin/backup", state="paused"),
        job(5, "exec", target={"command": ["/usr/bin/backup"]}),
        job(6, "hand", schedule=None),
    ]
    found = dict(doubles(jobs, 0, str(tmp_path)))
    assert set(found) == {"backup", "poll"}
    assert found["poll"].endswith("crontabs/ana, line 2")


def test_a_user_looks_at_what_is_readable(tmp_path: Path) -> None:
    jobs = [job(1, "a", target={"shell": "x"})]
    assert list(doubles(jobs, 4_242_424, str(tmp_path))) == []
