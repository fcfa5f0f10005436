"""Who is told of dead letters and of the recovery, and who gets the output of runs."""

from typing import Final

from jobctl.addresses import ADDRESS_CHARS_MAX, recipients
from jobctl.drafts.values import argument
from jobctl.errors import InvalidInput
from jobctl.model import Mail

DESTINATIONS_MAX: Final = 8
_MAIL, _EXEC = "mail:", "exec:"


def destinations(notify: list[str] | None) -> list[str]:
    """mail (the owner), mail:ADDRESS or exec:COMMAND, each once."""
    told = list(dict.fromkeys(notify or ()))
    if len(told) > DESTINATIONS_MAX:
        raise InvalidInput(f"over {DESTINATIONS_MAX} are to be told", "send it to a list", field="notify")
    return [_destination(text) for text in told]


def mailed(mail: Mail | None) -> Mail | None:
    """The same with its addresses as a header has them."""
    return None if mail is None else Mail(to=recipients(mail.to), on=mail.on)


def _destination(text: str) -> str:
    if text == "mail":
        return text
    if text.startswith(_MAIL) and _is_address(text.removeprefix(_MAIL)):
        return text
    if text.startswith(_EXEC) and text.removeprefix(_EXEC).strip():
        return argument(text, "notify")
    raise InvalidInput(
        f"{text[:40]!a} is nobody to tell",
        "mail, mail:ADDRESS or exec:COMMAND; an address has no spaces",
        field="notify",
    )


def _is_address(text: str) -> bool:
    """What the mail program cannot take for an option or for two arguments."""
    plain = text.isprintable() and not any(char.isspace() for char in text)
    return plain and not text.startswith("-") and 0 < len(text) <= ADDRESS_CHARS_MAX
