"""The page of known faults has a line for each case, and names the tests that show it.

Other cases of the same form: `JOBCTL_FAULT_CASES=DIR pytest tests/cases/test_faults_page.py`.
"""

import importlib.util
import json
import os
from collections import Counter
from pathlib import Path
from types import ModuleType

import pytest

TESTS = Path(__file__).parents[1]
FOLDER = Path(os.environ.get("JOBCTL_FAULT_CASES", TESTS / "data"))
#: Themes whose cases are shown now; those of the others may wait.
THEMES = {
    "process",
    "kill",
    "output",
    "time",
    "missed-overlap",
    "queue-lease",
    "retry-dlq",
    "sqlite",
    "resources",
    "upgrade",
    "ops",
}


@pytest.fixture(scope="module")
def drawing() -> ModuleType:
    spec = importlib.util.spec_from_file_location("draw_faults", TESTS.parent / "docs" / "draw_faults.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def text(drawing: ModuleType) -> str:
    written: str = drawing.PAGE.read_text(encoding="utf-8")
    return written


def themes() -> dict[str, str]:
    """The theme of each case."""
    with (FOLDER / "faults.jsonl").open(encoding="utf-8") as lines:
        return {case["id"]: case["theme"] for case in map(json.loads, lines)}


def test_every_case_has_a_line(drawing: ModuleType, text: str) -> None:
    missing = themes().keys() - drawing.rows(text).keys()
    assert not missing, f"docs/faults.md has no line for {sorted(missing)}"


def test_the_page_names_the_tests_that_say_so_themselves(drawing: ModuleType, text: str) -> None:
    assert text == drawing.page(text), "python docs/draw_faults.py writes the page anew"


def test_a_case_is_shown_by_a_test_or_the_page_says_why_not(drawing: ModuleType, text: str, record_property) -> None:
    shown, theme_of, counts = drawing.marked(), themes(), Counter[str]()
    assert not shown.keys() - drawing.rows(text).keys(), "a test shows a case that the page does not know"
    for case, row in drawing.rows(text).items():
        assert row.elsewhere, case
        if case in shown:
            assert row.here not in ("", "–"), f"{case}: say what jobctl does"
            counts["shown by tests"] += 1
            continue
        how = next((reason for reason in drawing.REASONS if row.shown.startswith(reason)), None)
        assert how is not None, f"{case} is shown by no test, and nothing says why"
        assert how != "later: " or theme_of.get(case) not in THEMES, f"{case} is to be shown now"
        counts["not by a test"] += 1
    record_property("counts", f"faults: {counts.total()} cases, {dict(counts)}")
