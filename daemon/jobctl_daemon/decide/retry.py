"""What follows a failure: a retry at an instant, a dead letter, or a failed run in history.

The rules are those of docs/failures.md. Hopeless failures are not retried: a program
that cannot be started, and the exit codes by which commands say that trying again will not help (sysexits.h: usage,
data, input, user, host, permission, configuration; 126 and 127 of a shell). A *lost* attempt may have done its work, so
it has a budget and a rule of its own.
"""

from typing import Final

import msgspec

from jobctl.model import Policies
from jobctl.states import FailureClass, OnFailure, RunState
from jobctl_daemon.decide.backoff import delay_ms
from jobctl_daemon.decide.fingerprint import fingerprint, last_line, shortened
from jobctl_daemon.decide.outcome import Outcome, Result, judge, record
from jobctl_daemon.rows import Effort, Finish

HOPELESS_EXITS: Final = frozenset({64, 65, 66, 67, 68, 77, 78, 126, 127})
ASK: Final = "ask:"
_UNSEEN: Final = frozenset({FailureClass.LOST, FailureClass.INTERRUPTED})
_NOT_DONE: Final = 1


def settle(result: Result, effort: Effort | None, tail: bytes, now_ms: int) -> Finish:
    """The row for a result. `effort` is what the store knows of the attempt, None when it knows none (the row will be
    refused there); `tail` are the last bytes of its log."""
    outcome = judge(result, effort.stop_by if effort else None)
    done = record(result, outcome)
    if effort is None or outcome.state is not RunState.FAILED:
        return done
    error = last_line(tail)
    named = msgspec.structs.replace(
        done, error=shortened(error), fingerprint=fingerprint(_kind(result, outcome), _said(done, error))
    )
    if result.cause == "deadly":
        return _for_good(named, effort.policies, "not retried: that would kill the daemon again")
    if outcome.failure_class in _UNSEEN:
        return _of_loss(named, effort, now_ms)
    if effort.probe:
        return _of_answer(named, effort, now_ms)
    return _of_failure(named, effort, now_ms)


def _of_failure(done: Finish, effort: Effort, now_ms: int) -> Finish:
    rules, nth = effort.policies, effort.failures + 1
    why = hopeless(done, rules)
    if why is None and nth <= rules.retries:
        wait_ms = delay_ms(rules.backoff_ms, rules.backoff_max_ms, nth, effort.key)
        return _again(done, min(done.ended_ms, now_ms) + wait_ms)
    if why is None and nth > 1:
        why = f"{nth} attempts have failed"
    return _for_good(done, rules, why)


def _of_loss(done: Finish, effort: Effort, now_ms: int) -> Finish:
    """Nobody saw its end: it may have done its work, or not."""
    rules, nth = effort.policies, effort.losses + 1
    done = msgspec.structs.replace(done, counted="lost")
    why = "what is lost is not retried here" if rules.on_lost == "dead" else hopeless(done, rules)
    if why is not None:
        return _for_good(done, rules, why)
    if nth > rules.lost_retries:
        return _for_good(done, rules, f"it was lost {nth} times" if nth > 1 else None)
    if rules.on_lost.startswith(ASK):
        return _again(done, now_ms, probe=True)
    wait_ms = delay_ms(rules.backoff_ms, rules.backoff_max_ms, nth, f"{effort.key} lost")
    return _again(done, min(done.ended_ms, now_ms) + wait_ms)


def _of_answer(done: Finish, effort: Effort, now_ms: int) -> Finish:
    """The command of on_lost has answered: 1 is "it was not done", anything else leaves it open."""
    done = msgspec.structs.replace(done, counted="")
    if done.failure_class is FailureClass.EXIT_CODE and done.exit_code == _NOT_DONE:
        reason = "it was not done before it was lost, says its on-lost command"
        return _again(msgspec.structs.replace(done, reason=reason), now_ms)
    return _for_good(done, effort.policies, "so its on-lost command could not tell whether it was done")


def hopeless(done: Finish, rules: Policies) -> str | None:
    """Why another attempt would not help; None: it might."""
    if done.failure_class is FailureClass.SPAWN_ERROR:
        return "not retried: it would not start the next time either"
    if done.exit_code is not None and str(done.exit_code) in rules.no_retry_on:
        return f"not retried: its job says so of exit {done.exit_code}"
    if done.failure_class is not None and done.failure_class.value in rules.no_retry_on:
        return f"not retried: its job says so of {done.failure_class.value}"
    if done.failure_class is FailureClass.EXIT_CODE and done.exit_code in HOPELESS_EXITS:
        return f"not retried: exit {done.exit_code} says that trying again will not help"
    return None


def _again(done: Finish, at_ms: int, *, probe: bool = False) -> Finish:
    return msgspec.structs.replace(done, state=RunState.READY, retry_ms=at_ms, probe=probe)


def _for_good(done: Finish, rules: Policies, why: str | None) -> Finish:
    state = RunState.DEAD if rules.on_failure is OnFailure.DEAD else RunState.FAILED
    tried = rules.retries or rules.on_failure is OnFailure.DEAD
    reason = f"{done.reason}; {why}" if why and tried else done.reason
    return msgspec.structs.replace(done, state=state, reason=reason)


def _kind(result: Result, outcome: Outcome) -> str:
    number = result.exit_code if result.signal is None else result.signal
    return outcome.word if number is None else f"{outcome.word} {number}"


def _said(done: Finish, error: str | None) -> str | None:
    """What tells one failure from another: what it printed last, or why it could not be started."""
    return done.detail if done.failure_class is FailureClass.SPAWN_ERROR else error
