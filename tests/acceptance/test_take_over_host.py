"""A whole host goes from cron to jobd and back, with the real system daemon, in a host of its own."""

import contextlib
import json
import os
import pty
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from jobctl.errors import Conflict
from kit.daemon import CLI
from kit.own_host import OwnHost, needs_root, own_host

pytestmark = [needs_root, pytest.mark.long]

NOBODY = 65534
TABLES = {
    "/etc/crontab": b"SHELL=/bin/sh\n17 3 1 1 * root one\n0,20,40 2 * * * root many\n",
    "/etc/cron.d/good": b"0 4 1 1 * daemon two\n5; * * * * root odd\n",
    "/etc/cron.d/bad": b"0 5 1 1 * root begins\n61 * * * * root wrong\n",
    "/var/spool/cron/crontabs/nobody": b"CRON_TZ=Asia/Tokyo\n0 3 * * * three # note\n@reboot boot\n",
}
#: The lines of them that become jobs.
JOBS = ["begins", "boot", "many", "one", "three", "two"]


@pytest.fixture
def host(tmp_path: Path) -> Iterator[OwnHost]:
    with own_host(tmp_path / "host") as made:
        for name, data in TABLES.items():
            made.write(name, data, 0o600, NOBODY if name.endswith("nobody") else 0)
        yield made


def apply(host: OwnHost, *options: str, code: int | None = 0) -> Any:
    done = host.jobctl("import", "crontab", "--system", "--apply", "--yes", "--json", *options, code=code)
    return json.loads(done.stdout)["applied"] if done.returncode == 0 else done.stderr


def jobs(host: OwnHost) -> list[str]:
    return sorted(job["name"] for job in host.client.jobs())


def live(host: OwnHost) -> bool:
    return bool(host.client.crontabs()["live"])


def unchanged(host: OwnHost) -> bool:
    return all(host.path(name).read_bytes() == data for name, data in TABLES.items())


def test_a_report_tells_what_would_be_different_and_changes_nothing(host: OwnHost) -> None:
    host.with_systemd()
    text = host.jobctl("import", "crontab", "--system").stdout  # without a daemon
    assert "1 line that cron ignores today would BEGIN to run: /etc/cron.d/bad, line 1" in text
    assert "1 line that cron runs today would NOT run any more: /etc/cron.d/good, line 2" in text
    assert "runs; cron.service starts it at boot" in text
    assert "every command also has USER" in text
    report = host.json("import", "crontab", "--system")
    assert {one["kind"] for one in report["differences"]} >= {"begins", "stops", "zone"}
    summary = report["host"]
    assert (summary["tables"], summary["jobs"], summary["left"], summary["refused"]) == (4, 6, 1, 1)
    assert summary["users"] == ["daemon", "nobody", "root"]
    assert summary["dropped"] == ["/etc/cron.d/bad"]
    assert summary["cron"]["services"] == [
        {"manager": "systemd", "name": "cron.service", "enabled": True, "active": True}
    ]
    assert len(host.crons()) == 1
    assert unchanged(host)
    assert not host.path("/var/lib/jobctl").exists()
    host.jobctl("import", "crontab", "--system", "--tz", "UTC", code=2)
    assert "there is nobody to ask" in host.jobctl("import", "crontab", "--system", "--apply", code=2).stderr


