"""What a command is likely to mean otherwise than it says: said beside it, never refused."""

from collections.abc import Mapping
from typing import Any, Final

_OPERATORS: Final = frozenset(("|", "||", "&&", ";", "&", ">", ">>", "<", "<<", "2>", "2>&1", "&>"))
_BUILTINS: Final = frozenset(
    (".", "alias", "cd", "eval", "exec", "exit", "export", "read", "set", "source", "trap", "ulimit", "umask", "unset")
)
_SHELL: Final = "choose a line for /bin/sh"


def slip_of(target: Mapping[str, Any]) -> str:
    """One sentence on the exec form; empty when there is nothing to say."""
    words = target.get("command") or []
    if not words:
        return ""
    program = str(words[0])
    operator = next((word for word in words if word in _OPERATORS), None)
    if program in _BUILTINS:
        return f"{program} is a word of the shell, and there is none: {_SHELL}"
    if operator is not None:
        return f"{operator} is an argument here, there is no shell: {_SHELL}"
    if program.startswith("~"):
        return "~ means nothing without a shell: write the whole path"
    if any("$" in word or "*" in word for word in words):
        return f"$ and * stand for themselves without a shell: {_SHELL}"
    if "/" in program and not program.startswith("/"):
        return f"{program} is looked for from the directory of the job: write the whole path"
    return ""
