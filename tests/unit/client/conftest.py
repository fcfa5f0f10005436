"""A daemon of docs/api.md for the tests of the client."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from unit.client.fake_daemon import FakeDaemon


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[FakeDaemon]:
    fake = FakeDaemon(tmp_path / "jobd.sock")
    yield fake
    fake.close()
