"""Judge what the papers claim by the estimates of a run.

A claim is a row of a CSV in ``claims/``. It names an estimate (metric, arm, second arm, labels that
are held against, stratum, attack) and what a paper says of it; ``judge`` looks the estimate up in
every network and part, and applies one rule (``Verdict``).

``claimed`` is one of

- *lower*, *higher*: than zero. ``effect`` is for claims of no loss: how much on the other side
  would be one;
- *below*, *above*: than the number in ``effect``;
- *within*: no further from zero than ``effect``, with the whole interval;
- *equal*: the interval holds the number in ``effect``;
- *no difference*: contradicted by an interval that does not hold zero, and undecided by any other,
  because no margin was fixed beforehand;
- *shown*: the nearest there is; it stands beside the claim and decides nothing.

A claim without a metric cannot be tested here; its note says why.
"""

import csv
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from importlib.resources import files
from importlib.resources.abc import Traversable
from io import StringIO
from typing import Any, Literal, TypeVar, assert_never, get_args

import polars as pl

from sfumato.errors import DataError
from sfumato.reporting.text import ROUNDING, interval, number, signed_number
from sfumato.reporting.text import Kind as SentenceKind
from sfumato.scores import Estimate, metric_words, swap_arms

# How a claim of a paper came out, decided by an estimate, its interval and the printed effect.
#
# The ratio r is our effect over the printed one, each first divided by what its own hard arm loses
# above the floor, so that a network that is hardly too sure can be held against one that is far too
# sure. By the 95 % interval of r:
#
# - *reproduced*: above 0, and it reaches a half;
# - *smaller*: above 0, but wholly below a half;
# - *absent*: it holds 0 and lies wholly below a quarter;
# - *undecided*: it holds 0 and reaches a quarter;
# - *contradicted*: wholly below 0.
#
# A claim without a printed size has a direction only: reproduced, undecided or contradicted. Where
# our hard arm loses less than half of what the paper's does, there is too little to mend, and the
# claim is *not testable at this size*; *not testable here* has nothing to decide it with at all.


Verdict = Literal[
    "reproduced",
    "smaller",
    "absent",
    "undecided",
    "contradicted",
    "not testable at this size",
    "not testable here",
]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
Claimed = Literal["lower", "higher"]
End = float | None
"""A number that may not be known."""

HALF, QUARTER = 0.5, 0.25
"""Of the printed effect: what still counts as the same, and what is too little to matter."""
SAME_REGIME = 0.5
"""Of the excess of the paper's hard arm over its floor: what ours must have."""
FALSE_SHARE = 0.025
"""Of claims about nothing that a 95 % interval puts on one side by chance."""

KINDS: dict[Verdict, SentenceKind] = {
    "reproduced": "found",
    "smaller": "found",
    "absent": "not found",
    "undecided": "caution",
    "contradicted": "not found",
    "not testable at this size": "caution",
    "not testable here": "caution",
}
"""How a sentence about such a claim is marked in a report."""

CONTROL_ANSWERS: dict[Verdict, str] = {
    **{verdict: verdict for verdict in VERDICTS},
    "reproduced": "yes",
    "undecided": "not clearly",
    "contradicted": "no",
}
"""What a verdict says of a control that no paper ran: there is nothing to reproduce."""


def judge_ratio(low: End, high: End) -> Verdict:
    """What the interval of our effect says, in units of the printed one.

    >>> [judge_ratio(*ends) for ends in ((0.1, 0.6), (0.1, 0.4), (-0.1, 0.2), (-0.1, 0.3))]
    ['reproduced', 'smaller', 'absent', 'undecided']
    >>> judge_ratio(-0.3, -0.1), judge_ratio(None, None)
    ('contradicted', 'undecided')
    """
    if not _known(low, high):
        return "undecided"
    if low > ROUNDING:  # type: ignore[operator]
        return "reproduced" if high >= HALF else "smaller"  # type: ignore[operator]
    if high < -ROUNDING:  # type: ignore[operator]
        return "contradicted"
    return "absent" if high < QUARTER else "undecided"  # type: ignore[operator]


