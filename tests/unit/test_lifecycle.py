"""The table of moves, and the drawing made from it."""

import importlib.util
from pathlib import Path

from jobctl.states import ACTIVE, ENDED, FINAL, MOVES, RunState, may_move

DOCS = Path(__file__).parents[2] / "docs"


def test_the_drawing_is_that_of_the_table() -> None:
    spec = importlib.util.spec_from_file_location("draw_lifecycle", DOCS / "draw_lifecycle.py")
    assert spec is not None
    assert spec.loader is not None
    drawing = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(drawing)

    assert (DOCS / "lifecycle.md").read_text(encoding="utf-8") == drawing.page()


def test_nothing_leaves_a_final_state() -> None:
    assert not [move for move in MOVES if move[0] in FINAL]


def test_every_state_can_be_reached_from_scheduled() -> None:
    reached = {RunState.SCHEDULED}
    for _ in RunState:
        reached |= {after for before, after in MOVES if before in reached}

    assert reached == set(RunState)
    assert set(RunState) == ACTIVE | ENDED
    assert {RunState.DEAD} == ENDED - FINAL


def test_a_dead_letter_has_two_ways_out() -> None:
    assert {after for before, after in MOVES if before is RunState.DEAD} == {RunState.SCHEDULED, RunState.DISCARDED}


def test_what_is_not_in_the_table_is_refused() -> None:
    assert may_move(RunState.READY, RunState.RUNNING)
    assert not may_move(RunState.SCHEDULED, RunState.RUNNING)
    assert not may_move(RunState.SUCCEEDED, RunState.READY)
