"""Which files cron runs, when their content is believed, and whose job a broken line was."""

import stat
from dataclasses import replace

import msgspec
import pytest

from jobctl.drafts import Checked
from jobctl_daemon.decide.declared import Matching, Wanted
from jobctl_daemon.decide.tables import (
    HALF_MS,
    OLD_MS,
    QUIET_MS,
    Broken,
    FileFacts,
    Kind,
    believed,
    is_table,
    passed_over,
    refusal,
    spared,
)
from jobctl_daemon.rows import DeclaredJob, DueJob
from kit.stores import T0, spec

FILE = stat.S_IFREG
SITE = FileFacts(FILE | 0o644, 0, 1, 10)
OWN = FileFacts(FILE | 0o600, 1000, 1, 10)


@pytest.mark.parametrize(
    ("name", "run"),
    [("site", True), ("a_b-9", True), ("4913", True), ("a.b", False), (".hidden", False), ("a~", False), ("ä", False)],
)
def test_names_in_cron_d_are_those_of_run_parts(name: str, run: bool) -> None:
    assert is_table(Kind.SYSTEM, name) is run


@pytest.mark.parametrize(("name", "run"), [("ada", True), ("a.b", True), (".ada", False), ("tmp.4711", False)])
def test_names_in_the_spool_are_users(name: str, run: bool) -> None:
    assert is_table(Kind.USER, name) is run


@pytest.mark.parametrize(
    ("name", "told"),
    [("backup.sh", True), ("my job", True), ("site.dpkg-dist", False), ("site~", False), (".placeholder", False),
     ("site.bak", False), ("README.txt", False), ("site", False)],
)  # fmt: skip
def test_a_name_that_cron_passes_over_is_told_but_for_leftovers(name: str, told: bool) -> None:
    assert (passed_over(name) is not None) is told


@pytest.mark.parametrize(
    ("kind", "facts", "why"),
    [
        (Kind.SYSTEM, SITE, None),
        (Kind.SYSTEM, replace(SITE, mode=FILE | 0o444), None),
        (Kind.SYSTEM, replace(SITE, link_uid=0), None),
        (Kind.SYSTEM, replace(SITE, link_uid=7), "symbolic link that belongs to uid 7"),
        (Kind.SYSTEM, replace(SITE, uid=7), "belongs to uid 7, not to root"),
        (Kind.SYSTEM, replace(SITE, mode=FILE | 0o664), "0664"),
        (Kind.SYSTEM, replace(SITE, mode=FILE | 0o646), "0646"),
        (Kind.SYSTEM, replace(SITE, mode=stat.S_IFIFO | 0o644), "no regular file"),
        (Kind.SYSTEM, replace(SITE, links=2), "2 hard links"),
        (Kind.USER, OWN, None),
        (Kind.USER, replace(OWN, uid=0), None),
        (Kind.USER, replace(OWN, uid=7), "belongs to uid 7, not to its user"),
        (Kind.USER, replace(OWN, mode=FILE | 0o644), "0644, and cron wants 0600"),
        (Kind.USER, replace(OWN, mode=FILE | 0o4600), "4600"),
        (Kind.USER, replace(OWN, link_uid=1000), "follows none"),
        (Kind.USER, replace(OWN, links=2), "2 hard links"),
    ],
)
def test_what_cron_does_not_run_has_a_reason(kind: Kind, facts: FileFacts, why: str | None) -> None:
    found = refusal(kind, facts, 1000 if kind is Kind.USER else 0)
    assert (found is None) if why is None else (found is not None and why in found)


