"""What is known of the files that declare jobs: how many each owns, and what of it was refused, and why."""

from jobctl.model import Fact


class Problem(Fact, frozen=True):
    """What of a file was refused. `line` and `column` count from 1; None: it is about the file as a whole."""

    line: int | None
    text: str
    """The line as it stands there, made printable; empty for the whole file."""
    reason: str
    """What is wrong with it, and what holds instead."""
    column: int | None = None


class FileState(Fact, frozen=True):
    """One file, as it was read last."""

    path: str
    kind: str
    """crontab; periodic: an anacrontab, or a folder of scripts; or jobs."""
    owner_uid: int
    """Whose jobs it makes: who else may not hear of it, but root."""
    owner_name: str | None = None
    """Of a user's table: its owner is the number with this name."""
    jobs: int = 0
    """How many it owns."""
    loaded_ms: int | None = None
    """When its content was taken over last; None: never by this daemon."""
    problems: tuple[Problem, ...] = ()

    def is_of(self, uid: int, name: str) -> bool:
        """Whether an account may hear of it. One that was given an old number is another one."""
        return self.owner_uid == uid and self.owner_name in (None, name)
