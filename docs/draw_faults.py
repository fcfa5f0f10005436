"""Fills the last column of docs/faults.md: `python docs/draw_faults.py` writes it, a test compares it.

The tests themselves say which case they show, by `@pytest.mark.case("F001")`; they are read, not run. A case that no
test shows keeps what stands there, which has to begin with one of `REASONS`.
"""

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

PAGE = Path(__file__).parent / "faults.md"
TESTS = Path(__file__).parents[1] / "tests"
#: Why no test shows a case.
REASONS = ("later: ", "not here: ")
_Function = ast.FunctionDef | ast.AsyncFunctionDef


class Row(NamedTuple):
    """A line of the table."""

    case: str
    elsewhere: str
    here: str
    shown: str

    def line(self) -> str:
        return f"| {' | '.join(self)} |"


def rows(text: str) -> dict[str, Row]:
    """The lines of the table by the number of their case, in their order; a number that comes twice is an error."""
    found: dict[str, Row] = {}
    for line in text.splitlines():
        row = _row(line)
        if row is not None:
            if row.case in found:
                raise ValueError(f"{row.case} has two lines")
            found[row.case] = row
    return found


def _row(line: str) -> Row | None:
    cells = [cell.strip() for cell in line.strip("|").split(" | ")]
    return Row(*cells) if line.startswith("| F") and len(cells) == len(Row._fields) else None


def marked() -> dict[str, list[str]]:
    """The tests that say that they show a case, as `path::name`, by its number."""
    found: dict[str, list[str]] = defaultdict(list)
    for path in sorted(TESTS.rglob("test_*.py")):
        place = path.relative_to(TESTS).as_posix()
        for test in _tests(ast.parse(path.read_text(encoding="utf-8"))):
            for case in _cases(test):
                found[case].append(f"{place}::{test.name}")
    return found


def _tests(tree: ast.Module) -> Iterator[_Function]:
    return (node for node in tree.body if isinstance(node, _Function) and node.name.startswith("test_"))


def _cases(test: _Function) -> Iterator[str]:
    for mark in test.decorator_list:
        if isinstance(mark, ast.Call) and ast.unparse(mark.func) == "pytest.mark.case":
            yield from (ast.literal_eval(case) for case in mark.args)


def page(text: str) -> str:
    """The page with its last column as the tests say it."""
    tests = marked()

    def drawn(line: str) -> str:
        row = _row(line)
        if row is None:
            return line
        names = tests.get(row.case)
        return row._replace(shown="<br>".join(names)).line() if names else line

    return "\n".join(map(drawn, text.splitlines())) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
