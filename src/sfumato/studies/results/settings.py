"""What the files of a run say about its settings: which size they are, and their fingerprint."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Any

from sfumato.studies.files import kind_of
from sfumato.studies.shipped import STUDIES
from sfumato.studies.study import study_to_json

__all__ = ["configuration_fingerprint", "size_of"]

TEXTS = ("name", "title", "about")
"""Fields of a study that decide nothing."""
FILES = "own"
"""The field that says where one's own files are; what they hold is in the provenance."""


def configuration_fingerprint(settings: Mapping[str, Any]) -> str:
    """SHA-256 over what decides a run: kind and settings of the study, and the data it read.

    Titles, and where files lie, do not count; what is in the files does.
    """
    study = {key: value for key, value in settings["study"].items() if key not in (*TEXTS, FILES)}
    if own := settings["study"].get(FILES):
        study[FILES] = {key: own[key] for key in ("format", "size")}
    decides = {
        "kind": kind_of(settings),
        "study": study,
        "data": sorted(_sums(settings.get("provenance", {}))),
    }
    text = json.dumps(decides, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _sums(provenance: Mapping[str, Any]) -> Iterator[str]:
    """Fingerprints of files that steps read, or of data as a whole."""
    for told in provenance.values():
        if isinstance(told, str):
            yield told
        else:
            for step in told:
                yield from step["inputs"].values()


def size_of(study: Mapping[str, Any]) -> str:
    """ "cpu" or "paper" if a shipped study has these settings but for seeds and texts, or "other".

    Settings that did not exist when the run was made are not compared.
    """
    shipped = STUDIES.get(study["name"])
    sizes = {} if shipped is None else {"cpu": shipped.cpu, "paper": shipped.paper}
    for size, known in sizes.items():
        if known is not None and _same(study, study_to_json(known)):
            return size
    return "other"


def _same(study: Mapping[str, Any], known: Mapping[str, Any]) -> bool:
    shared = (study.keys() & known.keys()) - {*TEXTS, "seeds"}
    return all(study[key] == known[key] for key in shared)
