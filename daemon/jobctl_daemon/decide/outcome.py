"""What the end of an attempt means: final state, failure class and the reason in words."""

import signal as signals
from dataclasses import dataclass

from jobctl.states import FailureClass, RunState
from jobctl_daemon.rows import Finish


@dataclass(frozen=True, slots=True)
class Result:
    """The runner's report of one ended attempt (docs/runner-protocol.md). Times in ms UTC."""

    run_id: int
    fence: int
    ended_ms: int
    started_ms: int | None = None
    pid: int | None = None
    pid_start: int | None = None
    exit_code: int | None = None
    signal: int | None = None
    cause: str | None = None
    detail: str | None = None
    oom: bool = False
    cpu_ms: int | None = None
    max_rss_kb: int | None = None
    log_size: int | None = None
    log_dropped_from: int | None = None
    log_dropped_to: int | None = None
    signals: tuple[tuple[int, str], ...] = ()
    left_behind: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Outcome:
    """The judgement. `word` is what tables show: ok, or the class."""

    state: RunState
    word: str
    failure_class: FailureClass | None
    reason: str | None


_CAUSES = {
    "timed_out": (RunState.FAILED, FailureClass.TIMED_OUT, "it ran into its timeout"),
    "cancelled": (RunState.CANCELLED, FailureClass.CANCELLED, "it was cancelled"),
    "killed": (RunState.CANCELLED, FailureClass.CANCELLED, "it was killed"),
    "log_failed": (RunState.FAILED, FailureClass.POLICY, "its output could not be kept under its cap"),
    "lost": (RunState.FAILED, FailureClass.LOST, "its end was not seen, the outcome is unknown"),
    "interrupted": (RunState.FAILED, FailureClass.INTERRUPTED, "the machine went down while it ran"),
    "deadly": (RunState.FAILED, FailureClass.LOST, "it was never seen to start"),
    "spawn_error": (RunState.FAILED, FailureClass.SPAWN_ERROR, "it could not be started"),
}


def judge(result: Result, stop_by: str | None = None) -> Outcome:
    """A command that exits 0 because it was told to stop is timed out or cancelled, never a success.

    `stop_by` is who asked for that.
    """
    if result.cause is not None:
        state, failure, words = _CAUSES.get(result.cause) or _unknown(result.cause)
        words = f"{words} by {stop_by}" if stop_by and failure is FailureClass.CANCELLED else words
        reason = f"{words}: {result.detail}" if result.detail else words
        return Outcome(state, failure.value, failure, reason)
    if result.exit_code == 0:
        return Outcome(RunState.SUCCEEDED, "ok", None, None)
    if result.oom:
        return Outcome(RunState.FAILED, FailureClass.OOM.value, FailureClass.OOM, "the kernel ended it: out of memory")
    if result.signal is not None:
        reason = f"ended by signal {result.signal} ({signal_name(result.signal)})"
        return Outcome(RunState.FAILED, FailureClass.SIGNAL.value, FailureClass.SIGNAL, reason)
    reason = f"exit {result.exit_code}"
    return Outcome(RunState.FAILED, FailureClass.EXIT_CODE.value, FailureClass.EXIT_CODE, reason)


def _unknown(cause: str) -> tuple[RunState, FailureClass, str]:
    """A newer runner's word, after a return to this version: what it did is as good as not seen."""
    return RunState.FAILED, FailureClass.LOST, f"it ended for a cause that this version does not know, {cause}"


def signal_name(number: int) -> str:
    """SIGKILL for 9; real-time signals by their number."""
    try:
        return signals.Signals(number).name
    except ValueError:
        return f"SIG{number}"


def record(result: Result, outcome: Outcome) -> Finish:
    """The row that records a result as it was judged."""
    return Finish(
        run_id=result.run_id,
        fence=result.fence,
        state=outcome.state,
        outcome=outcome.word,
        failure_class=outcome.failure_class,
        reason=outcome.reason,
        started_ms=result.started_ms,
        ended_ms=result.ended_ms,
        pid=result.pid,
        pid_start=result.pid_start,
        exit_code=result.exit_code,
        signal=result.signal,
        detail=result.detail,
        cpu_ms=result.cpu_ms,
        max_rss_kb=result.max_rss_kb,
        log_size=result.log_size,
        log_dropped_from=result.log_dropped_from,
        log_dropped_to=result.log_dropped_to,
        signals=result.signals,
        left_behind=result.left_behind,
    )
