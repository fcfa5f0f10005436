"""What may not be released is refused before anything is built."""

import subprocess
from pathlib import Path

import pytest

from kit.host import CHECKOUT

pytestmark = pytest.mark.long


def git(*words: str | Path) -> None:
    subprocess.run(["git", "-c", "safe.directory=*", *words], check=True, capture_output=True)


def refusal(clone: Path) -> str:
    done = subprocess.run(
        [clone / "packaging/release", "--out", clone / "dist"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert not (clone / "dist").exists()
    return done.stderr


def test_a_version_without_its_section_of_the_changelog_and_changes_that_are_not_committed_are_refused(
    tmp_path: Path,
) -> None:
    if not (CHECKOUT / ".git").exists():
        pytest.skip("this is no checkout of git, so there is nothing to release from")
    clone = tmp_path / "clone"
    git("clone", "--quiet", "--depth", "1", f"file://{CHECKOUT}", clone)
    stamp = clone / "jobctl/jobctl/__init__.py"
    stamp.write_text('__version__ = "98.7.6"\n')
    assert "not committed" in refusal(clone)
    git("-C", clone, "-c", "user.name=x", "-c", "user.email=x@example.org", "commit", "-qam", "raise")
    assert "CHANGELOG.md has no section ## 98.7.6" in refusal(clone)
    git("-C", clone, "tag", "v98.7.6", "HEAD~0")
    (clone / "CHANGELOG.md").write_text("## [98.7.6] - 2026-11-30\n")
    git("-C", clone, "-c", "user.name=x", "-c", "user.email=x@example.org", "commit", "-qam", "tell")
    assert "v98.7.6 is tagged already" in refusal(clone)
