"""Asking a person before something that is not easily taken back."""

from jobctl.cli.session import Session
from jobctl.errors import Conflict, InvalidInput


def letter(session: Session, question: str, letters: str) -> str:
    """The letter that was answered; the first one for an empty line, the second one for none that fits."""
    session.render.word(question)
    try:
        line = session.world.stdin.readline()
    except OSError:  # the terminal is gone, and with it who was asked
        line = ""
    answer = line.strip().lower()[:1] or (letters[0] if line else letters[1])
    return answer if answer in letters else letters[1]


def confirm(session: Session, question: str, this: str, nothing: str) -> None:
    """Returns when a person says yes. Where there is nobody to ask, or the answer is no, it is an error.

    `question` as "remove backup", `this` as "removes backup", `nothing` as "removed".
    """
    if not session.world.interactive():
        raise InvalidInput(f"this {this}, and there is nobody to ask", "say --yes")
    session.render.word(f"{question}? [y/N]")
    if session.world.stdin.readline().strip().lower() not in ("y", "yes"):
        raise Conflict(f"nothing was {nothing}", "answer y, or say --yes")
