"""The lists of who may use the system's daemon: cron's rule, and read again when they change."""

import os
from pathlib import Path

import pytest

from jobctl_daemon.api.admission import Lists


class Etc:
    """Ours, and cron's."""

    def __init__(self, folder: Path) -> None:
        self.allow, self.deny = folder / "allow", folder / "deny"
        self.cron_allow, self.cron_deny = folder / "cron.allow", folder / "cron.deny"
        pairs = [(str(self.allow), str(self.deny)), (str(self.cron_allow), str(self.cron_deny))]
        self.lists = Lists(pairs)

    def served(self, *names: str) -> list[str]:
        return [name for name in names if self.lists.refusal(name) is None]


@pytest.fixture
def etc(tmp_path: Path) -> Etc:
    return Etc(tmp_path)


def test_without_lists_everybody_may(etc: Etc) -> None:
    assert etc.served("ada", "bob") == ["ada", "bob"]


def test_cron_s_rule(etc: Etc) -> None:
    etc.cron_deny.write_text("ada\n")
    assert etc.served("ada", "bob") == ["bob"]
    etc.cron_allow.write_text("  ada  \n\n# bob\n")
    assert etc.served("ada", "bob") == ["ada"]
    etc.cron_allow.write_text("")
    assert etc.served("ada", "bob") == []


def test_ours_come_before_crons_as_a_pair(etc: Etc) -> None:
    etc.cron_allow.write_text("ada\n")
    etc.deny.write_text("eve\n")
    assert etc.served("ada", "bob", "eve") == ["ada", "bob"]
    etc.deny.unlink()
    assert etc.served("ada", "bob", "eve") == ["ada"]


def test_a_change_is_seen_at_once_also_one_that_keeps_time_and_size(etc: Etc) -> None:
    etc.deny.write_text("ada\n")
    assert etc.served("ada", "bob") == ["bob"]
    before = etc.deny.stat()
    new = etc.deny.with_name("new")
    new.write_text("bob\n")
    os.utime(new, ns=(before.st_atime_ns, before.st_mtime_ns))
    new.replace(etc.deny)
    assert etc.served("ada", "bob") == ["ada"]


@pytest.mark.parametrize("which", ["allow", "deny"])
@pytest.mark.parametrize("kind", ["folder", "fifo", "loop", "dangling", "through a file", "too large"])
def test_a_list_that_cannot_be_read_serves_nobody_and_holds_nothing_up(etc: Etc, which: str, kind: str) -> None:
    path: Path = getattr(etc, which)
    match kind:
        case "folder":
            path.mkdir()
        case "fifo":
            os.mkfifo(path)
        case "dangling":
            path.symlink_to(path.with_name("gone"))
        case "too large":
            path.write_text("ada\n" * (1 << 18) + "eve\n")
        case "through a file":
            path.with_name("file").touch()
            path.symlink_to(path.with_name("file") / "list")
        case _:
            path.symlink_to(path)
    assert etc.served("ada", "root-would-not-be-asked") == []
    assert str(path) in (etc.lists.refusal("ada") or "")


@pytest.mark.parametrize("which", ["allow", "deny", "cron_allow", "cron_deny"])
def test_a_link_to_a_list_counts_from_when_it_leads_somewhere_to_when_it_is_gone(etc: Etc, which: str) -> None:
    path: Path = getattr(etc, which)
    kept = path.with_name("kept")
    path.symlink_to(kept)
    assert etc.served("ada", "bob") == []
    kept.write_text("ada\n")
    assert etc.served("ada", "bob") == (["ada"] if "allow" in which else ["bob"])
    kept.unlink()
    assert etc.served("ada", "bob") == []
    path.unlink()
    assert etc.served("ada", "bob") == ["ada", "bob"]


def test_names_that_are_no_text_are_names_as_well(etc: Etc) -> None:
    etc.allow.write_bytes(b"\xff\xfe\nada\n")
    assert etc.served("ada", os.fsdecode(b"\xff\xfe")) == ["ada", os.fsdecode(b"\xff\xfe")]
