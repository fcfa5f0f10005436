"""docs/screens.md lists the keys that there are."""

import importlib.util
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parents[3] / "docs"


def drawing() -> Any:
    spec = importlib.util.spec_from_file_location("draw_keys", DOCS / "draw_keys.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_lists_the_keys_that_there_are() -> None:
    text = (DOCS / "screens.md").read_text(encoding="utf-8")
    assert text == drawing().page(text), "python docs/draw_keys.py writes the tables anew"


def test_every_scope_has_a_title() -> None:
    drawn = drawing()
    assert {action.scope for action in drawn.ACTIONS} <= set(drawn.TITLES)
