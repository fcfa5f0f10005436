"""The framing of HTTP/1.1 answers, byte by byte as a socket may deliver them."""

import contextlib
import socket
import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobctl.client.http1 import Broken, Reader, request_bytes


def read(data: bytes, step: int = 7) -> tuple[int, dict[str, str], bytes]:
    """Send `data` in small steps, and read it as an answer."""
    ours, theirs = socket.socketpair()

    def send() -> None:
        with theirs, contextlib.suppress(BrokenPipeError, ConnectionResetError):
            for at in range(0, len(data), step):
                theirs.sendall(data[at : at + step])

    thread = threading.Thread(target=send)
    thread.start()
    try:
        reader = Reader(ours)
        status, headers = reader.head()
        return status, headers, b"".join(reader.body(status, headers))
    finally:
        ours.close()
        thread.join()


def test_a_body_of_known_length() -> None:
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-A: b: c\r\n\r\nhello"
    assert read(answer) == (200, {"content-length": "5", "x-a": "b: c"}, b"hello")


def test_a_body_without_a_length_goes_on_to_the_end() -> None:
    assert read(b"HTTP/1.1 200 OK\r\n\r\nto the end")[2] == b"to the end"


def test_no_body_belongs_to_204() -> None:
    assert read(b"HTTP/1.1 204 No Content\r\n\r\n")[2] == b""


@settings(deadline=None, max_examples=30)
@given(st.lists(st.binary(min_size=1, max_size=50), max_size=5), st.integers(1, 40))
def test_chunks_come_out_whole(chunks: list[bytes], step: int) -> None:
    body = (
        b"".join(f"{len(chunk):x};ext=1\r\n".encode() + chunk + b"\r\n" for chunk in chunks)
        + b"0\r\nTrailer: x\r\n\r\n"
    )
    answer = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + body
    assert read(answer, step)[2] == b"".join(chunks)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"HTTP/1.1 200 OK\r\nContent-Le",
        b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nshort",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
        b"SSH-2.0-OpenSSH\r\n\r\n",
        b"HTTP/1.1 abc\r\n\r\n",
    ],
)
def test_what_breaks_off_or_is_not_http_is_broken(data: bytes) -> None:
    with pytest.raises(Broken):
        read(data)


def test_headers_that_do_not_end_are_refused() -> None:
    with pytest.raises(Broken):
        read(b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 20_000, step=60_000)


def test_a_request_on_the_wire() -> None:
    sent = request_bytes("POST", "/v1/jobs?a=1", {"A": "b"}, b"{}")
    assert sent == (
        b"POST /v1/jobs?a=1 HTTP/1.1\r\nHost: jobd\r\nConnection: close\r\nA: b\r\nContent-Length: 2\r\n\r\n{}"
    )
