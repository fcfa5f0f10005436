"""What `./install.sh` says when it cannot, and that it has changed nothing then."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from kit.host import IS_ROOT, Host, a_host


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
