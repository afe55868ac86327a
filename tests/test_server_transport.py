"""Messages come out of the stream as they were sent, however they arrive."""

from __future__ import annotations

import random
from io import RawIOBase

import pytest

from stepserver.transport import frames

BODIES = [b"{}", b'{"a":"\xc3\xa9\\r\\n\\r\\nContent-Length: 3"}', b"[" + b"1," * 70_000 + b"1]", b"{}", b""]


class Pipe(RawIOBase):
    """A stream that hands out pieces of at most ``most`` bytes, as a pipe does."""

    def __init__(self, data: bytes, most: int, seed: int = 0) -> None:
        self.data = data
        self.most = most
        self.rng = random.Random(seed)

    def read(self, size: int = -1) -> bytes:
        count = min(size, self.rng.randint(1, self.most))
        piece, self.data = self.data[:count], self.data[count:]
        return piece


def framed(body: bytes, head: bytes = b"Content-Length: %d\r\n\r\n") -> bytes:
    return head % len(body) + body


@pytest.mark.parametrize("most", [1, 3, 17, 1_000, 65_536])
@pytest.mark.parametrize(
    "head",
    [
        b"Content-Length: %d\r\n\r\n",
        b"content-length:%d\r\nContent-Type: application/vscode-jsonrpc; charset=utf-8\r\n\r\n",
        b"Content-Type: x\r\nCONTENT-LENGTH:  %d \r\n\r\n",
        b"\r\nContent-Length: %d\n\n",
    ],
)
def test_every_message_comes_out_whole(most: int, head: bytes) -> None:
    bodies = BODIES if most > 3 else BODIES[:2] + BODIES[3:]
    sent = b"".join(framed(body, head) for body in bodies)
    assert list(frames(Pipe(sent, most))) == bodies


def test_a_message_that_is_cut_off_is_none() -> None:
    sent = framed(b"{}") + framed(b'{"id": 1}')
    for end in range(len(framed(b"{}")), len(sent)):
        assert list(frames(Pipe(sent[:end], 7))) == [b"{}"]
