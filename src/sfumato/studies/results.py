"""Write finished runs as pages and JSON into a folder, and the scoreboard of all that it holds.

A page is the report of the run in Markdown, made of the same blocks; the JSON beside it holds the
claims with what was found and all scores, and the scoreboard is made of these files alone.
"""

import json
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from sfumato.errors import DataError
from sfumato.reporting.page import (
    Page,
    Section,
    Table,
    Text,
    duration,
    markdown_table,
    render_markdown,
)
from sfumato.reporting.text import condition_words
from sfumato.scores import Estimate
from sfumato.studies.claims import (
    CONTROL_ANSWERS,
    VERDICTS,
    JudgedClaim,
    counts_text,
    found_text,
    ratio_text,
)
from sfumato.studies.data import RunFolder
from sfumato.studies.pages import study_page
from sfumato.studies.study import SIZES, read_study, shipped_names

CONTROLS = "our controls"
"""Whose a claim is that no paper makes."""
SHORT = 12
"""Characters of a fingerprint that people are shown."""
MOST_FIGURES = 4
"""On a page of the documentation; the report of the run has all."""
FIGURES = ("curve", "entropy-tracking", "ladder", "softness-cross", "pgd", "differences")
"""Beginnings of the names of figures that a page shows first; none of pictures, which belong to
others."""
EXAMPLES = "examples.md"
HEAD = """\
# Results

Every claim of the papers that a study here was run for, with the number that the paper prints and
the one that was found. This page is written by a command, from the JSON files beside it:

```sh
sfumato results -o docs/results
```
"""
IDS_MEAN = "Ids such as S2-17 are explained in `docs/formulas.md`."
VERDICTS_MEAN = """\
The ratio is our effect over the printed one, each divided by what its own hard arm loses above the
floor. By its 95 % interval a claim is *reproduced* (above 0, and it reaches a half), *smaller*
(above 0, wholly below a half), *absent* (holds 0, wholly below a quarter), *undecided* (holds 0,
reaches a quarter) or *contradicted* (wholly below 0). Where a paper prints no size, only the
direction counts. The weakest network or number of dimensions decides. *Not testable at this size*:
our hard arm loses less than half of what the paper's does, so there is too little to mend. *Not
testable here*: the data or the run have nothing to decide it with. Runs of size *cpu* have smaller
networks and shorter trainings than the papers.
"""
ANSWERS_MEAN = (
    "Yes: the 95 % interval lies wholly on that side. Not clearly: it holds zero. No: it lies "
    "wholly on the other side."
)


def write_results(runs: Sequence[Path], folder: Path) -> list[Path]:
    """Write NAME.md, its figures and NAME.json of each run, then README.md; returns the texts.

    Every run is read before anything is written. README.md is made of the JSON files of the folder,
    also those of earlier runs.
    """
    opened = [RunFolder.open(run) for run in runs]
    if not opened and not any(folder.glob("*.json")):
        raise DataError(
            f"There is nothing to write: no run was given, and {folder} holds no earlier results. "
            "Name the folder of a finished run."
        )
    pages = [(run, result_page(run), result_record(run)) for run in opened]
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for run, page, record in pages:
        name = run.study.name
        figures = _copy_figures(run, page, folder)
        text, data = folder / f"{name}.md", folder / f"{name}.json"
        told = f"{render_markdown(page, figures=figures)}\n{IDS_MEAN}\n"
        text.write_text(told, encoding="utf-8")
        data.write_text(_json_text(_rounded(record)), encoding="utf-8")
        written += [text, data]
    board = folder / "README.md"
    board.write_text(scoreboard(folder), encoding="utf-8")
    return [*written, board]


