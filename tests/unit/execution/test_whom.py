"""Who a command runs as, and when that is refused."""

from typing import Any

import msgspec
import pytest

from jobctl.errors import InvalidInput
from jobctl.model import Execution, Policies
from jobctl.states import Trigger
from jobctl_daemon.execution.identity import User
from jobctl_daemon.execution.request import Host, environment, start_message
from jobctl_daemon.execution.whom import Whom, confirmed, whom
from jobctl_daemon.rows import Claim

DAY_MS = 86_400_000
ROOT = User("root", 0, 0, "/root", (0,))
ADA = User("ada", 1000, 1000, "/home/ada", (1000, 27))
CLAIM = Claim(
    run_id=1, fence=2, attempt=1, key="k", job_id=1, job_uid="u", job_name="j", version=1, owner_uid=1000, slot_ms=0,
    due_ms=0, trigger=Trigger.MANUAL, timezone="UTC", execution=Execution(command=["true"]), policies=Policies(),
    owner_name="ada",
)  # fmt: skip


def claim(user: str | None = None, **fields: Any) -> Claim:
    work = msgspec.structs.replace(CLAIM.execution, user=user, **fields.pop("work", {}))
    return msgspec.structs.replace(CLAIM, execution=work, **fields)


def test_in_roots_daemon_it_is_the_owner_by_name_and_number_or_a_user_by_name() -> None:
    assert whom(claim(), ROOT) == Whom("ada", 1000)
    assert whom(claim("bob"), ROOT) == Whom("bob", None)
    assert whom(claim("root"), ROOT) is None
    assert whom(claim(owner_uid=0, owner_name="root"), ROOT) is None
    with pytest.raises(InvalidInput, match="whose job"):
        whom(claim(owner_uid=-1, owner_name=""), ROOT)


def test_a_users_daemon_runs_everything_as_itself() -> None:
    assert whom(claim(), ADA) is None
    assert whom(claim(owner_uid=0, owner_name="root"), ADA) is None
    assert whom(claim("ada"), ADA) is None


def test_the_account_must_be_the_one_that_was_meant_and_not_have_ended() -> None:
    assert confirmed(Whom("ada", 1000), ADA, 0) is ADA
    with pytest.raises(InvalidInput, match=r"another number \(1000\) than when the job was made \(999\)"):
        confirmed(Whom("ada", 999), ADA, 0)
    ends = User("ada", 1000, 1000, "/", (), expires_day=20_000)
    assert confirmed(Whom("ada"), ends, 20_000 * DAY_MS - 1) is ends
    with pytest.raises(InvalidInput, match="the account ada has expired"):
        confirmed(Whom("ada"), ends, 20_000 * DAY_MS)


def test_the_environment_of_a_login_loses_to_what_cron_sets_itself() -> None:
    host = Host(ROOT, "/sbin:/bin", {"PASSED": "1", "LANG": "passed"}, "/usr/bin:/bin")
    login = {"LANG": "de_DE.UTF-8", "PATH": "/games", "HOME": "/x", "SHELL": "/x", "LOGNAME": "x", "EXTRA": "1"}
    found = environment(claim(work={"env": {"EXTRA": "2"}}), host, ADA, login)
    assert {name: found[name] for name in ("LANG", "PATH", "HOME", "SHELL", "LOGNAME", "EXTRA", "PASSED")} == {
        "LANG": "de_DE.UTF-8",
        "PATH": "/usr/bin:/bin",
        "HOME": "/home/ada",
        "SHELL": "/bin/sh",
        "LOGNAME": "ada",
        "EXTRA": "2",
        "PASSED": "1",
    }
    assert environment(claim(), host, ROOT)["PATH"] == "/sbin:/bin"


def test_the_message_names_the_home_and_what_may_stand_in_for_it() -> None:
    host = Host(ROOT, "/bin")
    message = start_message(claim(), host, ADA, "/log")
    assert (message["cwd"], message["cwd_else"], message["trusted"]) == ("/home/ada", "/", None)
    assert message["user"] == {"name": "ada", "uid": 1000, "gid": 1000, "groups": [1000, 27]}
    named = start_message(claim(work={"cwd": "/srv"}), host, ADA, "/log")
    assert (named["cwd"], named["cwd_else"]) == ("/srv", None)
    odd = start_message(claim(), host, User("x", 5, 6, "", ()), "/log")
    assert odd["cwd"] == "/"
    strict = start_message(claim(), Host(ROOT, "/bin", strict=True), ADA, "/log")
    assert strict["trusted"] == {"uids": [0, 1000], "gids": [0]}


def test_a_log_of_others_than_root_has_no_more_than_all_logs_may_have() -> None:
    host = Host(ROOT, "/bin", log_most=5_000)
    assert start_message(claim(), host, ADA, "/log")["log_max"] == 5_000
    small = msgspec.structs.replace(claim(), policies=Policies(log_max=4_096))
    assert start_message(small, host, ADA, "/log")["log_max"] == 4_096
    of_root = msgspec.structs.replace(claim(), owner_uid=0)
    assert start_message(of_root, host, ADA, "/log")["log_max"] == Policies().log_max