def judge_side(low: End, high: End, claimed: Claimed, *, margin: float = 0.0) -> Verdict:
    """On which side of zero an interval lies; ``margin`` is how much of a loss would be one.

    >>> judge_side(-0.3, -0.1, "lower"), judge_side(-0.3, 0.1, "lower")
    ('reproduced', 'undecided')
    >>> judge_side(0.1, 0.3, "lower"), judge_side(-0.007, 0.005, "higher", margin=0.01)
    ('contradicted', 'reproduced')
    """
    if not _known(low, high):
        return "undecided"
    ends = (low, high) if claimed == "higher" else (-high, -low)  # type: ignore[operator]
    if ends[0] > max(ROUNDING, 0.0) - margin:  # type: ignore[operator]
        return "reproduced"
    return "contradicted" if ends[1] < -margin - ROUNDING else "undecided"  # type: ignore[operator]


def judge_within(low: End, high: End, margin: float) -> Verdict:
    """Whether a whole interval lies within a margin around zero.

    >>> judge_within(-0.1, 0.1, 0.2), judge_within(-0.3, 0.1, 0.2), judge_within(0.3, 0.5, 0.2)
    ('reproduced', 'undecided', 'contradicted')
    """
    if not _known(low, high):
        return "undecided"
    if -margin <= low and high <= margin:  # type: ignore[operator]
        return "reproduced"
    apart = low > margin or high < -margin  # type: ignore[operator]
    return "contradicted" if apart else "undecided"


def overall(verdicts: Iterable[Verdict]) -> Verdict:
    """The weakest of those that could be tested: what does not hold everywhere is not reproduced.

    >>> overall(["reproduced", "undecided", "not testable here"])
    'undecided'
    """
    found = set(verdicts)
    order: tuple[Verdict, ...] = ("contradicted", "absent", "undecided", "smaller", "reproduced")
    tested = [verdict for verdict in order if verdict in found]
    if tested:
        return tested[0]
    small: Verdict = "not testable at this size"
    return small if small in found else "not testable here"


def counts_text(verdicts: Iterable[Verdict]) -> str:
    """How many claims came out how, and how many of these verdicts chance alone would give.

    >>> counts_text(["reproduced"] * 40)
    '40 claims: 40 reproduced. If every effect were null, about 1 of 40 would be called reproduced \
or smaller by chance, and as many contradicted.'
    """
    of = Counter(verdicts)
    told = ", ".join(f"{of[verdict]} {verdict}" for verdict in VERDICTS if of[verdict])
    tested = sum(of[verdict] for verdict in VERDICTS if not verdict.startswith("not testable"))
    counted = f"{of.total()} claim{'' if of.total() == 1 else 's'}: {told or 'none'}."
    chance = round(FALSE_SHARE * tested)
    if not chance:
        return counted
    return (
        f"{counted} If every effect were null, about {chance} of {tested} would be called "
        "reproduced or smaller by chance, and as many contradicted."
    )


def _known(*numbers: End) -> bool:
    return all(number is not None and not math.isnan(number) for number in numbers)


Relation = Literal["lower", "higher", "below", "above", "within", "equal", "no difference", "shown"]
Kind = Literal["claim", "control"]
Attack = Literal["", "fgsm", "pgd"]

WITH_EFFECT: tuple[Relation, ...] = ("below", "above", "within", "equal")
"""These compare with a number, which ``effect`` must give."""

COLUMNS = (
    *("id", "study", "paper", "place", "sentence", "metric", "arm", "second", "network", "part"),
    *("against", "stratum", "attack", "bound", "step", "kind", "claimed", "printed"),
    *("printed_effect", "printed_error", "yardstick", "printed_yardstick", "effect", "note"),
)
"""Of every file of claims, in this order."""

NUMBERS = ("printed_effect", "printed_error", "printed_yardstick", "effect")
"""Columns that hold a number or nothing."""

