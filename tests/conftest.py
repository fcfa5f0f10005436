"""What tests count is told at the end, also by those that ran in another process; tests may be chosen by case."""

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--case", action="append", default=[], help="only the tests that show this case of docs/faults.md")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "case(number, …): the test shows these cases of docs/faults.md")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """`--case F001`: only what shows it."""
    wanted = set(config.getoption("--case"))
    if wanted:
        items[:] = [
            item for item in items if wanted & {case for mark in item.iter_markers("case") for case in mark.args}
        ]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Prints each `record_property("counts", text)`."""
    reports = terminalreporter.getreports("passed") + terminalreporter.getreports("failed")
    lines = [str(text) for report in reports for name, text in report.user_properties if name == "counts"]
    for line in dict.fromkeys(lines):
        terminalreporter.write_line(line)
