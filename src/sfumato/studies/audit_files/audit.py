"""Read the files, and let each part of the audit tell what it can."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from sfumato.provenance import is_simulated
from sfumato.studies.audit_files.ambiguity import about_interest, about_signals, doubtful_pictures
from sfumato.studies.audit_files.dynamics import about_data_map, about_movement
from sfumato.studies.audit_files.found import AuditedFiles
from sfumato.studies.audit_files.models import about_models, about_modes
from sfumato.studies.audit_files.people import about_original, about_people
from sfumato.studies.audit_files.pictures import about_pictures
from sfumato.studies.audit_files.reading import read_files
from sfumato.studies.audit_files.sources import AuditSettings, AuditSources, check_sources
from sfumato.studies.audit_files.written import draft_sheet

__all__ = ["audit_files"]

Advance = Callable[[int, int], None]


def audit_files(
    sources: AuditSources,
    settings: AuditSettings,
    *,
    advance: Advance = lambda done, total: None,
) -> AuditedFiles:
    """Everything the given files tell; what needs a file that is not there is left out."""
    check_sources(sources)
    found = AuditedFiles()
    given = read_files(sources, settings, found.remarks)
    parts = (
        about_pictures,
        about_people,
        about_original,
        about_models,
        about_modes,
        about_movement,
        about_data_map,
        about_signals,
        about_interest,
    )
    for done, part in enumerate(parts):
        advance(done, len(parts))
        part(given, settings, found, np.random.default_rng(settings.seed))
    bars, images = doubtful_pictures(given)
    labelled = [given.people, *given.models.values()]
    return replace(
        found,
        bars=bars,
        images=images,
        sheet=draft_sheet(sources, given, settings),
        simulated=any(is_simulated(one.provenance) for one in labelled if one is not None),
        provenance=() if given.people is None else given.people.provenance,
    )
