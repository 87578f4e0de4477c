"""Makes docs/images again from the invented report: `python -m tests.browser.pictures`."""

import tempfile
from pathlib import Path

from server.report.html import page
from tests.browser.chromium import Chromium
from tests.browser.sample import report

IMAGES = Path(__file__).resolve().parents[2] / "docs/images"
WIDTH, HEIGHT = 1280, 1150
OPEN_TWO = (
    "(() => { document.querySelector('.turn .toggle').click();"
    " document.querySelector('.turn .level-1 .toggle').click(); })()"
)
REQUEST = (
    "(() => { const box = document.querySelector('[aria-labelledby=request-title]')"
    ".getBoundingClientRect(); return {x: box.x + scrollX - 8, y: box.y + scrollY - 8,"
    " width: box.width + 16, height: box.height + 16}; })()"
)


def main() -> None:
    """Write the pictures of the whole page in both schemes, and of a request."""
    IMAGES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "report.html")
        file.write_text(page(report(sessions=3, turns=40)), encoding="utf-8")
        with Chromium(Path(folder, "profile")) as browser:
            browser.size(WIDTH, HEIGHT)
            for scheme in ("light", "dark"):
                browser.prefer(prefers_color_scheme=scheme, prefers_reduced_motion="reduce")
                browser.open(f"{file.as_uri()}#s=0&t=20")
                browser.wait("document.querySelector('.treemap .cell')")
                browser.run(OPEN_TWO)
                browser.frame()
                (IMAGES / f"report-{scheme}.png").write_bytes(browser.picture())
            browser.prefer(prefers_color_scheme="light")
            browser.frame()
            (IMAGES / "report-request.png").write_bytes(browser.picture(browser.run(REQUEST)))


if __name__ == "__main__":
    main()