def result_page(run: RunFolder) -> Page:
    """The report's page with how it was run before its sections."""
    page = study_page(run)
    study, info = run.study, run.info
    shipped = study.name in shipped_names()
    what = study.name if shipped else f"{study.name}.toml"
    size = "" if study.size in ("cpu", "own") else f" --size {study.size}"
    command = (
        f"`sfumato run {what}{size} -o runs/{study.name}`, then `sfumato results "
        f"runs/{study.name} -o docs/results`, which writes this page."
    )
    facts = {
        "size": run_size(run),
        "seeds": str(study.seeds) if study.networks or study.worlds else "–",
        "time": duration(run.timing.seconds or None),
        "people": "simulated" if run.simulated else "real",
        "configuration": f"{info['fingerprint'][:SHORT]} (SHA-256 of settings and data)",
        "versions": ", ".join(f"{name} {one}" for name, one in info["versions"].items()),
    }
    rows = pl.DataFrame({"this run": list(facts), "": list(facts.values())})
    first = Section("How it was run", "", (Text(command), Table("This run", rows)))
    return replace(page, sections=(first, *page.sections))


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


def result_record(run: RunFolder) -> dict[str, Any]:
    """What a run says, as plain values for its JSON file."""
    study = run.study
    scores = [one for one in run.estimates.scores if one.network or one.arm]
    return {
        "name": study.name,
        "title": study.title,
        "about": study.about,
        "size": run_size(run),
        "seeds": study.seeds if study.networks or study.worlds else None,
        "seconds": run.timing.seconds or None,
        "simulated": run.simulated,
        "fingerprint": run.info["fingerprint"],
        "versions": dict(run.info["versions"]),
        "claims": [_claim_record(one) for one in run.claims],
        "scores": [_score_record(one) for one in scores],
    }


def _claim_record(one: JudgedClaim) -> dict[str, Any]:
    claim = one.claim
    return {
        "id": claim.id,
        "work": CONTROLS if claim.kind == "control" else claim.paper,
        "source": f"{claim.paper}, {claim.place}",
        "says": claim.sentence,
        "paper": claim.printed,
        "ours": found_text(one),
        "ratio": ratio_text(one),
        "verdict": one.verdict,
        "note": claim.note,
        "found": [
            {
                "where": each.network or each.part,
                "stratum": each.stratum,
                "value": each.value,
                "low": each.low,
                "high": each.high,
            }
            for each in one.found
        ],
    }


def _score_record(one: Estimate) -> dict[str, Any]:
    fields = ("arm", "network", "against", "metric", "value", "low", "high", "items")
    told = {name: getattr(one, name) for name in fields}
    return {**told, "stratum": condition_words(one), "step": one.step, "seeds": len(one.seeds)}


def _copy_figures(run: RunFolder, page: Page, folder: Path) -> list[str]:
    """The first figures of the run, beside its page; those of an earlier run go."""
    drawn = sorted(run.folder / "figures" / f"{each.name}.svg" for each in page.drawings)
    found = [path for begin in FIGURES for path in drawn if path.stem.startswith(begin)]
    chosen = list(dict.fromkeys(found))[:MOST_FIGURES]
    place = folder / "figures" / run.study.name
    for old in place.glob("*.svg"):
        old.unlink()
    for path in chosen:
        place.mkdir(parents=True, exist_ok=True)
        (place / path.name).write_bytes(path.read_bytes())
    return [f"figures/{run.study.name}/{path.name}" for path in chosen]


def _json_text(record: Any) -> str:
    """JSON with a line per score, so that a change of one is a change of one line."""
    head = {key: value for key, value in record.items() if key != "scores"}
    rows = ",\n  ".join(json.dumps(row, ensure_ascii=False) for row in record["scores"])
    opened = json.dumps(head, indent=1, ensure_ascii=False).removesuffix("\n}")
    return f'{opened},\n "scores": [\n  {rows}\n ]\n}}\n'


def _rounded(value: Any) -> Any:
    """The same with six digits of every number, and null for what JSON cannot hold."""
    match value:
        case dict():
            return {key: _rounded(each) for key, each in value.items()}
        case list() | tuple():
            return [_rounded(each) for each in value]
        case float():
            return float(f"{value:.6g}") if math.isfinite(value) else None
        case _:
            return value


