"""Which jobs move between files that are applied together."""

from typing import Any

from jobctl.cli.moves import Moves, moving


def job(name: str, declared: str | None) -> dict[str, Any]:
    return {"name": name, "declared": declared}


def test_a_name_that_stands_in_another_of_the_files_now_moves_there() -> None:
    jobs = [job("x", "/a"), job("y", "/b"), job("stays", "/a"), job("gone", "/a"), job("hand", None), job("z", "/else")]
    found = moving(jobs, {"/a": ["stays", "y", "hand", "z"], "/b": ["x", "new"], "/c": []})
    assert found == {
        "/a": Moves({"y": "/b"}, ["x"]),
        "/b": Moves({"x": "/a"}, ["y"]),
        "/c": Moves(),
    }
    assert found["/a"].fields() == {"take": {"y": "/b"}, "leave": ["x"]}
    assert found["/c"].fields() == {}
