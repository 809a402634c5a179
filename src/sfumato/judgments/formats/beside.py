"""Keep what a table cannot hold, its question and provenance, in a JSON file beside it."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sfumato.errors import DataError
from sfumato.judgments.formats.json_text import members, read_json_text
from sfumato.judgments.formats.question_file import question_file
from sfumato.judgments.formats.writing import whole_file
from sfumato.provenance import Provenance, from_json, to_json

__all__ = ["read_beside", "write_beside"]


def write_beside(path: Path, about: Mapping[str, Any], provenance: Provenance) -> None:
    """Write ``about`` and the provenance beside the table ``path``.

    Without it, answers that were made up would look like answers of people.
    """
    stored = {**about, "provenance": to_json(provenance)}
    with whole_file(question_file(path)) as part:
        text = json.dumps(stored, indent=1, ensure_ascii=False)
        part.write_text(text + "\n", encoding="utf-8")


def read_beside(path: Path) -> tuple[dict[str, Any], Provenance]:
    """What is written beside the table ``path``, and its provenance; both empty without a file."""
    beside = question_file(path)
    if not beside.is_file():
        return {}, ()
    found = members(read_json_text(beside), file=beside.name)
    stored = {member.name: member.value for member in found}
    try:
        return stored, from_json(stored.pop("provenance", []))
    except TypeError:
        raise DataError(
            f"{beside.name}: 'provenance' is not a list of steps. Remove it if it was not "
            "written here."
        ) from None
