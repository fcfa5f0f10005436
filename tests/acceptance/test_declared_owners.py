"""Files of jobs of several real users: of the system's daemon, of a user's own, and applied by anybody."""

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kit.accounts import Account, accounts, needs_root
from kit.as_user import ask, open_home
from kit.daemon import Json, RealDaemon
from kit.watches import no_watches_left

pytestmark = [needs_root, pytest.mark.long]

PROGRAM = [sys.executable, "-c", "from jobctl.cli.main import main; main()"]


@pytest.fixture(scope="module")
def users() -> Iterator[list[Account]]:
    with accounts() as some:
        yield some.users(2)


@pytest.fixture(scope="module")
def system(users: list[Account]) -> Iterator[RealDaemon]:
    with open_home() as home:
        (home / "config" / "jobs.d").mkdir(parents=True)
        made = RealDaemon(home)
        try:
            yield made.start()
        finally:
            made.close()


@pytest.fixture
def own(users: list[Account]) -> Iterator[tuple[RealDaemon, Account]]:
    """A daemon of the first user's."""
    user = users[0]
    with open_home() as home:
        home.mkdir()
        os.chown(home, user.uid, user.gid)
        made = RealDaemon(home)
        made.within = user.command
        made.environ = {**user.environ, "JOBCTL_HOME": str(home)}
        try:
            yield made.start(), user
        finally:
            made.close()


def jobctl(daemon: RealDaemon, user: Account, *words: str, stdin: str = "") -> Any:
    return user.run(*PROGRAM, *words, env={"JOBCTL_SOCKET": daemon.socket}, input=stdin)


def write(path: Path, text: str, user: Account | None = None, mode: int = 0o644) -> Path:
    path.write_text(text)
    path.chmod(mode)
    if user is not None:
        os.chown(path, user.uid, user.gid)
    return path


def jobs(daemon: RealDaemon) -> dict[str, Json]:
    return {f"{job['owner']}:{job['name']}": job for job in daemon.client.jobs(done=True)}


@pytest.mark.case("F112")
def test_a_file_that_cannot_be_read_leaves_its_jobs_as_they_are(own: tuple[RealDaemon, Account]) -> None:
    daemon, user = own
    folder = daemon.home / "config" / "jobs.d"
    folder.mkdir(parents=True, exist_ok=True)
    for made in (folder.parent, folder):
        os.chown(made, user.uid, user.gid)
    path = write(folder / "a.toml", "[job.a]\nshell = 'true'\n", user)
    assert daemon.client.apply_folder()["files"][0]["problems"] == []
    path.chmod(0)
    (told,) = daemon.client.apply_folder()["files"]
    assert "cannot be read: Permission denied; its jobs stay as they are" in told["problems"][0]["reason"]
    daemon.restart()
    assert set(jobs(daemon)) == {f"{user.name}:a"}
    for owner, mode, taken in ((user, 0o664, True), (None, 0o644, True), (user, 0o666, False)):
        write(path, f"[job.a]\nshell = 'true'\nnote = '{mode:o}{taken}'\n", owner, mode)
        if owner is None:
            os.chown(path, 0, 0)
        daemon.client.apply_folder()
        assert (jobs(daemon)[f"{user.name}:a"]["note"] == f"{mode:o}{taken}") is taken
    shutil.rmtree(folder)


@pytest.mark.case("F111")
def test_without_watches_changes_are_found_by_looking(users: list[Account]) -> None:
    user = users[1]
    with open_home() as home, no_watches_left(user):
        folder = home / "config" / "jobs.d"
        folder.mkdir(parents=True)
        for made in (home, folder.parent, folder):
            os.chown(made, user.uid, user.gid)
        daemon = RealDaemon(home)
        daemon.within = user.command
        daemon.environ = {**user.environ, "JOBCTL_HOME": str(home)}
        try:
            daemon.start()
            told = daemon.until(lambda: [text for text in daemon.client.status()["warnings"] if "jobs" in text])
            assert "fs.inotify.max_user_instances" in told[0]
            for name in ("a", "b"):
                write(folder / "a.toml", f"[job.{name}]\nshell = 'true'\n", user)
                daemon.until(lambda name=name: set(jobs(daemon)) == {f"{user.name}:{name}"})
            write(folder / "a.toml", "", user)
            daemon.client.apply_folder()  # by hand it always works
            assert not jobs(daemon)
        finally:
            daemon.close()


