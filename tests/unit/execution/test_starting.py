"""Who starts a missing runner: jobd itself, or the service manager that its unit names."""

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from jobctl_daemon.execution.starting import Runners


class _Pool:
    """A pool to which no runner answers before the manager has been asked."""

    def __init__(self, asked: Path) -> None:
        self.links: dict[str, Any] = {}
        self.mute: dict[str, Any] = {}
        self.strangers: dict[str, Any] = {}
        self.locked: frozenset[str] = frozenset()
        self._asked = asked
        self.connected: list[str] = []

    async def connect(self, path: str, build: str) -> None:
        if not self._asked.exists():
            raise ConnectionRefusedError
        self.connected.append(path)
        self.links[Path(path).stem] = SimpleNamespace(draining=False, silent=False)


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(os, "defpath", f"{tmp_path}:{os.defpath}")
    monkeypatch.setenv("XDG_RUNTIME_DIR", "/run/user/7")
    monkeypatch.setenv("SECRET", "x")
    return tmp_path / "asked"


def _systemctl(folder: Path, *lines: str) -> None:
    (folder / "systemctl").write_text("\n".join(["#!/bin/sh", *lines, ""]))
    (folder / "systemctl").chmod(0o755)


@pytest.mark.parametrize(
    ("manager", "words"),
    [("system", "start jobctl-runner@1.2.3-0a-1.service"), ("user", "--user start jobctl-runner@1.2.3-0a-1.service")],
)
async def test_under_a_unit_the_manager_starts_the_runner(
    manager: str, words: str, asked: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _systemctl(asked.parent, f'echo "$* $XDG_RUNTIME_DIR$SECRET" > {asked}')
    monkeypatch.setenv("JOBCTL_RUNNER_UNIT", manager)
    pool = _Pool(asked)
    await Runners(pool, "/srv/state", "1.2.3-0a", 1).ensure()  # type: ignore[arg-type]
    assert asked.read_text() == f"{words} /run/user/7\n"
    assert pool.connected == ["/srv/state/runner/1.2.3-0a-1.sock"]


async def test_what_the_manager_says_is_passed_on(asked: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _systemctl(asked.parent, 'echo "Unit is masked." >&2; exit 1')
    monkeypatch.setenv("JOBCTL_RUNNER_UNIT", "system")
    trouble = await Runners(_Pool(asked), "/srv/state", "1.2.3-0a", 1).ensure()  # type: ignore[arg-type]
    assert trouble is not None
    assert "could not be started: Unit is masked" in trouble.message
    assert trouble.hint == "systemctl status jobctl-runner@1.2.3-0a-1.service"


async def test_a_starter_that_says_nothing_is_told_by_how_it_ended(asked: Path) -> None:
    _systemctl(asked.parent, "exit 3")
    runners = Runners(_Pool(asked), "/srv/state", "1.2.3-0a", 1)  # type: ignore[arg-type]
    runners._manager = ("systemctl",)
    trouble = await runners.ensure()
    assert trouble is not None
    assert trouble.message.endswith("could not be started: its starter ended with 3 and without a word")


async def test_a_host_without_systemctl_is_an_error_and_nothing_is_forked(
    asked: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "defpath", str(asked.parent))
    monkeypatch.setenv("JOBCTL_RUNNER_UNIT", "user")
    trouble = await Runners(_Pool(asked), "/srv/state", "1.2.3-0a", 1).ensure()  # type: ignore[arg-type]
    assert trouble is not None
    assert "systemctl" in trouble.message
