"""What `turnkeeper report` does: find the recordings, read them, print or write the pictures."""

import gc
import os
import shutil
import sys
from typing import Any

import click
import orjson

from core.errors import Refusal, Unreadable
from core.phases.display import shown
from core.store.failures import Gone, StoreError
from core.store.root import state_root
from core.world import World
from server.output import DONE, FAILED, refuse, write
from server.progress import LateProgress
from server.report.find import find
from server.report.fold import PICTURED, Detail
from server.report.gather import gather, put_together
from server.report.stored import fold_stored

Json = Any


# Of new containers, before they are looked through for cycles: what is read makes none.
GC_THRESHOLDS = (200_000, 50, 100)


def report_command(target: str | None, html: str | None, as_json: bool, locale: str) -> int:
    """Report; 0 done, 1 the page cannot be written, 2 for a target that cannot be used."""
    gc.freeze()
    gc.set_threshold(*GC_THRESHOLDS)
    detail = Detail(pictures=html is not None or not as_json, locale=locale)
    try:
        report = _report(target, detail)
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
    if as_json:
        return write(orjson.dumps(_for_programs(report)) + b"\n")
    from server.report.picture import picture

    columns = shutil.get_terminal_size().columns
    colour = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    return write(picture(report, columns, colour).encode(sys.stdout.encoding, "replace"))


class NoRecording(Unreadable):
    """What was found is no recording; the message names it and what it looks like."""

    kind = "unreadable_capture"


def _report(target: str | None, detail: Detail) -> dict[str, Json]:
    home = os.path.expanduser("~")
    found = find(target, home, os.environ)
    if found.session_id is not None and not found.files:
        measure = World(home, {}).measure
        folded = fold_stored(state_root(), found.session_id, measure, detail)
        return put_together([folded], detail)
    progress = LateProgress("reading")
    try:
        report = gather(found.files, home, detail, progress.update)
    finally:
        progress.close()
    if not report["sessions"]:
        raise NoRecording(report["notes"][0], hint="")
    report["notes"] += [f"{shown(folder, 500)} cannot be read" for folder in found.unread]
    return report


def _for_programs(report: dict[str, Json]) -> dict[str, Json]:
    """Leave out what only the pictures need."""
    for turn in (turn for session in report["sessions"] for turn in session["turns"]):
        for key in PICTURED:
            turn.pop(key, None)
    return report


def _write_page(report: dict[str, Json], path: str) -> int:
    from server.report.html import page

    try:
        with open(path, "w", encoding="utf-8") as file:
            file.write(page(report))
    except OSError as error:
        click.echo(f"turnkeeper: cannot write {shown(path, 500)}: {error.strerror}", err=True)
        return FAILED
    click.echo(f"wrote {shown(path, 500)}", err=True)
    return DONE
