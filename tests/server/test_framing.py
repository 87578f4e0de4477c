"""The stream is cut into frames whatever its spelling, its chunks and its faults."""

from collections.abc import Iterable

import pytest

from server.framing import (
    FRAME_BYTES_MAX,
    HEADER_BYTES_MAX,
    LENGTH_BYTES_MAX,
    BrokenStream,
    FrameCutter,
    Oversized,
)

MIB = b"x" * (1024 * 1024)


def cut(chunks: Iterable[bytes]) -> list[bytes | Oversized]:
    cutter = FrameCutter()
    return [frame for chunk in chunks for frame in cutter.feed(chunk)]


@pytest.mark.parametrize(
    "header",
    [
        b"Content-Length: 2\r\n\r\n",
        b"content-length: 2\r\n\r\n",
        b"CONTENT-LENGTH:2\r\n\r\n",
        b"Content-Length :   2  \r\n\r\n",
        b"Content-Length: 2\n\n",
        b"Content-Length: 2\r\n\n",
        b"Content-Length: 002\r\n\r\n",
        b"Content-Length: %b2\r\n\r\n" % (b"0" * 8000),
        b"Content-Type: application/vscode-jsonrpc; charset=utf-8\r\nContent-Length: 2\r\n\r\n",
        b"Content-Length: 2\r\nContent-Type: application/vscode-jsonrpc\r\n\r\n",
        b"Content-Length: 2\r\nContent-Length: 2\r\n\r\n",
        b"\r\n\nContent-Length: 2\r\n\r\n",
    ],
)
def test_every_spelling_of_a_header_is_read(header: bytes) -> None:
    stream = (header + b"ab") * 2

    assert cut([stream]) == [b"ab", b"ab"]
    assert cut(bytes([byte]) for byte in stream) == [b"ab", b"ab"]


def test_frames_are_the_same_wherever_the_stream_is_split() -> None:
    stream = (
        b"Content-Length: 3\r\n\r\nabc" + b"content-length:0\n\n" + b"Content-Length: 1\r\n\r\nd"
    )

    for at in range(len(stream) + 1):
        assert cut([stream[:at], stream[at:]]) == [b"abc", b"", b"d"]


def test_many_frames_in_one_chunk_come_in_order() -> None:
    bodies = [b"%d" % number for number in range(5000)]
    stream = b"".join(b"Content-Length: %d\r\n\r\n%b" % (len(body), body) for body in bodies)

    assert cut([stream]) == bodies


@pytest.mark.parametrize(
    "header",
    [
        b"Content-Length: -1\r\n\r\n",
        b"Content-Length: two\r\n\r\n",
        b"Content-Length: \r\n\r\n",
        b"Content-Length: 1.0\r\n\r\n",
        b"Content-Length: %d\r\n\r\n" % (LENGTH_BYTES_MAX + 1),
        b"Content-Length: " + b"9" * 5000 + b"\r\n\r\n",
        b"Content-Length: 1\r\nContent-Length: 2\r\n\r\n",
        b"Content-Type: text/plain\r\n\r\n",
        b'"tail":1}Content-Length: 2\r\n\r\n',
        b"no header at all\n",
        b"x" * HEADER_BYTES_MAX,
    ],
)
def test_a_broken_stream_is_told_after_the_good_frames(header: bytes) -> None:
    frames = FrameCutter().feed(b"Content-Length: 2\r\n\r\nok" + header)

    assert next(frames) == b"ok"
    with pytest.raises(BrokenStream):
        next(frames)


def test_a_header_just_within_its_limit_is_read() -> None:
    padding = b"x-padding: "
    end = b"\r\nContent-Length: 1\r\n\r\n"
    header = padding + b"p" * (HEADER_BYTES_MAX - len(padding) - len(end)) + end

    assert cut([header + b"a"]) == [b"a"]
    assert cut([header, b"a"]) == [b"a"]


def test_a_frame_at_the_limit_is_kept_and_one_past_it_drained() -> None:
    at_limit = [b"Content-Length: %d\r\n\r\n" % FRAME_BYTES_MAX, *[MIB] * 64]
    one_past = [b"Content-Length: %d\r\n\r\n" % (FRAME_BYTES_MAX + 1), *[MIB] * 64, b"y"]

    kept, drained, after = cut([*at_limit, *one_past, b"Content-Length: 1\r\n\r\nz"])

    assert isinstance(kept, bytes)
    assert len(kept) == FRAME_BYTES_MAX
    assert drained == Oversized(FRAME_BYTES_MAX + 1)
    assert after == b"z"