EXACT = ("metric", "arm", "second", "attack")
"""Texts that an estimate must share with the claim; what the claim leaves empty, it must not have:
a claim about clean images is not one about attacked ones."""

STATED = ("network", "against", "stratum")
"""Texts that an estimate must share if the claim states them; left empty, each of them counts."""

NEEDED = (*EXACT, *STATED, "part", "bound", "step", "value", "low", "high", "over", "items")
"""Columns of the table of estimates that are looked at."""

WHERE = (*STATED, "part")
"""What tells the estimates apart that one claim is held against."""

POOLED = "all"
"""The part that is all parts together: it decides only if a claim names it."""

FEW_ITEMS = 30
"""An interval over seeds says nothing about other items; on fewer items than this it is shown, but
not taken for an answer about people and networks."""

SEPARATOR = "; "
"""Between the names in ``study``, where several studies are held against the same claim."""


@dataclass(frozen=True)
class Claim:
    """What a paper says, and which estimate tells whether it is so here."""

    id: str
    studies: tuple[str, ...]
    paper: str
    """"paper 1" to "paper 5" or "thesis"; of a control, the one that lacks it."""
    place: str
    sentence: str
    metric: str
    arm: str
    second: str
    """The arm that is subtracted; empty for an estimate of one arm."""
    network: str
    part: str
    """Of the data, such as the mixes that the thesis had; other parts are shown beside it."""
    against: str
    stratum: str
    attack: Attack
    bound: float | None
    """Of the attack, in units of 1/255."""
    step: int | None
    """Of an attack that has several."""
    kind: Kind
    """A control is one that no paper ran: there is nothing to reproduce."""
    claimed: Relation | None
    printed: str
    """The paper's own numbers."""
    printed_effect: float | None
    """The paper's own number for the estimate."""
    printed_error: float | None
    """How far the paper's own interval reaches to either side, where it prints one."""
    yardstick: str
    """The arm whose excess over the floor measures how much there was to mend: the hard one."""
    printed_yardstick: float | None
    """The paper's number for that arm."""
    effect: float | None
    note: str
    """What is not the same here, or why nothing can test it."""


@dataclass(frozen=True)
class ClaimEstimate:
    """One estimate that a claim was held against."""

    network: str
    part: str
    stratum: str
    value: End
    low: End
    high: End
    items: int
    ratio: tuple[float, float, float] | None
    """Our effect over the printed one, both as shares of what there was to mend, with its ends."""
    excess: float | None
    """What our hard arm loses above the floor, as a share of what the paper's does."""
    overlaps: bool | None
    """Whether our interval and the paper's own have a number in common; None without both."""
    verdict: Verdict
    decides: bool
    """Whether it counts; other parts, and all parts together, are only shown."""


@dataclass(frozen=True)
class JudgedClaim:
    """A claim with what was found and how it came out: the weakest of what decides."""

    claim: Claim
    found: tuple[ClaimEstimate, ...]
    verdict: Verdict
    left_out: Mapping[int, Verdict] = field(default_factory=dict)
    """How it comes out without each seed, where that was looked at."""

    @property
    def changes(self) -> tuple[int, ...]:
        """The seeds without which it comes out otherwise."""
        return tuple(seed for seed, verdict in self.left_out.items() if verdict != self.verdict)

    @property
    def deciding(self) -> tuple[ClaimEstimate, ...]:
        """What counts; where nothing does, what is shown."""
        return tuple(one for one in self.found if one.decides) or self.found

    @property
    def weakest(self) -> ClaimEstimate | None:
        """The first of the estimates that the verdict is by."""
        return next((one for one in self.deciding if one.verdict == self.verdict), None)

    @property
    def answer(self) -> str:
        """The verdict; of a control, whether it is so."""
        return CONTROL_ANSWERS[self.verdict] if self.claim.kind == "control" else self.verdict

    @property
    def mixed(self) -> Mapping[Verdict, int]:
        """How many findings say what, where they do not all say the same."""
        counted = Counter(one.verdict for one in self.found if one.decides)
        return counted if len(counted) > 1 else {}

    @property
    def elsewhere(self) -> Mapping[str, Verdict]:
        """What other parts say, where it is something else."""
        parts = dict.fromkeys(one.part for one in self.found if not one.decides)
        said = {
            part: overall(one.verdict for one in self.found if one.part == part) for part in parts
        }
        return {part: verdict for part, verdict in said.items() if verdict != self.verdict}

    def row(self) -> dict[str, Any]:
        """The claim's columns, what was found and the verdict, as plain values."""
        told = vars(self.claim) | {"found": [vars(one) for one in self.found]}
        study = SEPARATOR.join(told.pop("studies"))
        return {"id": told.pop("id"), "study": study, **told, "verdict": self.verdict}


