"""What `turnkeeper report` does: find the recordings, read them, print or write the pictures."""

import gc
import os
import shutil
import sys
from collections.abc import Callable
from typing import Any, TypeVar

import click
import orjson

from core.errors import Refusal, Unreadable
from core.phases.display import shown
from core.store.failures import Gone, StoreError
from core.store.root import state_root
from core.world import World
from server.interrupts import Interrupts
from server.output import DONE, FAILED, refuse, replace_file, write
from server.progress import LateProgress
from server.report.find import Found, find
from server.report.fold import PICTURED, Detail
from server.report.gather import gather, gather_json, put_together
from server.report.stored import fold_stored

Json = Any
_T = TypeVar("_T")


# Of new containers, before they are looked through for cycles: what is read makes none.
GC_THRESHOLDS = (200_000, 50, 100)


def report_command(target: str | None, html: str | None, as_json: bool, locale: str) -> int:
    """Report; 0 done, 1 the page cannot be written, 2 for a target that cannot be used."""
    with Interrupts() as interrupts, interrupts.heard():
        return _shown(target, html, as_json, locale)


def _shown(target: str | None, html: str | None, as_json: bool, locale: str) -> int:
    gc.freeze()
    gc.set_threshold(*GC_THRESHOLDS)
    pictured = html is not None or not as_json
    try:
        if not pictured:
            return write(_text(target, Detail(locale=locale)) + b"\n")
        report = _report(target, Detail(pictures=True, locale=locale))
    except Refusal as refused:
        return refuse(f"{refused.message}. {refused.hint}".rstrip())
    except OSError as error:
        return refuse(f"{shown(os.fsdecode(error.filename or ''), 500)}: {error.strerror}")
    except (StoreError, Gone) as error:
        return refuse(f"this session cannot be read: {error}")
    if html is not None:
        code = _write_page(report, html)
        if code != DONE or not as_json:
            return code
        return write(orjson.dumps(_for_programs(report)) + b"\n")
    from server.report.picture import picture

    columns = shutil.get_terminal_size().columns
    colour = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    return write(picture(report, columns, colour).encode(sys.stdout.encoding, "replace"))


class NoRecording(Unreadable):
    """What was found is no recording; the message names it and what it looks like."""

    kind = "unreadable_capture"


def _text(target: str | None, detail: Detail) -> bytes:
    """Give the report as the text of its JSON; many sessions are never all held as values."""
    found = find(target, os.path.expanduser("~"), os.environ)
    if not found.files:
        return orjson.dumps(_stored(found, detail))
    report = _reading(gather_json, found, detail)
    if not report.sessions:
        raise NoRecording(report.notes[0], hint="")
    return report.text


def _report(target: str | None, detail: Detail) -> dict[str, Json]:
    found = find(target, os.path.expanduser("~"), os.environ)
    if not found.files:
        return _stored(found, detail)
    report = _reading(gather, found, detail)
    if not report["sessions"]:
        raise NoRecording(report["notes"][0], hint="")
    return report


def _stored(found: Found, detail: Detail) -> dict[str, Json]:
    """Report a session that hosts reported to us and nobody recorded."""
    assert found.session_id is not None
    measure = World(os.path.expanduser("~"), os.environ).measure
    folded = fold_stored(state_root(), found.session_id, measure, detail)
    return put_together([folded], detail)


def _reading(read: Callable[..., _T], found: Found, detail: Detail) -> _T:
    """Read the recordings, with a bar where it takes long."""
    progress = LateProgress("reading")
    unread = [f"{shown(folder, 500)} cannot be read" for folder in found.unread]
    try:
        return read(found.files, os.path.expanduser("~"), detail, progress.update, unread)
    finally:
        progress.close()


def _for_programs(report: dict[str, Json]) -> dict[str, Json]:
    """Leave out what only the pictures need."""
    for turn in (turn for session in report["sessions"] for turn in session["turns"]):
        for key in PICTURED:
            turn.pop(key, None)
    return report


def _write_page(report: dict[str, Json], path: str) -> int:
    from server.report.html import page

    try:
        replace_file(path, page(report))
    except OSError as error:
        click.echo(f"turnkeeper: cannot write {shown(path, 500)}: {error.strerror}", err=True)
        return FAILED
    click.echo(f"wrote {shown(path, 500)}", err=True)
    return DONE
