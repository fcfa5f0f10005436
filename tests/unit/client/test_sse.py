"""Server-sent events, cut anywhere."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from jobctl.client.sse import Message, messages

STREAM = (
    b': hello\n\nid: 1\nevent: run.ready\ndata: {"a":1}\n\nid: 2\r\ndata: x\r\ndata: y\r\n\r\n'
    b"event: reset\ndata:\n\nid: 3\ndata: unfinished"
)
EXPECTED = [Message("1", "run.ready", '{"a":1}'), Message("2", "message", "x\ny"), Message("", "reset", "")]


@given(st.lists(st.integers(0, len(STREAM)), max_size=8))
def test_messages_do_not_depend_on_where_the_stream_is_cut(cuts: list[int]) -> None:
    edges = [0, *sorted(cuts), len(STREAM)]
    pieces = [STREAM[a:b] for a, b in pairwise(edges)]
    assert list(messages(pieces)) == EXPECTED


def test_bytes_that_are_not_utf8_do_not_end_the_stream() -> None:
    assert list(messages([b"data: \xff\n\n"])) == [Message("", "message", "\N{REPLACEMENT CHARACTER}")]
