"""Opaque cursors of paged lists: the key of the last row of a page."""

import base64
import binascii
from typing import TypeVar

import msgspec

from jobctl.errors import InvalidInput

T = TypeVar("T")


def cursor(key: object) -> str:
    """The cursor that continues after a key."""
    return base64.urlsafe_b64encode(msgspec.json.encode(key)).decode().rstrip("=")


def key(text: str, kind: type[T]) -> T:
    """The key in a cursor; `InvalidInput` for one that we did not make."""
    try:
        padded = text.encode() + b"=" * (-len(text) % 4)
        return msgspec.json.decode(base64.b64decode(padded, altchars=b"-_", validate=True), type=kind)
    except (msgspec.MsgspecError, binascii.Error, UnicodeError) as error:
        raise InvalidInput("the cursor is not one of ours", "begin again without one", field="cursor") from error
