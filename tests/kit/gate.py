"""Commands that wait until the test lets them go, and write down that they ran."""

import os
from pathlib import Path


class Gates:
    """A FIFO for each command, and one file in which every start leaves a line."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(exist_ok=True)
        self._folder = folder
        self._marks = folder / "marks"
        self._marks.touch()

    def command(self, name: str, ending: str = "exit 0") -> list[str]:
        """Says `begin`, waits at its gate, says `end`, and ends as told."""
        gate = self._folder / name
        os.mkfifo(gate)
        mark = f"echo {name} $$ $JOBCTL_RUN_KEY $JOBCTL_FENCE >> {self._marks}"
        return ["/bin/sh", "-c", f"{mark}; echo begin; read x < {gate}; echo end; {ending}"]

    def open(self, name: str) -> None:
        """Lets the command go; waits until it stands at its gate."""
        with (self._folder / name).open("w") as gate:
            gate.write("go\n")

    def starts(self) -> list[str]:
        """The name of each command that has started, as often as it has."""
        return [line.split()[0] for line in self._marks.read_text().splitlines()]

    def pid(self, name: str) -> int:
        """The process of a command that has said `begin`."""
        lines = [line.split() for line in self._marks.read_text().splitlines()]
        return next(int(line[1]) for line in lines if line[0] == name)
