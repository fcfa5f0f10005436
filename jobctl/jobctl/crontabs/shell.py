"""How a line's command becomes a target, and back.

cron runs `SHELL -c COMMAND` (execle in do_command.c), so: `shell` where that is /bin/sh, else the argument vector.

JSON holds only text. A command with bytes that are not UTF-8 is given to `printf`, which turns octal escapes back
into those bytes before the shell sees them; the rest of it stays readable.
"""

import re
import shlex
from collections.abc import Mapping
from typing import Any

from .table import is_utf8

SH = "/bin/sh"
_PRINTF = 'exec "$0" -c "$(printf -- "$1")"'
_OCTAL = re.compile(r"\\([0-7]{3})|\\\\|%%")


def target_of(command: str, shell: str) -> dict[str, Any]:
    """The target that runs a command as cron would."""
    if not is_utf8(command):
        return {"command": [SH, "-c", _PRINTF, shell, _as_format(command)]}
    if shell == SH and command.strip():
        return {"shell": command}
    return {"command": [shell, "-c", command]}


def command_of(target: Mapping[str, Any], env: Mapping[str, str] | None) -> str | None:
    """The command of a crontab line that runs this target; None for what is no command.

    `env` is the job's; None when it is not known: then any shell's `-c` counts.
    """
    if target.get("shell") is not None:
        return str(target["shell"])
    words = target.get("command")
    if not isinstance(words, list) or not words:
        return None
    shell = None if env is None else env.get("SHELL", SH)
    if len(words) == 3 and words[1] == "-c" and _is_shell(words[0], shell):
        return str(words[2])
    if len(words) == 5 and words[:3] == [SH, "-c", _PRINTF] and _is_shell(words[3], shell):
        return _from_format(words[4])
    return shlex.join(words)


def _is_shell(program: str, expected: str | None) -> bool:
    return program == expected if expected is not None else program.endswith("sh")


def _as_format(command: str) -> str:
    return "".join(_format_char(char) for char in command)


def _format_char(char: str) -> str:
    if "\udc80" <= char <= "\udcff":
        return f"\\{ord(char) - 0xDC00:03o}"
    return char * 2 if char in "\\%" else char


def _from_format(text: str) -> str:
    def char(match: re.Match[str]) -> str:
        return chr(0xDC00 + int(match[1], 8)) if match[1] else match[0][0]

    return _OCTAL.sub(char, text)
