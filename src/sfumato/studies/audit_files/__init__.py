"""Audit the files somebody was handed: what they tell about themselves without any training.

Each part of the audit needs some of the files and is left out where they are not there. Each draws
from its own generator of the same seed, so that its numbers do not depend on what else was given.
Nothing here needs torch.
"""

from sfumato.studies.audit_files.audit import audit_files
from sfumato.studies.audit_files.found import TABLES, AuditedFiles, told
from sfumato.studies.audit_files.page import draw_audit
from sfumato.studies.audit_files.sources import AuditSettings, AuditSources, named_predictions
from sfumato.studies.audit_files.written import write_audit

__all__ = [
    "TABLES",
    "AuditSettings",
    "AuditSources",
    "AuditedFiles",
    "audit_files",
    "draw_audit",
    "named_predictions",
    "told",
    "write_audit",
]
