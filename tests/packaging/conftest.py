"""What is built once for all tests in here."""

from pathlib import Path
from typing import Final

import pytest

from kit.release import debian_root, one_file, release_folder, release_tree

__all__ = ["debian_root", "one_file", "release_folder", "release_tree"]

_HERE: Final = Path(__file__).parent
#: The first of them builds, or waits for another process that does.
_BUILD_S: Final = 900


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if _HERE in item.path.parents:
            item.add_marker(pytest.mark.timeout(_BUILD_S))
