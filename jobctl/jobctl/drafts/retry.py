"""What is tried again, how often and how far apart (docs/failures.md, "Retries")."""

import re
from typing import Final

from jobctl.defaults import Defaults
from jobctl.drafts.values import argument, milliseconds
from jobctl.errors import InvalidInput
from jobctl.model import RetryDraft
from jobctl.states import FailureClass

RETRIES_MAX: Final = 1000
#: A cancelled run is never retried, so nobody needs to say so.
CLASSES: Final = tuple(word.value for word in FailureClass if word is not FailureClass.CANCELLED)
_KINDS_MAX: Final = 255 + len(CLASSES)
_EXIT_CODE: Final = re.compile(r"[1-9][0-9]{0,2}", re.ASCII)
_ASK: Final = "ask:"


def delays_ms(draft: RetryDraft, otherwise: Defaults) -> tuple[int, int]:
    """The first delay and the cap. One that is given moves the default of the other where the two would not fit."""
    first_ms = milliseconds(draft.backoff, "retry.backoff")
    cap_ms = milliseconds(draft.backoff_max, "retry.backoff_max")
    if first_ms == 0:
        raise InvalidInput(
            "a retry without a delay would hammer what just failed", "at least 1ms", field="retry.backoff"
        )
    if cap_ms == 0:
        raise InvalidInput("a cap of 0 leaves no delay", "at least 1ms", field="retry.backoff_max")
    if first_ms is None:
        first_ms = otherwise.backoff_ms if cap_ms is None else min(otherwise.backoff_ms, cap_ms)
    if cap_ms is None:
        cap_ms = max(otherwise.backoff_max_ms, first_ms)
    if cap_ms < first_ms:
        raise InvalidInput(
            "the longest delay between attempts is shorter than the first",
            "retry.backoff_max is at least retry.backoff",
            field="retry.backoff_max",
        )
    return first_ms, cap_ms


def hopeless_kinds(kinds: list[int | str] | None) -> list[str]:
    """Exit codes and classes of failure that end a run at once, as texts, each once."""
    if kinds is not None and len(kinds) > _KINDS_MAX:
        raise InvalidInput(f"there are over {_KINDS_MAX} kinds of failure", "name each once", field="retry.no_retry_on")
    return list(dict.fromkeys(_kind(kind) for kind in kinds or ()))


def _kind(kind: int | str) -> str:
    text = str(kind)
    if text in CLASSES or (_EXIT_CODE.fullmatch(text) and int(text) <= 255):
        return text
    raise InvalidInput(
        f"{text[:40]!a} is neither an exit code nor a class of failure",
        f"1 to 255, or one of {', '.join(CLASSES)}",
        field="retry.no_retry_on",
    )


def on_lost(text: str | None, otherwise: Defaults) -> str:
    """retry, dead, or ask:COMMAND: a line for the shell."""
    if text is None:
        return otherwise.on_lost
    if text in ("retry", "dead") or (text.startswith(_ASK) and text.removeprefix(_ASK).strip()):
        return argument(text, "retry.on_lost")
    raise InvalidInput(
        f"{text[:40]!a} is nothing to do after a loss", "retry, dead or ask:COMMAND", field="retry.on_lost"
    )
