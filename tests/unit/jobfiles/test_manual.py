"""The manual of files of jobs, and the example in it, which is a file of its own too."""

import re
from pathlib import Path

from jobctl.cli.topics import TEXTS
from jobctl.jobfiles import ASKED_BYTES_MAX, FILE_BYTES_MAX, JOBS_MAX, read
from jobctl.jobfiles.keys import KEYS, PART_KEYS
from jobctl.manual import read as blocks
from unit.jobfiles.test_read import here

ROOT = Path(__file__).parents[3]
MANUAL = tuple(blocks((ROOT / "man" / "jobs.toml.5").read_text()))
EXAMPLE = ROOT / "packaging" / "jobs.d" / "example.toml"


def told() -> str:
    """All of its text, its hyphens as people type them."""
    return " ".join(" ".join((block.tag, *block.lines)) for block in MANUAL).replace("\u2010", "-")


def test_the_manual_has_every_key() -> None:
    tags = {name for block in MANUAL for name in block.tag.split(", ")}
    assert set(KEYS) <= tags
    for names in PART_KEYS.values():
        assert set(names) <= set(re.findall(r"\w+", told()))


def test_the_example_of_the_manual_is_the_file_and_has_no_mistake() -> None:
    (shown,) = (block.lines for block in MANUAL if block.kind == "lines")
    assert "\n".join(shown).replace("\u2010", "-") == EXAMPLE.read_text().rstrip("\n")
    file = read("example.toml", EXAMPLE.read_bytes())
    assert len(file.examine(here)) == len(file.jobs) == 6
    assert file.problems == ()


def test_the_topic_of_the_help_shows_a_file_without_a_mistake() -> None:
    text = TEXTS["files"]
    shown = text[text.index("  version") : text.index("\n  Keys are")]
    file = read("help.toml", "\n".join(re.sub(r" {4,}[a-z].*$", "", line) for line in shown.splitlines()).encode())
    assert [one.spec.name for one in file.examine(here)] == ["backup", "weekly report"]
    assert file.problems == ()


def test_the_limits_are_those_that_the_manual_names() -> None:
    assert (FILE_BYTES_MAX, JOBS_MAX, ASKED_BYTES_MAX) == (1 << 20, 1000, 1008 << 10)
    assert "at most 1 MiB and 1,000 jobs, and no more than 1008 KiB" in told()