def every_claim(folder: Traversable | None = None) -> list[Claim]:
    """The claims of all files of the folder; an id twice is an error."""
    folder = files("sfumato.studies") / "claims" if folder is None else folder
    claims: dict[str, Claim] = {}
    for path in sorted(folder.iterdir(), key=lambda path: path.name):
        if not path.name.endswith(".csv"):
            continue
        for claim in _read_file(path):
            if claim.id in claims:
                raise DataError(f"{path.name} has a second claim with the id {claim.id!r}.")
            claims[claim.id] = claim
    return list(claims.values())


def read_claims(study: str, folder: Traversable | None = None) -> list[Claim]:
    """The claims that a study is held against, from all files of the folder; none for many.

    >>> [claim.claimed for claim in read_claims("hmix")][:3]
    ['within', 'within', 'above']
    >>> read_claims("digits")
    []
    """
    return [claim for claim in every_claim(folder) if study in claim.studies]


def judge(
    claims: Iterable[Claim], estimates: pl.DataFrame, left_out: pl.DataFrame | None = None
) -> list[JudgedClaim]:
    """How each claim comes out by the estimates of one run.

    A claim without a matching estimate is *not testable here*. ``left_out`` has the same columns
    and the seed that each row is without: claims are judged again by the rows of every such seed.
    """
    claims = list(claims)
    judged = _judge_all(claims, estimates)
    if left_out is None or not len(left_out):
        return judged
    again = {
        seed: _judge_all(claims, rows)
        for (seed,), rows in left_out.sort(LEFT_OUT).group_by(LEFT_OUT, maintain_order=True)
    }
    return [
        replace(one, left_out={int(seed): found[at].verdict for seed, found in again.items()})
        if one.found
        else one
        for at, one in enumerate(judged)
    ]


LEFT_OUT = "left_out"
"""The column that says which seed a row is without."""


def looked_at(claims: Iterable[Claim], estimates: pl.DataFrame) -> pl.DataFrame:
    """The rows that any of the claims is judged by: estimates, yardsticks and floors."""
    claims = list(claims)
    wanted: set[tuple[Any, ...]] = set()
    for one in claims:
        for arms in ((one.arm, one.second), (one.second, one.arm), (one.yardstick, "")):
            wanted.add((one.metric, *arms, one.attack, one.bound, one.step))
    columns = ("metric", "arm", "second", "attack", "bound", "step")
    schema = {name: estimates.schema[name] for name in columns}
    rows = pl.DataFrame(list(wanted), schema=schema, orient="row")
    mine = estimates.join(rows, on=columns, how="semi", nulls_equal=True, maintain_order="left")
    for name in STATED:
        values = {getattr(one, name) for one in claims}
        if "" not in values:  # otherwise every one counts
            mine = mine.filter(pl.col(name).is_in(values))
    floors = estimates.filter(pl.col("metric") == FLOOR) if claims else estimates.clear()
    return pl.concat([mine, floors])


FLOOR = "entropy_floor"
"""What cross-entropy cannot be below."""


