"""The page of limits names tests that exist, and every setting that is a limit."""

import ast
import re
from pathlib import Path

from jobctl_daemon.settings import Settings

TESTS = Path(__file__).parents[1]
PAGE = (TESTS.parent / "docs" / "limits.md").read_text(encoding="utf-8")
NAMED = re.compile(r"([\w/]+\.py)::(test_\w+)")


#: Settings that are something else.
NO_LIMITS = frozenset(
    {
        "runners",
        "log_level",
        "echo",
        "pass_env",
        "syslog",
        "syslog_socket",
        "sendmail",
        "crontab_mail",
        "admin_group",
        "crontabs",
        "host_root",
        "strict_files",
    }
)


def rows() -> list[list[str]]:
    lines = [line.strip("|").split("|") for line in PAGE.splitlines() if line.startswith("|") and "---" not in line]
    return [[cell.strip() for cell in cells] for cells in lines if cells[0].strip() != "what"]


def functions_of(path: str) -> set[str]:
    tree = ast.parse((TESTS / path).read_text(encoding="utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}


def test_every_limit_is_shown_by_a_test_that_exists() -> None:
    assert len(rows()) > 30
    for cells in rows():
        named = NAMED.findall(cells[-1])
        assert named, cells
        for path, test in named:
            assert test in functions_of(path), (path, test)


def test_every_setting_that_is_a_limit_is_on_the_page() -> None:
    limits = [name for name in Settings.__struct_fields__ if name not in NO_LIMITS]
    assert [name for name in limits if f"`{name}`" not in PAGE] == []
