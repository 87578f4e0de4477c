"""A hook that hands what it is given to whoever listens, and answers what that says.

hook_caller.py PORT    on 127.0.0.1; one JSON line each way
"""

import socket
import sys

SECONDS_MAX = 15


def main() -> int:
    """Answer one call."""
    payload = sys.stdin.buffer.read().replace(b"\n", b" ")
    with socket.create_connection(("127.0.0.1", int(sys.argv[1])), SECONDS_MAX) as connection:
        connection.sendall(payload + b"\n")
        connection.shutdown(socket.SHUT_WR)
        with connection.makefile("rb") as answer:
            sys.stdout.buffer.write(answer.read())
    return 0


if __name__ == "__main__":
    sys.exit(main())