def test_jobs_of_the_systems_files_run_as_the_file_says(system: RealDaemon, users: list[Account]) -> None:
    path = system.home / "config" / "jobs.d" / "host.toml"
    whoami = 'command = ["/usr/bin/id", "-un"]\n'
    text = f'[job.who]\n{whoami}user = "{users[0].name}"\n[job.root]\n{whoami}'
    write(path, text + "[job.ghost]\nshell = 'true'\nuser = 'jt-nobody-at-all'\n")
    (told,) = system.client.apply_folder()["files"]
    assert told["problems"][0]["line"] == 8
    assert "there is no user 'jt-nobody-at-all'" in told["problems"][0]["reason"]
    write(path, text)
    assert system.client.apply_folder()["files"][0]["problems"] == []
    assert set(jobs(system)) >= {"root:who", "root:root"}
    for name, who in (("who", users[0].name), ("root", "root")):
        assert system.output(system.finished(system.triggered(name))).decode().strip() == who
    for user in users:
        assert ask(system, user, "apply", str(path), [], prune=True)["items"] == []
        done = jobctl(system, user, "apply")
        assert done.returncode == 6
        assert "jobs.d are root's" in done.stderr
        assert jobctl(system, user, "diff").returncode == 6
    assert set(jobs(system)) >= {"root:who", "root:root"}
    write(path, "")
    system.client.apply_folder()


@pytest.mark.case("F112")
def test_nobody_puts_jobs_under_a_file_of_the_systems_that_would_go_with_its_next_change(
    system: RealDaemon, users: list[Account]
) -> None:
    path = write(system.home / "config" / "jobs.d" / "theirs.toml", "[job.roots]\nshell = 'true'\n")
    system.client.apply_folder()
    path.parent.chmod(0o755)
    path.parent.parent.chmod(0o755)
    refused = jobctl(system, users[0], "apply", str(path))
    assert (refused.returncode, f"{path} is one of the files of jobs of root" in refused.stderr) == (6, True), (
        refused.stderr
    )
    path.unlink()
    system.client.apply_folder()
    assert not [name for name in jobs(system) if name.endswith(":roots")]


def test_each_applies_for_himself_and_nobody_hears_of_it(system: RealDaemon, users: list[Account]) -> None:
    one, two = users
    text = '[job.mine]\ncommand = ["/usr/bin/id", "-un"]\n'
    for user in users:
        done = jobctl(system, user, "apply", "-", stdin=text)
        assert done.returncode == 0, done.stderr
    assert set(jobs(system)) == {f"{user.name}:mine" for user in users}
    done = jobctl(system, one, "apply", "-", "--prune", stdin='[job.other]\nshell = "true"\n')
    assert "removed  mine" in done.stdout
    assert set(jobs(system)) == {f"{one.name}:other", f"{two.name}:mine"}
    run = system.finished(ask(system, two, "trigger", "mine", {}))
    assert system.output(run).decode().strip() == two.name
    refused = jobctl(system, one, "apply", "-", stdin='[job.x]\nshell = "true"\nuser = "root"\nnice = -5\n')
    assert refused.returncode == 2
    assert "stdin:3:8: " in refused.stderr
    assert "only root" in refused.stderr
    assert "stdin:4:8: " in refused.stderr
    shown = jobctl(system, one, "export", "jobs").stdout
    assert "[job.other]" in shown
    assert "mine" not in shown
