"""Whom mail goes to: what cron's MAILTO and `--mail` take.

The rule is that of Debian's cron (safe_p in do_command.c), but for its `:`, which has a meaning in a header (RFC 5322,
groups): letters, digits and a few signs, a letter or digit first. So an address is neither an option, a file or a pipe
of the mail program, nor can it end a header.
"""

import re
from typing import Final

from jobctl.errors import InvalidInput

RECIPIENTS_MAX: Final = 20
#: RFC 5321: 64 for the mailbox, an @, 255 for the domain.
ADDRESS_CHARS_MAX: Final = 320
_ADDRESS: Final = re.compile(r"\w[\w@!%.+=/-]*")


def recipients(text: str) -> str:
    """One address or login name, or several with commas, as a header has them. Raises `InvalidInput`."""
    given = [part.strip() for part in text.split(",")]
    if len(given) > RECIPIENTS_MAX:
        raise InvalidInput(f"over {RECIPIENTS_MAX} are to get the mail", "send it to a list", field="mail.to")
    for address in given:
        if not _ADDRESS.fullmatch(address) or len(address) > ADDRESS_CHARS_MAX:
            raise InvalidInput(
                f"{address[:60]!a} is no address",
                "a login name or NAME@HOST, several with commas; a letter or digit first, no spaces",
                field="mail.to",
            )
    return ", ".join(dict.fromkeys(given))


def may_get_mail(text: str) -> bool:
    """Whether `recipients` takes it."""
    try:
        recipients(text)
    except InvalidInput:
        return False
    return True
