"""Write finished runs as short pages with their numbers, and the scoreboard of all in a folder.

Of a study the folder holds NAME.md (a page of at most 600 words and two figures), NAME.json (how it
was run) and the folder NAME: estimates.csv, left-out.csv (without each seed), claims.csv and the
figures. Verdicts, pages and scoreboard are made of the stored estimates alone, so that a claim or a
rule that changes reaches studies that ran before.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from textwrap import shorten
from typing import Any

import polars as pl

from sfumato.errors import DataError
from sfumato.reporting.page import (
    Lead,
    Page,
    Section,
    Table,
    duration,
    markdown_table,
    render_markdown,
)
from sfumato.reporting.text import count, number
from sfumato.scores import COLUMNS
from sfumato.studies.claims import (
    CONTROL_ANSWERS,
    SAME_REGIME,
    VERDICTS,
    JudgedClaim,
    counts_text,
    found_text,
    judge,
    looked_at,
    ratio_text,
    read_claims,
    read_printed,
    regime_table,
)
from sfumato.studies.data import RunFolder
from sfumato.studies.pages import study_page
from sfumato.studies.study import SIZES, read_study, shipped_names

CONTROLS = "our controls"
"""Whose a claim is that no paper makes."""
SHORT = 12
"""Characters of a fingerprint that people are shown."""
MOST_WORDS = 600
MOST_FIGURES = 2
MOST_BYTES = 400_000
"""Of a page, on a page, and of the estimates beside it; the run's folder has everything."""
DIGITS = 5
"""Of every number that is kept."""
FIGURES = (
    "curve",
    "ladder",
    "softness-cross",
    "pgd",
    "differences",
    "leaderboard",
    "concentration",
    "seen",
    "other-mass",
    "preference",
    "loss",
    "flipped",
    "kept",
    "rho",
    "data-map",
    "few-votes",
    "scores",
    "entropy-tracking",
)
"""Beginnings of the names of figures that a page shows, the most telling first; none of pictures,
which belong to others."""
LEFT_OUT_OF_CSV = ("study", "test", "simulated", "source")
"""Columns that only the run's own table has."""
ESTIMATES, LEFT, CLAIMS = "estimates.csv", "left-out.csv", "claims.csv"
EARLIER = "earlier.csv"
"""Verdicts of the last version (study, id, ours, verdict), which the present ones are compared
with."""
HEAD = """\
# Results

How the claims of the papers came out, study by study. A command writes this page from the files
beside it, and `sfumato results RUN` adds a run:

```sh
sfumato results -o docs/results
```
"""
VERDICTS_MEAN = """\
The ratio is our effect over the printed one, each divided by what its own hard arm loses above the
floor. By its 95 % interval a claim is *reproduced* (above 0, and it reaches a half), *smaller*
(above 0, wholly below a half), *absent* (holds 0, wholly below a quarter), *undecided* (holds 0,
reaches a quarter) or *contradicted* (wholly below 0). Where a paper prints no size, only the
direction counts. The weakest network or number of dimensions decides. *Not testable at this size*:
our hard arm loses less than half of what the paper's does, so there is too little to mend. *Not
testable here*: the data or the run have nothing to decide it with.
"""
REGIME_MEANS = """\
The regime is that of the hard arm: whether it memorised what it learnt, and how accurate and how
sure it is on test items, here and in the paper. *Changed by a seed* counts verdicts that are others
when one seed is left out. *Overlap* counts claims whose interval overlaps the paper's own. *Yes /
not clearly / no* are the answers to our controls, which no paper ran.
"""


def write_results(runs: Sequence[Path], folder: Path) -> list[Path]:
    """Write what each run found, then all pages and the scoreboard again; returns the texts.

    Every run is read before anything is written.
    """
    opened = [(run, study_page(run)) for run in map(RunFolder.open, runs)]
    if not opened and not any(folder.glob("*.json")):
        raise DataError(
            f"There is nothing to write: no run was given, and {folder} holds no earlier results. "
            "Name the folder of a finished run."
        )
    folder.mkdir(parents=True, exist_ok=True)
    for run, page in opened:
        _store(run, page, folder)
    written = []
    for record in _records(folder):
        claims, regime = _judge_again(record, folder / record["name"])
        _write_csv(claims, folder / record["name"] / CLAIMS)
        path = folder / f"{record['name']}.md"
        path.write_text(result_page({**record, "claims": claims.to_dicts()}, regime), "utf-8")
        written.append(path)
    texts = {"README.md": scoreboard(folder)}
    if (folder / EARLIER).is_file():
        texts["moved.md"] = moved_page(folder)
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    return [*written, *(folder / name for name in texts)]


