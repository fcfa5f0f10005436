"""What is run: the command, its input, its surroundings and its user."""

import re
from typing import Final

from jobctl.drafts.circumstances import Circumstances
from jobctl.drafts.values import argument, matching
from jobctl.errors import Forbidden, InvalidInput
from jobctl.model import Execution, JobDraft, Target

UMASK: Final = 0o022
#: Linux takes 2 MiB for all arguments and variables with the default stack.
ARGUMENTS_BYTES_MAX: Final = 1 << 20
ENV_MAX: Final = 1000
_ROOT: Final = 0
PATH_BYTES_MAX: Final = 4095

_VARIABLE: Final = re.compile(r"[^\x00-\x20=\x7f]{1,255}")
_UMASK: Final = r"(?:0o)?0?[0-7]{1,3}"


def checked_work(draft: JobDraft, here: Circumstances) -> Execution:
    """What the job runs, and as whom."""
    command, shell = _target(draft.target)
    user = _user(draft.user, here)
    return Execution(
        command=command,
        shell=shell,
        stdin=_stdin(draft),
        payload_ref=_path(draft.payload_ref, "payload_ref"),
        env=_env(draft.env),
        env_file=_path(draft.env_file, "env_file"),
        user=user,
        cwd=_path(draft.cwd, "cwd"),
        umask=_umask(draft.umask),
        nice=_nice(draft.nice, here),
        path=_login_path(user, here),
        login_env=draft.login_env,
    )


def _target(target: Target) -> tuple[list[str] | None, str | None]:
    if (target.command is None) == (target.shell is None):
        raise InvalidInput("a job runs one thing", "give target.command or target.shell", field="target")
    if target.shell is not None:
        if not target.shell.strip():
            raise InvalidInput("the shell line is empty", "give the line to run", field="target.shell")
        return None, argument(target.shell, "target.shell")
    command = target.command or []
    if not command or not command[0]:
        raise InvalidInput("there is no command", "the first word is the program", field="target.command")
    if sum(len(argument(word, "target.command").encode()) + 1 for word in command) > ARGUMENTS_BYTES_MAX:
        raise InvalidInput("the arguments have over 1 MiB", "put them into a file", field="target.command")
    return command, None


def _stdin(draft: JobDraft) -> str | None:
    if draft.stdin is not None and draft.payload_ref is not None:
        raise InvalidInput("a command has one input", "give stdin or payload_ref", field="payload_ref")
    return draft.stdin


def _env(env: dict[str, str]) -> dict[str, str]:
    if len(env) > ENV_MAX:
        raise InvalidInput(f"there are over {ENV_MAX} variables", "put them into an env_file", field="env")
    for name, value in env.items():
        if not _VARIABLE.fullmatch(name):
            raise InvalidInput(
                f"{name[:40]!a} cannot name a variable", "no =, spaces or control characters", field="env"
            )
        argument(f"{name}={value}", f"env.{name[:40]}")
    if sum(len(name) + len(value.encode()) + 2 for name, value in env.items()) > ARGUMENTS_BYTES_MAX:
        raise InvalidInput("the variables have over 1 MiB", "put them into an env_file", field="env")
    return env


def _path(path: str | None, field: str) -> str | None:
    if path is None:
        return None
    if not path.startswith("/") or "\0" in path or len(path.encode()) > PATH_BYTES_MAX:
        hint = "~ is not expanded: write the whole path" if path.startswith("~") else "write it from / on"
        raise InvalidInput(f"{path[:60]!a} is not an absolute path", hint, field=field)
    return path


def _user(user: str | None, here: Circumstances) -> str | None:
    if user is None or user == (here.owner or here.daemon_user):
        return None
    if not here.system:
        raise InvalidInput(
            f"this daemon runs as {here.daemon_user} and cannot become {user[:40]!a}",
            "leave the user out, or ask the system's daemon as root",
            field="user",
        )
    if here.caller_uid != _ROOT:
        raise Forbidden(
            "only root chooses as whom a job runs", "leave the user out: it runs as you", details={"field": "user"}
        )
    if not re.fullmatch(r"[A-Za-z0-9_.][A-Za-z0-9_.@\\-]{0,63}\$?", user) or not here.user_exists(user):
        raise InvalidInput(f"there is no user {user[:40]!a}", "see `getent passwd`", field="user")
    return user


def _login_path(user: str | None, here: Circumstances) -> str:
    """The PATH that a login gives the user whom the command runs as: root has the folders for the system's programs."""
    runs_as = user or here.owner or here.daemon_user
    return here.path if runs_as == here.daemon_user or here.others_path is None else here.others_path


def _umask(text: str | None) -> int:
    if text is None:
        return UMASK
    return int(matching(text, _UMASK, "umask", "octal digits such as 022").removeprefix("0o"), 8)


def _nice(nice: int | None, here: Circumstances) -> int:
    value = 0 if nice is None else nice
    if not -20 <= value <= 19:
        raise InvalidInput(f"nice is {str(value)[:20]}", "it goes from -20 to 19", field="nice")
    if value < 0 and not here.system:
        raise InvalidInput("only root may raise a priority", "nice goes from 0 to 19 here", field="nice")
    if value < 0 and here.caller_uid != _ROOT:
        hint = "nice goes from 0 to 19 for all others"
        raise Forbidden("only root may raise a priority", hint, details={"field": "nice"})
    return value
