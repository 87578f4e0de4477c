"""The report's page: one file that needs nothing else and takes every text for text."""

import base64
import hashlib
import itertools
import json
import math
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from core.accounting.kinds import LABELS, ROWS
from server.report.html import embedded, page
from server.report.names import short_ids
from server.report.words import WORDS, said
from tests.browser.sample import report

Json = Any

PARTS = Path(__file__).resolve().parents[2] / "server/report/page"
HOSTILE = (
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<!-- <script>",
    "]]>\u2028\u2029&lt;b&gt;",
    "\u202egnp.exe\u202c\u200f",
    "\ud800 half a pair",
    "n" * 10_000,
)


class Elements(HTMLParser):
    """Every element with its attributes, and the text of scripts and styles."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self._inside = False
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self._inside = tag in {"script", "style"}

    def handle_endtag(self, tag: str) -> None:
        self._inside = False

    def handle_data(self, data: str) -> None:
        if self._inside:
            self.texts.append(data)

    def named(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]


def blocks(text: str) -> dict[str, Json]:
    found = re.findall(
        r'<script type="application/json" id="([\w-]+)">(.*?)</script>', text, re.DOTALL
    )
    return {name: json.loads(data) for name, data in found}


def hostile_report(text: str) -> Json:
    made = report(sessions=1, turns=2)
    session = made["sessions"][0]
    for key in ("sessionId", "cwd", "path", "model", "runtime"):
        session[key] = text
    turn = session["turns"][0]
    for row in turn["rows"]:
        row["source"] = row["detail"] = text
    turn["calls"][0] |= {"name": text, "group": text, "id": text}
    made["notes"] = [text]
    made["totals"]["byTool"] = {text: {"calls": 1, "tokens": 1}}
    return made


def test_the_page_refers_to_nothing_outside_itself() -> None:
    elements = Elements(page(report()))

    addressing = {"src", "href", "srcset", "action", "data", "poster", "background"}
    assert [one for one in elements.elements if addressing & one[1].keys()] == []
    assert not re.search(r"@import|url\(|\bfetch\(|XMLHttpRequest|WebSocket", _parts())


def test_scripts_never_make_markup_from_text() -> None:
    assert not re.search(
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(", _parts()
    )


def _parts() -> str:
    return "\n".join(part.read_text(encoding="utf-8") for part in sorted(PARTS.iterdir()))


def test_the_policy_lets_only_the_pages_own_style_and_script_through() -> None:
    text = page(report())
    (policy,) = [
        meta["content"]
        for meta in Elements(text).named("meta")
        if meta.get("http-equiv") == "Content-Security-Policy"
    ]
    assert policy is not None
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))

    assert rules["default-src"] == "'none'"
    assert rules["style-src"] == f"'{_hash(_between(text, '<style>', '</style>'))}'"
    assert rules["script-src"] == f"'{_hash(_between(text, '<script>', '</script>'))}'"
    assert "unsafe" not in policy


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _between(text: str, start: str, end: str) -> str:
    assert text.count(start) == 1
    return text.partition(start)[2].partition(end)[0]


def test_the_data_is_the_report() -> None:
    made = report(sessions=2, turns=3)
    found = blocks(page(made))

    assert found["report"]["totals"] == made["totals"]
    assert found["session-1"]["sessionId"] == made["sessions"][1]["sessionId"]
    for drawn, turn in zip(found["session-0"]["turns"], made["sessions"][0]["turns"], strict=True):
        assert drawn == {key: value for key, value in turn.items() if key != "bars"}


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: ascii(text)[1:25])
def test_hostile_names_stay_data(text: str) -> None:
    harmless = Elements(page(hostile_report("harmless"))).elements
    made = page(hostile_report(text))

    assert Elements(made).elements == harmless
    assert blocks(made)["report"]["notes"] == [text]
    made.encode("utf-8")


def test_embedded_json_holds_nothing_that_a_parser_of_markup_acts_on() -> None:
    assert embedded({"<": "</SCRIPT>&\u2028"}) == (
        '{"\\u003c":"\\u003c/SCRIPT\\u003e\\u0026\\u2028"}'
    )


def test_a_report_without_anything_still_makes_a_page() -> None:
    assert blocks(page({}))["report"]["sessions"] == []


def test_a_session_whose_usage_is_not_known_has_no_sum() -> None:
    found = blocks(page({"sessions": [{"sessionId": "s", "turns": [{"turnId": "t"}]}]}))

    assert found["report"]["sessions"] == [{"sessionId": "s", "shortId": "s", "turns": 1}]


def test_sessions_are_told_apart_by_a_short_id() -> None:
    sessions = [
        {"sessionId": "5828bd52-7a67-4f45-8cf3-382373e7ecaf"},
        {"sessionId": "019e9625-802f-7e91-840a-cfe88d14117a"},
        {"sessionId": "019e9625-802f-7e91-840a-cfe88d141180"},
        {"sessionId": "aaaaaaaa-0000-4000-8000-000000000001"},
        {"sessionId": "aaaaaaaa-0000-4000-8000-000000000002"},
        {"sessionId": "bbbbbbbb-0000-4000-8000-000000000003", "path": "/srv/one.jsonl"},
        {"sessionId": "bbbbbbbb-0000-4000-8000-000000000003", "path": "/srv/two.jsonl"},
        {},
    ]

    assert short_ids(sessions) == [
        "5828bd52",
        "cfe88d14117a",  # Its beginning is a time, which others share.
        "cfe88d141180",
        "aaaaaaaa-0000-4000-8000-000000000001",
        "aaaaaaaa-0000-4000-8000-000000000002",
        "bbbbbbbb (one.jsonl)",
        "bbbbbbbb (two.jsonl)",
        "",
    ]


def test_every_word_is_there_in_both_languages() -> None:
    assert [key for key, texts in WORDS.items() if len(texts) != 2 or not all(texts)] == []
    for key, (english, chinese) in WORDS.items():
        assert _places(english.partition("|")[2] or english) == _places(chinese), key


def _places(text: str) -> set[str]:
    return set(re.findall(r"\{(\w+)\}", text))


def test_every_word_that_the_page_asks_for_is_in_the_table() -> None:
    asked = set(re.findall(r'\bt\(\s*"(\w+)"', _parts()))

    assert asked
    assert asked - WORDS.keys() == set()


@pytest.mark.parametrize(("locale", "place"), [("en", 0), ("zh", 1), ("zh-Hans-CN", 1)])
def test_the_page_speaks_the_language_of_the_report(locale: str, place: int) -> None:
    text = page(report(sessions=1, turns=1, locale=locale))
    head = blocks(text)["report"]

    assert Elements(text).named("html") == [{"lang": ("en", "zh-CN")[place]}]
    assert head["words"] == {key: texts[place] for key, texts in WORDS.items()}
    assert head["labels"] == {row: texts[place] for row, texts in LABELS.items()}


def test_a_count_picks_between_one_and_many() -> None:
    assert said("en", "n_turns", n=1) == "1 turn"
    assert said("en", "n_turns", n=2_000) == "2,000 turns"
    assert said("zh", "n_turns", n=1) == "1 轮"


# Linear RGB of what people see without one of the three cones: Machado, Oliveira, Fernandes 2009.
SIGHTS = {
    "normal": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protan": (
        (0.152286, 1.052583, -0.204868),
        (0.114503, 0.786281, 0.099216),
        (-0.003882, -0.048116, 1.051998),
    ),
    "deutan": (
        (0.367322, 0.860646, -0.227968),
        (0.280085, 0.672501, 0.047413),
        (-0.011820, 0.042940, 0.968881),
    ),
    "tritan": (
        (1.255528, -0.076749, -0.178779),
        (-0.078411, 0.930809, 0.147602),
        (0.004733, 0.691367, 0.303900),
    ),
}
DISTANCE_LEAST = 0.055  # In OKLab; about five just noticeable differences.
Colour = tuple[float, float, float]


def palette(mode: int) -> dict[str, Colour]:
    css = (PARTS / "page.css").read_text(encoding="utf-8")
    found = dict(re.findall(r"--(\w+): light-dark\((#\w{6}, #\w{6})\)", css))
    return {name: linear(found[name].split(", ")[mode]) for name in (*ROWS, "surface")}


def linear(colour: str) -> Colour:
    red, green, blue = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    return _linear(red), _linear(green), _linear(blue)


def _linear(part: float) -> float:
    return part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4


def contrast(one: Colour, other: Colour) -> float:
    weights = (0.2126, 0.7152, 0.0722)
    low, high = sorted(
        sum(w * part for w, part in zip(weights, colour, strict=True)) for colour in (one, other)
    )
    return (high + 0.05) / (low + 0.05)


def seen(colour: Colour, sight: str) -> Colour:
    red, green, blue = (
        min(1.0, max(0.0, sum(part * share for part, share in zip(row, colour, strict=True))))
        for row in SIGHTS[sight]
    )
    cones = (
        math.cbrt(0.4122214708 * red + 0.5363325363 * green + 0.0514459929 * blue),
        math.cbrt(0.2119034982 * red + 0.6806995451 * green + 0.1073969566 * blue),
        math.cbrt(0.0883024619 * red + 0.2817188376 * green + 0.6299787005 * blue),
    )
    long, medium, short = cones
    return (
        0.2104542553 * long + 0.7936177850 * medium - 0.0040720468 * short,
        1.9779984951 * long - 2.4285922050 * medium + 0.4505937099 * short,
        0.0259040371 * long + 0.7827717662 * medium - 0.8086757660 * short,
    )


@pytest.mark.parametrize("sight", SIGHTS)
@pytest.mark.parametrize("mode", [0, 1], ids=["light", "dark"])
def test_kinds_can_be_told_apart_by_everyone(mode: int, sight: str) -> None:
    colours = palette(mode)
    close = [
        (one, other)
        for one, other in itertools.combinations(ROWS, 2)
        if math.dist(seen(colours[one], sight), seen(colours[other], sight)) < DISTANCE_LEAST
    ]

    assert close == []


def test_kinds_stand_out_alike_in_both_modes() -> None:
    light, dark = palette(0), palette(1)
    for kind in ROWS:
        in_light = contrast(light[kind], light["surface"])
        in_dark = contrast(dark[kind], dark["surface"])

        assert min(in_light, in_dark) >= 2.95, kind
        assert abs(in_light - in_dark) < 0.3, kind
