"""The `%` rule of a command, both ways (Debian's do_command.c).

The first bare `%` ends the command; what follows is its input, each further bare `%` a newline. In the command
`\\%` is `%` and `\\\\` is a backslash; in the input only `\\%` is special.
"""

from jobctl.errors import InvalidInput


def split_command(text: str) -> tuple[str, str | None]:
    """The command, and its input; None where there is no bare `%`. `cron` adds a newline at the input's end."""
    command: list[str] = []
    at = 0
    while at < len(text):
        char = text[at]
        if char == "%":
            return "".join(command), _input(text[at + 1 :])
        if char == "\\" and text[at + 1 : at + 2] in ("%", "\\"):
            at += 1
            char = text[at]
        command.append(char)
        at += 1
    return "".join(command), None


def _input(text: str) -> str:
    """Each character against the one before it: a `%` after a backslash stays one, and takes that backslash."""
    written: list[str] = []
    escaped = False
    for char in text:
        if escaped and char != "%":
            written.append("\\")
        if char == "%" and not escaped:
            char = "\n"
        escaped = char == "\\"
        if not escaped:
            written.append(char)
    return "".join(written) + ("\\" if escaped else "")


def join_command(command: str, stdin: str | None) -> str:
    """The text of a crontab line that reads as this command and gives it this input.

    Raises `InvalidInput` for what no line can say: a command of several lines, an input that does not end with a
    newline, a backslash before a newline.
    """
    if "\n" in command or "\0" in command:
        raise InvalidInput("a command of several lines does not fit in a crontab line", "put it in a script")
    if not stdin:
        return _escaped(command, last=False)
    return f"{_escaped(command, last=True)}%{_escaped_input(stdin)}"


def _escaped(command: str, *, last: bool) -> str:
    written: list[str] = []
    for at, char in enumerate(command):
        following = command[at + 1 : at + 2]
        doubled = char == "\\" and (following in ("\\", "%") if following else last)
        written.append("\\\\" if doubled else "\\%" if char == "%" else char)
    return "".join(written)


def _escaped_input(stdin: str) -> str:
    if not stdin.endswith("\n"):
        raise InvalidInput("cron ends every input with a newline, this one has none", "end it with a newline")
    if "\0" in stdin:
        raise InvalidInput("cron cannot say a NUL byte in the input", "put it in a file")
    line = stdin[:-1]
    kept = line if line and not line.endswith("\n") else stdin  # cron adds the last newline only where it is missing
    if "\\\n" in kept:
        raise InvalidInput("cron cannot say a backslash before a newline in the input", "put it in a file")
    return kept.replace("%", "\\%").replace("\n", "%")
