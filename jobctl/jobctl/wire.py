"""Values to JSON and back; the protocol's version. Times travel as RFC 3339 UTC, durations as seconds."""

from datetime import UTC, datetime, timedelta
from typing import Any, Final, TypeVar

import msgspec

from jobctl.errors import InvalidInput
from jobctl.mismatch import mismatch

#: Every response carries it in `Jobctl-Protocol`; a client that sends another number is refused.
PROTOCOL: Final = 1
SCHEMA: Final = 1

T = TypeVar("T")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST_MS: Final = -62_135_596_800_000
_LAST_MS: Final = 253_402_300_799_999
_encoder = msgspec.json.Encoder()
_decoders: dict[Any, msgspec.json.Decoder[Any]] = {}


def encode(value: object) -> bytes:
    """JSON bytes of a value of the model."""
    return _encoder.encode(value)


def decode(data: bytes, kind: type[T]) -> T:
    """A value of the model from JSON; `InvalidInput` says where the text and the type part."""
    decoder = _decoders.get(kind)
    if decoder is None:
        decoder = _decoders[kind] = msgspec.json.Decoder(kind)
    try:
        result: T = decoder.decode(data)
    except msgspec.ValidationError as error:
        raise mismatch(error, _untyped(data), kind) from error
    except (msgspec.MsgspecError, RecursionError) as error:
        raise InvalidInput(f"the body is not right: {error}", "see `jobctl help api`") from error
    except UnicodeDecodeError as error:
        raise InvalidInput("the body is not UTF-8", "send JSON in UTF-8") from error
    return result


def _untyped(data: bytes) -> Any:
    """What is in a text of the wrong type, as far as it can be read: it may be broken behind the wrong place."""
    try:
        return msgspec.json.decode(data)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        return None


def rfc3339(at_ms: int) -> str:
    """`2026-12-01T08:00:00Z`, with milliseconds only when there are some. What no calendar has is its first or last."""
    moment = _EPOCH + timedelta(milliseconds=min(max(at_ms, _FIRST_MS), _LAST_MS))
    text = moment.isoformat(timespec="milliseconds" if at_ms % 1000 else "seconds")
    return text.replace("+00:00", "Z")


def seconds(duration_ms: int) -> int | float:
    """A duration for the wire: whole seconds as an integer."""
    return duration_ms // 1000 if duration_ms % 1000 == 0 else duration_ms / 1000
