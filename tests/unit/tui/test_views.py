"""Saved views: kept between two sittings."""

import json
import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from jobctl.errors import Conflict, InvalidInput
from jobctl.filters import parse
from jobctl_tui.live.views import FIRST, VIEWS_MAX, View, Views

MINE = View("tag:prod state:failed", "next", reverse=True)


def test_the_filters_that_are_there_from_the_beginning_can_be_read() -> None:
    for view in FIRST.values():
        parse(view.query)


def test_what_was_saved_is_there_in_the_next_sitting_in_its_place(tmp_path: Path) -> None:
    Views(str(tmp_path / "state")).save(" mine ", MINE)
    again = Views(str(tmp_path / "state"))
    assert again.all["mine"] == MINE
    assert list(again.all) == [*FIRST, "mine"]


def test_what_was_removed_is_gone_also_of_those_of_the_beginning(tmp_path: Path) -> None:
    views = Views(str(tmp_path))
    views.remove("running")
    assert list(Views(str(tmp_path)).all) == [name for name in FIRST if name != "running"]


def test_the_view_of_all_jobs_stays(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="stays"):
        Views(str(tmp_path)).remove("all")
    (tmp_path / "views.json").write_text('{"views": {}}')
    assert dict(Views(str(tmp_path)).all) == {"all": View()}


def test_two_screens_keep_what_each_of_them_saves_and_removes(tmp_path: Path) -> None:
    one, other = Views(str(tmp_path)), Views(str(tmp_path))
    one.save("A", MINE)
    other.save("B", MINE)
    assert list(Views(str(tmp_path)).all) == list(other.all) == [*FIRST, "A", "B"]
    one.remove("A")
    other.renew()
    assert list(one.all) == list(other.all) == [*FIRST, "B"]


def test_many_screens_that_save_at_once_lose_nothing(tmp_path: Path) -> None:
    at_once = threading.Barrier(8)

    def saved(screen: int) -> None:
        views = Views(str(tmp_path))
        at_once.wait()
        for each in range(5):
            views.save(f"{screen}.{each}", MINE)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(saved, range(8)))
    assert set(Views(str(tmp_path)).all) == {*FIRST, *(f"{screen}.{each}" for screen in range(8) for each in range(5))}


def test_no_more_views_than_a_list_of_them_has_room_for(tmp_path: Path) -> None:
    one, other = Views(str(tmp_path)), Views(str(tmp_path))
    for each in range(VIEWS_MAX - len(FIRST)):
        one.save(str(each), MINE)
    with pytest.raises(InvalidInput, match="already"):
        other.save("one more", MINE)
    one.save("0", View())
    assert len(Views(str(tmp_path)).all) == VIEWS_MAX


@pytest.mark.parametrize("name", ["", "  ", "x" * 41, "a\x1b[2J"])
def test_a_name_that_is_none_is_refused(name: str) -> None:
    with pytest.raises(InvalidInput, match="printable"):
        Views(None).save(name, MINE)


def view_as_json(**other: object) -> str:
    return json.dumps({"views": {"x": {"query": "a", "sort": "name", "reverse": False} | other}})


JUNK = {
    "cut": "{",
    "a list": "[]",
    "a list of views": '{"views": []}',
    "half a view": '{"views": {"x": {"query": "a"}}}',
    "no text": "\x00",
    "nothing": "",
    "a deep list": "[" * 100_000,
    "a deep list in it": '{"x":' + "[" * 100_000,
    "no order of jobs": view_as_json(sort="bogus"),
    "a filter that is a number": view_as_json(query=5),
    "half a letter": view_as_json(query="\ud800"),
    "no name": '{"views": {"": {"query": "a", "sort": "name", "reverse": false}}}',
    "too long": view_as_json(query="x" * (1 << 20)),
}


@pytest.mark.parametrize("text", JUNK.values(), ids=JUNK)
def test_a_file_that_cannot_be_read_counts_as_none_and_is_left_alone(tmp_path: Path, text: str) -> None:
    (tmp_path / "views.json").write_text(text)
    views = Views(str(tmp_path))
    assert dict(views.all) == dict(FIRST)
    with pytest.raises(Conflict, match="no file of views"):
        views.save("mine", MINE)
    assert (tmp_path / "views.json").read_text() == text
    assert views.all["mine"] == MINE


def test_once_such_a_file_is_moved_away_what_was_saved_meanwhile_is_kept(tmp_path: Path) -> None:
    (tmp_path / "views.json").write_text("{")
    views = Views(str(tmp_path))
    with pytest.raises(Conflict):
        views.save("mine", MINE)
    (tmp_path / "views.json").unlink()
    views.save("another", MINE)
    assert list(Views(str(tmp_path)).all) == [*FIRST, "mine", "another"]


@pytest.mark.parametrize("made", [os.mkfifo, os.mkdir, lambda path: os.symlink("/etc/passwd", path)])
def test_what_is_no_plain_file_is_neither_waited_for_nor_followed(tmp_path: Path, made: Callable[[Path], None]) -> None:
    made(tmp_path / "views.json")
    views = Views(str(tmp_path))
    assert dict(views.all) == dict(FIRST)
    with pytest.raises(Conflict, match="no file of views"):
        views.save("mine", MINE)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["views.json", "views.lock"]


def test_filters_that_would_make_a_file_too_long_are_not_written(tmp_path: Path) -> None:
    Views(str(tmp_path)).save("mine", MINE)
    with pytest.raises(InvalidInput, match="too long"):
        Views(str(tmp_path)).save("long", View("x" * (1 << 20)))
    assert list(Views(str(tmp_path)).all) == [*FIRST, "mine"]


def test_without_a_folder_views_last_as_long_as_the_sitting() -> None:
    views = Views(None)
    views.save("mine", MINE)
    assert views.all["mine"] == MINE


def test_a_folder_that_cannot_be_written_says_so_and_leaves_nothing_half_written(tmp_path: Path) -> None:
    (tmp_path / "views.json.new").mkdir()
    with pytest.raises(OSError, match="directory"):
        Views(str(tmp_path)).save("mine", MINE)
    assert not (tmp_path / "views.json").exists()
    (tmp_path / "state").write_text("")
    views = Views(str(tmp_path / "state"))
    with pytest.raises(OSError, match="exists"):
        views.save("mine", MINE)
    assert views.all["mine"] == MINE
