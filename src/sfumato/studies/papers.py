"""Turn the stored results of a paper's studies into one page, claim by claim.

``papers.toml`` says which studies belong to a paper. Pages, and the list of all printed numbers,
are made of stored results alone, so that they can be written again without training anything.
"""

import csv
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from io import StringIO
from os.path import relpath
from pathlib import Path
from typing import Any

import polars as pl
from pydantic import ValidationError

from sfumato.errors import DataError
from sfumato.names import find
from sfumato.reporting.page import duration, markdown_table
from sfumato.reporting.text import count
from sfumato.studies.claims import (
    CONTROL_ANSWERS,
    Claim,
    PrintedNumber,
    counts_text,
    every_claim,
    read_numbers,
)
from sfumato.studies.results import (
    CONTROLS,
    NOT_LOOKED_AT,
    counts_table,
    read_regime,
    read_results,
)
from sfumato.studies.study import Size, Study, StudySettings, read_study, shipped_names

NUMBERS, NUMBERS_CSV = "numbers.md", "numbers.csv"
"""The list of all printed numbers, beside the pages."""
NOTHING = "–"
UNTESTED = ("not testable here", "not testable at this size")
FIRST = 2
"""Claims of a study that are told at the top of a page, of either outcome."""
SHOWN_FIRST = {
    "Reproduced, or answered yes by a control": ("reproduced",),
    "Contradicted, absent, or answered no by a control": ("contradicted", "absent"),
}
"""Good and bad news, by the same rule."""


class Paper(StudySettings):
    """A paper and what is run for it."""

    called: str
    """Its name in claims and printed numbers, such as "paper 4"."""
    title: str
    citation: str
    studies: tuple[str, ...]
    """In the order in which they run."""


def read_papers() -> dict[str, Paper]:
    """The papers by the names under which they are run."""
    text = (files("sfumato.studies") / "papers.toml").read_text(encoding="utf-8")
    try:
        return {name: Paper(**stated) for name, stated in tomllib.loads(text).items()}
    except ValidationError as error:
        raise DataError(f"papers.toml: {error}") from error


def paper_studies(name: str, *, size: Size = "cpu", seeds: int | None = None) -> list[Study]:
    """The studies of a paper in order, each with those that stand beside it at the size "cpu".

    ``seeds`` are for those that train or simulate.
    """
    listed = find(read_papers(), name, what="paper").studies
    every = [read_study(other) for other in shipped_names()] if size == "cpu" else []
    names = [
        one
        for study in listed
        for one in (study, *(other.name for other in every if other.beside == study))
    ]
    return [_seeded(one, size, seeds) for one in names]


def _seeded(name: str, size: Size, seeds: int | None) -> Study:
    study = read_study(name, size)
    if seeds is None or not (study.networks or study.worlds):
        return study
    return read_study(name, size, changes={"seeds": seeds})


def write_papers(results: Path, folder: Path, names: Iterable[str] | None = None) -> list[Path]:
    """Write the page of each paper from a folder of results, and the list of printed numbers.

    Without ``names`` the pages of all papers of which a study has results.
    """
    stored = {
        one["name"]: {**one, "regime": read_regime(one, results)} for one in read_results(results)
    }
    known = [name for name, one in read_papers().items() if set(one.studies) & stored.keys()]
    chosen = known if names is None else [*names]
    if not chosen:
        raise DataError(f"{results} holds no results of a study that belongs to a paper.")
    folder.mkdir(parents=True, exist_ok=True)
    link = Path(relpath(results, folder)).as_posix()
    numbers = number_rows()
    texts = {f"{name}.md": paper_page(name, stored, numbers, link) for name in chosen}
    texts |= {NUMBERS: numbers_page(numbers), NUMBERS_CSV: _csv_text(numbers)}
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    return [folder / name for name in texts]


# The page of one paper.

Result = Mapping[str, Any]
"""What is stored of a study, with its claims and its regime."""
Row = Mapping[str, Any]
"""A claim as it came out, or a printed number."""


