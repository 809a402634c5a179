"""Write an audit as files: tables, findings as JSON and the draft of a datasheet."""

import json
from collections import Counter
from pathlib import Path

import polars as pl

from sfumato.errors import DataError
from sfumato.reporting.datasheet import Datasheet, datasheet_of, to_markdown
from sfumato.reporting.text import count
from sfumato.studies.audit_files.found import TABLES, AuditedFiles, told
from sfumato.studies.audit_files.people import agreement_of
from sfumato.studies.audit_files.reading import Given
from sfumato.studies.audit_files.sources import AuditSettings, AuditSources

__all__ = ["draft_sheet", "write_audit"]


def write_audit(audited: AuditedFiles, folder: Path) -> list[str]:
    """Write every table as Parquet and CSV, ``audit.json`` and ``datasheet.md``; what was."""
    tables = folder / "tables"
    try:
        tables.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"{folder} cannot be made: {error.strerror or error}.") from None
    for name in TABLES:  # what an earlier audit found must not stand beside this one
        for ending in ("parquet", "csv"):
            (tables / f"{name}.{ending}").unlink(missing_ok=True)
    for name, table in audited.tables.items():
        marked = table.with_columns(simulated=pl.lit(audited.simulated))
        marked.write_parquet(tables / f"{name}.parquet")
        marked.write_csv(tables / f"{name}.csv")
    text = json.dumps(told(audited), indent=2, ensure_ascii=False, allow_nan=False)
    (folder / "audit.json").write_text(text + "\n", encoding="utf-8")
    written = [f"{count(len(audited.tables), 'table')} (Parquet and CSV)", "audit.json"]
    (folder / "datasheet.md").unlink(missing_ok=True)
    if audited.sheet is not None:
        (folder / "datasheet.md").write_text(to_markdown(audited.sheet), encoding="utf-8")
        written.append("datasheet.md")
    return written


def draft_sheet(sources: AuditSources, given: Given, settings: AuditSettings) -> Datasheet | None:
    """A draft: what can be counted is, the rest are questions to the owner."""
    if given.people is None:
        return None
    path = sources.labels or sources.judgments
    assert path is not None
    return datasheet_of(
        path.stem,
        given.people,
        judgments=given.judgments,
        ledger=None if given.made is None else given.made.ledger,
        agreement=agreement_of(given, settings),
        splits=None if given.pictures is None else Counter(given.pictures.split),
    )
