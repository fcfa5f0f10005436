"""What becomes of jobs whose accounts are gone, ended, another's by now, or have no home."""

import os
import shutil
from collections.abc import Iterator

import pytest

from kit.accounts import Accounts, accounts, needs_root
from kit.as_user import TELL, job_of, open_home, told
from kit.daemon import Json, RealDaemon

pytestmark = [needs_root, pytest.mark.long]


@pytest.fixture(scope="module")
def made() -> Iterator[Accounts]:
    with accounts() as some:
        yield some


@pytest.fixture(scope="module")
def daemon(made: Accounts) -> Iterator[RealDaemon]:
    with open_home() as home:
        daemon = RealDaemon(home)
        try:
            yield daemon.start()
        finally:
            daemon.close()


def run(daemon: RealDaemon, job: Json) -> Json:
    return daemon.finished(daemon.triggered(str(job["id"])))


def free_numbers(count: int) -> list[int]:
    """Uids that useradd(8) gives to nobody by itself, and other test processes do not ask for."""
    first = 100_000 + os.getpid() * 8
    return [first + number for number in range(count)]


def refused(run: Json) -> str:
    """Why it was not started: for good, and without a second attempt."""
    assert (run["state"], run["class"], run["attempt"]) == ("dead", "spawn_error", 1), run
    return str(run["reason"])


@pytest.mark.case("F122")
def test_a_job_of_an_account_that_is_gone_fails_and_others_go_on(daemon: RealDaemon, made: Accounts) -> None:
    gone, other = made.users(2)
    job, still = job_of(daemon, gone, "gone", TELL), job_of(daemon, other, "still", TELL)
    named = daemon.add("named", TELL, user=gone.name)
    assert told(daemon, daemon.triggered(str(job["id"])))["uids"] == [gone.uid] * 3
    made.remove(gone)
    assert f"no such user: {gone.name}" in refused(run(daemon, job))
    assert f"no such user: {gone.name}" in refused(run(daemon, named))
    assert told(daemon, daemon.triggered(str(still["id"])))["uids"] == [other.uid] * 3
    assert daemon.client.status()["warnings"] == []


@pytest.mark.case("F122")
def test_a_new_account_with_an_old_number_or_an_old_name_inherits_nothing(daemon: RealDaemon, made: Accounts) -> None:
    one, two, three = free_numbers(3)
    first, second = made.user("-u", str(one)), made.user("-u", str(two))
    job, other = job_of(daemon, first, "number", TELL), job_of(daemon, second, "name", TELL)
    assert told(daemon, daemon.triggered(str(job["id"])))["uids"] == [first.uid] * 3
    made.remove(first)
    made.user("-u", str(one))
    assert f"no such user: {first.name}" in refused(run(daemon, job))
    made.remove(second)
    same = made.user("-u", str(three), name=second.name)
    assert (
        f"the account {same.name} has another number ({same.uid}) than when the job was made ({second.uid})"
        in refused(run(daemon, other))
    )


@pytest.mark.case("F122")
def test_an_expired_account_is_refused_and_a_locked_one_or_nologin_is_not(daemon: RealDaemon, made: Accounts) -> None:
    user = made.user("-s", "/usr/sbin/nologin")
    job = daemon.add("expires", TELL, user=user.name)
    made.modify(user, "-L")
    found = told(daemon, daemon.triggered("expires"))
    assert (found["uids"], found["env"]["SHELL"]) == ([user.uid] * 3, "/bin/sh")
    made.modify(user, "-e", "2001-01-01")
    assert f"the account {user.name} has expired" in refused(run(daemon, job))
    made.modify(user, "-e", "")
    assert told(daemon, daemon.triggered("expires"))["uids"] == [user.uid] * 3


@pytest.mark.case("F122")
@pytest.mark.parametrize("state", ["missing", "closed", "no folder"])
def test_a_home_that_cannot_be_entered_is_replaced_by_the_root_folder_with_a_note(
    daemon: RealDaemon, made: Accounts, state: str
) -> None:
    user = made.user(*(["-d", "/dev/null"] if state == "no folder" else []))
    home = "/dev/null" if state == "no folder" else str(user.home)
    if state == "missing":
        shutil.rmtree(user.home)
    elif state == "closed":
        os.chown(user.home, 0, 0)
        user.home.chmod(0o700)
    job = job_of(daemon, user, f"home-{state.replace(' ', '-')}", TELL)
    ended = daemon.triggered(str(job["id"]))
    found = told(daemon, ended)
    assert (found["cwd"], found["env"]["HOME"]) == ("/", home)
    shown = daemon.jobctl("show", "--run", str(ended["id"]))
    assert f"its home {home} cannot be entered" in shown.stdout, shown.stdout + shown.stderr
    named = job_of(daemon, user, f"cwd-{state.replace(' ', '-')}", TELL, cwd=home)
    assert f"working directory {home}" in refused(run(daemon, named))


def test_messages_are_delivered_as_the_jobs_user(daemon: RealDaemon, made: Accounts) -> None:
    user = made.user()
    where = user.home / "told"
    job = job_of(daemon, user, "tells", "exit 9", notify=[f"exec:id -un >>{where}; cat >>{where}"], retry={"max": 0})
    assert run(daemon, job)["state"] == "dead"
    daemon.until(lambda: where.exists() and "failed" in where.read_text())
    assert where.read_text().splitlines()[0] == user.name
    assert where.stat().st_uid == user.uid