def read_results(folder: Path) -> list[dict[str, Any]]:
    """What the JSON files of a folder hold, by name of the study."""
    found = []
    for path in sorted(folder.glob("*.json")):
        try:
            result = json.loads(path.read_text(encoding="utf-8"))
            found.append({**result, "claims": list(result["claims"])})
        except (json.JSONDecodeError, TypeError, KeyError) as error:
            raise DataError(
                f"{path} is no result of a study ({type(error).__name__}: {error}). Write the "
                "results of its run again, or move it elsewhere."
            ) from None
    return found


Claims = list[tuple[dict[str, Any], dict[str, Any]]]
"""A study's result, and one of its claims."""


def scoreboard(folder: Path) -> str:
    """All claims of a folder of results in Markdown; the same files give the same page."""
    results = read_results(folder)
    everything = [(result, claim) for result in results for claim in result["claims"]]
    claims = [pair for pair in everything if pair[1]["work"] != CONTROLS]
    controls = [pair for pair in everything if pair[1]["work"] == CONTROLS]
    counts = counts_text(claim["verdict"] for _, claim in claims)
    parts = [HEAD, f"{IDS_MEAN}\n", f"{counts}\n"]
    if claims:
        parts += [_counts_table(claims), VERDICTS_MEAN, "## Claims\n", _claims_table(claims)]
    if controls:
        parts += ["## Controls that the papers lack\n", f"{ANSWERS_MEAN}\n", _controls(controls)]
    if results:
        parts += ["## Studies\n", _studies_table(results)]
    if (folder / EXAMPLES).is_file():
        parts.append(f"Older, shorter examples are in [{EXAMPLES}]({EXAMPLES}).\n")
    return "\n".join(parts)


def _counts_table(claims: Claims) -> str:
    """How many claims of which paper came out how."""
    works = sorted({claim["work"] for _, claim in claims})
    of = Counter((claim["work"], claim["verdict"]) for _, claim in claims)
    rows: list[dict[str, str | int]] = [
        {
            "": work,
            **{verdict: of[work, verdict] for verdict in VERDICTS},
            "claims": sum(of[work, verdict] for verdict in VERDICTS),
        }
        for work in works
    ]
    return markdown_table(pl.DataFrame(rows))


def _claims_table(claims: Claims) -> str:
    rows = [
        {
            "paper": _place(claim),
            "claim": claim["says"],
            "number in the paper": claim["paper"] or "–",
            "ours (95 %)": claim["ours"] or "–",
            "ratio": claim.get("ratio") or "–",
            "verdict": claim["verdict"],
            "study": _link(result),
        }
        for result, claim in sorted(claims, key=lambda pair: pair[1]["work"])
    ]
    return markdown_table(pl.DataFrame(rows))


def _controls(controls: Claims) -> str:
    rows = [
        {
            "is it so?": claim["says"],
            "ours (95 %)": claim["ours"],
            "answer": CONTROL_ANSWERS[claim["verdict"]],
            "study": _link(result),
        }
        for result, claim in controls
    ]
    return markdown_table(pl.DataFrame(rows))


def _place(claim: dict[str, Any]) -> str:
    work, source = claim["work"], claim["source"]
    return source if source.startswith(work) else f"{work}, {source}"


def _studies_table(results: list[dict[str, Any]]) -> str:
    rows = [
        {
            "study": _link(result),
            "what it asks": result["title"],
            "size": result["size"],
            "seeds": "–" if result["seeds"] is None else result["seeds"],
            "time": duration(result["seconds"]),
            "people": "simulated" if result["simulated"] else "real",
            "claims": len(result["claims"]),
            "configuration": f"`{result['fingerprint'][:SHORT]}`",
        }
        for result in results
    ]
    return markdown_table(pl.DataFrame(rows, infer_schema_length=None, strict=False))


def _link(result: dict[str, Any]) -> str:
    return f"[{result['name']}]({result['name']}.md)"
