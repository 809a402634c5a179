"""Take the picture of a report that README.md shows.

    python docs/pictures/take.py

Draws the report of the real answers that come along with the package and writes the first screen of
it to ``report.png`` beside this file; the form that stands beside it is one of ``docs/elicit``.
"""

import io
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

import sfumato as sf
from sfumato.data import locate

CHROMIUM = "/usr/bin/chromium"
HERE = Path(__file__).parent


def main() -> None:
    """Write the picture, with few colours so that it is small."""
    with tempfile.TemporaryDirectory() as place, sync_playwright() as running:
        page = Path(place) / "report.html"
        sf.report(locate("real-sample", "real-answers.csv.gz"), page)
        browser = running.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        window = browser.new_page(viewport={"width": 1280, "height": 720})
        window.goto(page.as_uri())
        shown = Image.open(io.BytesIO(window.screenshot()))
        browser.close()
    shown.convert("RGB").quantize(64).save(HERE / "report.png", optimize=True)


if __name__ == "__main__":
    main()