def _judge_all(claims: Iterable[Claim], estimates: pl.DataFrame) -> list[JudgedClaim]:
    lacking = [name for name in ("study", *NEEDED) if name not in estimates.columns]
    if lacking:
        raise DataError(f"The table of estimates has no column {', '.join(lacking)}.")
    studies = estimates["study"].drop_nulls().unique().sort().to_list()
    if len(studies) > 1:
        raise DataError(
            f"Claims are judged study by study; these estimates are of {', '.join(studies)}."
        )
    texts = (*EXACT, *STATED, "part", "over")
    table = estimates.with_columns(pl.col(texts).cast(pl.String).fill_null(""))
    return [_judged(claim, table) for claim in claims]


def found_text(one: JudgedClaim, shown: Sequence[ClaimEstimate] | None = None) -> str:
    """What was found, with intervals; why there is nothing where a claim is not testable.

    ``shown`` are the estimates that are told, by default all that decide.
    """
    if not one.found:
        return one.claim.note or "nothing that decides it"
    varied = [
        name
        for name in ("network", "part", "stratum")
        if len({getattr(each, name) for each in one.deciding}) > 1
    ]
    texts = []
    for each in one.deciding if shown is None else shown:
        where = ", ".join(getattr(each, name) for name in varied)
        value = number(each.value) if one.claim.claimed in LEVELS else signed_number(each.value)
        text = f"{value} {interval(each.low, each.high) or '(no interval)'}"
        texts.append(f"{where}: {text}" if where else text)
    return "; ".join(dict.fromkeys(texts))


def ratio_text(shown: Iterable[ClaimEstimate]) -> str:
    """Our effect over the printed one, with its interval; none without a size."""
    ratios = [each.ratio for each in shown if each.ratio is not None]
    texts = [f"{number(value)} {interval(low, high)}" for value, low, high in ratios]
    return "; ".join(dict.fromkeys(texts))


LEVELS: tuple[Relation, ...] = ("below", "above", "equal")
"""What is claimed of a number itself, not of a difference."""


@dataclass(frozen=True)
class PrintedNumber:
    """A number of a table of a paper, and the score of ours that it stands beside, if any."""

    paper: str
    table: str
    row: str
    column: str
    printed: str
    also: str
    """Another place that prints the same number."""
    studies: tuple[str, ...]
    arm: str
    against: str
    stratum: str
    attack: str
    bound: float | None
    metric: str
    claims: tuple[str, ...]
    """Claims that are about it in another form than as this score."""
    reason: str
    """Why no claim is about it."""

    @property
    def score(self) -> dict[str, Any]:
        """What tells which score of a study it stands beside."""
        return {name: getattr(self, name) for name in SCORE}


SCORE = ("arm", "against", "stratum", "attack", "bound", "metric")
"""What a printed number and a score of ours have in common."""


def read_numbers() -> list[PrintedNumber]:
    """Every number that the tables of the papers print.

    A number that stands beside two scores has two rows.
    """
    text = (files("sfumato.studies") / "printed.csv").read_text(encoding="utf-8")
    found = []
    for place, row in enumerate(csv.DictReader(StringIO(text)), start=2):
        bound = _number(f"printed.csv, row {place}", "bound", row.pop("bound"), float)
        several = {
            name: tuple(filter(None, row.pop(name).split(SEPARATOR)))
            for name in ("studies", "claims")
        }
        found.append(PrintedNumber(bound=bound, **several, **row))  # type: ignore[arg-type]
    return found


def read_printed(study: str) -> list[dict[str, Any]]:
    """The numbers that papers print for arms of a study; they stand beside ours.

    >>> [row["printed"] for row in read_printed("cifar10h-alternatives")][:2]
    ['0.62, from 0.46 to 0.82', '0.16, from 0.09 to 0.26']
    """
    beside: dict[tuple[Any, ...], list[PrintedNumber]] = {}
    for one in read_numbers():
        if study in one.studies:
            beside.setdefault(tuple(one.score.values()), []).append(one)
    return [{**group[0].score, "printed": _joined(group)} for group in beside.values()]