def paper_page(name: str, stored: Mapping[str, Result], numbers: Sequence[Row], link: str) -> str:
    """What a paper says and what came out, claim by claim.

    ``stored`` are the results by study, ``numbers`` the printed ones of all papers; ``link`` leads
    from the page to the folder of results.
    """
    paper = find(read_papers(), name, what="paper")
    ran = [stored[study] for study in paper.studies if study in stored]
    rows = [row for result in ran for row in result["claims"]]
    missing = ", ".join(f"`{study}`" for study in paper.studies if study not in stored)
    parts = [
        f"# {paper.title}\n",
        f"{paper.citation}. Called *{paper.called}* here.\n",
        f"What the paper says, number by number, and what came out. `sfumato run {name}` runs its "
        f"{len(paper.studies)} studies; `sfumato results --papers docs/papers` writes this page "
        f"again from stored results. [What verdicts mean]({link}/README.md).\n",
        "## In short\n",
        counts_text(row["verdict"] for row in rows if row["work"] != CONTROLS) + "\n",
        *_in_short(ran, link),
        *([f"Without results so far: {missing}.\n"] if missing else []),
        *(part for result in ran for part in _study_parts(result, stored, link)),
        "## Numbers of its tables\n",
        _numbers_told(_numbers_of(paper, numbers)),
    ]
    return "\n".join(parts)


def _in_short(ran: Sequence[Result], link: str) -> list[str]:
    """How many claims of each study came out how, and its first ones that hold and that do not."""
    parts = []
    claims = {
        f"[{one['name']}]({link}/{one['name']}.md)": mine
        for one in ran
        if (mine := [row for row in one["claims"] if row["work"] != CONTROLS])
    }
    if claims:
        parts.append(counts_table(claims))
    for title, verdicts in SHOWN_FIRST.items():
        found = [[row for row in one["claims"] if row["verdict"] in verdicts] for one in ran]
        told = [line for rows in found for line in map(_short_line, rows[:FIRST])]
        many = sum(map(len, found))
        if many:
            more = f" The first {FIRST} of each study:" if many > len(told) else ""
            parts += [f"{title}: {many}.{more}\n", *told, ""]
    return parts


def _short_line(row: Row) -> str:
    if row["work"] == CONTROLS:
        return f"- Our control: {row['says']} *{CONTROL_ANSWERS[row['verdict']]}*: {_ours(row)}."
    return f"- {row['says']} *{row['verdict']}*: {_ours(row)} ({row['source']})."


def _study_parts(result: Result, stored: Mapping[str, Result], link: str) -> list[str]:
    """What a study asked, in what regime, and how its claims and controls came out."""
    claims = [row for row in result["claims"] if row["work"] != CONTROLS]
    tested = [row for row in claims if row["verdict"] not in UNTESTED]
    controls = [row for row in result["claims"] if row["work"] == CONTROLS]
    parts = [f"## {result['title']}\n", f"{_how(result, link)}\n"]
    if len(result["regime"]):
        parts += ["The arm that effects are measured by:\n", markdown_table(result["regime"])]
    if tested:
        parts.append(_claims_table(tested, _verdicts_beside(result["name"], stored)))
    if len(tested) < len(claims):
        untested = [row for row in claims if row["verdict"] in UNTESTED]
        parts += ["Could not be tested:\n", *map(_untested_line, untested), ""]
    if controls:
        parts += ["Our controls, which the paper did not run:\n", _controls_table(controls)]
    return parts


def _how(result: Result, link: str) -> str:
    seeds = "" if result["seeds"] is None else f", {count(result['seeds'], 'seed')}"
    people = "simulated" if result["simulated"] else "real"
    remark = f" {result['remark']}" if result["remark"] else ""
    return (
        f"[{result['name']}]({link}/{result['name']}.md): size {result['size']}{seeds}, "
        f"{duration(result['seconds'])}, {people} people.{remark}"
    )


def _ours(row: Row) -> str:
    return row["weakest"] or row["ours"] or NOTHING


def _verdicts_beside(study: str, stored: Mapping[str, Result]) -> dict[str, str]:
    """What studies that stand beside this one say of its claims, by their ids."""
    return {
        row["id"]: row["verdict"]
        for result in stored.values()
        if result["beside"] == study
        for row in result["claims"]
    }


def _claims_table(claims: Sequence[Row], beside: Mapping[str, str]) -> str:
    rows = [
        {
            "place": row["source"],
            "the paper says": row["says"],
            "its number": row["paper"] or NOTHING,
            "here (95 %)": _ours(row),
            "ratio": row["ratio"] or NOTHING,
            "verdict": row["verdict"],
            "another without seed": row["changes"].removeprefix(NOT_LOOKED_AT) or NOTHING,
            "on frozen features": beside.get(row["id"], NOTHING),
        }
        for row in claims
    ]
    table = pl.DataFrame(rows)
    return markdown_table(
        table.drop([name for name in table.columns if set(table[name]) == {NOTHING}])
    )


