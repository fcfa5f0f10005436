"""Framing: lines in any pieces, and what is not a message."""

from __future__ import annotations

import json

import pytest

from jobctl_daemon.runner.protocol import MAX_LINE_BYTES, Lines, Malformed, message


def test_messages_come_out_whole_however_they_come_in() -> None:
    stream = b'{"op":"a"}\n{"op":"b","x":"\\udcff"}\n'
    for size in (1, 2, 7, len(stream)):
        lines = Lines()
        got = [one for at in range(0, len(stream), size) for one in lines.feed(stream[at : at + size])]
        assert got == [{"op": "a"}, {"op": "b", "x": "\udcff"}]


@pytest.mark.parametrize("line", [b"", b"1", b"null", b"{}", b'{"op":1}', b"{", b"\xff", b"[" * 100_000])
def test_malformed(line: bytes) -> None:
    with pytest.raises(Malformed):
        list(Lines().feed(line + b"\n"))


def test_a_line_without_an_end_is_too_long() -> None:
    lines = Lines()
    assert list(lines.feed(b"x" * MAX_LINE_BYTES)) == []
    with pytest.raises(Malformed, match="too long"):
        list(lines.feed(b"x"))


def test_bytes_that_are_not_utf8_travel_as_escapes() -> None:
    text = b"\xff\xc3\xa4".decode("utf-8", "surrogateescape")
    line = message("list", {"path": text})
    assert line.isascii()
    assert json.loads(line)["list"]["path"].encode("utf-8", "surrogateescape") == b"\xff\xc3\xa4"