def _joined(numbers: Sequence[PrintedNumber]) -> str:
    """One text for what tables print of the same score: by paper, and over its networks."""
    papers: dict[str, dict[str, str]] = {}
    for one in numbers:
        papers.setdefault(one.paper, {})[f"{one.table}, {one.row}"] = one.printed
    texts = {paper: _over_rows(list(printed.values())) for paper, printed in papers.items()}
    if len(set(texts.values())) == 1:
        return next(iter(texts.values()))
    return "; ".join(f"{paper}: {text}" for paper, text in texts.items())


def _over_rows(printed: Sequence[str]) -> str:
    if len(set(printed)) == 1:
        return printed[0]
    values = [Decimal(text) for text in printed]
    mean = (sum(values, Decimal()) / len(values)).quantize(values[0])
    return f"{mean}, from {min(values)} to {max(values)}"


REGIME = (
    *("training_accuracy", "training_cross_entropy"),
    *("accuracy", "rms_calibration", "cross_entropy"),
)
"""Whether a network memorised its items, and how sure it is of others."""


def regime_table(
    claims: Iterable[Claim],
    printed: Iterable[Mapping[str, Any]],
    estimates: pl.DataFrame,
    *,
    against: str,
    control: str = "",
) -> tuple[str, pl.DataFrame]:
    """The hard arm beside the paper's, a row per network: a claim is about networks in its regime.

    Also returns which arm that is: the one that most claims are measured by, else the ``control``.
    An arm that was not trained here has no rows.
    """
    claims = list(claims)
    measured = Counter(one.yardstick for one in claims if one.yardstick)
    arm = measured.most_common(1)[0][0] if measured else control
    mine = estimates.filter(
        pl.col("arm") == arm,
        pl.col("network").fill_null("") != "",
        pl.col("metric").is_in(REGIME),
        pl.col("stratum") == "all",
        *(pl.col(name).fill_null("") == "" for name in ("second", "attack")),
        (pl.col("against") == against) | pl.col("metric").str.starts_with("training"),
    )
    known = {
        **{
            one.metric: number(one.printed_yardstick)
            for one in claims
            if (one.yardstick, one.against, one.stratum, one.attack) == (arm, against, "all", "")
        },
        **{
            row["metric"]: row["printed"]
            for row in printed
            if (row["arm"], row["against"], row["stratum"], row["attack"])
            == (arm, against, "all", "")
        },
    }
    ours = {
        network: dict(reversed(rows.select("metric", "value").rows()))
        for (network,), rows in mine.group_by("network", maintain_order=True)
    }
    rows = [
        {"network": network, **{name: number(values.get(name)) for name in REGIME}}
        for network, values in ours.items()
    ]
    if rows:
        rows.append({"network": PAPER, **{name: known.get(name, "–") for name in REGIME}})
    titles = {name: metric_words(name).title for name in REGIME}
    return arm, pl.DataFrame(rows).rename(titles) if rows else pl.DataFrame()


PAPER = "the paper"
"""Whose number stands in the last row of a regime."""


def _judged(claim: Claim, table: pl.DataFrame) -> JudgedClaim:
    if not claim.metric:
        return JudgedClaim(claim, (), "not testable here")
    rows = _matching(claim, table)
    # Other parts than the one that is claimed about are found too, to be shown beside it.
    deciding = {claim.part} if claim.part else {row["part"] for row in rows} - {POOLED} or {POOLED}
    found = tuple(
        ClaimEstimate(
            network=row["network"],
            part=row["part"],
            stratum=row["stratum"],
            value=row["value"],
            low=row["low"],
            high=row["high"],
            items=row["items"] or 0,
            ratio=ratio,
            excess=excess,
            overlaps=_overlaps(claim, row),
            verdict=_verdict(claim, row, ratio, matched=excess is None or excess >= SAME_REGIME),
            decides=row["part"] in deciding,
        )
        for row in rows
        for ratio, excess in [_ratio(claim, row, table)]
    )
    return JudgedClaim(claim, found, overall(one.verdict for one in found if one.decides))


