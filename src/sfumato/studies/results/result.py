"""What a finished run says, whatever kind it is: settings, claims, scores and tables for a page."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import polars as pl

from sfumato.studies.verdicts import End, Verdict

__all__ = ["CONTROLS", "ClaimTold", "Estimate", "Part", "Result", "result_to_json"]

CONTROLS = "our controls"
"""Whose a claim is that no paper makes."""

SHORT = 12
"""Characters of a fingerprint that people are shown."""


@dataclass(frozen=True)
class Estimate:
    """The number that decided about a claim, of one network, part or number of dimensions."""

    where: str
    value: End
    low: End
    high: End


@dataclass(frozen=True)
class ClaimTold:
    """A claim of a paper, and what a run says about it."""

    work: str
    """"paper 1" to "paper 5", "thesis", or ``CONTROLS``."""
    source: str
    """Where in it."""
    says: str
    paper: str
    """Its own number, as text."""
    ours: str
    """Ours with intervals, as text; why there is none where it is not testable."""
    verdict: Verdict
    note: str = ""
    found: tuple[Estimate, ...] = ()
    """The numbers behind ``ours``, where one number decided."""


@dataclass(frozen=True, eq=False)
class Part:
    """A section of a page: a heading, a few sentences, tables."""

    title: str
    text: str = ""
    tables: tuple[pl.DataFrame, ...] = ()


@dataclass(frozen=True, eq=False)
class Result:
    """Everything that a page and the scoreboard are made of."""

    name: str
    title: str
    about: str
    size: str
    """"cpu", "paper", or "other" for settings that no shipped study has."""
    seeds: int | None
    """None where nothing is repeated."""
    seconds: float | None
    """What the run took; None where that is not known."""
    simulated: bool
    fingerprint: str
    """SHA-256 of settings and data."""
    versions: Mapping[str, Any]
    claims: tuple[ClaimTold, ...]
    scores: Sequence[Mapping[str, Any]]
    parts: tuple[Part, ...]
    """For the page only."""
    figures: tuple[Path, ...] = ()
    """Drawings of the run, for the page only."""

    @property
    def short_fingerprint(self) -> str:
        """As many characters as tell runs apart."""
        return self.fingerprint[:SHORT]


def result_to_json(result: Result) -> dict[str, Any]:
    """The result as plain lists and dicts, without what is for the page only."""
    plain = {
        each.name: getattr(result, each.name)
        for each in fields(Result)
        if each.name not in ("parts", "claims", "figures")
    }
    claims = [{**vars(one), "found": [vars(each) for each in one.found]} for one in result.claims]
    return {**plain, "versions": dict(result.versions), "claims": claims}
