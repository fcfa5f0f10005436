"""What tests count is told at the end, also by those that ran in another process; tests may be chosen by case."""

from pathlib import Path
from typing import Final

import pytest

_HERE: Final = Path(__file__).parent
#: Folders whose files take longest, and so are begun first: with several processes none is left to end alone.
_LONGEST: Final = ("faults", "acceptance", "simulation", "properties", "cases", "integration")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--case", action="append", default=[], help="only the tests that show this case of docs/faults.md")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "case(number, …): the test shows these cases of docs/faults.md")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """`--case F001`: only what shows it. The order stays random inside the folders."""
    wanted = set(config.getoption("--case"))
    if wanted:
        items[:] = [
            item for item in items if wanted & {case for mark in item.iter_markers("case") for case in mark.args}
        ]
    items.sort(key=_rank)


def _rank(item: pytest.Item) -> int:
    folder = item.path.relative_to(_HERE).parts[0]
    return _LONGEST.index(folder) if folder in _LONGEST else len(_LONGEST)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Prints each `record_property("counts", text)`."""
    reports = terminalreporter.getreports("passed") + terminalreporter.getreports("failed")
    lines = [str(text) for report in reports for name, text in report.user_properties if name == "counts"]
    for line in dict.fromkeys(lines):
        terminalreporter.write_line(line)
