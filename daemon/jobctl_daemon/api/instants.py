"""Instants as the API writes them, read back."""

from datetime import datetime


def ms_of(text: str) -> int:
    """Milliseconds of an RFC 3339 time that we wrote ourselves."""
    moment = datetime.fromisoformat(text)
    return round(moment.timestamp() * 1000)
