"""Fills the tables of keys of docs/screens.md: `python docs/draw_keys.py` writes them, a test compares them."""

from pathlib import Path
from typing import Final

from jobctl_tui.actions import Action, Risk, Scope
from jobctl_tui.keys import ACTIONS
from jobctl_tui.words.glyphs import UTF8
from jobctl_tui.words.keys import shown

PAGE: Final = Path(__file__).parent / "screens.md"
BEGIN: Final = "<!-- keys: written by docs/draw_keys.py -->\n"
END: Final = "<!-- end of keys -->\n"
TITLES: Final = {
    Scope.EVERYWHERE: "Everywhere",
    Scope.LISTS: "Lists",
    Scope.JOBS: "Jobs",
    Scope.RUNS: "Runs",
    Scope.UPCOMING: "Upcoming",
    Scope.TIMES: "Times of one job",
    Scope.DEAD: "Dead letters",
    Scope.DAEMON: "Daemon",
    Scope.RUN: "One run",
    Scope.EDITOR: "Job editor",
    Scope.DOWN: "While the daemon is away, before all others",
}


def tables() -> str:
    """One for each scope, in the order of the key bar."""
    parts = []
    for scope, title in TITLES.items():
        rows = sorted((action for action in ACTIONS if action.scope is scope), key=lambda action: action.rank)
        if rows:
            parts += [f"### {title}\n", "| key | | id | on the command line |\n|---|---|---|---|"]
            parts += [*map(_row, rows), ""]
    return "\n".join(parts) + "\n"


def _row(action: Action) -> str:
    keys = " ".join(f"`{shown(key, UTF8)}`" for key in action.keys).replace("|", "\\|") or f"`:{action.id}`"
    asks = "; asks first" if action.risk is Risk.ASKED else ""
    cli = f"`{action.cli}`" if action.cli else ""
    return f"| {keys} | {action.help}{asks} | `{action.id}` | {cli} |"


def page(text: str) -> str:
    """The page with the tables of now."""
    before, _, rest = text.partition(BEGIN)
    return before + BEGIN + "\n" + tables() + END + rest.partition(END)[2]


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
