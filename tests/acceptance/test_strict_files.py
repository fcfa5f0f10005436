"""What root runs and others can change: told when the job is added and by doctor, refused where the operator says so.
And the environment of a login, which lines of crontabs have."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from kit.accounts import Account, accounts, needs_root
from kit.as_user import TELL, job_of, open_home
from kit.daemon import RealDaemon

pytestmark = [needs_root, pytest.mark.long]


@pytest.fixture(scope="module")
def user() -> Iterator[Account]:
    with accounts() as made:
        yield made.user()


@pytest.fixture(scope="module")
def daemon(user: Account) -> Iterator[RealDaemon]:
    with open_home() as home:
        made = RealDaemon(home)
        made.settings(f'strict_files = true\nhost_root = "{home}"\n')
        (home / "etc" / "default").mkdir(parents=True)
        (home / "etc" / "environment").write_text('LANG="de_DE.UTF-8"\nPATH=/games\nOF_LOGIN="a b"\n')
        (home / "etc" / "default" / "locale").write_text("LANG=fr_FR.UTF-8\n")
        try:
            yield made.start()
        finally:
            made.close()


@pytest.fixture
def folder() -> Iterator[Path]:
    with open_home() as place:
        place.mkdir()
        (place / "s.sh").write_text("#!/bin/sh\necho ran\n")
        (place / "s.sh").chmod(0o755)
        yield place


@pytest.mark.case("F126")
@pytest.mark.parametrize("weak", ["file", "folder", "owner", "env file", "cwd"])
def test_what_others_can_change_is_named_and_not_run(
    daemon: RealDaemon, user: Account, folder: Path, weak: str
) -> None:
    script, name = folder / "s.sh", f"weak-{weak.replace(' ', '-')}"
    argv, place = [str(script)], folder
    options: list[str] = []
    if weak == "file":
        script.chmod(0o757)
        place = script
    elif weak == "folder":
        folder.chmod(0o777)
    elif weak == "owner":
        os.chown(script, user.uid, -1)
        place = script
    elif weak == "env file":
        place = folder / "env"
        place.write_text("A=1\n")
        os.chown(place, user.uid, -1)
        options = ["--env-file", str(place)]
    else:
        os.chown(folder, user.uid, -1)
        argv, options = ["./s.sh"], ["--cwd", str(folder)]
    why = "can be written by everybody" if weak in ("file", "folder") else f"belongs to uid {user.uid}"
    added = daemon.jobctl("add", name, *options, "--", *argv, JOBCTL_OUTPUT="")
    assert added.returncode == 0, added.stderr
    assert f"warning: it runs as root, and {place} {why}" in added.stdout.replace("\n", " ") + added.stderr
    found = daemon.jobctl("doctor", "-o", "json")
    texts = [one["text"] for one in json.loads(found.stdout)["items"] if one["check"] == "trust"]
    assert any(text.startswith(f"{name} runs what others can change: {place} {why}") for text in texts), texts
    run = daemon.finished(daemon.triggered(name))
    assert (run["state"], run["class"], run["attempt"]) == ("dead", "spawn_error", 1)
    assert f"strict_files: others can change what it runs: {place} {why}" in run["reason"]
    assert daemon.output(run) == b""


def test_what_nobody_else_can_change_is_run_for_root_and_for_a_user(
    daemon: RealDaemon, user: Account, folder: Path
) -> None:
    daemon.add("good", [str(folder / "s.sh")])
    assert daemon.output(daemon.finished(daemon.triggered("good"))) == b"ran\n"
    os.chown(folder / "s.sh", user.uid, user.gid)
    (folder / "s.sh").chmod(0o775)  # the group is the user's alone
    job = job_of(daemon, user, "own", [str(folder / "s.sh")])
    assert daemon.output(daemon.finished(daemon.triggered(str(job["id"])))) == b"ran\n"


def test_a_line_of_a_crontab_has_the_environment_of_a_login(daemon: RealDaemon, user: Account) -> None:
    table = daemon.home / "table"
    table.write_text(f"PATH=/usr/bin:/bin\n0 0 1 1 * {user.name} env\n")
    done = daemon.jobctl("import", "crontab", str(table), "--system", "--apply", "--yes")
    assert done.returncode == 0, done.stdout + done.stderr
    (job,) = [job for job in daemon.client.jobs() if job["user"] == user.name]

    def environment() -> dict[str, str]:
        said = daemon.output(daemon.finished(daemon.triggered(str(job["id"]))))
        return dict(line.split("=", 1) for line in said.decode().splitlines())

    found = environment()
    assert (found["LANG"], found["OF_LOGIN"], found["PATH"]) == ("fr_FR.UTF-8", "a b", "/usr/bin:/bin")
    assert (found["HOME"], found["LOGNAME"]) == (str(user.home), user.name)
    (daemon.home / "etc" / "default" / "locale").write_text("LANG=it_IT.UTF-8\n")
    assert environment()["LANG"] == "it_IT.UTF-8"
    plain = daemon.finished(daemon.triggered(daemon.add("plain", TELL)["name"]))
    told = json.loads(daemon.output(plain))["env"]
    assert ("OF_LOGIN" in told, told["LANG"]) == (False, "C.UTF-8")