def test_a_host_is_taken_over_as_it_stands_and_given_back(host: OwnHost) -> None:
    host.with_systemd()
    host.start_jobd()
    applied = apply(host)
    assert (host.crons(), (host.folder / "enabled").exists()) == ([], False)
    assert applied["steps"] == [
        "cron.service is stopped and will not start at boot",
        "the crontabs of this host are run by jobd",
    ]
    assert {table["path"]: table["jobs"] for table in applied["tables"]} == {
        "/etc/crontab": 2, "/etc/cron.d/good": 1, "/etc/cron.d/bad": 1, "/var/spool/cron/crontabs/nobody": 2,
    }  # fmt: skip
    assert jobs(host) == JOBS
    assert unchanged(host)
    manifest = json.loads(host.path(f"/var/lib/jobctl/imports/{applied['import']}/manifest.json").read_bytes())
    assert (manifest["state"], manifest["host"]["since"]) == ("done", applied["since"])

    assert apply(host)["import"] is None
    doctor = {item["check"]: item for item in host.json("doctor", code=None)["items"]}
    assert doctor["cron"]["text"] == "jobd runs the crontabs of this host, and no cron does"
    assert doctor["double"]["level"] == "ok"

    undone = host.json("import", "crontab", "--rollback")
    assert undone["steps"][1:] == ["cron.service starts at boot and runs again"]
    assert (len(host.crons()), (host.folder / "enabled").exists(), live(host)) == (1, True, False)
    assert jobs(host) == []
    assert unchanged(host)
    host.jobctl("import", "crontab", "--rollback", code=3)


def asked(host: OwnHost, answer: bytes) -> tuple[int, str]:
    """On a terminal: the exit code, and what was said on it."""
    ours, theirs = pty.openpty()
    os.write(ours, answer)
    process = subprocess.Popen(
        host.command(*CLI, "import", "crontab", "--system", "--apply"),
        env=host.environ, stdin=theirs, stdout=subprocess.DEVNULL, stderr=theirs,
    )  # fmt: skip
    os.close(theirs)
    said = b""
    with contextlib.suppress(OSError):  # EIO: nobody has it open any more
        while piece := os.read(ours, 4096):
            said += piece
    os.close(ours)
    return process.wait(60), said.decode()


def test_a_person_is_asked_and_told_what_is_at_stake(host: OwnHost) -> None:
    host.with_systemd()
    host.start_jobd()
    code, said = asked(host, b"n\n")
    assert (code, len(host.crons()), live(host)) == (5, 1, False)
    words = " ".join(said.split())
    assert "1 line that cron ignores today would BEGIN to run: /etc/cron.d/bad, line 1" in words
    assert "stop cron, and have jobd run the 4 tables of this host, 6 lines? [y/N]" in words
    code, _ = asked(host, b"y\n")
    assert (code, host.crons(), live(host)) == (0, [], True)
    host.jobctl("import", "crontab", "--rollback")


def test_lines_of_a_table_that_jobd_runs_are_not_taken_out_of_it(host: OwnHost) -> None:
    table = b"0 3 1 1 * mine\n"
    host.write("/var/spool/cron/crontabs/root", table)
    host.stand_in("crontab", '#!/bin/sh\n[ "$1" = -l ] && exec cat /var/spool/cron/crontabs/root\nexit 9\n')
    host.start_jobd()
    apply(host)
    again = json.loads(host.jobctl("import", "crontab", "--apply", "--json").stdout)
    assert [item["imported_as"] for item in again["items"]] == ["mine"]
    assert again["applied"]["import"] is None
    assert host.path("/var/spool/cron/crontabs/root").read_bytes() == table
    host.jobctl("import", "crontab", "--rollback")
    assert jobs(host) == []


def test_boot_lines_do_not_run_in_the_boot_in_which_the_host_is_taken_over(host: OwnHost) -> None:
    host.write("/var/spool/cron/crontabs/nobody", f"@reboot date >>{host.folder}/booted\n", 0o600, NOBODY)
    host.folder.chmod(0o777)
    host.start_cron()
    host.start_jobd()
    apply(host)
    host.jobctl("daemon", "stop")
    host.jobctl("daemon", "start")
    assert live(host)
    assert not list(host.client.runs())
    host.jobctl("import", "crontab", "--rollback")
    assert host.path("/run/crond.reboot").exists()


