"""What a reload says of folders, and how long that holds."""

from jobctl_daemon.decide.meant import Meant


def looked(meant: Meant, **seen: str) -> list[str]:
    """A look that finds these; the folders that are meant to be so."""
    said = meant.begin()
    meant.found(seen, meant=said)
    return [folder for folder in seen if folder in meant]


def test_it_is_about_what_the_look_finds_until_that_is_dealt_with() -> None:
    meant = Meant()
    assert looked(meant, a="1", b="2") == []
    meant.say()
    assert looked(meant, a="1", b="2") == ["a", "b"]
    meant.keep({"a"})
    assert looked(meant, a="1", b="2") == ["a"]
    meant.keep({"a"})
    assert looked(meant, a="3") == []
    assert looked(meant, a="1") == []


def test_a_folder_that_does_not_answer_is_not_meant() -> None:
    meant = Meant()
    meant.say()
    assert looked(meant, a="1") == ["a"]
    assert looked(meant, a="1", late="9") == ["a"]
    assert looked(meant) == []
    assert looked(meant, a="1") == []


def test_what_is_said_while_a_look_goes_on_is_about_the_next_one() -> None:
    meant = Meant()
    said = meant.begin()
    meant.say()
    meant.found({"a": "1"}, meant=said)
    assert "a" not in meant
    assert looked(meant, a="2") == ["a"]
