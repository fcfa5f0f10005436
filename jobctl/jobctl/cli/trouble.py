"""What is wrong with a daemon and its jobs, a sentence each: for `status`, and for a monitor."""

from collections.abc import Iterator
from shlex import quote
from typing import Any, Final

from jobctl.cli import describe, files
from jobctl.cli.dead import count_words
from jobctl.client.sync import Client
from jobctl.errors import Unavailable
from jobctl.reading.times import Viewer, duration, milliseconds, rfc3339, span

#: What is due and not started for longer is a trouble.
_OLDEST_DUE_S: Final = 60
#: Who has paused what the daemon paused by itself.
_ITSELF: Final = "jobd"


def troubles(status: dict[str, Any]) -> Iterator[str]:
    """What is wrong, new or not."""
    yield from _unwell(status)
    yield from files.problems(status)
    if status["dead"]["total"]:
        yield f"{count_words(status['dead']['total'])}: jobctl dlq ls"
    if status["jobs"]["failed"]:
        yield f"{status['jobs']['failed']} failed: jobctl ls --state failed"
    yield from _jobs_in_trouble(status)


def alarms(status: dict[str, Any], client: Client, viewer: Viewer, new_ms: int) -> Iterator[str]:
    """What a monitor is to hear of, one sentence each; a dead letter is new for `new_ms`."""
    yield from _unwell(status)
    yield from files.alarms(status)
    dead = status["dead"]
    if dead["newest_at"] and viewer.now_ms - milliseconds(dead["newest_at"]) < new_ms:
        since = duration(new_ms / 1000)
        new = sum(1 for _ in client.dead(since=rfc3339(viewer.now_ms - new_ms + 1)))
        words = count_words(new).replace("dead", "new dead")
        yield (f"{words} in {since}, of {dead['total']} in all, the newest {viewer.ago(dead['newest_at'])}: "
               f"jobctl dlq ls --since {since}")  # fmt: skip
    yield from _jobs_in_trouble(status)


def unready(client: Client, told: list[str]) -> list[str]:
    """Why it cannot take work, as a write of its own shows, unless that is told already."""
    try:
        client.ready()
    except Unavailable as error:
        known = {_without_numbers(text) for text in told}
        return [] if _without_numbers(error.message) in known else [error.message]
    return []


def pauses_of(client: Client, status: dict[str, Any]) -> list[dict[str, Any]]:
    """The daemon's pause, and those of queues."""
    queues = [queue for queue in client.queues() if queue["paused"] and queue["name"]]
    return [status["paused"], *queues] if status["paused"] else queues


def is_its_own(pause: dict[str, Any]) -> bool:
    """Whether the daemon has paused it by itself."""
    return bool(pause["paused_by"] == _ITSELF)


def paused_words(pauses: list[dict[str, Any]], viewer: Viewer) -> Iterator[str]:
    """What is paused, by whom, and how it goes on."""
    for pause in pauses:
        what, resume = f"queue {pause['name']}", f"jobctl queue resume {quote(pause['name'])}"
        if not pause["name"]:
            what, resume = "the daemon", "jobctl daemon resume"
        yield f"{what}, {describe.paused(pause, viewer)}; {resume}"


def _without_numbers(text: str) -> str:
    return "".join(letter for letter in text if not letter.isdigit())


def _unwell(status: dict[str, Any]) -> Iterator[str]:
    """What is wrong with the daemon itself."""
    if status["state"] != "running":
        yield f"the daemon is {status['state']}"
    yield from (str(text) for text in status["warnings"])
    yield from _silent_services(status)
    oldest_s = status["oldest_due_s"]
    if oldest_s is not None and oldest_s > _OLDEST_DUE_S:
        yield f"the oldest due run has been waiting for {span(oldest_s)}: jobctl runs --state scheduled,ready"


def _silent_services(status: dict[str, Any]) -> Iterator[str]:
    """Services that fail and of which no warning tells."""
    for name, service in status["services"].items():
        if service.get("error") and not any(name in str(text) for text in status["warnings"]):
            yield f"{name} fails: {service['error']}"


def _jobs_in_trouble(status: dict[str, Any]) -> Iterator[str]:
    if status["quarantined"]:
        yield f"{status['quarantined']} quarantined after too many dead letters: jobctl ls --state quarantined"
    if status["skipping"]:
        yield f"{status['skipping']} skipped again and again: jobctl ls --state skipping"
    if status["jobs"]["parked"]:
        yield f"{status['jobs']['parked']} parked, their schedules cannot be expanded: jobctl ls --state parked"
