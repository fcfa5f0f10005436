"""How the daemon is reached just now, judged by when it was last heard. Pure: what is heard and the time come in."""

from typing import Final, Literal, NamedTuple

from jobctl.errors import CallerError, JobctlError, VersionMismatch

State = Literal["connecting", "live", "slow", "down", "refused"]

#: Every answer asked for comes within milliseconds; beyond so much more than the time between two questions it is slow,
#: and beyond so much whoever listens there is taken for gone.
SLOW_MS: Final = 2_000
GONE_MS: Final = 8_000
#: The first try again is at once, for a daemon that is being restarted; then they get rarer, and never end.
FIRST_RETRY_MS: Final = 250
LAST_RETRY_MS: Final = 5_000
#: A daemon of another version, or one that does not serve this user: only a change of it helps.
REFUSED_RETRY_MS: Final = 30_000


class Link(NamedTuple):
    """Instants are of the daemon's clock, in milliseconds, as `Feed.now_ms` tells it."""

    state: State
    since_ms: int
    """Of one that is live, when it became so; else when the daemon was last heard, or first missed."""
    error: JobctlError | None = None
    """Why it is not live; may be there beside a slow answer too."""
    tries: int = 0
    """Vain ones since it was lost."""
    retry_at_ms: int | None = None
    """The next one; None while one is under way."""
    as_of_ms: int | None = None
    """What is shown was true then; None: nothing has been read yet, or it is true now."""

    @property
    def reached(self) -> bool:
        """Whether it was heard, and not long ago."""
        return self.state in {"live", "slow"}

    @property
    def away(self) -> bool:
        """Whether what changes jobs would be asked for in vain. A slow daemon may still do it, and so may one that has
        not said its first word yet."""
        return self.state in {"down", "refused"}

    @property
    def why(self) -> str:
        """The error in words, with what the system said; it is not yet made safe."""
        if self.error is None:
            return ""
        return str(self.error.details.get("why") or self.error.message)


def is_refusal(error: JobctlError) -> bool:
    """Somebody answered, and the answer will be the same next time."""
    return isinstance(error, (CallerError, VersionMismatch))


def heartbeat(silent_ms: int, between_ms: int) -> State:
    """What a silence of `silent_ms` means while something is asked for every `between_ms`."""
    if silent_ms > between_ms + GONE_MS:
        return "down"
    return "slow" if silent_ms > between_ms + SLOW_MS else "live"


def retry_after_ms(tries: int, share: float) -> int:
    """How long to wait after the `tries`-th vain try; `share` (0…1) spreads many screens that lost one daemon."""
    longest: int = min(LAST_RETRY_MS, FIRST_RETRY_MS * 2 ** min(tries - 1, 10))
    return round(longest * (0.5 + share / 2))
