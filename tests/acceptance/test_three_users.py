"""Three real users and the system's daemon: each sees and changes what is his own, and learns nothing of others."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from kit.accounts import Account, Accounts, accounts, needs_root, public_folder
from kit.daemon import CLI, RealDaemon, real_daemon
from kit.voices import Said, Voice, speaking

pytestmark = needs_root

NO_ACCOUNT = 54_321
OVERFLOW = int(Path("/proc/sys/kernel/overflowuid").read_text())


@dataclass
class Town:
    """The daemon, and the people with a voice each. Eve is in the admin group."""

    host: Accounts
    daemon: RealDaemon
    group: str
    people: dict[str, Account]
    voices: dict[str, Voice]
    stack: ExitStack

    def __getitem__(self, who: str) -> Voice:
        return self.voices[who]

    def another_voice(self, who: str) -> Voice:
        """A process that begins now: with the groups that the user has now."""
        return self.stack.enter_context(speaking(self.people[who].command([]), self.daemon.socket))

    def cli(self, who: str, *words: str) -> "subprocess.CompletedProcess[str]":
        """The command line, as that user would type it: with no other place than the socket."""
        path = os.pathsep.join(place for place in sys.path if place)
        return self.people[who].run(
            *CLI, *words, env={"JOBCTL_SOCKET": self.daemon.socket, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}
        )


@pytest.fixture(scope="module")
def town() -> Iterator[Town]:
    with ExitStack() as stack:
        folder = stack.enter_context(public_folder())
        host = stack.enter_context(accounts())
        ada, bob, eve = host.users(3)
        group = host.group(eve)
        (folder / "h" / "config").mkdir(parents=True)
        (folder / "h").chmod(0o755)
        (folder / "host" / "etc").mkdir(parents=True)
        settings = f'admin_group = "{group}"\nhost_root = "{folder}/host"\nlog_level = "info"\n'
        (folder / "h" / "config" / "jobd.toml").write_text(settings)
        daemon = stack.enter_context(real_daemon(folder / "h"))
        people = {"ada": ada, "bob": bob, "eve": eve}
        made = Town(host, daemon, group, people, {}, stack)
        for name in people:
            made.voices[name] = made.another_voice(name)
        yield made


def add(voice: Voice, name: str, shell: str = "echo secret", **fields: Any) -> dict[str, Any]:
    said = voice.ask("POST", "/v1/jobs", {"name": name, "target": {"shell": shell}, **fields})
    assert said.status == 201, said
    job: dict[str, Any] = said.json
    return job


def ran(voice: Voice, job: dict[str, Any]) -> dict[str, Any]:
    """A run of it that has ended."""
    run = voice.ask("POST", f"/v1/jobs/{job['id']}/runs")
    assert run.status == 201, run
    ended = voice.ask("GET", f"/v1/runs/{run.json['id']}?wait=30")
    assert ended.status == 200, ended
    shown: dict[str, Any] = ended.json
    return shown


def names(voice: Voice) -> set[str]:
    return {job["name"] for job in voice.ask("GET", "/v1/jobs").json["items"]}


def is_nothing(said: Said, asked: str, never: Said, number: str) -> None:
    """As if it had never been, to the byte."""
    assert (said.status, never.status) == (404, 404)
    one, other = (re.sub(rb"\b%s\b" % re.escape(text).encode(), b"#", answer.body) for text, answer in (
        (asked, said), (number, never),
    ))  # fmt: skip
    assert one == other


def test_each_is_served_as_itself_and_sees_and_changes_its_own_alone(town: Town) -> None:
    jobs = {who: add(town[who], f"of-{who}", "id -un; echo secret") for who in ("ada", "bob")}
    for who, job in jobs.items():
        assert job["owner"] == town.people[who].name
        run = ran(town[who], job)
        assert run["state"] == "succeeded", town.daemon.log()
        log = town[who].ask("GET", f"/v1/runs/{run['id']}/log").body
        assert log.split() == [town.people[who].name.encode(), b"secret"]
        other = "bob" if who == "ada" else "ada"
        for method, path in (
            ("GET", "/v1/jobs/{job}"), ("PATCH", "/v1/jobs/{job}"), ("DELETE", "/v1/jobs/{job}"),
            ("POST", "/v1/jobs/{job}/runs"), ("POST", "/v1/jobs/{job}/pause"), ("GET", "/v1/jobs/{job}/ledger"),
            ("GET", "/v1/runs/{run}"), ("GET", "/v1/runs/{run}/log"), ("GET", "/v1/runs/{run}/work"),
            ("GET", "/v1/runs/{run}/attempts"), ("POST", "/v1/runs/{run}/retry"), ("POST", "/v1/runs/{run}/kill"),
            ("GET", "/v1/runs/{run}?wait=1"),
        ):  # fmt: skip
            for selector in (str(job["id"]), job["name"]) if "{job}" in path else (str(run["id"]),):
                body = {"note": "x"} if method == "PATCH" else None
                said = town[other].ask(method, path.format(job=selector, run=selector), body)
                never = town[other].ask(method, path.format(job="99999", run="99999"), body)
                is_nothing(said, selector, never, "99999")
        assert b"secret" not in town[other].ask("GET", "/v1/events?after=0&follow=0").body
        assert b"of-" + who.encode() not in town[other].ask("GET", "/v1/events?snapshot=1&follow=0").body
        assert names(town[who]) & {"of-ada", "of-bob", "of-root"} == {f"of-{who}"}
        assert town[who].ask("GET", f"/v1/jobs/{job['id']}").json["rev"] == job["rev"]
    assert names(town["eve"]) >= {"of-ada", "of-bob"}
    assert {job["owner"] for job in town.daemon.client.jobs()} >= {town.people[who].name for who in jobs}


def test_a_key_is_of_its_owner(town: Town) -> None:
    draft = {"name": "keyed", "target": {"shell": "true"}}
    first = town["ada"].ask("POST", "/v1/jobs", draft, Idempotency_Key="k")
    other = town["bob"].ask("POST", "/v1/jobs", {**draft, "note": "another body"}, Idempotency_Key="k")
    assert (first.status, other.status) == (201, 201)
    assert town["ada"].ask("POST", "/v1/jobs", draft, Idempotency_Key="k").status == 200


def test_status_tells_an_ordinary_user_of_his_own(town: Town) -> None:
    status = town["bob"].ask("GET", "/v1/status").json
    assert status["caller"] == {"uid": town.people["bob"].uid, "name": town.people["bob"].name, "role": "user"}
    assert (status["runners"], status["services"], status["warnings"]) == ([], {}, [])
    assert town["eve"].ask("GET", "/v1/status").json["caller"]["role"] == "admin"
    assert town.daemon.client.status()["caller"]["role"] == "root"
    said = town.cli("bob", "status")
    assert said.returncode == 0, said
    assert "your own jobs" in said.stdout
    assert town.cli("bob", "owner", "ls").returncode == 6
    assert town.cli("bob", "daemon", "stop").returncode == 6
    assert town.cli("bob", "show", "of-ada").returncode == 3
    assert town.cli("bob", "doctor").returncode in (0, 1)


@pytest.mark.parametrize("uid", [OVERFLOW, NO_ACCOUNT])
def test_who_has_no_account_or_may_be_anybody_is_refused(town: Town, uid: int) -> None:
    begin = ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups", "--"]
    with speaking(begin, town.daemon.socket) as voice:
        for method, path in (("GET", "/v1/status"), ("GET", "/v1/jobs"), ("POST", "/v1/daemon/stop"), ("GET", "/v1/x")):
            said = voice.ask(method, path)
            assert (said.status, said.json["code"]) == (403, "forbidden"), said
            assert "secret" not in said.body.decode()


def test_the_lists_are_read_again_when_they_change(town: Town) -> None:
    config, host = town.daemon.home / "config", town.daemon.home.parent / "host" / "etc"
    ada, bob = town.people["ada"].name, town.people["bob"].name

    def served() -> list[int]:
        return [town[who].ask("GET", "/v1/jobs").status for who in ("ada", "bob")]

    assert served() == [200, 200]
    (host / "cron.deny").write_text(f"somebody\n{ada}\n")
    assert served() == [403, 200]
    assert town.cli("ada", "ls").returncode == 6
    (config / "deny").write_text(f"{bob}\n")  # ours are there, so cron's do not count
    assert served() == [200, 403]
    (config / "allow").write_text(f"{ada}\n{bob}\n")
    assert served() == [200, 200]
    (config / "allow").write_text("")
    assert served() == [403, 403]
    assert town.daemon.client.status()["caller"]["role"] == "root"
    for path in (config / "allow", config / "deny", host / "cron.deny"):
        path.unlink()
    assert served() == [200, 200]


@pytest.mark.case("F123")
def test_a_role_that_is_taken_away_ends_at_the_next_request_and_in_what_is_open(town: Town) -> None:
    """Her processes still carry the group: the database says that she is no member."""
    eve, before = town["eve"], town.another_voice("eve")
    add(town["ada"], "there-before")
    assert names(eve) >= {"there-before"}
    before.keep("events", b"GET /v1/events HTTP/1.0\r\n\r\n")
    before.until("events", b"\r\n\r\n")
    add(town["ada"], "seen-by-eve")
    before.until("events", b"seen-by-eve")
    town.host.leave(town.people["eve"], town.group)
    try:
        assert names(eve) == set()
        assert eve.ask("POST", "/v1/daemon/pause").status == 403
        assert eve.ask("PATCH", "/v1/jobs/seen-by-eve", {"note": "x"}).status == 404
        add(town["ada"], "hidden-from-eve")
        add(before, "of-eve")
        said, closed = before.until("events", b"of-eve")
        assert not closed
        assert b"hidden-from-eve" not in said
    finally:
        town.host.join(town.people["eve"], town.group)
        before.drop("events")
    assert names(town.another_voice("eve")) >= {"hidden-from-eve"}


@pytest.mark.case("F106", "F123")
def test_an_ordinary_user_commands_nothing_of_roots(town: Town) -> None:
    root = town.daemon.add("of-root", "echo secret", env={"TOKEN": "secret"})
    run = town.daemon.finished(town.daemon.triggered("of-root"))
    ada = town["ada"]
    forged = {"name": "x", "target": {"shell": "id"}, "uid": 0, "owner": "root"}
    assert ada.ask("POST", "/v1/jobs", forged).status == 422
    assert ada.ask("POST", "/v1/jobs", {"name": "x", "target": {"shell": "id"}, "user": "root"}).status == 403
    assert ada.ask("POST", "/v1/runs", {"target": {"shell": "id"}, "user": "root"}).status == 403
    for method, path in (
        ("GET", f"/v1/runs/{run['id']}/log"), ("POST", f"/v1/jobs/{root['id']}/runs"),
        ("POST", "/v1/jobs/of-root/pause"),
        ("POST", f"/v1/runs/{run['id']}/kill"), ("DELETE", f"/v1/jobs/{root['id']}"),
    ):  # fmt: skip
        assert ada.ask(method, path).status == 404, path
    for method, path in (("POST", "/v1/daemon/stop"), ("POST", "/v1/backup"), ("POST", "/v1/daemon/pause")):
        assert ada.ask(method, path).status == 403, path
    # Who is in the admin group runs it as it is, and changes nothing of what it runs.
    eve = town.another_voice("eve")
    again = ran(eve, root)
    assert eve.ask("GET", f"/v1/runs/{again['id']}/log").body == b"secret\n"
    assert eve.ask("PATCH", f"/v1/jobs/{root['id']}", {"target": {"shell": "id"}}).status == 403
    assert eve.ask("POST", f"/v1/jobs/{root['id']}/runs", {"target": {"shell": "id"}}).status == 422
    assert town.daemon.client.job("of-root")["target"] == {"shell": "echo secret"}


@pytest.mark.case("F125")
@pytest.mark.parametrize(
    "text",
    ["../../etc/passwd", "..%2f..%2fetc%2fpasswd", "%2e%2e", "x%2f..", "1%00", "/etc/passwd", "9" * 400, "1/../2"],
)
def test_no_name_and_no_id_becomes_a_path(town: Town, text: str) -> None:
    for path in (f"/v1/runs/{text}/log", f"/v1/runs/{text}", f"/v1/jobs/{text}", f"/v1/runs/{text}/attempts"):
        said = town["ada"].raw(f"GET {path} HTTP/1.0\r\n\r\n".encode())
        assert said.split(b" ", 2)[1] in (b"404", b"422", b"400"), said
        assert b"root:" not in said


@pytest.mark.case("F125")
def test_a_job_that_is_called_like_a_path_has_a_log_like_any_other(town: Town) -> None:
    job = add(town["bob"], "a/../../b")
    run = ran(town["bob"], job)
    assert town["bob"].ask("GET", f"/v1/runs/{run['id']}/log").body == b"secret\n"
    runs = town.daemon.home / "state" / "runs"
    assert all(path.name.replace("-", "").removesuffix(".log").isdigit() for path in runs.rglob("*"))


@pytest.mark.case("F122")
def test_a_renamed_account_has_what_it_had_once_root_says_so(town: Town) -> None:
    dan = town.host.user()
    with speaking(dan.command([]), town.daemon.socket) as voice:
        job = add(voice, "of-dan", "id -un")
        assert town.daemon.client.job("of-dan")["owner"] == dan.name
    renamed = town.host.rename(dan)
    with speaking(renamed.command([]), town.daemon.socket) as voice:
        assert names(voice) == set()
        lost = town.daemon.finished(town.daemon.triggered("of-dan"))
        assert (lost["state"], lost["class"]) == ("dead", "spawn_error"), lost
        listed = {owner["name"]: owner for owner in town.daemon.client.owners()}
        assert (listed[dan.name]["account"], listed[dan.name]["uid_is_now"]) == ("gone", renamed.name)
        done = town.daemon.jobctl("owner", "rename", dan.name, renamed.name)
        assert done.returncode == 0, done
        assert names(voice) == {"of-dan"}
        run = ran(voice, job)
        assert voice.ask("GET", f"/v1/runs/{run['id']}/log").body.split() == [renamed.name.encode()]


def test_one_user_cannot_use_up_the_connections_of_the_others(town: Town) -> None:
    """Ada takes all she gets, with streams that are never idle; the others go on, and root too."""
    ada, bob = town.another_voice("ada"), town.another_voice("bob")
    stream = b"GET /v1/events HTTP/1.0\r\n\r\n"
    got = 0
    for number in range(80):
        ada.keep(f"c{number}", stream)
        said, closed = ada.until(f"c{number}", b"\r\n\r\n")
        got += b" 200 " in said.split(b"\r\n", 1)[0]
        assert closed == (b" 503 " in said) or not closed
    assert got == 64
    assert bob.ask("GET", "/v1/jobs").status == 200
    assert town.daemon.client.status()["state"] == "running"
    for number in range(80):
        ada.drop(f"c{number}")
