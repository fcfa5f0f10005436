"""Queries that several verbs have in common, as values."""

from typing import Annotated, TypeVar

import msgspec

from jobctl.errors import InvalidInput
from jobctl_daemon.api.limits import PAGE_DEFAULT, PAGE_MAX

E = TypeVar("E", bound=str)


class Query(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Base of the queries: an unknown field is an error, never ignored."""


class NoQuery(Query, frozen=True):
    """A route without options."""


class Paged(Query, frozen=True):
    """A page of a list."""

    limit: Annotated[int, msgspec.Meta(ge=1, le=PAGE_MAX)] = PAGE_DEFAULT
    cursor: str | None = None


def words(text: str | None, known: type[E], field: str) -> tuple[E, ...]:
    """A list with commas as words of an enum."""
    try:
        return tuple(known(word) for word in listed(text))
    except ValueError as error:
        choices = ", ".join(str(member) for member in known)  # type: ignore[attr-defined]
        raise InvalidInput(f"{error}", f"one or more of {choices}, with commas between", field=field) from error


def listed(text: str | None) -> tuple[str, ...]:
    """A list with commas."""
    return tuple(word.strip() for word in text.split(",") if word.strip()) if text else ()
