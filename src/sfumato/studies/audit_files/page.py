"""Draw an audit as one page, with its figures beside it."""

from dataclasses import replace
from pathlib import Path

import polars as pl

from sfumato.reporting.draw import Basis, Drawing, save
from sfumato.reporting.figures import curves, galleries, scores
from sfumato.reporting.page import Block, Page, Section, Text, write
from sfumato.reporting.tables import How, Table
from sfumato.reporting.text import Finding
from sfumato.studies.audit_files.found import TABLES, AuditedFiles
from sfumato.studies.audit_files.sentences import NAMED

__all__ = ["draw_audit"]


def draw_audit(audited: AuditedFiles, folder: Path, *, title: str = "Audit") -> Path:
    """Write ``report.html``, one page that needs nothing else, and ``figures/``; its path."""
    blocks = _blocks(audited)
    sections = [
        Section(part, "\n\n".join(one.text for one in findings), tuple(blocks.pop(part, ())))
        for part, findings in audited.findings.items()
    ]
    sections += [Section(part, "", tuple(some)) for part, some in blocks.items() if some]
    if audited.remarks:
        told_so = tuple(Text(remark) for remark in audited.remarks)
        sections.append(Section("Remarks", "", told_so))
    if audited.simulated:
        mark = Finding("Simulated people or models are behind these numbers.", "caution")
        summary = (mark, *_headline(audited))
    else:
        summary = _headline(audited)
    for section in sections:
        for block in section.blocks:
            if isinstance(block, Drawing):
                save(block, folder / "figures")
    path = folder / "report.html"
    write(Page(title, "", summary, tuple(sections), How(provenance=audited.provenance)), path)
    return path


def _headline(audited: AuditedFiles) -> tuple[Finding, ...]:
    """The first finding of each part, and every caution; a list by a rule is no finding."""
    return tuple(
        one
        for part, findings in audited.findings.items()
        for at, one in enumerate(findings)
        if part != "Samples of interest" and (at == 0 or one.kind == "caution")
    )


def _blocks(audited: AuditedFiles) -> dict[str, list[Block]]:
    """Figures and tables by part; tables show their first rows."""
    tables, marked = audited.tables, audited.simulated
    basis = Basis(marked, items=audited.facts.get("people", {}).get("items", 0))
    drawn: dict[str, list[Block]] = {}

    def put(part: str, *names: str) -> None:
        for name in names:
            if name in tables and len(tables[name]):
                drawn.setdefault(part, []).append(_shown(name, tables[name], marked))

    put("Pictures", "duplicates", "pairs", "leakage")
    put("People", "strata")
    put("Original labels", "differs")
    put("Models", "leaderboard", "alignment", "alternatives")
    put("Softness or a shifted mode", "gains")
    put("Samples of interest", "interest")
    people, learning = drawn.setdefault("People", []), drawn.setdefault("Learning", [])
    if "concentration" in tables:
        people.append(curves.concentration(tables["concentration"], basis))
    if "correlations" in tables:
        people.append(
            scores.correlation_matrix(tables["correlations"], replace(basis, interval="items"))
        )
    if "entropy" in tables:
        drawn.setdefault("Models", []).append(curves.entropy_histograms(tables["entropy"], basis))
    if "modes" in tables:
        kept = tables["modes"].filter(pl.col("metric").is_in(["accuracy", "cross_entropy"]))
        seeds = tuple(range(audited.facts["mode_shift"]["seeds"]))
        over = "items" if len(seeds) == 1 else "seeds and items"
        basis_of_modes = Basis(marked, audited.facts["mode_shift"]["items"], seeds, over)
        drawn.setdefault("Softness or a shifted mode", []).append(
            scores.mode_shift(kept, basis_of_modes)
        )
    if "data_map" in tables:
        mapped = audited.facts["data_map"]
        of_map = Basis(marked, mapped["items"], tuple(range(mapped["seeds"])))
        learning.append(curves.data_map(tables["data_map"], of_map))
    if "convergence" in tables:
        learning.append(curves.convergence(tables["convergence"], Basis(marked)))
    if audited.bars is not None:
        gallery = galleries.gallery(
            audited.bars, audited.images, basis, title="The items that people doubt most"
        )
        drawn.setdefault("Samples of interest", []).append(gallery)
    return drawn


def _shown(name: str, table: pl.DataFrame, simulated: bool) -> Table:
    rows = 2 * NAMED
    caption = f"The first {rows} of {len(table):,} rows; all are in tables/{name}.csv."
    shown = table.drop("test", "sentence", strict=False)
    return Table(
        TABLES[name],
        shown.head(rows),
        caption=caption if len(table) > rows else "",
        simulated=simulated,
    )