@pytest.mark.parametrize(
    ("dies", "cron_runs"), [("before 1 disable", True), ("after 1 disable", False), ("before 5 show", False)]
)
def test_a_takeover_that_is_killed_is_finished_or_undone_by_the_next(
    host: OwnHost, dies: str, cron_runs: bool
) -> None:  # fmt: skip
    host.with_systemd()
    host.start_jobd()
    (host.folder / "die").write_text(dies)
    host.jobctl("import", "crontab", "--system", "--apply", "--yes", code=-9)
    assert bool(host.crons()) == cron_runs
    assert not (host.crons() and live(host))
    if not cron_runs:
        said = host.jobctl("status", code=None).stdout
        assert "taking the host over was cut short" in said
    assert apply(host)["import"] is None  # it was finished first
    assert (host.crons(), live(host), jobs(host)) == ([], True, JOBS)

    (host.folder / "die").write_text("before 1 enable")
    host.jobctl("import", "crontab", "--rollback", code=-9)
    assert (host.crons(), live(host)) == ([], False)
    host.jobctl("import", "crontab", "--rollback")
    assert (len(host.crons()), live(host), (host.folder / "enabled").exists()) == (1, False, True)
    assert unchanged(host)


def test_a_cron_that_will_not_go_keeps_the_host(host: OwnHost) -> None:
    host.with_systemd()
    host.start_jobd()
    (host.folder / "broken").touch()
    said = apply(host, code=5)
    assert "this failed, everything is put back" in said
    assert "Failed to disable unit" in said
    assert (len(host.crons()), live(host), jobs(host)) == (1, False, [])


def test_without_a_manager_the_process_is_ended_and_started_again(host: OwnHost) -> None:
    host.start_cron()
    host.start_jobd(returns=None)
    said = apply(host, code=5)
    assert "after the next boot neither cron nor jobd would run" in said
    assert len(host.crons()) == 1
    host.write("/var/lib/jobctl/returns-after-reboot", "yes\tcron starts it, by an @reboot line in the crontab\n")
    host.jobctl("daemon", "stop")
    host.jobctl("daemon", "start")
    assert "at boot it is cron that starts jobd" in apply(host, code=5)
    assert apply(host, "--force")["steps"][0].startswith("ended cron, pid ")
    assert host.crons() == []
    host.jobctl("import", "crontab", "--rollback")
    assert len(host.crons()) == 1


def test_a_cron_beside_jobd_is_found_and_refused(host: OwnHost) -> None:
    host.with_systemd()
    host.start_jobd()
    with pytest.raises(Conflict, match="runs, and would run every line too"):
        host.client.set_crontabs_live(on=True)
    assert not live(host)
    apply(host)
    host.start_cron()
    assert "runs beside jobd: 6 lines of this host's tables run twice" in host.jobctl("status", code=None).stdout
    assert "run twice" in host.jobctl("status", "--check", code=1).stdout
    findings = host.json("doctor", code=1)["items"]
    assert [item["level"] for item in findings if item["check"] == "cron"] == ["bad"]
    assert apply(host)["steps"] == ["cron.service is stopped and will not start at boot",
                                    ] or host.crons() == []  # fmt: skip
    assert host.crons() == []
    host.jobctl("import", "crontab", "--rollback")
    assert (host.folder / "enabled").exists()


def test_a_host_goes_back_also_when_jobd_does_not_answer(host: OwnHost) -> None:
    host.with_systemd()
    host.start_jobd()
    apply(host)
    host.jobctl("daemon", "stop")
    said = host.jobctl("--no-start", "import", "crontab", "--rollback", code=4).stderr
    assert "--force" in said
    assert host.crons() == []
    host.jobctl("--no-start", "import", "crontab", "--rollback", "--force")
    assert len(host.crons()) == 1
    host.jobctl("import", "crontab", "--rollback")  # starts jobd, which lets go
    assert (live(host), jobs(host), len(host.crons())) == (False, [], 1)


def test_lines_can_be_taken_out_of_the_tables_and_cron_goes_on(host: OwnHost) -> None:
    host.with_systemd()
    host.start_jobd()
    applied = apply(host, "--comment-out")
    assert sorted(applied["created"]) == JOBS
    assert b"#jobctl# 17 3" in host.path("/etc/crontab").read_bytes()
    assert (len(host.crons()), live(host)) == (1, False)
    host.jobctl("import", "crontab", "--rollback")
    assert unchanged(host)
    assert jobs(host) == []
