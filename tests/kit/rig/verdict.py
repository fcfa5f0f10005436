"""Doubles and losses, counted from what the commands said and what the rig did. Pure: nothing is read or asked here."""

import collections
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from kit.rig.commands import Said

TERMINAL: Final = frozenset({"succeeded", "failed", "cancelled", "skipped", "superseded", "discarded", "dead"})
#: A result takes so long from a command's end to a record, on a machine that has other work too.
_SLACK_S: Final = 1.0
#: From the instant at which the runner begins to count to a command's first word.
_FIRST_WORD_S: Final = 0.5


@dataclass(frozen=True, slots=True)
class Effort:
    """One attempt as the daemon recorded it."""

    run_id: int
    attempt: int
    fence: int
    failure_class: str | None
    exit_code: int | None
    signal: int | None


@dataclass(frozen=True, slots=True)
class Recorded:
    """One run as the daemon recorded it."""

    run_id: int
    job: str
    state: str
    fence: int


@dataclass(frozen=True, slots=True)
class Row:
    """One row of a job's ledger. Times in ms UTC."""

    from_ms: int
    to_ms: int
    run_id: int | None


@dataclass(frozen=True, slots=True)
class Metronome:
    """A job that was due at `first_ms` and every `every_ms` from then on, until `until_ms`."""

    job: str
    first_ms: int
    every_ms: int
    until_ms: int


@dataclass(frozen=True, slots=True)
class Blind:
    """Nobody may have seen the end of what started before `until_s` and ended after `since_s` (time since boot)."""

    since_s: float
    until_s: float


@dataclass(slots=True)
class Done:
    """What the rig did and was told."""

    asked: dict[int, str] = field(default_factory=dict)
    """Runs that were acknowledged, and by what."""
    stopped: set[int] = field(default_factory=set)
    """Runs whose end somebody asked for."""
    killed: set[tuple[int, int]] = field(default_factory=set)
    """Attempts whose command the rig has killed: run and fence."""
    blind: list[Blind] = field(default_factory=list)
    timeouts: dict[str, float] = field(default_factory=dict)
    """By job, in seconds."""
    replacing: set[str] = field(default_factory=set)
    """Jobs whose new runs stop the old ones."""
    asking: set[str] = field(default_factory=set)
    """Jobs whose lost attempts are asked for."""
    full: list[Blind] = field(default_factory=list)
    """When there was no room on the disk."""


def doubles(said: Sequence[Said]) -> Iterator[str]:
    """Two attempts of a run at once, a fence that is not above the one before, two runs of one occurrence."""
    runs: dict[str, int] = {}
    last: dict[int, Said] = {}
    for one in said:
        if one.what == "clash":
            yield f"two at once: the {one.more} of {_of(one)} was at work elsewhere"
        if one.what not in ("start", "asked"):
            continue
        if runs.setdefault(one.key, one.run_id) != one.run_id:
            yield f"two runs of one occurrence: {_of(one)}, and run {runs[one.key]}"
        before = last.get(one.run_id)
        if before is not None and one.fence <= before.fence:
            yield f"a fence that does not rise: {_of(one)}, after {before.fence}"
        if before is not None and one.attempt <= before.attempt:
            yield f"an attempt that does not rise: {_of(one)}, after {before.attempt}"
        last[one.run_id] = one


def losses(
    said: Sequence[Said], runs: Mapping[int, Recorded], efforts: Mapping[tuple[int, int], Effort], done: Done
) -> Iterator[str]:
    """What was acknowledged and did not come to an end, and what was recorded otherwise than it was."""
    for run_id, what in done.asked.items():
        if run_id not in runs:
            yield f"lost: run {run_id} ({what}) was acknowledged, and there is none"
    for run in runs.values():
        if run.state not in TERMINAL:
            yield f"no end: run {run.run_id} of {run.job} is {run.state}"
    yield from _successes(said, runs, done)
    for one, end in _attempts(said):
        effort = efforts.get((one.run_id, one.fence))
        if effort is None:
            yield f"without a record: {_of(one)} was started"
        elif end is not None:
            yield from _of_an_end(one, end, effort, done)
        elif one.what == "start":
            yield from _of_no_end(one, effort, done)


