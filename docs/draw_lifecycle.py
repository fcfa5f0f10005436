"""Draws docs/lifecycle.md from the table of moves: `python docs/draw_lifecycle.py` writes it, a test compares it."""

from pathlib import Path

from jobctl.states import FINAL, MOVES, RunState

PAGE = Path(__file__).parent / "lifecycle.md"

_HEAD = """# The life of a run

Drawn from `MOVES` in `jobctl/jobctl/states.py` by `docs/draw_lifecycle.py`; a test holds the two together. A move that
is not in the table is refused: decisions are made from what was read, and the store rechecks state and fence in the
statement that writes.

"""

_TAIL = """
The first three states are *active*. *dead* is an end too, but the row stays beside the active ones in the table `runs`,
so that a replay is one update and id, key and fence go on. The others are *final* (table `history`, append and prune
only). A retry that waits is *ready* with a later due time: it holds the gate of its job, but no slot. A run that waits
for its job's gate, or that a pause holds, is *scheduled* with a mark (`waits`, `held`). An occurrence that becomes no
run at all (paused, coalesced, a missed range) has its row in `occurrences`; `jobctl why` reads both.
"""


def page() -> str:
    """The whole page."""
    return _HEAD + _diagram() + "\n" + _table() + _TAIL


def _diagram() -> str:
    lines = ["```mermaid", "stateDiagram-v2", f"    [*] --> {RunState.SCHEDULED}"]
    lines += [f"    {before} --> {after}: {why.partition(':')[0]}" for (before, after), why in MOVES.items()]
    lines += [f"    {state} --> [*]" for state in RunState if state in FINAL]
    return "\n".join([*lines, "```", ""])


def _table() -> str:
    rows = [f"| {before} | {after} | {why} |" for (before, after), why in MOVES.items()]
    return "\n".join(["| from | to | when |", "|---|---|---|", *rows, ""])


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
