"""A filter as a value: its terms, each of which must hold."""

from typing import NamedTuple


class Term(NamedTuple):
    """One condition. The values are alternatives."""

    key: str
    """One of `keys.KEYS`, or *word*, *pattern*, or *word_or_state*: a word that stands without quotation marks and is a
    state's too."""
    relation: str
    """What is between key and value: `:` `<` or `>`."""
    values: tuple[str | int, ...]
    """Words in lower case, globs as they were written, durations in ms, numbers."""
    negated: bool
    at: int
    """Where it begins in the text."""


class Filter(NamedTuple):
    """Which rows. The one without terms means all."""

    terms: tuple[Term, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.terms)

    def words(self, key: str) -> frozenset[str | int]:
        """The values that terms of a key ask for; those that they exclude are not among them."""
        return frozenset(value for term in self.terms if term.key == key and not term.negated for value in term.values)
