"""Has a person edit a text until it is right."""

from collections.abc import Callable
from contextlib import suppress

from jobctl.cli.asking import letter
from jobctl.cli.session import Session
from jobctl.errors import JobctlError
from jobctl.reading.sheet import sheet


def edit(session: Session, text: str, take: Callable[[str], bool], suffix: str = ".toml") -> None:
    """Has a person edit `text` until `take` is content. What they wrote is kept in a file when it was for nothing."""
    with sheet(text, suffix) as paper:
        try:
            while not take(paper.edited(session.world.environ)):
                pass
        except BaseException:
            if paper.differs(text):
                kept = paper.keep()
                with suppress(OSError):  # there may be nobody left to read it
                    session.render.word(f"your text is kept in {kept}")
            raise


def wants_again(session: Session, error: JobctlError) -> bool:
    """Tells what is wrong with the text, and asks whether it is to be edited again."""
    field = str(error.details.get("field") or "")
    where = f"{field}: " if field and field not in error.message else ""
    session.render.error(f"{where}{error.message}", [("try", error.hint)])
    return letter(session, "edit it again, or quit? [E/q]", "eq") == "e"
