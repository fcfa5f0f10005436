"""Which job of a file is which entry of it, and what differs: so that what did not change keeps its job.

An entry is known by its key: the name in a file of jobs, the digest of a crontab line, which says nothing of the place
where the line stands. A line without a name that was changed is known by what it runs, or by its program and time: so
it keeps its history.
"""

import re
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import msgspec

from jobctl.drafts import Checked
from jobctl.model import JobSpec
from jobctl_daemon.decide.edit import timing
from jobctl_daemon.rows import DeclaredJob

_NUMBER: Final = re.compile(r"-[0-9]+\Z")
_encode: Final = msgspec.json.Encoder(order="sorted").encode


@dataclass(frozen=True, slots=True)
class Wanted:
    """An entry of a file. `key` is what it is known by: its name, or the digest of a crontab line."""

    key: str
    definition: Checked
    after: str | None = None
    """The job of the same file that it comes after, where that is made with it and has no id yet."""


@dataclass(frozen=True, slots=True)
class Matching:
    """Each job with its entry, the entries that have no job, and the jobs that have no entry."""

    pairs: tuple[tuple[DeclaredJob, Wanted], ...]
    new: tuple[Wanted, ...]
    gone: tuple[DeclaredJob, ...]


def key_of(job: JobSpec) -> str:
    """The key of the entry that a job was made from."""
    kind, _, rest = job.source.partition(":")
    return rest.partition(":")[0] if kind == "crontab" else job.name


def match(jobs: Sequence[DeclaredJob], wanted: Sequence[Wanted], owner_uid: int) -> Matching:
    """By key, the most alike first; lines without a name that are left then by what they run, and by program and time.

    A job of somebody else's (the user has got another uid since) is nobody's here: it goes.
    """
    left = {job.job_id: job for job in jobs if job.owner_uid == owner_uid}
    open_ = dict(enumerate(wanted))
    pairs: list[tuple[DeclaredJob, Wanted]] = []
    for of_job, of_entry, made_up in _LIKENESSES:
        known: dict[Hashable, deque[int]] = defaultdict(deque)
        for job in left.values():
            known[of_job(job)].append(job.job_id)
        for at, entry in list(open_.items()):
            if made_up and entry.definition.named:
                continue
            same = known.get(of_entry(entry))
            if same:
                pairs.append((left.pop(same.popleft()), open_.pop(at)))
        if not left or not open_:
            break
    others = [job for job in jobs if job.owner_uid != owner_uid]
    return Matching(tuple(pairs), tuple(open_.values()), (*left.values(), *others))


def inherited(
    wanted: Sequence[Wanted], there: Iterable[DeclaredJob], leaving: Mapping[str, Sequence[DeclaredJob]]
) -> list[DeclaredJob]:
    """Jobs of files that are gone whose entries stand in another one now, which has no jobs for them among `there`.
    `leaving`: those jobs by key."""
    missing = Counter(entry.key for entry in wanted) - Counter(key_of(job.spec) for job in there)
    return [job for key, number in missing.items() for job in leaving.get(key, ())[:number]]


def becomes(job: DeclaredJob, entry: Wanted) -> JobSpec:
    """The job's definition by its entry. A name that was made up stays; an interval that is the same keeps its beat."""
    old, new = job.spec, entry.definition.spec
    schedule = new.schedule
    if schedule.every_ms == old.schedule.every_ms:
        schedule = msgspec.structs.replace(schedule, anchor_ms=old.schedule.anchor_ms)
    if timing(schedule) == timing(old.schedule):
        schedule = old.schedule
    name = new.name if entry.definition.named else old.name
    return msgspec.structs.replace(new, name=name, schedule=schedule, paused=old.paused, declared=old.declared)


def unchanged(old: JobSpec, new: JobSpec) -> bool:
    """Whether nothing differs but the place in the file."""
    return msgspec.structs.replace(new, source=old.source) == old


def upstream_first(new: Sequence[Wanted]) -> list[Wanted]:
    """In an order in which each comes behind the one that it waits for; those in a circle as they were."""
    if all(entry.after is None for entry in new):  # made-up names are no names: several may be the same
        return list(new)
    left = {entry.definition.spec.name: entry for entry in new}
    ordered: list[Wanted] = []
    for entry in new:
        way: list[Wanted] = []
        at: Wanted | None = entry if left.get(entry.definition.spec.name) is entry else None
        while at is not None:
            way.append(left.pop(at.definition.spec.name))
            at = None if at.after is None else left.get(at.after)
        ordered += reversed(way)
    known = {id(entry) for entry in ordered}
    return [*ordered, *(entry for entry in new if id(entry) not in known)]


# ── what two have in common ──────────────────────────────────────────────


def _whole(spec: JobSpec) -> bytes:
    return _encode([timing(spec.schedule), spec.execution, spec.policies])


def _work(spec: JobSpec) -> bytes:
    return _encode(spec.execution)


def _program(spec: JobSpec, *, numbered: bool) -> tuple[str, bytes]:
    base = _NUMBER.sub("", spec.name) if numbered else spec.name
    return base, _encode(timing(spec.schedule))


_Likeness = tuple[Callable[[DeclaredJob], Hashable], Callable[[Wanted], Hashable], bool]
_LIKENESSES: Final[tuple[_Likeness, ...]] = (
    (lambda job: job.spec.source, lambda entry: entry.definition.spec.source, False),
    (
        lambda job: (key_of(job.spec), _whole(job.spec)),
        lambda entry: (entry.key, _whole(entry.definition.spec)),
        False,
    ),
    (lambda job: key_of(job.spec), lambda entry: entry.key, False),
    (lambda job: _work(job.spec), lambda entry: _work(entry.definition.spec), True),
    (
        lambda job: _program(job.spec, numbered=True),
        lambda entry: _program(entry.definition.spec, numbered=False),
        True,
    ),
)