def gaps(metronome: Metronome, ledger: Sequence[Row], runs: Mapping[int, Recorded]) -> Iterator[str]:
    """Due instants that no row of the ledger covers, and rows whose run is nowhere."""
    rows = sorted(ledger, key=lambda row: row.from_ms)
    at, covered_ms = 0, -1
    for due_ms in range(metronome.first_ms, metronome.until_ms, metronome.every_ms):
        while at < len(rows) and rows[at].from_ms <= due_ms:
            covered_ms = max(covered_ms, rows[at].to_ms)
            at += 1
        if covered_ms < due_ms:
            yield f"lost: {metronome.job} was due at {due_ms}, and there is no row of it"
    for row in rows:
        if row.run_id is not None and row.run_id not in runs:
            yield f"lost: the run {row.run_id} of {metronome.job} at {row.from_ms} is nowhere"


def _successes(said: Sequence[Said], runs: Mapping[int, Recorded], done: Done) -> Iterator[str]:
    spoke = {one.run_id for one in said}
    ended = collections.defaultdict(set)
    for one in said:
        if one.what == "end" and one.more == "0":
            ended[one.run_id].add(one.fence)
    for run in runs.values():
        if run.state != "succeeded" or run.job.startswith("notify"):
            continue
        fences = ended[run.run_id]
        if run.fence not in fences and not (run.job in done.asking and fences):
            words = "it never spoke" if run.run_id not in spoke else f"ended {sorted(fences)}"
            yield f"lost: run {run.run_id} of {run.job} succeeded with fence {run.fence}, {words}"


def _attempts(said: Sequence[Said]) -> Iterator[tuple[Said, Said | None]]:
    ends = {(one.run_id, one.fence): one for one in said if one.what == "end"}
    for one in said:
        if one.what in ("start", "asked"):
            yield one, ends.get((one.run_id, one.fence))


def _of_an_end(one: Said, end: Said, effort: Effort, done: Done) -> Iterator[str]:
    code = int(end.more)
    true = effort.failure_class is None if code == 0 else effort.failure_class == "exit_code"
    if true and effort.exit_code == code:
        return
    lasted_s = end.at_s - one.at_s
    allowed = {
        "timed_out": lasted_s >= done.timeouts.get(one.job, float("inf")) - _FIRST_WORD_S,
        "cancelled": one.run_id in done.stopped or one.job in done.replacing,
        "lost": unseen(one.at_s, end.at_s, done.blind),
        "signal": (one.run_id, one.fence) in done.killed,
        "policy": unseen(one.at_s, end.at_s, done.full),
    }
    if not allowed.get(effort.failure_class or "", False):
        yield (
            f"wrong record: {_of(one)} ended with {code} after {lasted_s:.2f} s and was recorded as "
            f"{effort.failure_class or 'ok'}, code {effort.exit_code}, signal {effort.signal}"
        )


def _of_no_end(one: Said, effort: Effort, done: Done) -> Iterator[str]:
    """A command that was cut off did not end with a code."""
    if effort.exit_code is not None and effort.failure_class in (None, "exit_code"):
        yield f"wrong record: {_of(one)} never came to its end, and was recorded with code {effort.exit_code}"
    if effort.failure_class == "lost" and not unseen(one.at_s, float("inf"), done.blind):
        yield f"wrong record: {_of(one)} was recorded as lost, and nobody who watched it had died"


def unseen(started_s: float, ended_s: float, blind: Sequence[Blind]) -> bool:
    return any(started_s <= each.until_s + _SLACK_S and ended_s >= each.since_s - _SLACK_S for each in blind)


def _of(one: Said) -> str:
    return f"run {one.run_id} of {one.job} (key {one.key}, attempt {one.attempt}, fence {one.fence})"
