"""What tests count is told at the end, also by those that ran in another process; tests may be chosen by case."""

import re
import signal
from pathlib import Path
from typing import Any, Final

import pytest

# One that was started in the background ignores these (POSIX, 2.9.3.1), and so would everything that the tests start.
for number, usual in ((signal.SIGINT, signal.default_int_handler), (signal.SIGQUIT, signal.SIG_DFL)):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, usual)

_HERE: Final = Path(__file__).parent
#: What takes longest, and so is begun first: with several processes none is left to end alone. The others of packaging
#: would only wait for what the first of them has built.
_LONGEST: Final = (
    "packaging/test_one_file.py", "faults", "packaging", "acceptance", "screens", "simulation", "properties", "cases",
    "integration",
)  # fmt: skip
#: How a file says that some of its tests take long: the mark, or what in tests/kit/screens.py bears it.
_SAYS_LONG: Final = re.compile(rb"\b(mark\.long|VIEWS|SHAPES)\b")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--case", action="append", default=[], help="only the tests that show this case of docs/faults.md")
    parser.addoption("--long", choices=("no", "too", "only"), help="tests that take long: no, unless some are named")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "case(number, …): the test shows these cases of docs/faults.md")
    config.addinivalue_line("markers", "long: takes many seconds, so it is left out unless --long asks for it")
    if hasattr(config, "workerinput"):
        config.option.long = config.workerinput["long"]
    elif config.option.long is None:
        config.option.long = "too" if config.args_source is pytest.Config.ArgsSource.ARGS else "no"


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """A worker of pytest-xdist is told what was asked for."""
    node.workerinput["long"] = node.config.option.long


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Most files hold nothing that takes long, and need not be loaded for `--long only`."""
    if config.getoption("--long") != "only" or collection_path.suffix != ".py":
        return None
    return True if _SAYS_LONG.search(collection_path.read_bytes()) is None else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """`--case F001`: only what shows it. What takes long is left out of a run of all. The order stays random inside
    the folders."""
    long = config.getoption("--long")
    if long == "no":
        items[:] = [item for item in items if item.get_closest_marker("long") is None]
    elif long == "only":
        items[:] = [item for item in items if item.get_closest_marker("long") is not None]
    wanted = set(config.getoption("--case"))
    if wanted:
        items[:] = [
            item for item in items if wanted & {case for mark in item.iter_markers("case") for case in mark.args}
        ]
    items.sort(key=_rank)


def _rank(item: pytest.Item) -> int:
    path = item.path.relative_to(_HERE)
    return next((rank for rank, part in enumerate(_LONGEST) if path.is_relative_to(part)), len(_LONGEST))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Prints each `record_property("counts", text)`."""
    reports = terminalreporter.getreports("passed") + terminalreporter.getreports("failed")
    lines = [str(text) for report in reports for name, text in report.user_properties if name == "counts"]
    for line in dict.fromkeys(lines):
        terminalreporter.write_line(line)