# What is kept of a run.


def _store(run: RunFolder, page: Page, folder: Path) -> None:
    """The numbers and figures of a run, and how it was run; those of an earlier run go."""
    place = folder / run.study.name
    place.mkdir(exist_ok=True)
    for old in (*place.glob("*.svg"), *place.glob("*.csv")):
        old.unlink()
    titles = {each.name: each.title for each in page.drawings}
    kinds = [[name for name in titles if name.startswith(begin)] for begin in FIGURES]
    chosen = dict.fromkeys(name for turn in zip_longest(*kinds) for name in turn if name)
    figures = {f"{name}.svg": titles[name] for name in list(chosen)[:MOST_FIGURES]}
    for name in figures:
        (place / name).write_bytes((run.folder / "figures" / name).read_bytes())
    kept = small_estimates(run)
    _write_csv(kept, place / ESTIMATES)
    if "left_out" in run.tables:
        _write_csv(run.tables["left_out"].drop("study"), place / LEFT)
    record = result_record(run, page) | {
        "figures": figures,
        "rows": [len(kept), len(run.estimates)],
    }
    text = json.dumps(record, indent=1, ensure_ascii=False) + "\n"
    (folder / f"{run.study.name}.json").write_text(text, encoding="utf-8")


def result_record(run: RunFolder, page: Page) -> dict[str, Any]:
    """How a study was run and what its report says first, as plain values."""
    study, lead = run.study, page.lead
    return {
        "name": study.name,
        "beside": study.beside or "",
        "title": study.title,
        "about": study.about,
        "answer": lead.answer if lead else "",
        "against": list(lead.against) if lead else [],
        "people": study.tests[0].against[0] if study.tests else "",
        "control": study.controls[0] if study.controls else "",
        "size": run_size(run),
        "seeds": study.seeds if study.networks or study.worlds else None,
        "seconds": run.timing.seconds or None,
        "simulated": run.simulated,
        "fingerprint": run.info["fingerprint"],
        "versions": dict(run.info["versions"]),
        "remark": "",
    }


def run_size(run: RunFolder) -> str:
    """The size of a shipped study that has these settings but for seeds and texts, or "other"."""
    if run.study.name not in shipped_names():
        return "other"
    for size in SIZES:
        try:
            known = read_study(run.study.name, size)
        except DataError:  # a study need not have every size
            continue
        same = {"seeds": run.study.seeds, "title": run.study.title, "about": run.study.about}
        if known.model_copy(update={**same, "size": run.study.size}) == run.study:
            return size
    return "other"


def small_estimates(run: RunFolder) -> pl.DataFrame:
    """The estimates of a run, without what nobody needs if there are too many for a repository.

    First the steps of attacks before the last go, then differences between arms that are no
    controls, then strata, then all differences; never what a claim is judged by.
    """
    table = run.estimates.table
    needed = looked_at([one.claim for one in run.claims], table)
    last = pl.col("step").max().over("attack", "bound", "part", "metric", "against")
    controls = list(run.study.controls)
    plain = (
        pl.col("step").is_null() | (pl.col("step") == last),
        pl.col("second").is_in(["", *controls]) | pl.col("arm").is_in(controls),
        pl.col("stratum") == "all",
        pl.col("second") == "",
    )
    for drop in range(len(plain) + 1):
        wanted = pl.concat([table.filter(*plain[:drop]), needed]).unique(maintain_order=True)
        seeds = pl.col("seeds").list.eval(pl.element().cast(pl.String)).list.join(" ")
        small = _rounded(wanted.drop(LEFT_OUT_OF_CSV).with_columns(seeds))
        if len(small.write_csv()) <= MOST_BYTES:
            break
    return small


def _rounded(table: pl.DataFrame) -> pl.DataFrame:
    return table.with_columns(pl.col(pl.Float64).round_sig_figs(DIGITS))


