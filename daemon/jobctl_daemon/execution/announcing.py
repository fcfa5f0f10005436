"""What is told of a started command: whose it is, and what, in the words of its job."""

from jobctl.crontabs.shell import command_of
from jobctl.model import Execution
from jobctl.states import Trigger
from jobctl_daemon.rows import Claim


def announcement(claim: Claim, user: str) -> tuple[str, str] | None:
    """(user, command) of what is told; None for what jobd itself starts: a delivery, or a question about a lost run."""
    if claim.trigger is Trigger.NOTICE or claim.probe:
        return None
    return user, words_of(claim.execution)


def words_of(work: Execution) -> str:
    """The command as a crontab line has it; bytes that are not UTF-8 are surrogates."""
    return command_of({"command": work.command, "shell": work.shell}, None) or ""
