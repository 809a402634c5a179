"""The scoreboard of a folder of results: one row a claim, from the JSON files alone."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl

from sfumato.errors import DataError
from sfumato.studies.results.page import CONTROLS_TOLD, markdown_table, took
from sfumato.studies.results.result import CONTROLS
from sfumato.studies.verdicts import CONTROL_ANSWERS, VERDICTS, counted

__all__ = ["scoreboard", "stored_results"]

HEAD = """\
# Results

Every claim of the papers that a study here was run for, with the number that the paper prints and
the one that was found. This page is written by a command, from the JSON files beside it:

```sh
sfumato results -o docs/results
```
"""
TOLD = """\
*Reproduced*: the 95 % interval lies wholly on the claimed side, in every network or number of
dimensions. *Same direction*: only the estimates do. *Not reproduced*: an estimate lies on the other
side. *Not testable here*: the data or the run have nothing to decide it with. Runs of size *cpu*
have smaller networks and shorter trainings than the papers; that a claim is not reproduced there
does not refute it.
"""
EXAMPLES = "examples.md"


def stored_results(folder: Path) -> list[dict[str, Any]]:
    """What the JSON files of a folder hold, by name of the study."""
    found = []
    for path in sorted(folder.glob("*.json")):
        try:
            result = json.loads(path.read_text(encoding="utf-8"))
            found.append({**result, "claims": list(result["claims"])})
        except (json.JSONDecodeError, TypeError, KeyError) as error:
            raise DataError(
                f"{path} is no result of a study ({type(error).__name__}: {error}). Write it "
                "again with `sfumato results`, or move it elsewhere."
            ) from None
    return found


def scoreboard(folder: Path) -> str:
    """The page in Markdown; the same files give the same page."""
    results = stored_results(folder)
    told = [(result, claim) for result in results for claim in result["claims"]]
    claims = [(result, claim) for result, claim in told if claim["work"] != CONTROLS]
    controls = [(result, claim) for result, claim in told if claim["work"] == CONTROLS]
    parts = [HEAD, f"{counted(claim['verdict'] for _, claim in claims)}\n"]
    if claims:
        parts += [_counts(claims), TOLD, "## Claims\n", _rows(claims)]
    if controls:
        parts += ["## Controls that the papers lack\n", f"{CONTROLS_TOLD}\n", _controls(controls)]
    if results:
        parts += ["## Studies\n", _studies(results)]
    if (folder / EXAMPLES).is_file():
        parts.append(f"Older, shorter examples are in [{EXAMPLES}]({EXAMPLES}).\n")
    return "\n".join(parts)


Claims = list[tuple[dict[str, Any], dict[str, Any]]]
"""A study's result, and one of its claims."""


def _counts(claims: Claims) -> str:
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


def _rows(claims: Claims) -> str:
    rows = [
        {
            "paper": _place(claim),
            "claim": claim["says"],
            "number in the paper": claim["paper"] or "–",
            "ours (95 %)": claim["ours"] or "–",
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


def _studies(results: list[dict[str, Any]]) -> str:
    rows = [
        {
            "study": _link(result),
            "what it asks": result["title"],
            "size": result["size"],
            "seeds": "–" if result["seeds"] is None else result["seeds"],
            "time": took(result["seconds"]),
            "people": "simulated" if result["simulated"] else "real",
            "claims": len(result["claims"]),
            "configuration": f"`{result['fingerprint'][:12]}`",
        }
        for result in results
    ]
    return markdown_table(pl.DataFrame(rows, infer_schema_length=None, strict=False))


def _link(result: dict[str, Any]) -> str:
    return f"[{result['name']}]({result['name']}.md)"
