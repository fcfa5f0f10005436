"""What tests count is told at the end, also by those that ran in another process."""

import pytest


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Prints each `record_property("counts", text)`."""
    reports = terminalreporter.getreports("passed") + terminalreporter.getreports("failed")
    lines = [str(text) for report in reports for name, text in report.user_properties if name == "counts"]
    for line in dict.fromkeys(lines):
        terminalreporter.write_line(line)
