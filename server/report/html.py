"""The report as one HTML file that needs nothing else: no network, no further file.

The page's parts stand beside in page/: a template, its styles, and its script in pieces. The
report goes in as JSON blocks that are never run; the script shows their texts as text only. A
policy in the page lets only its own style and script through, by their hashes.
"""

import base64
import hashlib
import json
import re
from pathlib import Path
from typing import Any

from core.accounting.kinds import KINDS, LABELS, ROWS, label
from server.report.names import short_ids
from server.report.words import is_chinese, said, words

Json = Any

_PARTS = Path(__file__).parent / "page"
_SCRIPTS = (  # In the order in which they need each other.
    "base.js",
    "text.js",
    "turns.js",
    "strip.js",
    "rows.js",
    "turn.js",
    "request.js",
    "fill.js",
    "totals.js",
    "main.js",
)
_PLACE = re.compile(r"\{\{(\w+)\}\}")
_UNSAFE = re.compile("[<>&\u2028\u2029\ud800-\udfff]")
_USAGE = ("input", "output", "cacheRead", "cacheCreation")


def page(report: Json) -> str:
    """Give the page that shows a report (its detailed form)."""
    locale = _text(report.get("locale")) or "en"
    style = (_PARTS / "page.css").read_text(encoding="utf-8")
    script = _script()
    sessions = [session for session in report.get("sessions") or () if isinstance(session, dict)]
    filled = {
        "lang": "zh-CN" if is_chinese(locale) else "en",
        "policy": policy(style, script),
        "title": said(locale, "title"),
        "needs_script": said(locale, "needs_script"),
        "style": style,
        "data": "\n".join(
            [
                _block("report", _head(report, sessions, locale)),
                *(_block(f"session-{at}", _drawn(session)) for at, session in enumerate(sessions)),
            ]
        ),
        "script": script,
    }
    template = (_PARTS / "page.html").read_text(encoding="utf-8")
    return _PLACE.sub(lambda place: filled[place[1]], template)


def policy(style: str, script: str) -> str:
    """Allow this style and this script and nothing else, not even markup made from text."""
    return "; ".join(
        [
            "default-src 'none'",
            f"style-src '{_hash(style)}'",
            f"script-src '{_hash(script)}'",
            "base-uri 'none'",
            "form-action 'none'",
            "require-trusted-types-for 'script'",
            "trusted-types 'none'",
        ]
    )


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _script() -> str:
    pieces = [(_PARTS / name).read_text(encoding="utf-8") for name in _SCRIPTS]
    return '"use strict";\n(() => {\n' + "\n".join(pieces) + "})();\n"


def _block(name: str, value: Json) -> str:
    # A block that is no script is neither run nor asked about by the policy.
    return f'<script type="application/json" id="{name}">{embedded(value)}</script>'


def embedded(value: Json) -> str:
    """Give JSON that cannot end or open an element, whatever its texts hold."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _head(report: Json, sessions: list[Json], locale: str) -> Json:
    """Give all that is shown before a session is opened."""
    told = {key: value for key, value in report.items() if key != "sessions"}
    return {
        **told,
        "words": words(locale),
        "kinds": list(KINDS),
        "rows": list(ROWS),
        "labels": {row: label(row, locale) for row in LABELS},
        "sessions": [
            _summary(session, short)
            for session, short in zip(sessions, short_ids(sessions), strict=True)
        ],
    }


def _drawn(session: Json) -> Json:
    """Give what the page draws of a session: it makes its own bars, so those stay out."""
    turns = [
        {key: value for key, value in turn.items() if key != "bars"}
        for turn in session.get("turns") or ()
        if isinstance(turn, dict)
    ]
    return {**session, "turns": turns}


def _summary(session: Json, short_id: str) -> Json:
    told = {
        key: session[key]
        for key in ("sessionId", "runtime", "path", "cwd", "model", "startedAt", "endedAt")
        if _text(session.get(key))
    }
    if short_id:
        told["shortId"] = short_id
    turns = [turn for turn in session.get("turns") or () if isinstance(turn, dict)]
    usages = [turn["usage"] for turn in turns if isinstance(turn.get("usage"), dict)]
    told["turns"] = len(turns)
    tokens = sum(usage[key] for usage in usages for key in _USAGE if type(usage.get(key)) is int)
    if tokens:
        told["tokens"] = tokens
    return told


def _text(value: Json) -> str:
    return value if isinstance(value, str) else ""
