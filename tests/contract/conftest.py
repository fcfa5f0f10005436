"""Every test here runs once for each backend."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from jobctl_daemon.store import Store
from kit.stores import BACKENDS, Rig


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
async def rig(backend: str, tmp_path: Path) -> AsyncIterator[Rig]:
    """An open, empty store. Whatever a test does with it, the invariants hold at its end."""
    made = Rig(BACKENDS[backend](tmp_path))
    await made.begin()
    try:
        yield made
        await made.check()
    finally:
        await made.store.close()


@pytest.fixture
async def store(rig: Rig) -> Store:
    return rig.store
