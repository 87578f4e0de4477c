"""An agent behind the Agent Client Protocol: its messages, as a client sends and gets them.

A row is a JSON-RPC message, the same in {"direction": "to" or "from", "message"}, the params of a
session/update, or a bare update. The protocol has no ids of turns: a session/prompt request opens
the turn "prompt-<id of the request>", its answer ends it. In a file that holds updates only, a
user_message_chunk opens the turn "message-1", "message-2" and so on.
"""

from collections.abc import Iterable

from core.recordings.contract import Head, Reader, Row, Runtime


def _reader(head: Head) -> Reader:
    from core.runtimes.acp_agent.reader import AcpReader

    return AcpReader(head)


def _recognise(row: Row) -> bool:
    from core.runtimes.acp_agent.messages import is_message

    return is_message(row)


def _head(path: str, rows: Iterable[Row]) -> Head:
    from core.runtimes.acp_agent.messages import read_head

    return read_head(path, rows)


RUNTIME = Runtime(reader=_reader, recognise=_recognise, head=_head)
