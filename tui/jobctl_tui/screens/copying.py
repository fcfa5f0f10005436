"""What is to be copied: each thing with its letter."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from textual import events

from jobctl.reading.safe import cell
from jobctl_tui.screens.ask import Ask


class Choice(NamedTuple):
    """`what` says what it is, `text` is what is copied."""

    letter: str
    what: str
    text: str


class CopyWhat(Ask):
    """Is left with a `Choice`, or with None."""

    def __init__(self, choices: Sequence[Choice]) -> None:
        widest = max(len(choice.what) for choice in choices)
        lines = [
            [(f"{choice.letter}  ", "-key"), (f"{choice.what.ljust(widest)}  ", ""), (cell(choice.text), "-dim")]
            for choice in choices
        ]
        super().__init__("Copy", lines, "Copy", choices[0].letter)
        self._choices = choices

    def answer(self) -> Any:
        return self._choices[0]

    def takes(self, event: events.Key) -> bool:
        chosen = next((choice for choice in self._choices[1:] if choice.letter == event.character), None)
        if chosen is None:
            return super().takes(event)
        self.dismiss(chosen)
        return True