def _write_csv(table: pl.DataFrame, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    _rounded(table).write_csv(path)


# What is kept, read and judged.


def read_results(folder: Path) -> list[dict[str, Any]]:
    """Every study of a folder: how it was run, and its ``claims`` as they came out."""
    found = []
    for record in _records(folder):
        path = folder / record["name"] / CLAIMS
        texts = pl.read_csv(path, infer_schema=False).fill_null("") if path.is_file() else None
        found.append({**record, "claims": [] if texts is None else texts.to_dicts()})
    return found


def _records(folder: Path) -> list[dict[str, Any]]:
    found = []
    for path in sorted(folder.glob("*.json")):
        try:
            record = json.loads(path.read_text(encoding="utf-8"))
            found.append({**record, "name": str(record["name"])})
        except (json.JSONDecodeError, TypeError, KeyError) as error:
            raise DataError(
                f"{path} is no result of a study ({type(error).__name__}: {error}). Write the "
                "results of its run again, or move it elsewhere."
            ) from None
    return found


def _judge_again(record: dict[str, Any], place: Path) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The claims of a study as its stored estimates decide them, and its regime."""
    claims = read_claims(record["beside"] or record["name"])
    table = read_estimates(place / ESTIMATES)
    left_out = read_estimates(place / LEFT) if (place / LEFT).is_file() else None
    if record["remark"] and (place / CLAIMS).is_file():
        known = set(pl.read_csv(place / CLAIMS)["id"])  # an earlier run knows no later claims
        claims = [one for one in claims if one.id in known]
    judged = judge(claims, table, left_out)
    rows = pl.DataFrame(list(map(_claim_row, judged)), schema=CLAIM_COLUMNS)
    return rows, _regime(record, table)


def read_regime(record: dict[str, Any], folder: Path) -> pl.DataFrame:
    """The arm that effects are measured by, here and in the paper; empty where none is trained."""
    return _regime(record, read_estimates(folder / record["name"] / ESTIMATES))


def _regime(record: dict[str, Any], table: pl.DataFrame) -> pl.DataFrame:
    arm, regime = regime_table(
        read_claims(record["beside"] or record["name"]),
        read_printed(record["beside"] or record["name"]),
        table,
        against=record.get("people", ""),
        control=record.get("control", ""),
    )
    return regime.rename({"network": f"{arm!r}"}) if len(regime) else regime


def read_estimates(path: Path) -> pl.DataFrame:
    """The table of a CSV file of estimates, with the study that its folder is named after."""
    if not path.is_file():
        raise DataError(f"There is no {path}: write the results of that run again.")
    types = {name: kind for name, kind in COLUMNS.items() if name != "seeds"}
    table = pl.read_csv(path, schema_overrides=types, null_values=[""])
    return table.with_columns(pl.col(pl.String).fill_null("")).with_columns(
        study=pl.lit(path.parent.name)
    )


CLAIM_COLUMNS = dict.fromkeys(
    (
        *("id", "work", "source", "says", "paper", "ours", "weakest", "items", "ratio"),
        *("excess", "overlaps", "verdict", "changes", "note"),
    ),
    pl.String(),
)
"""Of claims.csv: whose claim it is and where it stands, its sentence, the paper's number and ours;
where ours is weakest, the number, on how many items, and its ratio to the printed one; our hard
arm's excess as a share of the paper's; whether the intervals overlap; the verdict; the seeds
without which it is another; a note."""


def _claim_row(one: JudgedClaim) -> dict[str, str]:
    claim = one.claim
    shown = [each.excess for each in one.deciding if each.excess is not None]
    overlaps = [each.overlaps for each in one.deciding if each.overlaps is not None]
    return {
        "id": claim.id,
        "work": CONTROLS if claim.kind == "control" else claim.paper,
        "source": f"{claim.paper}, {claim.place}",
        "says": claim.sentence,
        "paper": claim.printed,
        "ours": found_text(one),
        "weakest": found_text(one, None if one.weakest is None else [one.weakest]),
        "items": number(one.weakest.items) if one.weakest and one.weakest.items else "",
        "ratio": ratio_text([one.weakest] if one.weakest else []),
        "excess": number(min(shown)) if shown else "",
        "overlaps": ("yes" if all(overlaps) else "no") if overlaps else "",
        "verdict": one.verdict,
        "changes": " ".join(map(str, one.changes)) if one.left_out else NOT_LOOKED_AT,
        "note": claim.note,
    }


# The page of a study.


def result_page(result: dict[str, Any], regime: pl.DataFrame) -> str:
    """What was asked, in what regime, what came out, and how it was run: at most 600 words."""
    picked = _telling(result["claims"])
    for most in range(len(picked), -1, -1):
        shown = [row for row in result["claims"] if row["id"] in picked[:most]]
        text = render_markdown(_page(result, regime, shown))
        if len(text.split()) <= MOST_WORDS:
            break
    return text


def _telling(claims: Sequence[dict[str, Any]]) -> list[str]:
    """Ids of claims, one of each outcome by turns: bad news beside good news."""
    groups: dict[tuple[str, str], list[str]] = {
        (kind, verdict): []
        for verdict in ("contradicted", "reproduced", "absent", "smaller", *VERDICTS)
        for kind in ("claim", CONTROLS)
    }
    for row in claims:
        groups[CONTROLS if row["work"] == CONTROLS else "claim", row["verdict"]].append(row["id"])
    turns = zip_longest(*groups.values())
    return [one for turn in turns for one in turn if one is not None]


REGIME_TITLE = "The arm that effects are measured by, on items it learnt and on test items"


def _page(result: dict[str, Any], regime: pl.DataFrame, shown: Sequence[dict[str, Any]]) -> Page:
    about, name = shorten(result["about"], 700, placeholder=" …"), result["name"]
    if result["simulated"]:
        about += " People are simulated."
    lead = Lead(result["title"], result["answer"], against=tuple(result["against"][:2]))
    sections: list[Section] = []
    if result["remark"]:
        sections.append(Section("An earlier run", result["remark"]))
    if result["beside"]:
        other = result["beside"]
        about += f" It stands beside [{other}]({other}.md), whose claims it is held against."
    if len(regime):
        sections.append(Section("Regime", "", (Table(REGIME_TITLE, regime),)))
    if result["claims"]:
        text = " ".join(_claims_told(result["claims"]))
        rest = len(result["claims"]) - len(shown)
        more = f" {rest} more are in [claims.csv]({name}/{CLAIMS})." if rest else ""
        table = pl.DataFrame([_shown_row(row) for row in shown])
        table = table.drop([name for name in table.columns if set(table[name]) == {"–"}])
        text += _tested_on(result) + more
        sections.append(Section("Claims", text, (Table("", table),) if shown else ()))
    if result["figures"]:
        drawn = [f"![{title}]({name}/{file})" for file, title in result["figures"].items()]
        sections.append(Section("Figures", "\n\n".join(drawn)))
    sections.append(Section("How it was run", _how(result)))
    return Page(
        result["title"], lead if result["answer"] else None, about, sections=tuple(sections)
    )


def _shown_row(row: dict[str, Any]) -> dict[str, str]:
    control = row["work"] == CONTROLS
    verdict = f"control: {CONTROL_ANSWERS[row['verdict']]}" if control else row["verdict"]
    return {
        "claim": row["says"],
        "paper": row["paper"] or "–",
        "here (95 %)": row["weakest"],
        "ratio": row["ratio"] or "–",
        "verdict": f"{verdict}{_changed_text(row)}",
    }


def _changed_text(row: dict[str, Any]) -> str:
    *others, last = _changed(row) or [""]
    told = f"{', '.join(others)} or {last}" if others else last
    return f"; changes when seed {told} is left out" if last else ""


def _changed(row: dict[str, Any]) -> list[str]:
    return [] if row["changes"] == NOT_LOOKED_AT else row["changes"].split()


NOT_LOOKED_AT = "not looked at"
"""What stands in place of seeds where none was left out."""


def _claims_told(claims: Sequence[dict[str, Any]]) -> Iterator[str]:
    """How many came out how, and what is to be said of all of them."""
    mine = [row for row in claims if row["work"] != CONTROLS]
    if mine:
        yield counts_text(row["verdict"] for row in mine)
    small = [float(row["excess"]) for row in mine if row["verdict"] == "not testable at this size"]
    if small:
        yield (
            f"Not testable at this size: our hard arm loses {_range(small)} of what the paper's "
            f"does above the floor, and at least {number(SAME_REGIME)} is needed."
        )
    looked = [row for row in claims if row["changes"] != NOT_LOOKED_AT]
    if looked:
        changed = sum(bool(_changed(row)) for row in looked)
        yield f"Verdicts that change when one seed is left out: {changed} of {len(looked)}."
    overlap = Counter(row["overlaps"] for row in mine if row["overlaps"])
    if overlap:
        yield f"Our interval overlaps the paper's own in {overlap['yes']} of {overlap.total()}."


def _tested_on(result: dict[str, Any]) -> str:
    """On how many items and seeds the numbers are, where that is known."""
    items = sorted({int(row["items"].replace(",", "")) for row in result["claims"] if row["items"]})
    if not items:
        return ""
    seeds = f" and {count(result['seeds'], 'seed')}" if result["seeds"] else ""
    return f" Numbers are on {_range(items)} items{seeds}."


def _range(numbers: Sequence[float]) -> str:
    low, high = number(min(numbers)), number(max(numbers))
    return low if low == high else f"{low} to {high}"


MADE_BY = ("sfumato", "device")
"""The versions that a page names; the JSON beside it has all."""


def _how(result: dict[str, Any]) -> str:
    name = result["name"]
    what = name if name in shipped_names() else f"{name}.toml"
    size = "" if result["size"] in ("cpu", "other") else f" --size {result['size']}"
    seeds = f", {count(result['seeds'], 'seed')}" if result["seeds"] is not None else ""
    versions = [f"{name} {one}" for name, one in result["versions"].items() if name in MADE_BY]
    kept, every = result["rows"]
    some = f" ({kept:,} of {every:,} rows)" if kept < every else ""
    links = [f"[{name}/{ESTIMATES}]({name}/{ESTIMATES}){some}"]
    if result["claims"]:
        links.append(f"[{CLAIMS}]({name}/{CLAIMS})")
    if any(row["changes"] != NOT_LOOKED_AT for row in result["claims"]):
        links.append(f"[{LEFT}]({name}/{LEFT})")
    return (
        f"`sfumato run {what}{size}`: size {result['size']}{seeds}, {duration(result['seconds'])}, "
        f"{'simulated' if result['simulated'] else 'real'} people; {', '.join(versions)}; "
        f"configuration {result['fingerprint'][:SHORT]}.\n\n"
        f"All numbers: {', '.join(links)}. [What verdicts mean](README.md)."
    )


# The scoreboard.


def scoreboard(folder: Path) -> str:
    """All studies of a folder in Markdown; the same files give the same page."""
    results = read_results(folder)
    claims = [row for one in results if not one["beside"] for row in one["claims"]]
    mine = [row for row in claims if row["work"] != CONTROLS]
    parts = [HEAD, " ".join(_claims_told(claims)) + "\n"]
    if mine:
        works = sorted({row["work"] for row in mine})
        by_work = {work: [row for row in mine if row["work"] == work] for work in works}
        parts += [f"{_undecided_text(mine)}\n", counts_table(by_work), VERDICTS_MEAN]
    if results:
        regimes = {one["name"]: read_regime(one, folder) for one in results}
        rows = [_study_row(one, regimes[one["name"]]) for one in results]
        parts += ["## Studies\n", REGIME_MEANS, markdown_table(pl.DataFrame(rows))]
        if any(one["remark"] for one in results):
            parts.append("† run before its size was chosen by regime; its page says so.\n")
        if any(one["beside"] for one in results):
            parts.append("‡ the claims of another study once more; they count there.\n")
    return "\n".join(parts)


def _undecided_text(claims: Sequence[dict[str, Any]]) -> str:
    of = Counter(row["verdict"] for row in claims)
    tested = sum(of[verdict] for verdict in VERDICTS if not verdict.startswith("not testable"))
    return f"{of['undecided']} of the {tested} that could be tested stay undecided."


def counts_table(groups: Mapping[str, Sequence[Mapping[str, Any]]]) -> str:
    """How many claims of each group came out how, as a table in Markdown."""
    rows = []
    for name, claims in groups.items():
        of = Counter(row["verdict"] for row in claims)
        counted: dict[str, object] = {verdict: of[verdict] for verdict in VERDICTS}
        rows.append({"": name, **counted, "claims": of.total()})
    return markdown_table(pl.DataFrame(rows))


def _study_row(result: dict[str, Any], regime: pl.DataFrame) -> dict[str, str]:
    claims = [row for row in result["claims"] if row["work"] != CONTROLS]
    controls = Counter(
        CONTROL_ANSWERS[row["verdict"]] for row in result["claims"] if row["work"] == CONTROLS
    )
    of = Counter(row["verdict"] for row in claims)
    overlap = Counter(row["overlaps"] for row in claims if row["overlaps"])
    looked = [row for row in claims if row["changes"] != NOT_LOOKED_AT]
    mark = " †" if result["remark"] else " ‡" if result["beside"] else ""
    return {
        "study": f"[{result['name']}]({result['name']}.md){mark}",
        **_regime_cells(regime),
        "seeds": "–" if result["seeds"] is None else str(result["seeds"]),
        **{verdict: str(of[verdict]) for verdict in VERDICTS},
        "changed by a seed": str(sum(bool(_changed(row)) for row in looked)) if looked else "–",
        "overlap": f"{overlap['yes']} of {overlap.total()}" if overlap else "–",
        "yes / not clearly / no": "/".join(
            str(controls[answer]) for answer in ("yes", "not clearly", "no")
        )
        if controls
        else "–",
    }


REGIME_CELLS = {
    "training accuracy": "training accuracy",
    "training cross-entropy": "training loss",
    "accuracy": "test accuracy / paper",
    "RMS calibration error": "calibration error / paper",
    "cross-entropy": "cross-entropy / paper",
}
"""Columns of a regime, and what the scoreboard calls them."""


def _regime_cells(regime: pl.DataFrame) -> dict[str, str]:
    """Ours over all networks, and the paper's number where it prints one."""
    cells = {}
    for title, column in REGIME_CELLS.items():
        ours, paper = _split(regime, title)
        told = _range(ours) if ours else "–"
        cells[column] = f"{told} / {paper}" if paper != "–" else told
    return cells


def _split(regime: pl.DataFrame, title: str) -> tuple[list[float], str]:
    """The numbers of our networks that are known, and the paper's as it is printed."""
    if not len(regime):
        return [], "–"
    *ours, paper = regime[title]
    return [float(text) for text in ours if text != "–"], paper


# Verdicts that moved since the last version.

REASONS: dict[str, str] = {
    "reproduced": "the interval is on the claimed side, and reaches half of a printed size",
    "smaller": "the interval of the ratio lies wholly below a half",
    "absent": "the interval includes zero and lies wholly below a quarter of a printed size",
    "undecided": "the interval includes zero, or there is none",
    "contradicted": "the whole interval is on the other side",
    "not testable at this size": "the hard arm loses less than half of what the paper's does",
    "not testable here": "the data or the run have nothing to decide it with",
}
"""Why a verdict is what it is, in a line."""
MOVED_HEAD = """\
# Verdicts that moved

Every claim whose verdict is not that of version 0.1, by its id in the study's claims.csv. Version
0.1 looked at the sign alone; now a verdict goes by the ratio of our effect to the printed one, in
the paper's own regime ([how](../results.md)). *Same numbers*: only the rule is another. *Run
again*: the networks are others too. `sfumato results` writes this page.
"""


def moved_page(folder: Path) -> str:
    """What became of the verdicts in earlier.csv, in Markdown."""
    before = pl.read_csv(folder / EARLIER, infer_schema=False)
    old = {(row["study"], row["id"]): row["verdict"] for row in before.iter_rows(named=True)}
    groups: dict[tuple[str, str, str, str, str], list[str]] = {}
    known = 0
    for result in read_results(folder):
        for row in result["claims"]:
            was = old.get((result["name"], row["id"]))
            known += was is not None
            if was not in (None, row["verdict"]):
                begin, _, last = row["id"].rpartition("-")
                run = "same numbers" if result["remark"] else "run again"
                key = (result["name"], begin, was, row["verdict"], run)
                groups.setdefault(key, []).append(last)
    rows = [
        {
            "study": f"[{study}]({study}.md)",
            "claims": f"{begin}-{', '.join(last)}",
            "before": was,
            "now": now,
            "why": f"{run}: {REASONS[now]}",
        }
        for (study, begin, was, now, run), last in groups.items()
    ]
    told = f"{sum(map(len, groups.values()))} of {known} verdicts moved.\n"
    return "\n".join([MOVED_HEAD, told, *([markdown_table(pl.DataFrame(rows))] if rows else [])])
