"""A host's crontabs, run as they stand: loaded, edited, broken, removed; nothing is lost, and nothing fires twice."""

import json
import os
import re
import select
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from jobctl.crontabs import read
from jobctl.crontabs.users import HostUsers
from kit.accounts import needs_root
from kit.crontab_host import CrontabHost, commands, four_lines, jobs, live_host, never_soon, place, soon, table, users
from kit.daemon import RealDaemon

pytestmark = needs_root

Json = dict[str, Any]
HANDED = Path(__file__).parents[1] / "data" / "crontabs"
CASES = [json.loads(line) for line in (HANDED / "index.jsonl").read_text("utf-8").splitlines()]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[CrontabHost, RealDaemon]]:
    with live_host(tmp_path_factory.mktemp("live")) as made:
        yield made


@pytest.fixture
def host(whole: tuple[CrontabHost, RealDaemon]) -> Iterator[CrontabHost]:
    """Without a table, before and after."""
    yield whole[0]
    whole[0].clear(whole[1])


@pytest.fixture
def daemon(whole: tuple[CrontabHost, RealDaemon]) -> RealDaemon:
    return whole[1]


# ── the handed crontabs ──────────────────────────────────────────────


class Expected:
    """What a handed file must become, by its index: the lines with a job, and those with a reason instead."""

    def __init__(self, case: Json, name: str) -> None:
        self.name, self.data = name, (HANDED / case["file"]).read_bytes()
        exists = HostUsers()
        self.lines = {job["line"]: job for job in case["jobs"]}
        refused = {line for line, job in self.lines.items() if case["system"] and job["user"] not in exists}
        quirks = {item.line for item in read(self.data, system=case["system"]).items if item.quirk}
        self.jobs = self.lines.keys() - refused - quirks
        self.problems = set(case["rejects"]) | refused | quirks

    def settled(self, found: dict[tuple[str, int], Json], told: Json | None) -> bool:
        lines = {line for name, line in found if name == self.name}
        problems = {problem["line"] for problem in told["problems"]} if told else set()
        if not self.jobs and self.problems:  # nothing but broken lines says nothing of the jobs there were
            return problems >= self.problems
        return lines | problems >= self.jobs | self.problems and not lines - self.lines.keys()

    def check(self, found: dict[tuple[str, int], Json], told: Json) -> None:
        lines = {line for name, line in found if name == self.name}
        problems = {problem["line"] for problem in told["problems"]}
        assert not self.jobs or lines <= self.jobs, self.name
        assert problems >= self.problems, self.name
        assert all(problem["reason"] for problem in told["problems"]), told
        for line in lines & self.jobs:
            job, wanted = found[self.name, line], self.lines[line]
            schedule = "@reboot" if job["schedule"]["on_boot"] else job["schedule"]["cron"]
            assert schedule == wanted["schedule"], (self.name, line)
            if "user" in wanted:
                assert (job["user"] or job["owner"]) == wanted["user"], (self.name, line)
            command = job["target"].get("shell") or job["target"]["command"][-1]
            if wanted["command"].isascii() and "\\x" not in wanted["command"]:  # others are shown in their own ways
                assert command == wanted["command"], (self.name, line)


