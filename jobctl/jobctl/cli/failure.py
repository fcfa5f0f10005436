"""An error in words, or in JSON for programs: what, why, and what to do last."""

import os
import re
from collections.abc import Sequence

from jobctl.cli.render import Render
from jobctl.cli.world import World
from jobctl.errors import InternalError, InvalidInput, JobctlError

_NO_INTEGER = re.compile("is not a valid int(eger)?( range)?$")


def report(error: BaseException, arguments: Sequence[str], world: World) -> int:
    """Print it; the exit code that belongs to it."""
    known = _known(error, arguments)
    render = Render(world.stdout, world.stderr, world.environ, "table", "auto")
    if _wants_json(arguments):
        body = {"code": known.code, "message": known.message, "hint": _hint(known)}
        render.json_error({"error": body})
    else:
        why = known.details.get("why")
        render.error(known.message, [("why", str(why) if why else ""), ("try", _hint(known))])
    return known.exit_code


def _known(error: BaseException, arguments: Sequence[str]) -> JobctlError:
    if isinstance(error, JobctlError):
        return error
    usage = _usage_error(error, arguments)
    if usage is not None:
        return usage
    if isinstance(error, FileNotFoundError) and _is_nowhere():
        return InvalidInput("the directory that you are in was removed", "cd to one that is there")
    text = " ".join(f"{type(error).__name__}: {error}".split())
    return InternalError(f"this is a bug of jobctl: {text}", "report it with the output of JOBCTL_DEBUG=1")


def _is_nowhere() -> bool:
    try:
        os.getcwd()
    except FileNotFoundError:
        return True
    return False


def _usage_error(error: BaseException, arguments: Sequence[str]) -> InvalidInput | None:
    """What Typer found wrong with a command line, in our words."""
    from typer.exceptions import TyperException

    if not isinstance(error, TyperException):
        return None
    message = _NO_INTEGER.sub("is not a whole number", error.format_message().strip().rstrip("."))
    context = getattr(error, "ctx", None)
    path = getattr(context, "command_path", None) or _verb(arguments)
    return InvalidInput(message[:1].lower() + message[1:], f"see {path} --help")


def _verb(arguments: Sequence[str]) -> str:
    """The verb of a command line that could not be read, for a hint."""
    from jobctl.cli.verbs import ALIASES, BY_WORDS

    words = [word for word in arguments if not word.startswith("-")][:2]
    for text in (" ".join(words), ALIASES.get(words[0], words[0]) if words else ""):
        if text in BY_WORDS:
            return f"jobctl {text}"
    return "jobctl"


def _hint(error: JobctlError) -> str:
    if error.hint or not isinstance(error, InvalidInput):
        return error.hint
    return "see jobctl --help"


def _wants_json(arguments: Sequence[str]) -> bool:
    """Known without a parse: the command line itself may be what is wrong."""
    options = list(arguments)
    if "--" in options:
        options = options[: options.index("--")]
    joined = ("--output=json", "--output=ndjson", "-ojson", "-ondjson", "--json")
    after = {options[i + 1] for i, option in enumerate(options[:-1]) if option in ("-o", "--output")}
    return any(option in joined for option in options) or bool(after & {"json", "ndjson"})
