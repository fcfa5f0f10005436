"""Lines that cron runs and a job runs too."""

from typing import Any

from jobctl.crontabs.doubles import Double, KnownTable, find_doubles
from jobctl.crontabs.jobs import Origin
from jobctl.crontabs.read import read


def job(name: str, **fields: Any) -> dict[str, Any]:
    """As a list of the API has it: no variables, no input."""
    base = {"id": 1, "name": name, "owner": "root", "paused": False, "env": {}, "stdin": None, "user": None}
    return {**base, "schedule": {"cron": "0 3 * * *"}, "target": {"shell": "a"}, **fields}


TABLES = [
    KnownTable(
        Origin("/etc/crontab", "root"),
        read(b"SHELL=/bin/bash\n0  3 * * *\troot b\n0 3 * * * bob b\n5; * * * * root q\n", system=True),
    ),
    KnownTable(Origin("crontab of root", "root", "root"), read(b"0 3 * * * a%input\n@reboot boot\n")),
]


def doubles(*jobs: dict[str, Any]) -> list[Double]:
    return find_doubles(TABLES, jobs, caller="root")


def test_the_same_schedule_command_and_user_is_a_double() -> None:
    assert doubles(job("one")) == [Double("one", 1, "crontab of root", 1)]
    assert doubles(job("boot", schedule={"on_boot": True}, target={"shell": "boot"})) == [
        Double("boot", 1, "crontab of root", 2)
    ]


def test_a_shell_of_the_table_makes_no_difference() -> None:
    assert doubles(job("b", target={"command": ["/bin/bash", "-c", "b"]})) == [Double("b", 1, "/etc/crontab", 2)]
    assert doubles(job("b", user="bob", target={"command": ["/bin/bash", "-c", "b"]})) == [
        Double("b", 1, "/etc/crontab", 3)
    ]


def test_no_double() -> None:
    assert doubles(job("paused", paused=True)) == []
    assert doubles(job("of the table itself", declared="/var/spool/cron/crontabs/root")) == []
    assert doubles(job("other time", schedule={"cron": "1 3 * * *"})) == []
    assert doubles(job("other user", user="alice")) == []
    assert doubles(job("by hand", schedule=None)) == []
    assert doubles(job("quirk", schedule={"cron": "5; * * * *"}, target={"shell": "q"})) == []
