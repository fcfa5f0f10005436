"""What `./install.sh` says when it cannot, and that it has changed nothing then."""

import json
import subprocess
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import pytest

from jobctl.crontabs.record import Record, TakenHost
from kit.host import CRONTAB, IS_ROOT, Host, a_host

INSTALL = Path(__file__).parents[2] / "install.sh"


@pytest.fixture
def host() -> Iterator[Host]:
    with a_host() as made:
        yield made


def _nothing_is_made(host: Host) -> bool:
    return not [path for path in host.home.rglob("*") if path.is_file() or path.is_symlink()]


def _python_that_says(host: Host, answer: str) -> Path:
    return host.stand_in("other-python", f"#!/bin/sh\necho '{answer}'\n")


def test_help_needs_nothing(host: Host) -> None:
    done = host.install("--help", HOME="")
    assert done.returncode == 0
    assert done.stdout.startswith("usage: ./install.sh")


def test_it_also_starts_as_sh_install_sh(host: Host) -> None:
    assert host.run("sh", str(host.checkout / "install.sh"), "--help").returncode == 0


@pytest.mark.parametrize("home", ["", "somewhere", "/nonexistent"])
def test_without_a_home_it_says_so(host: Host, home: str) -> None:
    done = host.install(HOME=home)
    assert done.returncode == 2
    assert "HOME is" in done.stderr


@pytest.mark.parametrize(
    ("words", "says"), [(["--what"], "--what"), (["--python"], "a path"), (["--purge"], "--uninstall")]
)
def test_options_that_make_no_sense_are_refused(host: Host, words: list[str], says: str) -> None:
    done = host.install(*words)
    assert done.returncode == 2
    assert says in done.stderr


def test_an_old_python_is_named_with_its_version(host: Host) -> None:
    old = _python_that_says(host, "3.9.2 old venv")
    done = host.install("--python", str(old))
    assert done.returncode == 2
    assert f"Python 3.11 or newer is needed; {old} is 3.9.2" in done.stderr
    assert _nothing_is_made(host)


def test_no_python_at_all_is_told_apart(host: Host) -> None:
    done = host.install("--python", "/nonexistent/python3")
    assert done.returncode == 2
    assert "/nonexistent/python3 is no Python that runs" in done.stderr


def test_an_ordinary_user_is_told_the_command_that_brings_venv(host: Host) -> None:
    bare = _python_that_says(host, "3.12.1 new bare")
    done = host.install("--python", str(bare))
    assert done.returncode == 2
    assert f"{bare} cannot make environments" in done.stderr
    assert "as root: apt-get update && apt-get install -y other-python-venv" in done.stderr
    assert _nothing_is_made(host)


@pytest.mark.skipif(not IS_ROOT, reason="only root may install packages")
def test_root_lets_apt_bring_venv_and_shows_what_apt_says_when_it_cannot(host: Host) -> None:
    told = host.folder / "told"
    bare = _python_that_says(host, "3.12.1 new bare")
    host.stand_in(
        "apt-get", f'#!/bin/sh\necho "$*" >> {told}\n[ "$1" = update ] || {{ echo "E: no such thing"; exit 100; }}\n'
    )
    done = host.install("--python", str(bare), as_root=True)
    assert done.returncode == 2
    assert told.read_text().splitlines() == ["update", "install -y --no-install-recommends other-python-venv"]
    assert "E: no such thing" in done.stderr


def test_a_jobctl_from_elsewhere_is_left_alone(host: Host) -> None:
    foreign = host.home / ".local/bin/jobctl"
    foreign.parent.mkdir(parents=True)
    foreign.write_text("mine")
    done = host.install()
    assert done.returncode == 2
    assert f"{foreign} is there and not from this installer" in done.stderr
    assert foreign.read_text() == "mine"


def test_removing_what_is_not_there_is_no_error(host: Host) -> None:
    done = host.install("--uninstall", "--purge")
    assert done.returncode == 0, done.stderr
    assert _nothing_is_made(host)


def test_a_crontab_that_had_only_the_line_of_the_daemon_goes_with_it(host: Host) -> None:
    host.stand_in("crontab", CRONTAB)
    (host.home / "crontab").write_text("@reboot /nonexistent/jobd # jobctl: starts the daemon\n")
    done = host.install("--uninstall")
    assert (done.returncode, "the @reboot line is removed" in done.stdout) == (0, True), done.stderr
    assert not (host.home / "crontab").exists()


@pytest.mark.parametrize(("state", "code"), [("done", 1), ("stopped", 1), ("rolled back", 0)])
def test_jobctl_is_not_removed_from_a_host_whose_crontabs_it_runs(host: Host, state: str, code: int) -> None:
    manifest = host.home / ".local/state/jobctl/imports/20270101t000000-ab12/manifest.json"
    manifest.parent.mkdir(parents=True)
    record = Record("20270101t000000-ab12", "2027-01-01T00:00:00Z", state, host=TakenHost())
    manifest.write_text(json.dumps({"schema": 1, **asdict(record)}, indent=2))
    done = host.install("--uninstall")
    assert done.returncode == code
    assert ("jobctl import crontab --rollback" in done.stderr) == bool(code)


@pytest.mark.parametrize(
    ("ways", "trial", "todo"),
    [
        ("", "", "start one and run install.sh again, or have /b/jobd started"),
        ("", "/tmp/try", "jobctl daemon start starts it again"),
        ("init", "", "update-rc.d jobd defaults says why"),
        ("cron", "", "add to it: @reboot /b/jobd"),
    ],
)
def test_what_keeps_the_daemon_from_coming_back_is_told_with_what_to_do(ways: str, trial: str, todo: str) -> None:
    script = f"""
        eval "$(sed -n '/^arrange_return() /,/^}}/p; /^come_back_by() /,/^}}/p' {INSTALL})"
        ways_back() {{ echo {ways}; }}
        add_reboot_line() {{ return 1; }}
        write_init_script() {{ return 1; }}
        uid=0 bin=/b JOBCTL_HOME={trial}
        arrange_return || true
        echo "$returns $why"
    """
    told = subprocess.run(["bash", "-euc", script], capture_output=True, text=True, check=True).stdout
    assert told.startswith("no ")
    assert told.endswith(f"; {todo}\n")
