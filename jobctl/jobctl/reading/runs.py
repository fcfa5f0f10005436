"""Runs in a few words, the same in every verb and on every screen."""

from signal import Signals
from typing import Any

from jobctl.reading.spawning import in_words
from jobctl.reading.times import Viewer, milliseconds, span, took

_CLASS_WORDS = {"timed_out": "timed out", "oom": "out of memory", "spawn_error": "could not start"}
#: Without a word here a failure is told by its exit code or signal.
_NAMED_CLASSES = (*_CLASS_WORDS, "lost", "interrupted", "cancelled")
#: Ends that nobody saw: they are outside the budget of retries.
_UNSEEN = ("lost", "interrupted")


def signal_name(number: int) -> str:
    try:
        return Signals(number).name
    except ValueError:
        return f"signal {number}"


def failure(run: dict[str, Any]) -> str:
    """How a run or an attempt failed: `exit 1`, `SIGKILL`, `timed out`."""
    kind = str(run.get("class") or run.get("outcome") or "")
    if kind in _NAMED_CLASSES:
        return _CLASS_WORDS.get(kind, kind)
    if run.get("signal") is not None:
        return signal_name(int(run["signal"]))
    if run.get("exit_code") is not None:
        return f"exit {run['exit_code']}"
    said = str(run.get("reason") or "").partition(";")[0]
    if kind == "exit_code" and said.startswith("exit "):
        return said
    if kind == "signal" and said.endswith(")"):  # ended by signal 9 (SIGKILL)
        return said.rpartition("(")[2].removesuffix(")")
    return kind.replace("_", " ") or "failed"


def outcome(run: dict[str, Any]) -> str:
    """How a run went: `ok`, `exit 1`, `dead: exit 1`, `skipped: overlap`, or its state while it is active."""
    word = str(run["state"])
    if word == "succeeded":
        return "ok"
    if word == "skipped":
        reason = run.get("reason") or run.get("outcome")
        return f"skipped: {reason}" if reason and reason != "skipped" else "skipped"
    if word in ("dead", "discarded"):
        return f"{word}: {failure(run)}"
    if waits_for_retry(run):
        return "retrying"
    if word == "running" and str(run.get("reason") or "").startswith("stopped"):
        return "stopped"
    return failure(run) if word == "failed" else word


def waits_for_retry(run: dict[str, Any]) -> bool:
    """An attempt failed, and the next one has its time. A pause makes a waiting retry *scheduled* again."""
    if run["state"] not in ("ready", "scheduled") or not run.get("attempt") or not run.get("class"):
        return False
    return not run.get("replays") or int(run["attempt"]) > int(run["uncounted"]) or run["class"] in _UNSEEN


def waits_for_replay(run: dict[str, Any]) -> bool:
    """It was a dead letter, and is to run again: when the pace says so, or what is before it has ended."""
    waits = run["state"] in ("ready", "scheduled") and bool(run.get("replays")) and bool(run.get("class"))
    return waits and not waits_for_retry(run)


def retry(run: dict[str, Any], viewer: Viewer) -> str:
    """`retry 2 of 3 is due in 12s, 03:00:10 CET`, of a run that waits for one."""
    number, most = attempts_of_budget(run)
    which = f"retry {number} of {most - 1}" if 0 < number < most else "its next retry"  # none of them: it was lost
    if milliseconds(run["due_at"]) <= viewer.now_ms:
        return f"{which} is due now"
    return f"{which} is due {viewer.ago(run['due_at'])}, {viewer.clock(run['due_at'])}"


def attempts_of_budget(run: dict[str, Any]) -> tuple[int, int]:
    """Attempts that count against its retries, and how many of these it may have: a replay begins with none."""
    return int(run["attempt"]) - int(run["uncounted"]), int(run["max_attempts"]) - int(run["uncounted"])


def result(run: dict[str, Any], viewer: Viewer) -> str:
    """As `outcome`, for a table: what has not started says when it is due, what never did when that was decided."""
    if run["state"] in ("scheduled", "ready"):
        return _awaited(run, viewer)
    if run.get("started_at") or not run.get("finished_at"):
        return outcome(run)
    return f"{outcome(run)}, {viewer.ago(run['finished_at'])}"


def _awaited(run: dict[str, Any], viewer: Viewer) -> str:
    """`retry in 5m00s`, `in 5m00s`, `held`, `waits`; else the state."""
    first = str(run.get("reason") or "").partition(" ")[0].strip(":")
    what = "retry" if waits_for_retry(run) else "replay" if waits_for_replay(run) else ""
    kept = first if first in ("held", "waits") else ""
    if milliseconds(run["due_at"]) > viewer.now_ms:
        when = viewer.ago(run["due_at"]) + (f", {kept}" if kept else "")
    else:
        when = kept or ("due now" if what else str(run["state"]))
    return f"{what} {when}".strip()


def ended(run: dict[str, Any]) -> str:
    """As `outcome`, and what a table has no room for: why it could not start, who cancelled it."""
    text, reason = outcome(run), str(run.get("reason") or "")
    if text.endswith(_CLASS_WORDS["spawn_error"]) and reason:
        return f"{text}: {in_words(reason).removeprefix('it could not be started: ')}"
    if text == "cancelled" and " by " in reason:  # it was cancelled by ana; it was killed by run 12, which replaces it
        return reason.removeprefix("it was ")
    return text


def run_time(run: dict[str, Any], viewer: Viewer) -> str:
    """How long a run took, or has been running."""
    if not run.get("started_at") or run.get("state") == "discarded":  # it ended long before it was given up
        return ""
    begun_ms = milliseconds(run["started_at"])
    if run.get("finished_at"):
        return took((milliseconds(run["finished_at"]) - begun_ms) / 1000)
    return f"{run_age(run, viewer)} so far"


def run_age(run: dict[str, Any], viewer: Viewer) -> str:
    """How long ago it started."""
    return span((viewer.now_ms - milliseconds(run["started_at"])) / 1000) if run.get("started_at") else "now"


def target(job: dict[str, Any]) -> str:
    """The command as a person would type it."""
    what = job["target"]
    if what.get("shell") is not None:
        return str(what["shell"])
    from shlex import join

    return join(what.get("command") or [])


def first_line(text: str | None) -> str:
    """Of what a command printed, for a table."""
    return (text or "").partition("\n")[0].strip()


def size(count: int) -> str:
    """Bytes as `640 B`, `9.5 kB`, `10 MB`: decimal, as in `--log-max 10MB`."""
    value = float(count)
    for unit in ("B", "kB", "MB", "GB"):
        if value < 1000:
            return f"{value:.3g} {unit}"
        value /= 1000
    return f"{value:.4g} TB"