def _matching(claim: Claim, table: pl.DataFrame) -> list[dict[str, Any]]:
    """The estimates that a claim is about, also where they are kept the other way round."""

    def rows(arm: str, second: str) -> list[dict[str, Any]]:
        texts = {name: getattr(claim, name) for name in EXACT} | {"arm": arm, "second": second}
        return table.filter(
            *(pl.col(name) == text for name, text in texts.items()),
            *(pl.col(name) == getattr(claim, name) for name in STATED if getattr(claim, name)),
            *(pl.col(name).eq_missing(pl.lit(getattr(claim, name))) for name in ("bound", "step")),
        ).to_dicts()

    found = rows(claim.arm, claim.second)
    known = {tuple(row[name] for name in WHERE) for row in found}
    if claim.second and not metric_words(claim.metric).one_way:
        for row in rows(claim.second, claim.arm):
            if tuple(row[name] for name in WHERE) not in known and row["value"] is not None:
                found.append(vars(swap_arms(Estimate(**{name: row[name] for name in NEEDED}))))
    return found


def _ratio(
    claim: Claim, row: Mapping[str, Any], table: pl.DataFrame
) -> tuple[tuple[float, float, float] | None, float | None]:
    """Our effect and its ends over the printed one, and how much of the paper's excess ours is."""
    ends = (row["value"], row["low"], row["high"])
    if not claim.printed_effect or not _known(*ends):
        return None, None
    scale, share = 1 / claim.printed_effect, None
    level = _yardstick(claim, row, table)
    if level is not None and claim.printed_yardstick is not None:
        floor = _floor(claim, row, table)
        ours, paper = (_excess(claim.metric, x, floor) for x in (level, claim.printed_yardstick))
        share = ours / paper if paper > 0 else math.inf
        scale *= paper / ours if ours > 0 else 1.0
    value, *both = (end * scale for end in ends)
    return (value, min(both), max(both)), share


def _overlaps(claim: Claim, row: Mapping[str, Any]) -> bool | None:
    effect, error, low, high = claim.printed_effect, claim.printed_error, row["low"], row["high"]
    if not _known(effect, error, low, high):
        return None
    return bool(low <= effect + error and high >= effect - error)  # type: ignore[operator]


def _excess(metric: str, level: float, floor: float) -> float:
    """How far a number is from the best that it could be."""
    return 1 - level if metric_words(metric).better == "higher" else level - floor


def _yardstick(claim: Claim, row: Mapping[str, Any], table: pl.DataFrame) -> float | None:
    """Our number for the arm that the paper's and our effect are divided by."""
    same = {name: row[name] for name in ("metric", "attack", *WHERE)}
    return _one(
        table, {**same, "arm": claim.yardstick, "second": ""}, bound=claim.bound, step=claim.step
    )


def _floor(claim: Claim, row: Mapping[str, Any], table: pl.DataFrame) -> float:
    """What nobody can go below: people's own entropy, for cross-entropy; otherwise zero."""
    if claim.metric != "cross_entropy":
        return 0.0
    same = {"metric": FLOOR, "part": row["part"], "against": row["against"]}
    stratum = row["stratum"] if row["stratum"] in ("unanimous", "disputed") else "all"
    return _one(table, {**same, "stratum": stratum}) or 0.0


def _one(
    table: pl.DataFrame, texts: Mapping[str, Any], **numbers: float | int | None
) -> float | None:
    found = table.filter(
        *(pl.col(name) == text for name, text in texts.items()),
        *(pl.col(name).eq_missing(pl.lit(number)) for name, number in numbers.items()),
    )["value"]
    return found[0] if len(found) else None


