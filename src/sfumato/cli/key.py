"""The secret under which platform worker ids become pseudonyms.

Given by ``--key`` or ``SFUMATO_KEY``; otherwise one is drawn when first needed and kept in
the user's configuration folder, readable only by them, so that pseudonyms stay the same from
one import to the next and nobody else can test a guess.
"""

import os
import secrets
import tempfile
from pathlib import Path

from sfumato.errors import DataError


def study_key(given: str | None) -> str:
    """The given key, or this user's own."""
    if given:
        return given
    path = _place()
    try:
        if not path.is_file():
            _draw(path)
        return path.read_text(encoding="ascii").strip()
    except OSError as error:
        raise DataError(
            f"The key for pseudonyms cannot be kept in {path} ({error.strerror}); "
            "give one with --key or SFUMATO_KEY."
        ) from None


def _place() -> Path:
    configuration = os.environ.get("XDG_CONFIG_HOME")
    return Path(configuration or Path.home() / ".config") / "sfumato" / "key"


def _draw(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    # mkstemp makes a file that only its owner can read; the link appears whole or not at all.
    handle, name = tempfile.mkstemp(dir=path.parent)
    with os.fdopen(handle, "w", encoding="ascii") as file:
        file.write(secrets.token_hex(32))
    try:
        path.hardlink_to(name)
    except FileExistsError:
        pass  # another process drew one in the meantime: that one stands
    finally:
        Path(name).unlink()
