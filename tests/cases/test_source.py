"""What must not be in the source at all, because it can only be wrong now and then."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("jobctl/jobctl", "daemon/jobctl_daemon")
#: Who forks and goes on in Python: before anything is opened, or in the runner, which has one thread and no database.
#: What the runner begets (birth) opens what a user named, as that user, while the runner serves everybody else.
FORKS = {
    "daemon/jobctl_daemon/background.py",
    "daemon/jobctl_daemon/first.py",
    "daemon/jobctl_daemon/runner/birth.py",
    "daemon/jobctl_daemon/runner/cgroup.py",
    "daemon/jobctl_daemon/runner/daemonise.py",
}


WORDS = ("fork", "multiprocessing", "preexec_fn")


def nodes() -> Iterator[tuple[str, ast.AST]]:
    """Every piece of the programs' files that have one of the words, with its file."""
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            text = path.read_text(encoding="utf-8")
            if any(word in text for word in WORDS):
                for node in ast.walk(ast.parse(text)):
                    yield path.relative_to(ROOT).as_posix(), node


def names(node: ast.AST) -> set[str]:
    """Modules that an import names."""
    if isinstance(node, ast.Import):
        return {alias.name.partition(".")[0] for alias in node.names}
    return {str(node.module).partition(".")[0]} if isinstance(node, ast.ImportFrom) else set()


@pytest.mark.case("F006", "F091")
def test_python_runs_after_a_fork_only_where_there_is_one_thread_and_no_database() -> None:
    forks = set()
    for path, node in nodes():
        assert "multiprocessing" not in names(node), path
        if isinstance(node, ast.keyword):
            assert node.arg != "preexec_fn", path
        if isinstance(node, ast.Attribute) and node.attr in ("fork", "forkpty"):
            forks.add(path)

    assert forks == FORKS
