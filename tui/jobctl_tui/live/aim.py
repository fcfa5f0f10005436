"""What an action is done to: fixed by ids when the key is pressed, whatever moves on the screen afterwards (F144)."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, NamedTuple

from jobctl.client.sync import Client
from jobctl.errors import Conflict, JobctlError
from jobctl.reading.safe import cell

Json = dict[str, Any]

_NAMED_MAX: Final = 3


class Aim(NamedTuple):
    """A job, a run or a dead letter, and what it is called."""

    id: int
    name: str


class Done(NamedTuple):
    """What became of each: those that answered, with the answer, and those that were refused, with why."""

    done: tuple[tuple[Aim, Any], ...]
    failed: tuple[tuple[Aim, JobctlError], ...]

    @property
    def ids(self) -> tuple[int, ...]:
        return tuple(aim.id for aim, _ in self.done)


class Going:
    """How far something is that is done to many. It is told in a thread, and looked at and stopped on the loop."""

    def __init__(self) -> None:
        self.count = 0
        self.stopped = False


def each(client: Client, aims: Iterable[Aim], act: Callable[[Client, Aim], Any], going: Going | None = None) -> Done:
    """One after the other, until it is stopped; what is refused keeps none of the others from being done. Raises only
    when all were."""
    done: list[tuple[Aim, Any]] = []
    failed: list[tuple[Aim, JobctlError]] = []
    going = going or Going()
    for aim in aims:
        if going.stopped:
            break
        going.count += 1
        try:
            done.append((aim, act(client, aim)))
        except JobctlError as error:
            failed.append((aim, error))
    if failed and not done:
        raise _all_refused(failed)
    return Done(tuple(done), tuple(failed))


def _all_refused(failed: Sequence[tuple[Aim, JobctlError]]) -> JobctlError:
    first = failed[0][1]
    messages = {error.message for _, error in failed}
    if len(messages) == 1:
        return first
    return Conflict(f"none of {len(failed)}: {cell(failed[0][0].name)}: {first.message}", first.hint)


def called(aims: Sequence[Aim], noun: str = "job") -> str:
    """`backup-db`, `backup-db and sync-crm`, `14 jobs`: who is told of them knows which they are."""
    if len(aims) > _NAMED_MAX:
        return f"{len(aims)} {noun}s"
    names = [cell(aim.name) for aim in aims]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def not_done(outcome: Done) -> str:
    """`2 of 14 were not: sync-crm: it is not paused`; empty when all were done."""
    if not outcome.failed:
        return ""
    aim, error = outcome.failed[0]
    total = len(outcome.done) + len(outcome.failed)
    was = "was" if len(outcome.failed) == 1 else "were"
    return f"{len(outcome.failed)} of {total} {was} not: {cell(aim.name)}: {error.message}"