def _untested_line(row: Row) -> str:
    why = row["note"] or "the run has nothing to decide it with"
    if row["verdict"] != "not testable here":
        why = f"our hard arm loses {row['excess']} of what the paper's does; here {_ours(row)}"
    return f"- {row['says']} ({row['source']}: {row['paper'] or 'no number'}) Why not: {why}"


def _controls_table(controls: Sequence[Row]) -> str:
    rows = [
        {
            "is it so?": row["says"],
            "here (95 %)": _ours(row),
            "answer": CONTROL_ANSWERS[row["verdict"]],
        }
        for row in controls
    ]
    return markdown_table(pl.DataFrame(rows))


# The numbers that papers print.


def claims_about(number: PrintedNumber, claims: Iterable[Claim]) -> list[str]:
    """Ids of the claims that a printed number is part of: one of their two arms has this score."""
    found = [
        claim.id
        for claim in claims
        if (set(claim.studies) & set(number.studies) or number.paper == claim.paper)
        and number.arm
        and number.arm in (claim.arm, claim.second)
        and (claim.metric, claim.attack, claim.bound)
        == (number.metric, number.attack, number.bound)
        and claim.against in ("", number.against)
        and claim.stratum in ("", number.stratum)
    ]
    return list(dict.fromkeys([*number.claims, *found]))


def number_rows() -> list[dict[str, str]]:
    """Every printed number once, with the claims that are about it, or why none is."""
    claims = every_claim()
    rows: dict[tuple[str, ...], dict[str, str]] = {}
    for one in read_numbers():
        key = (one.paper, one.table, one.row, one.column)
        known = rows.setdefault(
            key,
            dict(zip(("paper", "table", "row", "column"), key, strict=True))
            | {"printed": one.printed, "also": one.also, "claims": "", "reason": one.reason},
        )
        ids = [*known["claims"].split(), *claims_about(one, claims)]
        known["claims"] = " ".join(dict.fromkeys(ids))
    return list(rows.values())


NUMBERS_HEAD = """\
# Every number of the papers' tables

Each is part of a claim, or it is said why not. All of them, with the ids of the claims:
[numbers.csv](numbers.csv). `sfumato results --papers docs/papers` writes this page.
"""


def numbers_page(rows: Sequence[Row]) -> str:
    """How many numbers each table has, how many claims are about, and why others are none."""
    reasons = Counter(
        (row["paper"], row["table"], row["reason"]) for row in rows if not row["claims"]
    )
    why = [
        {"paper": paper, "table": table, "numbers": many, "why they are no claim": reason}
        for (paper, table, reason), many in reasons.items()
    ]
    claimed = sum(bool(row["claims"]) for row in rows)
    return "\n".join(
        [
            NUMBERS_HEAD,
            f"{len(rows)} numbers, {claimed} in claims.\n",
            _tables_table(rows),
            "## Numbers that are no claim\n",
            markdown_table(pl.DataFrame(why)) if why else "None.\n",
        ]
    )


def _tables_table(rows: Sequence[Row]) -> str:
    every = Counter((row["paper"], row["table"], row["also"]) for row in rows)
    claimed = Counter((row["paper"], row["table"], row["also"]) for row in rows if row["claims"])
    told = [
        {
            "paper": key[0],
            "table": key[1],
            "the same numbers": key[2] or NOTHING,
            "numbers": many,
            "in claims": claimed[key],
            "not": many - claimed[key],
        }
        for key, many in every.items()
    ]
    return markdown_table(pl.DataFrame(told))


def _numbers_of(paper: Paper, rows: Iterable[Row]) -> list[Row]:
    """Those that a paper prints, also where another one printed them first."""
    return [row for row in rows if paper.called in (row["paper"], row["also"].partition(",")[0])]


def _numbers_told(rows: Sequence[Row]) -> str:
    claimed = sum(bool(row["claims"]) for row in rows)
    return (
        f"{len(rows)} numbers of its tables, {claimed} of them in claims; why the others are none "
        f"is in [the list of all]({NUMBERS}).\n"
    )


def _csv_text(rows: Sequence[Row]) -> str:
    text = StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()
