"""Who a command runs as, and whether that still is who was meant.

In root's daemon a job runs as its owner, or as the `user` that root has chosen for it. The owner is a number and a
name: a run is refused when they no longer are one account's, since a new account may have the number of one that is
gone. A `user` was chosen by name, and goes by it. A daemon of another user runs all commands as itself.
"""

from dataclasses import dataclass

from jobctl.errors import InvalidInput
from jobctl_daemon.execution.identity import User
from jobctl_daemon.rows import Claim

_DAY_MS = 86_400_000
_ROOT = 0


@dataclass(frozen=True, slots=True)
class Whom:
    """An account to look up. `uid`: the number it must have; None: whichever has the name."""

    name: str
    uid: int | None = None


def whom(claim: Claim, daemon: User) -> Whom | None:
    """Whom a claim names; None: the daemon's own user. `InvalidInput`: it names nobody."""
    wanted = claim.execution.user
    if wanted is not None:
        return None if wanted == daemon.name else Whom(wanted)
    if daemon.uid != _ROOT or claim.owner_uid == daemon.uid:
        return None
    if claim.owner_uid < 0 or not claim.owner_name:
        raise InvalidInput("it is not recorded whose job it is", "add the job anew")
    return Whom(claim.owner_name, claim.owner_uid)


def confirmed(wanted: Whom, found: User, now_ms: int) -> User:
    """The account, if it is the one that was meant and has not ended. `InvalidInput` says why not.

    A locked password keeps nobody from running jobs, nor does one that is too old; an account that has expired does
    (chage -E), from the first second in UTC of its last day on, as pam_unix(8) counts.
    """
    if wanted.uid is not None and found.uid != wanted.uid:
        raise InvalidInput(
            f"the account {wanted.name} has another number ({found.uid}) than when the job was made ({wanted.uid})",
            "if it is the same person: jobctl owner rename, as root",
        )
    if found.expires_day is not None and now_ms // _DAY_MS >= found.expires_day:
        raise InvalidInput(f"the account {wanted.name} has expired", f"see chage -l {wanted.name}")
    return found