def _verdict(
    claim: Claim,
    row: Mapping[str, Any],
    ratio: tuple[float, float, float] | None,
    *,
    matched: bool,
) -> Verdict:
    """The rule: what one estimate with its interval says of a claim."""
    if row["over"] == "seeds" and 0 < (row["items"] or 0) < FEW_ITEMS:
        return "not testable here"
    if not _known(row["value"]):
        return "not testable here"
    if not matched:
        return "not testable at this size"
    low, high, effect = row["low"], row["high"], claim.effect or 0.0
    match claim.claimed:
        case "lower" | "higher" if ratio is not None:
            return judge_ratio(*ratio[1:])
        case "lower" | "higher":
            return judge_side(low, high, claim.claimed, margin=effect)
        case "below":
            return judge_side(*_less((low, high), effect), "lower")
        case "above":
            return judge_side(*_less((low, high), effect), "higher")
        case "within":
            known = _known(low, high) or abs(row["value"]) <= effect
            return judge_within(low, high, effect) if known else "contradicted"
        case "equal":
            return _holds(low, high, effect, if_so="reproduced")
        case "no difference":
            return _holds(low, high, 0.0, if_so="undecided")
        case "shown" | None:
            return "not testable here"
        case _:
            assert_never(claim.claimed)


def _less(ends: tuple[End, End], level: float) -> tuple[End, End]:
    low, high = (None if end is None else end - level for end in ends)
    return low, high


def _holds(low: End, high: End, number: float, *, if_so: Verdict) -> Verdict:
    """Whether an interval holds a number; without an interval nothing can be said."""
    if not _known(low, high):
        return "undecided"
    return if_so if low <= number <= high else "contradicted"  # type: ignore[operator]


def _read_file(path: Traversable) -> list[Claim]:
    rows = csv.reader(StringIO(path.read_text(encoding="utf-8")))
    head = tuple(next(rows, ()))
    if head != COLUMNS:
        odd = sorted(set(head) ^ set(COLUMNS)) or ["their order"]
        raise DataError(
            f"{path.name} is no file of claims: its columns differ in {', '.join(odd)}. "
            f"They must be {', '.join(COLUMNS)}."
        )
    return [_claim(path.name, number, cells) for number, cells in enumerate(rows, start=2)]


def _claim(file: str, number: int, cells: Sequence[str]) -> Claim:
    where = f"{file}, row {number}"
    if len(cells) != len(COLUMNS):
        raise DataError(f"{where} has {len(cells)} cells instead of {len(COLUMNS)}.")
    row = dict(zip(COLUMNS, cells, strict=True))
    for name in ("id", "study", "paper", "place", "sentence"):
        if not row[name]:
            raise DataError(f"{where} has no {name}; every claim needs one.")
    numbers: dict[str, Any] = {name: _number(where, name, row.pop(name), float) for name in NUMBERS}
    claim = Claim(
        studies=tuple(row.pop("study").split(SEPARATOR)),
        attack=_choice(where, "attack", row.pop("attack"), get_args(Attack)),
        bound=_number(where, "bound", row.pop("bound"), float),
        step=_number(where, "step", row.pop("step"), int),
        kind=_choice(where, "kind", row.pop("kind"), get_args(Kind)),
        claimed=_choice(where, "claimed", row.pop("claimed"), ("", *get_args(Relation))) or None,
        **numbers,
        **row,  # type: ignore[arg-type]
    )
    _check(where, claim)
    return claim


def _check(where: str, claim: Claim) -> None:
    if bool(claim.metric) != bool(claim.claimed):
        raise DataError(f"{where} needs both a metric and what is claimed of it, or neither.")
    if not claim.metric and not claim.note:
        raise DataError(f"{where} has no metric; its note must say why nothing can test it.")
    if claim.claimed in WITH_EFFECT and claim.effect is None:
        raise DataError(f"{where} claims {claim.claimed!r}, but its effect does not say of what.")
    if bool(claim.attack) != (claim.bound is not None):
        raise DataError(f"{where} needs both an attack and its bound, or neither.")


Number = TypeVar("Number", int, float)


def _number(where: str, column: str, text: str, kind: Callable[[str], Number]) -> Number | None:
    try:
        return kind(text) if text else None
    except ValueError:
        raise DataError(f"{where} has {text!r} as {column}, which is no number.") from None


def _choice(where: str, column: str, text: str, choices: tuple[Any, ...]) -> Any:
    if text not in choices:
        known = ", ".join(repr(choice) for choice in choices if choice)
        raise DataError(f"{where} has {text!r} as {column}; it must be one of {known}.")
    return text