def test_the_handed_crontabs_are_loaded_live_and_edited(daemon: RealDaemon, host: CrontabHost) -> None:
    daemon.client.pause_daemon(why="nobody knows what their commands do")
    system = [Expected(case, f"case{number}") for number, case in enumerate(CASES) if case["system"]]
    own = [case for case in CASES if not case["system"]]
    names = users((len(own) + 1) // 2)
    rounds = [
        [Expected(case, name) for case, name in zip(part, names, strict=False)]
        for part in (own[: len(names)], own[len(names) :])
    ]
    for wanted in system:
        host.site(wanted.name, wanted.data)
    for number, part in enumerate(rounds):
        for wanted in part:
            host.user(wanted.name, wanted.data)
        everything = [*system, *part]

        def settled(everything: list[Expected] = everything) -> bool:
            found = jobs(daemon)
            told = {os.path.basename(one["path"]): one for one in daemon.client.status()["tables"]}
            return all(one.settled(found, told.get(one.name)) for one in everything)

        try:
            soon(daemon, settled, 10.0)
        except AssertionError as error:
            found, told = jobs(daemon), {os.path.basename(one["path"]): one for one in daemon.client.status()["tables"]}
            raise AssertionError(
                [one.name for one in everything if not one.settled(found, told.get(one.name))]
            ) from error
        found = jobs(daemon)
        told = {os.path.basename(one["path"]): one for one in daemon.client.status()["tables"]}
        for wanted in everything:
            wanted.check(found, told[wanted.name])
        if number == 0:
            first = {key: job["id"] for key, job in found.items()}
        else:  # what did not change kept its jobs
            same = {one.name for one in system}
            assert {key: job["id"] for key, job in found.items() if key[0] in same} == {
                key: job for key, job in first.items() if key[0] in same
            }
    assert len(found) > 100
    shown = daemon.jobctl("status").stdout
    assert "case" in shown
    assert sum(len(one["problems"]) for one in told.values()) > 20
    daemon.client.resume_daemon()


# ── edits ──────────────────────────────────────────────


@pytest.mark.parametrize("how", ["save", "overwrite"])
def test_an_edit_leaves_alone_what_it_does_not_change(daemon: RealDaemon, host: CrontabHost, how: str) -> None:
    path = host.site("site", four_lines("echo a", "echo b", "echo c"))
    before = soon(daemon, lambda: commands(daemon) if len(commands(daemon)) == 3 else None)
    ran = daemon.finished(daemon.triggered(before["echo a"]["name"]))
    write = getattr(host, how)
    # Another line above, c with another time, b gone, d new.
    text = "X=1\n\n" + four_lines("echo d", "echo a") + "1 1 1 1 * root echo c\n"
    text = text.replace("X=1\n", "")
    write(path, text)

    def edited() -> Json | None:
        found = commands(daemon)
        return found if found.keys() == {"echo a", "echo c", "echo d"} and found["echo c"]["version"] == 2 else None

    after = soon(daemon, edited)
    assert {name: after[name]["id"] for name in ("echo a", "echo c")} == {
        name: before[name]["id"] for name in ("echo a", "echo c")
    }
    assert (after["echo a"]["rev"], after["echo a"]["next_run_at"]) == (
        before["echo a"]["rev"],
        before["echo a"]["next_run_at"],
    )
    assert place(after["echo a"]) == ("site", 4)
    assert [run["id"] for run in daemon.runs_of(after["echo a"]["name"])] == [ran["id"]]
    fired = [run for job in after.values() for run in daemon.runs_of(job["name"]) if run["trigger"] != "manual"]
    assert fired == [], "something fired by surprise"


def test_a_changed_environment_is_no_change_of_the_schedule(daemon: RealDaemon, host: CrontabHost) -> None:
    path = host.user("root", f"{never_soon()} * * * echo a\n")
    before = soon(daemon, lambda: commands(daemon).get("echo a"))
    host.user("root", f"WORD=x\n{never_soon()} * * * echo a\n")
    after = soon(
        daemon, lambda: next((job for job in [daemon.client.job(before["id"])] if job["env"].get("WORD")), None)
    )
    assert (after["version"], after["next_run_at"]) == (2, before["next_run_at"])
    host.save(path, f"WORD=x\nCRON_TZ=Asia/Tokyo\n{never_soon()} * * * echo a\n")
    moved = soon(daemon, lambda: next((job for job in [daemon.client.job(before["id"])] if job["version"] == 3), None))
    assert moved["schedule"]["timezone"] == "Asia/Tokyo"


def test_a_file_that_is_removed_or_emptied_takes_its_jobs_and_leaves_their_history(
    daemon: RealDaemon, host: CrontabHost
) -> None:
    gone, emptied = host.site("gone", four_lines("echo a")), host.site("emptied", four_lines("echo b"))
    before = soon(daemon, lambda: commands(daemon) if len(commands(daemon)) == 2 else None)
    runs = [daemon.finished(daemon.triggered(job["name"])) for job in before.values()]
    gone.unlink()
    host.overwrite(emptied, "")
    soon(daemon, lambda: not commands(daemon))
    assert table(daemon, gone) is None
    assert table(daemon, emptied)["jobs"] == 0  # type: ignore[index]
    for run in runs:
        assert daemon.client.run(run["id"])["state"] == "succeeded"


def test_a_line_that_breaks_keeps_its_job_until_it_is_mended_or_taken_out(
    daemon: RealDaemon, host: CrontabHost
) -> None:
    path = host.site("site", four_lines("echo a", "echo b", "echo c"))
    before = soon(daemon, lambda: commands(daemon) if len(commands(daemon)) == 3 else None)
    broken = path.read_text().replace(f"{never_soon()} * * * root echo b", "61 * * * * root echo b")
    host.overwrite(path, broken)
    told = soon(daemon, lambda: next((one for one in [table(daemon, path)] if one and one["problems"]), None))
    (problem,) = told["problems"]
    assert (problem["line"], problem["text"]) == (3, "61 * * * * root echo b")
    assert "minute" in problem["reason"]
    assert f"its job goes on as it was: {before['echo b']['name']}" in problem["reason"]
    assert commands(daemon)["echo b"] == before["echo b"]
    assert f"{path}, line 3" in re.sub(r"\s+", " ", daemon.jobctl("status").stdout)
    assert daemon.jobctl("status", "--check").returncode == 1
    host.overwrite(path, broken.replace("61 * * * * root echo b\n", ""))
    soon(daemon, lambda: commands(daemon).keys() == {"echo a", "echo c"})
    assert table(daemon, path)["problems"] == []  # type: ignore[index]


def test_jobs_of_a_users_table_are_the_users_and_those_of_the_hosts_are_roots(
    daemon: RealDaemon, host: CrontabHost
) -> None:
    host.user("daemon", f"{never_soon()} * * * id -un\n")
    host.site("site", f"{never_soon()} * * * daemon id -un; true\n")
    found = soon(daemon, lambda: commands(daemon) if len(commands(daemon)) == 2 else None)
    own, of_host = found["id -un"], found["id -un; true"]
    assert [(job["owner"], job["user"]) for job in (own, of_host)] == [("daemon", None), ("root", "daemon")]
    for job in (own, of_host):
        run = daemon.finished(daemon.client.trigger(job["id"], {}))
        assert (run["state"], daemon.output(run)) == ("succeeded", b"daemon\n")


# ── what is refused as a whole ──────────────────────────────────────────────


@pytest.mark.long
def test_what_cron_would_not_run_is_shown_with_the_reason(daemon: RealDaemon, host: CrontabHost) -> None:
    line = f"{never_soon()} * * * "
    host.site("well", f"{line}root echo well\n")
    os.link(host.site("linked", f"{line}root echo linked\n"), host.root / "link")
    host.site("open", f"{line}root echo open\n").chmod(0o664)
    os.chown(host.site("theirs", f"{line}root echo theirs\n"), 1, 1)
    os.symlink(host.save(host.root / "target", f"{line}root echo target\n"), host.cron_d / "symlink")
    os.mkfifo(host.cron_d / "pipe")
    host.site("with.dot", f"{line}root echo dot\n")
    host.site("left.dpkg-old", f"{line}root echo old\n")
    host.user("daemon", f"{line}echo daemon\n").chmod(0o640)
    os.chown(host.user("bin", f"{line}echo bin\n"), 2, 2)
    os.chown(host.user("sys", f"{line}echo sys\n"), 1, 1)
    os.symlink(host.root / "target", host.spool / "mail")
    nobody = host.save(host.spool / "draft", f"{line}echo nobody\n") if "draft" in users(0) else host.spool / "no-such"
    nobody.write_text(f"{line}echo nobody\n")
    nobody.chmod(0o600)
    soon(daemon, lambda: len(commands(daemon)) >= 3 and len(daemon.client.status()["tables"]) >= 12, 5.0)
    assert commands(daemon).keys() == {"echo well", "echo target", "echo bin"}
    tables = {os.path.basename(one["path"]): one["problems"] for one in daemon.client.status()["tables"]}
    reasons = {name: problems[0]["reason"] for name, problems in tables.items() if problems}
    assert {name: bool(re.search(text, reasons[name])) for name, text in {
        "linked": "2 hard links", "open": "others than its owner may write", "theirs": "uid 1, not to root",
        "pipe": "no regular file", "with.dot": "without a dot", "daemon": "0640, and cron wants 0600",
        "sys": "uid 1, not to its user", "mail": "symbolic link", "no-such": "no user 'no-such'",
    }.items()} == dict.fromkeys(reasons, True)  # fmt: skip


@pytest.mark.case("F112")
def test_a_file_of_200_jobs_that_is_written_in_pieces_loses_none(daemon: RealDaemon, host: CrontabHost) -> None:
    lines = [f"{never_soon()} * * * root echo number {number} {'x' * 60}\n" for number in range(200)]
    path = host.site("site", "".join(lines))
    before = soon(daemon, lambda: jobs(daemon, path) if len(jobs(daemon, path)) == 200 else None, 5.0)
    ids = {job["id"] for job in before.values()}
    text = "".join(lines) + f"{never_soon()} * * * root echo one more\n"
    counts = set()
    with path.open("wb", buffering=0) as file:
        for at in range(0, len(text), 4096):
            file.write(text[at : at + 4096].encode())
            daemon.reload()
            select.select([], [], [], 0.1)
            counts.add(len(jobs(daemon, path)))
    after = soon(daemon, lambda: jobs(daemon, path) if len(jobs(daemon, path)) == 201 else None)
    assert counts == {200}
    assert ids < {job["id"] for job in after.values()}
    host.overwrite(path, "".join(lines[:149]) + "* * * bad line\n" + "".join(lines[150:]))
    told = soon(daemon, lambda: next((one for one in [table(daemon, path)] if one and one["problems"]), None))
    assert told["problems"][0]["line"] == 150
    soon(daemon, lambda: len(jobs(daemon, path)) == 200)  # the broken line keeps its job, the one more is gone
    assert {job["id"] for job in jobs(daemon, path).values()} == ids


@pytest.mark.case("F110")
def test_an_editor_that_removes_the_file_before_it_writes_it_anew_takes_no_job(
    daemon: RealDaemon, host: CrontabHost
) -> None:
    path = host.site("site", four_lines("echo a"))
    before = soon(daemon, lambda: commands(daemon).get("echo a"))
    path.unlink()
    select.select([], [], [], 0.5)
    path.write_text(four_lines("echo a", "echo b"))
    after = soon(daemon, lambda: commands(daemon) if "echo b" in commands(daemon) else None)
    assert after["echo a"]["id"] == before["id"]
