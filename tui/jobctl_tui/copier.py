"""What is under the cursor, to be used elsewhere: its name, and the commands about it."""

import os
from collections.abc import Callable
from typing import Final

from jobctl_tui.clipboard import clipboard_sequence, keep
from jobctl_tui.host import Host
from jobctl_tui.screens.copying import Choice, CopyWhat
from jobctl_tui.stack import Stack
from jobctl_tui.words.cli import filled

#: About what is under the cursor of a tab.
_COMMANDS: Final = {
    "jobs": (("c", "the command that shows it", "jobctl show JOB"), ("l", "the command for its log", "jobctl log JOB")),
    "upcoming": (("c", "the command that shows it", "jobctl show JOB"), ("t", "when it fires", "jobctl next JOB")),
    "runs": (("c", "the command that shows it", "jobctl show RUN --run"), ("l", "its log", "jobctl log RUN")),
}


class Copier:
    """`write` reaches the terminal, whose clipboard it is."""

    def __init__(self, host: Host, stack: Stack, write: Callable[[str], None]) -> None:
        self._host = host
        self._stack = stack
        self._write = write

    def copy(self, text: str, what: str) -> None:
        sequence = clipboard_sequence(text, os.environ)
        if sequence is not None:
            self._write(sequence)
        kept = keep(text, self._host.state_dir)
        if sequence is None:
            too_much = f"{what} is too much for a clipboard"
            self._host.say(too_much + (f": it is in {kept}" if kept else ""), trouble=not kept)
        else:
            self._host.say(f"copied {what}" + (f", also to {kept}" if kept else ""))

    def act_copy(self) -> None:
        """Where nobody has more to offer."""
        subject = self._stack.subject()
        if not subject:
            self._host.say("there is nothing under the cursor to copy")
            return
        choices = [Choice("n", "its name", subject)]
        for letter, what, form in _COMMANDS.get(self._stack.tab, ()):
            choices.append(Choice(letter, what, filled(form, [subject])))
        if len(choices) == 1:
            self.copy(subject, subject)
        else:
            self._stack.put(CopyWhat(choices), self._copied)

    def _copied(self, choice: Choice | None) -> None:
        if choice is not None:
            self.copy(choice.text, choice.text)
