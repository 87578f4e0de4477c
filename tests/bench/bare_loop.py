"""The floor: asyncio and orjson, no types, nothing kept."""

import asyncio
import os
import sys

import orjson

HEADER = b"Content-Length: "


class Reader(asyncio.Protocol):
    """Parses frames and answers those with an id."""

    def __init__(self, over: "asyncio.Future[None]") -> None:
        self._over = over
        self._buffer = bytearray()
        self.seen = 0

    def data_received(self, data: bytes) -> None:
        buffer = self._buffer
        buffer += data
        start = 0
        while (end := buffer.find(b"\r\n\r\n", start)) >= 0:
            body = end + 4
            length = int(buffer[start + len(HEADER) : end])
            if len(buffer) < body + length:
                break
            message = orjson.loads(bytes(buffer[body : body + length]))
            self.seen += 1
            if "id" in message:
                answer = orjson.dumps({"jsonrpc": "2.0", "id": message["id"], "result": {}})
                os.write(1, b"%s%d\r\n\r\n%s" % (HEADER, len(answer), answer))
            start = body + length
        del buffer[:start]

    def connection_lost(self, error: Exception | None) -> None:
        self._over.set_result(None)


async def main() -> None:
    """Read until the end of input."""
    loop = asyncio.get_running_loop()
    over: asyncio.Future[None] = loop.create_future()
    await loop.connect_read_pipe(lambda: Reader(over), sys.stdin)
    await over


if __name__ == "__main__":
    asyncio.run(main())
