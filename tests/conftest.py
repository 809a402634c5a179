"""What several tests share: where the real data are, and what may be skipped."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

# Shared machines stall for longer than Hypothesis' default deadline of 200 ms.
settings.register_profile("patient", deadline=None, max_examples=50)
settings.load_profile("patient")

CHROMIUM = Path("/usr/bin/chromium")


def skip_or_fail(what: str, reason: str) -> None:
    """Skip for want of ``what``, or fail where ``SFUMATO_REQUIRE`` promises it."""
    if what in os.environ.get("SFUMATO_REQUIRE", "").split(","):
        pytest.fail(f"SFUMATO_REQUIRE promises {what!r}, but {reason}")
    pytest.skip(reason)


@pytest.fixture(scope="session")
def needs() -> Callable[[str, str], None]:
    """``skip_or_fail``, for the tests of a room."""
    return skip_or_fail


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The folder of real datasets, or a skip that says why."""
    named = os.environ.get("SFUMATO_DATA")
    if not named:
        skip_or_fail("data", "SFUMATO_DATA names no folder of datasets.")
    folder = Path(named or "")
    if not (folder / "cifar10h").is_dir():
        skip_or_fail("data", f"SFUMATO_DATA ({folder}) holds no folder cifar10h.")
    return folder


@pytest.fixture(scope="module")
def chromium(needs: Callable[[str, str], None]) -> Iterator[Any]:
    """A browser for the tests of one file.

    Not for all files: as long as it is open an event loop runs in this thread, and tests that
    start one of their own would fail.
    """
    if not CHROMIUM.exists():
        needs("browser", f"{CHROMIUM} is not installed.")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as running:
        arguments = ["--no-sandbox", "--disable-dev-shm-usage"]
        browser = running.chromium.launch(executable_path=str(CHROMIUM), args=arguments)
        yield browser
        browser.close()
