"""The keys of a filter: what their values are, and what each says of a job and of a run."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final, NamedTuple

from jobctl.states import FailureClass, RunState, Trigger


class Kind(StrEnum):
    """What the values of a key are."""

    WORD = "word"
    """One of a few."""
    GLOB = "glob"
    """A name, in which `*` stands for anything and `?` for one character."""
    PART = "part"
    """A part of a text."""
    DURATION = "duration"
    """Compared."""
    NUMBER = "number"
    """One of several, or compared."""


class Key(NamedTuple):
    """A key and the meaning of its values."""

    name: str
    kind: Kind
    of_job: str
    of_run: str
    words: tuple[str, ...] = ()
    """All values that there are; empty: any."""


#: Of jobs: what holds of one, whatever else does (a paused job whose last run failed is failed too).
JOB_STATES: Final = (
    "failed", "late", "retrying", "running", "queued", "ok", "new", "manual", "paused", "quarantined", "parked",
    "skipping", "dead", "done",
)  # fmt: skip
#: Of runs: their state, and what tells apart those that have not ended.
RUN_STATES: Final = (*map(str, RunState), "active", "retrying", "waiting", "late")

#: Words that the screens have for states, or for several of them, besides these.
JOB_WORDS: Final[Mapping[str, tuple[str, ...]]] = {**{state: (state,) for state in JOB_STATES}, "retry": ("retrying",)}
RUN_WORDS: Final[Mapping[str, tuple[str, ...]]] = {
    **{state: (state,) for state in RUN_STATES},
    "failed": ("failed", "dead"), "retry": ("retrying",), "ok": ("succeeded",), "killed": ("cancelled",),
}  # fmt: skip
#: A bare word that is one of these means the state too.
STATE_WORDS: Final = frozenset((*JOB_WORDS, *RUN_WORDS))

_STATES: Final = tuple(dict.fromkeys((*JOB_STATES, *RUN_STATES)))

KEYS: Final = {
    key.name: key
    for key in (
        Key("state", Kind.WORD, "what holds of it", "its state", _STATES),
        Key("name", Kind.GLOB, "its name", "the name of its job"),
        Key("tag", Kind.GLOB, "one of its tags", "one of its job's tags"),
        Key("queue", Kind.GLOB, "its queue", "its job's queue"),
        Key("owner", Kind.GLOB, "whose it is", "whose it is"),
        Key("next", Kind.DURATION, "how long until it fires", "how long until it is due"),
        Key("last", Kind.DURATION, "how long ago its last run ended", "how long ago it ended"),
        Key("dur", Kind.DURATION, "how long its last run took", "how long it took, or has been running"),
        Key("exit", Kind.NUMBER, "the exit code of its last run", "its exit code"),
        Key("class", Kind.WORD, "how its last run failed", "how it failed", tuple(map(str, FailureClass))),
        Key("trigger", Kind.WORD, "what started its last run", "what started it", tuple(map(str, Trigger))),
        Key("source", Kind.GLOB, "where it comes from", "where its job comes from"),
        Key("command", Kind.PART, "what it runs", "what its job runs"),
        Key("error", Kind.PART, "what its last run said when it failed", "what it said when it failed"),
    )
}  # fmt: skip
