"""The messages of the model: each requested once, used once, told block by block."""

from core.events import Json, Request, Usage
from core.recordings.content import joined
from core.recordings.contract import Row, Step
from core.runtimes.claude_code.rows import figures
from core.runtimes.claude_code.shapes import SYNTHETIC_MODEL
from core.runtimes.claude_code.state import State, Thread


def tell_message(state: State, thread: Thread, row: Row, is_first_look: bool) -> str:
    """Tell what a row with a model's message says: its request, its usage, its blocks, in order.

    One message stands on several rows. Each block is told once; the usage is told again when it
    differs, so that the last row counts. `is_first_look` says that this row was written while the
    message had only begun: its usage never takes the place of a better one. Gives the text of the
    row's blocks.
    """
    message = row.get("message")
    if type(message) is not dict:
        return ""
    message_id = message.get("id") or row.get("requestId")
    if type(message_id) is not str:
        message_id = ""
    if message_id not in thread.usages:
        _begin(state, thread, row, message_id)
    reported = message.get("usage")
    if type(reported) is dict and message.get("model") != SYNTHETIC_MODEL:
        has_ended = message.get("stop_reason") is not None
        if has_ended:
            thread.tells_stops = True
        if not is_first_look or message_id not in thread.exact:
            if not is_first_look and message_id:
                thread.exact.add(message_id)
            is_partial = not has_ended and (is_first_look or thread.tells_stops)
            _tell_usage(state, thread, row, (reported, message_id, is_partial))
    content = message.get("content")
    if type(content) is list and len(content) == 1:  # Nearly always: a row has one block.
        block = content[0]
        if type(block) is dict and block.get("type") == "tool_use":
            state.call(thread, block.get("id"), block.get("name"), block.get("input"))
            return ""
    return _tell_blocks(state, thread, message_id, content)


def _begin(state: State, thread: Thread, row: Row, message_id: str) -> None:
    """Tell that the model was asked, at the first row of its message."""
    if thread.unsettled or thread.snapshot is not None:
        state.settle(thread)
    ref = row.get("requestRef")
    if type(ref) is not str or not ref:
        ref = None
    if ref is None or ref not in thread.composed:
        state.out.append(Step(state.line, Request(ref, (), thread.agent_id)))
    if message_id:
        thread.usages[message_id] = None


def _tell_usage(state: State, thread: Thread, row: Row, told: tuple[Row, str, bool]) -> None:
    """Tell a usage report of this message, if it is not told like this yet."""
    reported, message_id, is_partial = told
    counts = figures(reported)
    if counts is None:
        return
    known = thread.usages.get(message_id)
    if known is not None and known[:4] == counts and known.partial == is_partial:
        return
    ref = row.get("requestRef")
    usage = Usage(
        *counts,
        None,
        message_id or None,
        False,
        False,
        thread.agent_id,
        state.is_inherited(thread, row),
        is_partial,
        ref if type(ref) is str and ref else None,
    )
    if message_id:
        thread.usages[message_id] = usage
    state.out.append(Step(state.line, usage))


def _tell_blocks(state: State, thread: Thread, message_id: str, content: Json) -> str:
    if isinstance(content, str):
        _tell_text(state, thread, message_id, "model", content)
        return content
    texts: list[str] = []
    for part in content if type(content) is list else ():
        if type(part) is not dict:
            continue
        kind = part.get("type")
        if kind == "tool_use":
            state.call(thread, part.get("id"), part.get("name"), part.get("input"))
            continue
        text = part.get("text") if kind == "text" else None
        by = "model"
        if kind == "thinking":
            text, by = part.get("thinking"), "thinking"
        if isinstance(text, str) and text:
            _tell_text(state, thread, message_id, by, text)
            if kind == "text":
                texts.append(text)
    if len(texts) > 1:
        return joined(texts, "\n")
    return texts[0] if texts else ""


def _tell_text(state: State, thread: Thread, message_id: str, by: str, text: str) -> None:
    if message_id:
        key = (message_id, hash(text))
        if key in thread.spoken:
            return
        thread.spoken.add(key)
    state.say(thread, by, text)


def complete_usage(
    state: State, thread: Thread, message_ids: list[str], output_sum: int | None
) -> None:
    """Give the last message what the others lack to the output of them all, in tokens.

    Only messages count whose usage was that of their beginning; nothing is taken away.
    """
    told = [(key, thread.usages.get(key)) for key in message_ids]
    known = [(key, usage) for key, usage in told if usage is not None]
    begun = [(key, usage) for key, usage in known if key not in thread.exact]
    missing = (output_sum or 0) - sum(usage.output_tokens for _, usage in known)
    if not begun or missing < 0 or output_sum is None:
        return
    key, usage = begun[-1]
    output = usage.output_tokens + missing
    completed = usage._replace(output_tokens=output, partial=len(begun) > 1)
    if completed != usage:
        thread.usages[key] = completed
        state.tell(completed)
