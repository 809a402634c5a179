"""What must hold of every screen."""

from typing import Any

__all__ = ["no_violations", "nothing_scrolls", "targets_are_large"]

_OVERFULL = """() => [...document.querySelectorAll(
    "html, body, main, .answer, .images, .foot, .class, .option, .column"
)]
    .filter((one) => getComputedStyle(one).display !== "contents")
    .filter((one) => one.scrollHeight > one.clientHeight + 1
        || one.scrollWidth > one.clientWidth + 1)
    .map((one) => `${one.className || one.tagName} ${one.scrollWidth}x${one.scrollHeight}`
        + ` in ${one.clientWidth}x${one.clientHeight}`)"""

_OUTSIDE = """() => [...document.querySelectorAll("main :is(img, button, label, input, .foot)")]
    .map((one) => [one, one.getBoundingClientRect()])
    .filter(([, box]) => box.width > 0 && (box.top < 0 || box.left < 0
        || box.bottom > innerHeight + 0.5 || box.right > innerWidth + 0.5))
    .map(([one]) => one.outerHTML.slice(0, 80))"""

# An input inside a label is as large as the label (WCAG 2.2, 2.5.8).
_SMALL = """() => [...document.querySelectorAll("main :is(button, label, input:not(label input))")]
    .map((one) => [one, one.getBoundingClientRect()])
    .filter(([one, box]) => box.width > 0 && (box.width < 24 || box.height < 24))
    .map(([one, box]) => `${one.outerHTML.slice(0, 60)} ${box.width}x${box.height}`)"""


def nothing_scrolls(page: Any) -> None:
    """Image, question, answer and the way on are all on the screen."""
    assert page.evaluate(_OVERFULL) == []
    assert page.evaluate(_OUTSIDE) == []


def targets_are_large(page: Any) -> None:
    """Nothing to press is under 24 pixels."""
    assert page.evaluate(_SMALL) == []


def no_violations(page: Any) -> None:
    """Axe finds nothing, by the rules of WCAG 2.2 AA and its best practices."""
    from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]

    found = Axe().run(page)
    assert found.violations_count == 0, found.generate_report()