@pytest.mark.parametrize(
    ("data", "before", "age_ms", "quiet_ms", "left_ms"),
    [
        (b"a\nb\n", b"a\n", OLD_MS, 0, 0),
        (b"a\nb\n", b"a\n", 0, 0, QUIET_MS),
        (b"a\nb\n", b"a\n", 0, QUIET_MS, 0),
        (b"a\nb\n", b"a\n", -5_000_000, QUIET_MS, 0),
        (b"a\nb", b"a\n", 0, QUIET_MS, HALF_MS - QUIET_MS),
        (b"a\n", b"a\nb\n", 0, QUIET_MS, HALF_MS - QUIET_MS),
        (b"", b"a\nb\n", 0, QUIET_MS, HALF_MS - QUIET_MS),
        (b"", b"a\nb\n", 0, HALF_MS, 0),
        (b"", None, 0, QUIET_MS, 0),
        (None, b"a\n", 0, QUIET_MS, 0),
    ],
)
def test_what_may_be_half_written_is_waited_for(
    data: bytes | None, before: bytes | None, age_ms: int, quiet_ms: int, left_ms: int
) -> None:
    assert believed(data, before, age_ms, quiet_ms) == left_ms


# ── broken lines ──────────────────────────────────────────────


def job(number: int, line: int, command: str) -> DeclaredJob:
    made = msgspec.structs.replace(spec(f"n{number}", shell=command), source=f"crontab:d{number}:{line}:/t")
    due = DueJob(
        job_id=number, job_uid="u", name=made.name, version=1, schedule=made.schedule, policies=made.policies,
        next_ms=None, handled_ms=T0, revision=1, created_ms=T0,
    )  # fmt: skip
    return DeclaredJob(job_id=number, owner_uid=0, rev=1, spec=made, cursor=due)


def same(number: int, was: int, now: int) -> tuple[DeclaredJob, Wanted]:
    """A line that stood somewhere and stands somewhere now."""
    old = job(number, was, f"same {number}")
    moved = msgspec.structs.replace(old.spec, source=f"crontab:d{number}:{now}:/t")
    return old, Wanted(f"d{number}", Checked(moved, None, (), named=False))


def kept(found: Matching, *broken: Broken) -> dict[int, int]:
    return {job_id: line.line for job_id, line in spared(found, broken).items()}


def test_a_broken_line_with_the_command_of_a_job_that_would_go_is_that_jobs() -> None:
    found = Matching((same(1, 1, 1),), (), (job(2, 2, "run a 50%"), job(3, 3, "run b")))
    assert kept(found, Broken(9, "61 * * * * run b"), Broken(8, r"* * * * x run a 50\%")) == {3: 9, 2: 8}


def test_a_broken_line_where_a_job_stood_is_its_own_when_it_names_its_program() -> None:
    found = Matching((same(1, 9, 9), same(5, 1, 1)), (), (job(2, 2, "run --old"), job(3, 3, "other")))
    assert kept(found, Broken(2, "61 * * * * run --new"), Broken(3, "61 * * * * else")) == {2: 2, 3: 3}
    assert kept(found, Broken(2, "61 * * * * walk --new")) == {}


def test_a_broken_line_alone_between_two_that_did_not_change_stands_for_the_one_that_stood_there() -> None:
    found = Matching((same(1, 1, 2), same(3, 5, 6)), (), (job(2, 4, "gone"),))
    assert kept(found, Broken(3, "*** garbage")) == {2: 3}
    assert kept(found, Broken(7, "*** garbage")) == {}
    assert kept(found, Broken(3, "*** garbage"), Broken(4, "more")) == {}


def test_the_same_at_the_end_of_the_file() -> None:
    found = Matching((same(1, 1, 1),), (), (job(2, 2, "gone"),))
    assert kept(found, Broken(2, "*** garbage")) == {2: 2}


def test_a_file_of_nothing_but_broken_lines_says_nothing() -> None:
    found = Matching((), (), (job(2, 2, "a"), job(3, 3, "b")))
    assert kept(found, Broken(1, "<html>")) == {2: 1, 3: 1}
    assert kept(found) == {}
    fresh = Wanted("x", Checked(spec("x"), None, (), named=False))
    assert kept(Matching((), (fresh,), found.gone), Broken(1, "<html>")) == {}


def test_where_very_much_is_broken_nobody_tries_to_tell() -> None:
    found = Matching((same(1, 1, 1),), (), (job(2, 2, "a"), job(3, 3, "b")))
    broken = [Broken(number, "garbage") for number in range(2, 200)]
    assert kept(found, *broken) == {2: 2, 3: 2}
