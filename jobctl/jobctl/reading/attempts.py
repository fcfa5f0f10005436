"""The attempts of a run, one after the other: how each ended, how long after the one before, what it used."""

from typing import Any

from jobctl.reading import runs
from jobctl.reading.spawning import in_words
from jobctl.reading.times import Viewer, milliseconds, took

Fact = tuple[str, str]
Attempt = dict[str, Any]

#: A new process counts what its parent had, so that a smaller value says nothing of the command.
_RUNNER_BYTES = 16_000_000


def facts(attempts: list[Attempt], viewer: Viewer, *, state: str) -> list[Fact]:
    """Lines of label and text. `state` is that of the run: it says how its last attempt went."""
    lines: list[Fact] = []
    before: Attempt | None = None
    for attempt in attempts:
        last = attempt is attempts[-1]
        lines += _of(attempt, viewer, [_ended(attempt, viewer, state if last else ""), *_delay(before, attempt)])
        before = attempt
    return lines


def _ended(attempt: Attempt, viewer: Viewer, state: str) -> str:
    taken = ""
    if attempt["started_at"]:
        end_ms = milliseconds(attempt["ended_at"]) if attempt["ended_at"] else viewer.now_ms
        taken = f" after {took((end_ms - milliseconds(attempt['started_at'])) / 1000)}"
    if not attempt["ended_at"]:
        return f"running{taken.replace('after', 'for')}"
    if attempt["class"]:
        return f"{runs.failure(attempt)}{taken}"
    return f"{'ok' if state in ('', 'succeeded') or attempt['exit_code'] == 0 else 'ended'}{taken}"


def _delay(before: Attempt | None, attempt: Attempt) -> list[str]:
    if before is None or not before["ended_at"]:
        return []
    begun = attempt["started_at"] or attempt["claimed_at"]
    waited_s = max(0, milliseconds(begun) - milliseconds(before["ended_at"])) / 1000
    return [f"{took(waited_s)} after attempt {before['attempt']}"]


def _of(attempt: Attempt, viewer: Viewer, words: list[str]) -> list[Fact]:
    words = [*words, f"pid {attempt['pid']}" if attempt["pid"] else "not started"]
    if attempt["cpu"] is not None:
        words.append(f"cpu {took(attempt['cpu'])}")
    if (attempt["max_rss"] or 0) > _RUNNER_BYTES:
        words.append(f"memory at least {runs.size(attempt['max_rss'])}")
    if attempt["log_size"] is not None:
        dropped = f", {runs.size(attempt['log_dropped'])} of it dropped" if attempt["log_dropped"] else ""
        words.append(f"log {runs.size(attempt['log_size'])}{dropped}")
    lines = [(f"attempt {attempt['attempt']}", ", ".join(words))]
    if attempt["detail"]:
        lines.append(("", in_words(attempt["detail"])))
    lines += [("", f"{name} sent {viewer.clock(at)}") for at, name in attempt["signals"]]
    if attempt["left_behind"]:
        lines.append(("", "left running: pid " + ", ".join(map(str, attempt["left_behind"]))))
    return lines
