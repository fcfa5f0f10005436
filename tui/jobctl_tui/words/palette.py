"""What the palette offers for what has been typed: actions by their names, with what they are to be done to behind."""

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from jobctl_tui.actions import Action
from jobctl_tui.words.cli import filled, of_query

SHOWN: Final = 12


class Entry(NamedTuple):
    """One line of it."""

    words: str
    """What it does, and to what."""
    action: Action | None = None
    said: tuple[str, ...] = ()
    """What was typed behind the name of the action."""
    cli: str = ""
    job_id: int | None = None
    """To go to."""


class Offer(NamedTuple):
    """An action that can be taken, and whether it takes words."""

    action: Action
    here: bool
    """On what is under the cursor; else only with words."""
    takes_words: bool


def names(action: Action) -> tuple[str, ...]:
    """What is typed for it: `pause` and `pause.until` of `job.pause.until`, and its label."""
    tail = action.id.partition(".")[2] if action.id.count(".") else action.id
    label = action.label.rstrip("…").lower()
    plural = (f"{tail}s",) if tail == "log" else ()
    return tuple(dict.fromkeys((tail.replace(".", " "), label, action.id, *plural)))


def entries(typed: str, offers: Sequence[Offer], subjects: Sequence[str]) -> list[Entry]:
    """The best first. `subjects`: names of what is marked, or under the cursor."""
    text = " ".join(typed.split())
    found = [_with_words(text, offer) for offer in offers if offer.takes_words]
    scored = [(score, _plain(offer.action, subjects)) for offer in offers if offer.here
              if (score := rank(text, offer.action)) is not None]  # fmt: skip
    scored.sort(key=lambda pair: pair[0])
    return [*(entry for entry in found if entry is not None), *(entry for _, entry in scored)]


def _plain(action: Action, subjects: Sequence[str]) -> Entry:
    cli = filled(action.cli, subjects)
    about = f" {', '.join(subjects)}" if subjects and cli != action.cli else ""
    return Entry(f"{action.label}{about}: {action.help}", action, (), cli)


def _with_words(text: str, offer: Offer) -> Entry | None:
    """`pause tag:pg`: the name, and something behind it."""
    for name in names(offer.action):
        head, rest = text[: len(name)], text[len(name) :]
        if head.lower() == name and rest.startswith(" ") and rest.strip():
            said = rest.strip()
            words = f"{offer.action.label} {said}"
            return Entry(words, offer.action, tuple(said.split()), of_query(offer.action.cli, said))
    return None


def rank(typed: str, action: Action) -> int | None:
    """Smaller is nearer: the beginning of its name, of a word that is said of it, any part of that. None: it is another
    one that is meant."""
    text = typed.lower()
    if not text:
        return 100 + action.rank
    named = names(action)
    words = [word for name in (*named, action.help.lower()) for word in name.replace(".", " ").split()]
    if any(name.startswith(text) for name in named):
        return action.rank
    if any(word.startswith(text) for word in words):
        return 100 + action.rank
    if text in action.help.lower():
        return 200 + action.rank
    return None


def jobs(found: Iterable[tuple[int, str]]) -> list[Entry]:
    """To go to."""
    return [Entry(f"Go to job {name}", None, (), filled("jobctl show JOB", [name]), ident) for ident, name in found]
