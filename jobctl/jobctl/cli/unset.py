"""Commands that ended because a variable was not set: people meet that who tried the command in their own shell."""

import re
from shlex import quote
from typing import Any, Final

from jobctl.reading.runs import first_line

#: `sh: 1: TOKEN: parameter not set`, `bash: line 1: TOKEN: unbound variable`.
_SAID: Final = re.compile(r"(?:^|[:\s])([A-Za-z_][A-Za-z0-9_]*): (?:parameter not set|unbound variable)$")


def hint(run: dict[str, Any]) -> str:
    """Empty: it did not end so."""
    found = _SAID.search(first_line(run.get("error")))
    if found is None:
        return ""
    return f"jobs do not get the variables of your shell: jobctl edit {quote(run['job'])} --env {found[1]}"
