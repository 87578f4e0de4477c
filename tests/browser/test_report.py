"""The report's page in a real Chromium: what it shows, by keyboard too, and how fast."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from core.accounting.kinds import LABELS
from server.report.html import page
from server.report.words import WORDS
from tests.browser.chromium import Chromium
from tests.browser.sample import report

Json = Any

READY = "document.documentElement.dataset.ready === 'yes'"
TURN_TITLE = "document.getElementById('turn-title').textContent"
MANY_TURNS = 2_000
# A page of the same size whose script does nothing takes 1; the rest is what ours does.
TIMES_OF_AN_IDLE_PAGE_MAX = 3
HOSTILE = (
    "</script><script>window.hit = 1</script>",
    '<img src=x onerror="window.hit = 1">',
    "\u202egnp.exe\u202c",
    "$& {n} {id}",
    "n" * 10_000,
)


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    with Chromium(tmp_path_factory.mktemp("profile")) as browser:
        yield browser


@pytest.fixture
def browser(chromium: Chromium) -> Iterator[Chromium]:
    """The browser; afterwards no page may have complained or asked for anything."""
    chromium.size(1280, 900)
    chromium.prefer(prefers_color_scheme="light")
    yield chromium
    assert chromium.complaints == []
    assert [one for one in chromium.requested if not one.startswith("file://")] == []


def show(browser: Chromium, folder: Path, made: Json, fragment: str = "") -> None:
    file = folder / "report.html"
    file.write_text(page(made), encoding="utf-8")
    browser.open(f"{file.as_uri()}{fragment}")
    browser.wait(READY)
    browser.frame()


def texts(browser: Chromium, selector: str) -> list[str]:
    found = browser.run(
        f"[...document.querySelectorAll({json.dumps(selector)})].map((one) => one.innerText.trim())"
    )
    assert isinstance(found, list)
    return found


def tab_to(browser: Chromium, condition: str, presses: int = 60) -> None:
    for _ in range(presses):
        browser.press("Tab")
        if browser.run(f"document.activeElement.matches({json.dumps(condition)})"):
            return
    pytest.fail(f"{condition} is not reached by Tab")


def test_the_rows_of_a_turn_are_shown_with_tokens_and_source(
    browser: Chromium, tmp_path: Path
) -> None:
    made = report(sessions=1, turns=4)
    show(browser, tmp_path, made, "#s=0&t=1")
    shown = texts(browser, ".turn tr.kind")

    for row in made["sessions"][0]["turns"][1]["rows"]:
        (line,) = [line for line in shown if line.startswith(row["label"])]
        assert f"{row['tokens']:,}" in line
        if "source" in row:
            assert row["source"][:40] in line


def test_what_is_unsupported_or_unknown_has_no_figure(browser: Chromium, tmp_path: Path) -> None:
    show(browser, tmp_path, report(sessions=1, turns=4), "#s=0&t=1")

    (memory,) = [line for line in texts(browser, ".turn tr.kind") if line.startswith("Memory")]
    assert "unsupported" in memory
    (missing,) = [line for line in texts(browser, "tr.level-1") if "quarterly-report" in line]
    assert "unknown" in missing
    assert "no SKILL.md of this name" in missing


def test_a_turn_without_figures_is_not_known_and_not_0(browser: Chromium, tmp_path: Path) -> None:
    show(browser, tmp_path, {"sessions": [{"sessionId": "s", "turns": [{"turnId": "t"}]}]})

    assert texts(browser, ".key.all") == ["Turn 1\nnot known"]
    assert texts(browser, ".main-column p") == [WORDS["nothing_entered"][0]]
    assert texts(browser, ".side-column .absent") == [WORDS["not_known"][0]]


def test_a_fragment_names_the_turn_and_follows_it(browser: Chromium, tmp_path: Path) -> None:
    show(browser, tmp_path, report(sessions=2, turns=9), "#s=0&t=3")
    assert browser.run(TURN_TITLE) == "Turn 4 of 9"

    browser.run("location.hash = '#s=1&t=0'")
    browser.wait(f"{TURN_TITLE} === 'Turn 1 of 3'")
    browser.run("location.hash = '#s=99&t=x'")
    browser.wait(f"{TURN_TITLE} === 'Turn 3 of 3'")


def test_a_turn_is_picked_and_opened_by_keyboard(browser: Chromium, tmp_path: Path) -> None:
    made = report(sessions=1, turns=9)
    show(browser, tmp_path, made)
    tab_to(browser, ".turns-chart [role=slider]")
    browser.press("Home", "ArrowRight", "ArrowRight")

    assert browser.run(TURN_TITLE) == "Turn 3 of 9"
    browser.wait("location.hash === '#s=0&t=2'")
    assert browser.run("document.activeElement.getAttribute('aria-valuenow')") == "3"
    spoken = browser.run("document.activeElement.getAttribute('aria-valuetext')")
    assert spoken.startswith("Turn 3 of 9, System prompt 3,412")

    browser.press("Enter")
    assert browser.run("document.activeElement.id") == "turn-title"


def test_a_kind_opens_by_keyboard_down_to_each_call_and_its_line(
    browser: Chromium, tmp_path: Path
) -> None:
    made = report(sessions=1, turns=5)
    turn = made["sessions"][0]["turns"][4]
    item = turn["snapshot"]["entries"]["tools"]["items"][0]
    calls = [call for call in turn["calls"] if call["group"] == item["name"]]
    show(browser, tmp_path, made, "#s=0&t=4")
    browser.run("document.getElementById('turn-title').focus()")
    tab_to(browser, ".turn .toggle[aria-label='Open Tools']")
    browser.press("Enter")
    tab_to(browser, f".turn .toggle[aria-label='Open {item['name']}']")
    browser.press("Enter")
    shown = texts(browser, ".turn tr.level-2")

    assert len(shown) == len(calls)
    for line, call in zip(shown, calls, strict=True):
        assert call["name"] in line
        assert f"{call['tokens']:,}" in line
        assert f"line {call['line']}" in line

    browser.press(" ")
    assert texts(browser, ".turn tr.level-2") == []


def test_everything_that_can_be_pressed_has_a_name_and_a_visible_focus(
    browser: Chromium, tmp_path: Path
) -> None:
    show(browser, tmp_path, report(sessions=3, turns=9), "#s=0&t=2")
    nameless = browser.run(
        "[...document.querySelectorAll('button, input, [tabindex=\"0\"], summary')]"
        ".filter((one) => !(one.getAttribute('aria-label') || one.innerText.trim()))"
        ".map((one) => one.outerHTML.slice(0, 200))"
    )
    assert nameless == []
    for _ in range(20):
        browser.press("Tab")
        outline = browser.run("getComputedStyle(document.activeElement).outlineStyle")
        assert outline != "none", browser.run("document.activeElement.outerHTML.slice(0, 200)")


def test_a_request_is_a_treemap_and_the_same_table(browser: Chromium, tmp_path: Path) -> None:
    made = report(sessions=1, turns=2)
    reported = made["sessions"][0]["turns"][1]["composition"]["reported"]
    show(browser, tmp_path, made, "#s=0&t=1")
    browser.wait("document.querySelectorAll('.treemap .cell').length")
    areas = browser.run(
        "[...document.querySelectorAll('.treemap .cell')].map((cell) => cell.offsetWidth *"
        " cell.offsetHeight).reduce((one, other) => one + other)"
    )
    whole = browser.run(
        "document.querySelector('.treemap').offsetWidth *"
        " document.querySelector('.treemap').offsetHeight"
    )

    assert 0.8 * whole < areas <= 1.01 * whole
    (foot,) = texts(browser, "[aria-labelledby=request-title] tfoot")
    assert f"{reported:,}" in foot
    browser.run("document.querySelector('.cell[tabindex=\"0\"]').focus()")
    before = browser.run("document.activeElement.title")
    browser.press("ArrowRight")
    assert browser.run("document.activeElement.title") not in ("", before)


def test_without_request_rows_a_sentence_says_so(browser: Chromium, tmp_path: Path) -> None:
    show(browser, tmp_path, report(sessions=1, turns=6), "#s=0&t=3")
    (told,) = texts(browser, "[aria-labelledby=request-title] > p")

    assert told.startswith(WORDS["no_composition"][0])
    browser.run("document.querySelector('[aria-labelledby=request-title] .link').click()")
    browser.wait(f"{TURN_TITLE} === 'Turn 3 of 6'")


def test_the_window_is_told_with_the_source_of_each_figure(
    browser: Chromium, tmp_path: Path
) -> None:
    made = report(sessions=1, turns=2)
    made["sessions"][0]["turns"][1]["window"] = {"used": 21_322, "usedSource": "usage"}
    show(browser, tmp_path, made, "#s=0&t=1")
    part = ".side-column > div:nth-child(2) .facts > div"

    assert [line.split() for line in texts(browser, part)] == [
        ["Used", "21,322"],
        ["Source", "usage"],
    ]
    browser.run("document.querySelector('.step[data-step=previous]').click()")
    assert texts(browser, part)[-1].split("\n") == ["Source", "usage + transcript/result"]


def test_usage_that_nobody_reported_has_no_zeros(browser: Chromium, tmp_path: Path) -> None:
    made = report(sessions=1, turns=2)
    made["totals"] |= dict.fromkeys(("input", "output", "cacheRead", "cacheCreation"), 0)
    made["totals"]["messages"] = 0
    show(browser, tmp_path, made)

    assert texts(browser, ".figure")[0].split("\n") == ["Usage", WORDS["no_usage"][0]]
    assert not any(line.endswith("\n0") for line in texts(browser, ".figure"))


def test_a_server_without_calls_put_its_instructions_there(
    browser: Chromium, tmp_path: Path
) -> None:
    made = report(sessions=1, turns=3)
    made["totals"]["byMcpServer"] = {"github": {"tokens": 65, "calls": 0}}
    show(browser, tmp_path, made)
    browser.run("document.getElementById('tab-byMcpServer').click()")

    (row,) = texts(browser, "#tabpanel-byMcpServer tbody tr")
    assert "instructions" in row


def test_sources_can_be_read_on_a_narrow_page(browser: Chromium, tmp_path: Path) -> None:
    browser.size(500, 900)
    show(browser, tmp_path, report(sessions=1, turns=3), "#s=0&t=1")
    cut = browser.run(
        "[...document.querySelectorAll('.turn .tree .from, .turn .tree .from > *')]"
        ".filter((one) => one.scrollWidth > one.clientWidth + 1 && one.clientWidth)"
        ".map((one) => one.outerHTML.slice(0, 200))"
    )

    assert cut == []
    assert browser.run(
        "[...document.querySelectorAll('.turn .tree')].every((one) => one.scrollWidth <="
        " one.parentElement.clientWidth)"
    )


def test_compactions_are_marked_and_what_is_stale_is_drawn_apart(
    browser: Chromium, tmp_path: Path
) -> None:
    made = report(sessions=1, turns=3)
    last = made["sessions"][0]["turns"][2]
    line = last["requests"][-1]["line"] + 2
    told = {"line": line, "trigger": "auto", "preTokens": 90_000, "postTokens": 20_000}
    last["compactions"] = [told]
    last["window"]["stale"] = True
    show(browser, tmp_path, made)

    assert browser.run("document.querySelectorAll('.compaction').length") == 1
    assert browser.run("document.querySelector('.level.stale').getAttribute('d')")
    assert "Compaction, automatic, before 90,000, after 20,000" in browser.run(
        "document.querySelector('.compaction title').textContent"
    )
    assert WORDS["stale"][0] in texts(browser, ".side-column .caution")


def test_totals_sort_by_every_column(browser: Chromium, tmp_path: Path) -> None:
    made = report(sessions=1, turns=2)
    tools = made["totals"]["byTool"]
    show(browser, tmp_path, made)
    names = "#tabpanel-byTool tbody th"
    assert texts(browser, names) == sorted(tools, key=lambda name: -tools[name]["tokens"])

    browser.run("document.querySelectorAll('#tabpanel-byTool .sort')[1].click()")
    assert texts(browser, names) == sorted(tools, key=lambda name: -tools[name]["calls"])
    browser.run("document.querySelectorAll('#tabpanel-byTool .sort')[0].click()")
    assert texts(browser, names) == sorted(tools)
    assert browser.run("document.querySelector('#tabpanel-byTool th').ariaSort") == "ascending"


def test_sessions_are_found_by_typing(browser: Chromium, tmp_path: Path) -> None:
    made = report(sessions=400, turns=2)
    made["sessions"][250]["cwd"] = "/srv/src/needle"
    show(browser, tmp_path, made)
    assert len(texts(browser, ".session-list button[data-at]")) == 150

    browser.run("document.querySelector('.picker input').focus()")
    browser.call("Input.insertText", text="NEEDLE")
    browser.press("ArrowDown", "Enter")
    assert texts(browser, "h2 bdi") == ["needle"]
    browser.wait("location.hash.startsWith('#s=250&')")


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: text[:12])
def test_hostile_names_are_shown_as_text(browser: Chromium, tmp_path: Path, text: str) -> None:
    made = report(sessions=2, turns=2)
    session = made["sessions"][0]
    for key in ("sessionId", "cwd", "path", "model", "runtime", "version", "startedAt"):
        session[key] = text
    turn = session["turns"][1]
    for row in turn["rows"]:
        row["source"] = row["detail"] = text
    turn["outcome"] = turn["turnId"] = text
    for skill in turn["snapshot"]["skillStates"]:
        skill |= {"name": text, "state": text}
    for part in turn["composition"]["parts"]:
        part |= {"kind": text, "name": text, "source": text}
    made["notes"] = [text]
    made["totals"]["byTool"] = {text: {"calls": 1, "tokens": 1}}
    show(browser, tmp_path, made, "#s=0&t=1")
    browser.run("for (const one of document.querySelectorAll('.toggle, summary')) one.click()")
    browser.frame()

    assert browser.run("window.hit") is None
    assert browser.run("document.querySelectorAll('img, iframe, object').length") == 0
    assert not any("\u202e" in line for line in texts(browser, "body"))
    assert browser.run("document.documentElement.scrollWidth <= innerWidth")
    if len(text) < 100 and "\u202e" not in text:
        assert texts(browser, "#tabpanel-byTool tbody th") == [text]


def test_the_page_speaks_chinese(browser: Chromium, tmp_path: Path) -> None:
    show(browser, tmp_path, report(sessions=1, turns=4, locale="zh"), "#s=0&t=1")

    assert browser.run(TURN_TITLE) == "第 2 轮，共 4 轮"
    shown = " ".join(texts(browser, "body"))
    assert LABELS["tools"][1] in shown
    assert [
        key for key, (english, _) in WORDS.items() if len(english) > 25 and english in shown
    ] == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_texts_are_legible_in_both_schemes(browser: Chromium, tmp_path: Path, scheme: str) -> None:
    browser.prefer(prefers_color_scheme=scheme)
    show(browser, tmp_path, report(sessions=2, turns=4))
    pale = browser.run(_PALE_TEXTS)

    assert pale == []
    other = {"light": "dark", "dark": "light"}[scheme]
    before = browser.run("getComputedStyle(document.body).backgroundColor")
    browser.run(f"document.querySelector('.choice [data-value={other}]').click()")
    assert browser.run("getComputedStyle(document.body).backgroundColor") != before
    assert browser.run(_PALE_TEXTS) == []


# Every element that holds text itself, whose colour stands out less than 4.5 to 1.
_PALE_TEXTS = """
(() => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const over = (colours) => {
    canvas.clearRect(0, 0, 1, 1);
    for (const colour of colours) { canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1); }
    return [...canvas.getImageData(0, 0, 1, 1).data.slice(0, 3)];
  };
  const light = (rgb) => rgb.map((part) => part / 255)
    .map((part) => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4)
    .reduce((all, part, at) => all + part * [0.2126, 0.7152, 0.0722][at], 0);
  const pale = [];
  for (const one of document.querySelectorAll("#page *")) {
    const own = [...one.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
    if (!own || !one.getClientRects().length || one.disabled) continue;
    const backs = [];
    for (let up = one; up; up = up.parentElement) {
      backs.unshift(getComputedStyle(up).backgroundColor);
    }
    const style = getComputedStyle(one);
    const ink = one instanceof SVGElement ? style.fill : style.color;
    const [low, high] = [light(over(backs)), light(over([...backs, ink]))].sort((a, b) => a - b);
    if ((high + 0.05) / (low + 0.05) < 4.5) pale.push(one.outerHTML.slice(0, 160));
  }
  return pale;
})()
"""


def test_on_paper_all_tables_stand_and_nothing_is_dark(browser: Chromium, tmp_path: Path) -> None:
    browser.prefer(prefers_color_scheme="dark")
    show(browser, tmp_path, report(sessions=2, turns=4))
    browser.call("Emulation.setEmulatedMedia", media="print")
    try:
        shown = texts(browser, "[role=tabpanel]")
        assert all(shown)
        assert browser.run("getComputedStyle(document.documentElement).colorScheme") == "light"
        assert browser.run("document.querySelector('.picker').getClientRects().length") == 0
    finally:
        browser.call("Emulation.setEmulatedMedia", media="")


@pytest.mark.parametrize("width", [360, 768, 1024, 1440, 2560])
def test_no_width_makes_the_page_scroll_sideways(
    browser: Chromium, tmp_path: Path, width: int
) -> None:
    browser.size(width, 900)
    show(browser, tmp_path, report(sessions=3, turns=12), "#s=0&t=4")

    assert browser.run("document.documentElement.scrollWidth") <= width


def test_thousands_of_turns_stay_fluid(
    browser: Chromium, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = report(sessions=1, turns=MANY_TURNS)
    text = page(made)
    idle = text[: text.rindex("<script>")] + "</body></html>"
    ours = _loaded_ms(browser, tmp_path, text)
    same_size = _loaded_ms(browser, tmp_path, idle)
    blank = _loaded_ms(browser, tmp_path, "<!doctype html><title>-</title>")
    _loaded_ms(browser, tmp_path, text, once=True)
    elements = browser.run("document.querySelectorAll('*').length")
    browser.run("document.querySelector('.turns-chart [role=slider]').focus()")
    browser.press("Home")
    assert browser.run(TURN_TITLE) == f"Turn 1 of {MANY_TURNS:,}"
    step_ms = browser.run(_STEP_MS)
    browser.press("End")
    assert browser.run(TURN_TITLE) == f"Turn {MANY_TURNS:,} of {MANY_TURNS:,}"
    size = f"{MANY_TURNS:,} turns, {len(text) / 1e6:.1f} MB"
    times = f"{ours / same_size:.2f} x an idle page of that size, {ours / blank:.0f} x a blank one"
    with capsys.disabled():
        sys.stdout.write(f"\n{size}: {times}; {step_ms:.0f} ms a step\n")

    assert elements < 3_000
    assert ours < TIMES_OF_AN_IDLE_PAGE_MAX * same_size


# The median time that one step to the next turn takes, in milliseconds.
_STEP_MS = """
(() => {
  const slider = document.querySelector(".turns-chart [role=slider]");
  const times = [];
  for (let at = 0; at < 40; at += 1) {
    const start = performance.now();
    slider.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight", bubbles: true }));
    document.body.offsetHeight;
    times.push(performance.now() - start);
  }
  return times.sort((one, other) => one - other)[20];
})()
"""


def _loaded_ms(browser: Chromium, folder: Path, text: str, once: bool = False) -> float:
    """The least time of three from the start of loading until the page has done its work."""
    file = folder / "page.html"
    file.write_text(text, encoding="utf-8")
    times = []
    for _ in range(1 if once else 3):
        browser.open(file.as_uri())
        browser.wait("performance.getEntriesByType('navigation')[0].loadEventEnd > 0")
        times.append(
            float(browser.run("performance.getEntriesByType('navigation')[0].loadEventEnd"))
        )
    return min(times)
