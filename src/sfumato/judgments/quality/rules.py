"""Turn answers into findings: whom, or which answers, a named rule would leave out, and why.

A rule is data: a name, a version, settings that can be changed, and the function that reads the
answers. It names people or single answers, gives its reason in numbers and points at the rows
that are its evidence; ``ledger`` acts on it.

Rules about people look at every answer but practice, count a row once that stands in the file
twice (``copies``), and pass over answers whose author is not recorded. An answer with a
named repair is judged as repaired.

No rule drops anybody for accuracy on the items that are being labelled (S3-06): where people
really see different things, that would make the labels agree by leaving out the minority.
Accuracy counts on checks, whose answer is beyond doubt, and for the CIFAR-10S rules beside a
formal error. To drop only technical failures (S4-07), use ``rule_by_hand`` and no other rule.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import DataError
from sfumato.judgments.judgments import Judgments
from sfumato.judgments.question import Statements, top_choice
from sfumato.names import find

# Turn answers into the measures that quality is judged by: accuracy, repeats, times.
#
# A measure describes; it drops nobody. The rules below do.


@dataclass(frozen=True, eq=False)
class Accuracy:
    """How often answers agree with the class known to be right."""

    answers: int
    """Answers about items whose right class is known."""
    top1: float
    """Share of them whose top choice is right; NaN where there are none."""
    top2: float
    """Share of them with the right class among the top two choices."""
    people: pl.DataFrame
    """``annotator``, ``answers``, ``top1``, ``top2``; one row per person."""


@dataclass(frozen=True, eq=False)
class Repeats:
    """How people answered when they saw the same item again."""

    pairs: pl.DataFrame
    """One row a repeat: ``annotator``, ``item``, ``first_row``, ``repeat_row`` (rows of the
    judgments), the top choices ``first`` and ``again``, ``changed`` (null where an answer has no
    single top choice) and ``points``, the change of the probability stated for an unchanged top
    choice in percentage points (null where none was stated)."""
    unpaired: int
    """Repeats without a first view by the same person."""
    changed: float
    """Share of pairs with another top choice; NaN where there are none."""
    points: float
    """Mean absolute change of the stated probability where the top choice stayed."""


@dataclass(frozen=True, eq=False)
class Times:
    """Seconds an answer took, over all and by person, item and place in the session."""

    answers: int
    """Answers whose time is known."""
    median: float
    mean: float
    people: pl.DataFrame
    """``annotator``, ``answers``, ``median``, ``mean``."""
    items: pl.DataFrame
    """``item``, ``answers``, ``median``, ``mean``."""
    places: pl.DataFrame
    """``order`` (place in the session, from 1), ``answers``, ``median``, ``mean``."""
    inputs: pl.DataFrame
    """``input``, ``answers``, ``median``, ``mean``: seconds spent on each input, where they were
    recorded (S2-83)."""


def accuracy(judgments: Judgments) -> Accuracy:
    """Share of answers whose top choice, and whose top two choices, contain the gold class.

    Every answer with a gold class counts, of whatever view: select first. A description and never
    a reason to drop somebody (S3-06): on items that people really see differently, accuracy
    calls the minority wrong.

    >>> from sfumato.judgments.question import ask
    >>> table = pl.DataFrame({
    ...     "item": ["1", "2"], "annotator": ["ann", "ann"], "gold": ["cat", "cat"],
    ...     "answer": ['["cat", "dog"]', '["dog", "cat"]'],
    ... })
    >>> seen = accuracy(Judgments(ask("ranking", ["cat", "dog", "deer"]), table))
    >>> seen.answers, seen.top1, seen.top2
    (2, 0.5, 1.0)
    """
    known = judgments.table.select(
        "annotator",
        contains_gold(judgments, among=1).alias("top1"),
        contains_gold(judgments, among=2).alias("top2"),
    ).drop_nulls("top1")
    people = (
        known.drop_nulls("annotator")
        .group_by("annotator", maintain_order=True)
        .agg(pl.len().alias("answers"), pl.col("top1", "top2").mean())
        .sort("annotator")
    )
    return Accuracy(len(known), _mean(known["top1"]), _mean(known["top2"]), people)


def repeats(judgments: Judgments) -> Repeats:
    """Every repeat beside the first view of the same person and item (S2-14).

    Of several first views the earliest row stands. On the raw CIFAR-10S export this gives 498
    pairs, 7.03 % changed and 6.10 points, which count a session twice that is in the file twice;
    without ``copies`` it is 496 pairs.
    """
    table = judgments.table.select("annotator", "item", "view").with_columns(
        pl.int_range(pl.len(), dtype=pl.Int64).alias("row"), pl.Series("choice", choices(judgments))
    )
    named = table.drop_nulls("annotator")
    again = named.filter(pl.col("view") == "repeat").drop("view")
    first = named.filter(pl.col("view") == "first").drop("view")
    first = first.unique(["annotator", "item"], keep="first", maintain_order=True)
    pairs = again.join(
        first, on=["annotator", "item"], suffix="_first", maintain_order="left"
    ).rename({"row_first": "first_row", "row": "repeat_row"})
    pairs = _compare(judgments, pairs)
    unpaired = int((table["view"] == "repeat").sum()) - len(pairs)
    return Repeats(pairs, unpaired, _mean(pairs["changed"]), _mean(pairs["points"]))


def times(judgments: Judgments) -> Times:
    """Seconds per answer: median and mean, over all and by person, item and place.

    >>> from sfumato.judgments.question import ask
    >>> table = pl.DataFrame({
    ...     "item": ["1", "2", "1"], "annotator": ["ann", "ann", "bob"], "order": [1, 2, 1],
    ...     "answer": ['"cat"', '"dog"', '"cat"'], "seconds": [2.0, 4.0, 9.0],
    ... })
    >>> taken = times(Judgments(ask("choose-one", ["cat", "dog"]), table))
    >>> taken.median, taken.mean, taken.places["median"].to_list()
    (4.0, 5.0, [5.5, 4.0])
    """
    known = judgments.table.select("annotator", "item", "order", "seconds").drop_nulls("seconds")
    return Times(
        len(known),
        _number(known["seconds"].median()),
        _mean(known["seconds"]),
        people=_times_by(known, "annotator"),
        items=_times_by(known, "item"),
        places=_times_by(known, "order"),
        inputs=_times_by(_input_times(judgments), "input"),
    )


def choices(judgments: Judgments) -> NDArray[np.int64]:
    """The top choice of every judgment as the place of its class; -1: none, or several."""
    return top_choice(judgments.statements)[judgments.statements.index]


def contains_gold(judgments: Judgments, *, among: int) -> pl.Series:
    """Whether the gold class is certainly among the first ``among`` choices; null without gold.

    Classes named in an order decide, otherwise the stated mass. Of classes that share a place none
    comes first, so that ``among=1`` says whether ``top_choice`` is right.
    """
    gold = _gold_places(judgments)  # (judgments,) -1: not known
    known = np.flatnonzero(gold >= 0)
    stated, n_classes = judgments.statements, len(judgments.question.classes)
    # People repeat themselves: look at each pair of an answer and a gold class once.
    pairs, which = np.unique(
        stated.index[known] * np.int64(n_classes) + gold[known], return_inverse=True
    )
    answer, right = pairs // n_classes, pairs % n_classes
    worth = _worth(stated, answer)  # (pairs, classes)
    of_gold = worth[np.arange(len(pairs)), right]  # (pairs,)
    as_good = (worth >= of_gold[:, None]).sum(axis=1)
    found = np.isfinite(of_gold) & (as_good <= among)
    rows = pl.Series("row", known, dtype=pl.Int64)
    return pl.repeat(None, len(judgments), dtype=pl.Boolean, eager=True).scatter(
        rows, pl.Series(found[which])
    )


def copies(judgments: Judgments) -> NDArray[np.bool_]:
    """Rows that stand in the file a second time: same person, item, view, answer and time.

    Rows with another gold class or another end of the session are none: which of them counts would
    depend on the order of the file. A time to the millisecond does not repeat by chance; where no
    time is recorded, two equal rows may be two equal answers and are not called copies.
    """
    table = judgments.table.select(
        "annotator", "seconds", "item", "view", "answer", "at", "gold", "completed"
    )
    known = pl.col("annotator").is_not_null() & pl.col("seconds").is_not_null()
    again = np.zeros(len(table), dtype=bool)
    # Few rows share person and time: compare only those in full.
    suspects = table.with_row_index("row").filter(
        known & pl.struct("annotator", "seconds").is_duplicated()
    )
    repeated = suspects.filter(~pl.struct(table.columns).is_first_distinct())
    again[repeated["row"].to_numpy()] = True
    return again


def _compare(judgments: Judgments, pairs: pl.DataFrame) -> pl.DataFrame:
    """Name the choices of each pair and say what changed."""
    clear = (pl.col("choice") >= 0) & (pl.col("choice_first") >= 0)
    pairs = pairs.with_columns(
        pl.when(clear).then(pl.col("choice") != pl.col("choice_first")).alias("changed")
    )
    points = 100 * np.abs(
        _stated_mass(judgments, pairs, "repeat_row", "choice")
        - _stated_mass(judgments, pairs, "first_row", "choice_first")
    )
    stayed = ~pl.col("changed")
    names = dict(enumerate(judgments.question.classes))
    return pairs.select(
        "annotator",
        "item",
        "first_row",
        "repeat_row",
        pl.col("choice_first").replace_strict(names, default=None).alias("first"),
        pl.col("choice").replace_strict(names, default=None).alias("again"),
        "changed",
        pl.when(stayed).then(pl.Series(points).fill_nan(None)).alias("points"),
    )


def _stated_mass(
    judgments: Judgments, pairs: pl.DataFrame, row: str, choice: str
) -> NDArray[np.float64]:
    stated = judgments.statements
    answer = stated.index[pairs[row].to_numpy()]
    return stated.mass[answer, pairs[choice].to_numpy()]


def _gold_places(judgments: Judgments) -> NDArray[np.int64]:
    """The place of each judgment's gold class; -1 where none is known."""
    classes = judgments.question.classes
    names = judgments.table["gold"]
    wrong = names.is_not_null() & ~names.is_in(list(classes))
    if wrong.any():
        item, name = judgments.table.filter(wrong).select("item", "gold").row(0)
        raise DataError(
            f"The gold class {name!r} of item {item!r} is not a class of the question. "
            f"Known: {', '.join(classes)}. Correct the column 'gold'."
        )
    places = {name: place for place, name in enumerate(classes)}
    return names.replace_strict(places, default=-1, return_dtype=pl.Int64).to_numpy()


def _worth(stated: Statements, answer: NDArray[np.int64]) -> NDArray[np.float64]:
    """How high each answer puts each class, for comparison only; -inf: not mentioned."""
    rank, mass = stated.rank[answer], stated.mass[answer]  # (answers, classes)
    by_rank = np.where(rank > 0, -rank, -np.inf)
    by_mass = np.where(mass > 0, mass, -np.inf)  # NaN > 0 is false
    return np.where((rank > 0).any(axis=1, keepdims=True), by_rank, by_mass)


def _input_times(judgments: Judgments) -> pl.DataFrame:
    """One row for each input of each answer: ``input`` and the ``seconds`` spent on it."""
    told = "input_seconds" in judgments.coded.columns
    texts = judgments.table["input_seconds"].drop_nulls() if told else ()
    spent = [pair for text in texts for pair in json.loads(text).items()]
    return pl.DataFrame(spent, schema={"input": pl.String, "seconds": pl.Float64}, orient="row")


def _times_by(known: pl.DataFrame, key: str) -> pl.DataFrame:
    seconds = pl.col("seconds")
    return (
        known.drop_nulls(key)
        .group_by(key, maintain_order=True)
        .agg(
            pl.len().alias("answers"),
            seconds.median().alias("median"),
            seconds.mean().alias("mean"),
        )
        .sort(key)
    )


def _mean(values: pl.Series) -> float:
    return _number(values.mean())


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else float("nan")


# Turn answers into findings: whom, or which answers, a named rule would leave out, and why.

FINDING = pl.Schema(
    {
        "what": pl.String(),  # "person" or "answer"
        "annotator": pl.String(),  # null: an answer whose author is not recorded
        "reason": pl.String(),
        "evidence": pl.List(pl.Int64()),  # rows of the judgments; for an answer its own row
    }
)
"""The columns of findings."""


@dataclass(frozen=True, eq=False)
class RuleFindings:
    """What a rule found: one row per person or answer, with the columns of ``FINDING``."""

    table: pl.DataFrame
    looked_at: int
    """Answers the rule could judge; 0 says that the data lack what the rule needs."""


@dataclass(frozen=True, eq=False)
class Rule:
    """A reason to leave people or answers out."""

    name: str
    version: str
    about: str
    """Who is found, in words, with the feature row it comes from."""
    settings: Mapping[str, float | str]
    finds: Callable[[Judgments, Mapping[str, float | str]], RuleFindings]


def rule_with(name: str, **settings: float) -> Rule:
    """The rule of that name, with some settings changed.

    >>> rule_with("too-fast", seconds=0.2).settings
    {'seconds': 0.2, 'share': 0.5}
    >>> rule_with("too-fast", second=0.2)
    Traceback (most recent call last):
        ...
    sfumato.errors.UnknownName: No setting of the rule 'too-fast' is called 'second'. Did you ...
    """
    rule = find(RULES, name, what="quality rule")
    for setting, value in settings.items():
        find(rule.settings, setting, what=f"setting of the rule {name!r}")
        if isinstance(value, bool) or not isinstance(value, int | float) or not value >= 0:
            raise DataError(
                f"The setting {setting!r} of the rule {name!r} must be a number of at least 0, "
                f"not {value!r}."
            )
    return replace(rule, settings={**rule.settings, **settings})


def rule_by_hand(reasons: Mapping[str, str]) -> Rule:
    """A rule for people named by hand, each with its reason (S4-07: a reported display fault).

    >>> rule_by_hand({"ann": "reported that no picture was shown"}).name
    'reported'
    """
    return Rule("reported", "1", "people named by hand, with a reason (S4-07)", reasons, _reported)


def _checks(judgments: Judgments, settings: Mapping[str, float | str]) -> RuleFindings:
    asked = _asked_checks(judgments)
    floor = float(settings["floor"])
    right = pl.col("answers") - pl.col("against")
    found = _by_person(asked).filter(right / pl.col("answers") < floor)
    reason = pl.format(
        f"right on {{}} of {{}} checks ({{}} %), below {_percent(floor)} %",
        right,
        "answers",
        _share(right),
    )
    return RuleFindings(_people(found, reason), len(asked))


def _gold(judgments: Judgments, settings: Mapping[str, float | str]) -> RuleFindings:
    asked = _asked_checks(judgments)
    tolerated = float(settings["tolerated"])
    found = _by_person(asked).filter(pl.col("against") > tolerated)
    reason = pl.format(f"failed {{}} of {{}} checks, more than {tolerated:g}", "against", "answers")
    return RuleFindings(_people(found, reason), len(asked))


def _completed(judgments: Judgments, settings: Mapping[str, float | str]) -> RuleFindings:
    known = _counted(judgments, against=~judgments.table["completed"]).drop_nulls("against")
    found = _by_person(known).filter(pl.col("against") == pl.col("answers"))
    reason = pl.format("never reached the end of a session ({} answers)", "answers")
    return RuleFindings(_people(found, reason), len(known))


def _cifar10s(judgments: Judgments, settings: Mapping[str, float | str]) -> RuleFindings:
    """S3-05 and C11: formal errors first; accuracy only for those with exactly one."""
    if judgments.question.kind != "top-two":
        raise DataError(
            "The CIFAR-10S rules read answers to a 'top-two' question, but these answer a "
            f"{judgments.question.kind!r} question. Leave these rules out."
        )
    floor, tolerated = float(settings["floor"]), float(settings["tolerated"])
    answers = _offences(judgments)
    kinds = ("out_of_range", "ruled_out", "no_percent")
    people = _by_person(answers, pl.col(*kinds).sum(), pl.col("right").mean())
    inaccurate = pl.col("right") < floor  # null without gold: then accuracy drops nobody
    found = people.filter(
        (pl.col("against") > tolerated)
        | (pl.col("out_of_range") > float(settings["tolerated_out_of_range"]))
        | ((pl.col("against") == 1) & inaccurate)
    )
    reason = pl.format(
        "{} of {} answers in error (probability out of range {}, own choice ruled out {}, top "
        f"choice without probability {{}}; {tolerated:g} tolerated); accuracy {{}}",
        "against",
        "answers",
        *kinds,
        pl.format(f"{{}} % (floor {_percent(floor)} %)", _percent_text(pl.col("right"))).fill_null(
            "not known"
        ),
    )
    return RuleFindings(_people(found, reason), len(answers))


def _too_fast(judgments: Judgments, settings: Mapping[str, float | str]) -> RuleFindings:
    limit = float(settings["seconds"])
    return _timed(judgments, settings, judgments.table["seconds"] < limit, f"under {limit:g} s")


def _too_slow(judgments: Judgments, settings: Mapping[str, float | str]) -> RuleFindings:
    limit = float(settings["seconds"])
    return _timed(judgments, settings, judgments.table["seconds"] > limit, f"over {limit:g} s")


def _straight_lining(judgments: Judgments, settings: Mapping[str, float | str]) -> RuleFindings:
    answers = _in_order(
        _counted(
            judgments,
            answer=pl.Series(judgments.statements.index),
            choice=pl.Series(choices(judgments)),
            order=judgments.table["order"],
        )
    )
    found = [_same_answer_running(judgments, answers, least=float(settings["run"]))]
    if judgments.question.kind != "typicality":  # there the class is shown, not chosen
        found.append(_always_one_class(judgments, answers, least=float(settings["always"])))
    return RuleFindings(pl.concat(found), len(answers))


def _repeat_consistency(judgments: Judgments, settings: Mapping[str, float | str]) -> RuleFindings:
    share = float(settings["share"])
    pairs = repeats(judgments).pairs.drop_nulls("changed")
    pairs = pairs.filter(~pl.col("repeat_row").is_in(np.flatnonzero(copies(judgments))))
    both = pl.concat_list("first_row", "repeat_row").alias("row")
    people = _by_person(pairs.with_columns(both, against=pl.col("changed")))
    found = people.filter(
        (pl.col("answers") >= float(settings["least"]))
        & (pl.col("against") / pl.col("answers") > share)
    ).with_columns(pl.col("evidence").list.eval(pl.element().explode()))
    reason = pl.format(
        f"another top choice on {{}} of {{}} repeats ({{}} %), more than {_percent(share)} %",
        "against",
        "answers",
        _share(pl.col("against")),
    )
    return RuleFindings(_people(found, reason), len(pairs))


def _reported(judgments: Judgments, settings: Mapping[str, float | str]) -> RuleFindings:
    people = dict.fromkeys(judgments.annotators)
    for name in settings:
        find(people, name, what="annotator of these judgments")
    named = pl.DataFrame(
        {"annotator": list(settings), "reason": [str(reason) for reason in settings.values()]},
        schema={"annotator": pl.String, "reason": pl.String},
    )
    answers = _counted(judgments).join(named, on="annotator", maintain_order="left")
    found = answers.group_by("annotator", "reason", maintain_order=True).agg(evidence=pl.col("row"))
    return RuleFindings(_people(found, pl.col("reason")), len(judgments))


RULES: dict[str, Rule] = {
    "checks": Rule(
        "checks",
        "1",
        "people right on less than a floor of the attention checks (S0-05)",
        {"floor": 0.75},
        _checks,
    ),
    "gold": Rule(
        "gold",
        "1",
        "people who failed more checks than are tolerated, by default any (S4-06)",
        {"tolerated": 0},
        _gold,
    ),
    "cifar10s-paper": Rule(
        "cifar10s-paper",
        "1",
        "people with more than two formal errors in answers to a top-two question, or with "
        "exactly one and low accuracy: the rule of the CIFAR-10S paper (S3-05)",
        {"tolerated": 2, "tolerated_out_of_range": 2, "floor": 0.75},
        _cifar10s,
    ),
    "cifar10s-released": Rule(
        "cifar10s-released",
        "1",
        "people with more than one formal error, any probability out of range, or exactly one "
        "error and low accuracy: the rule the CIFAR-10S data were released under (C11)",
        {"tolerated": 1, "tolerated_out_of_range": 0, "floor": 0.75},
        _cifar10s,
    ),
    "completed": Rule(
        "completed",
        "1",
        "people who never reached the end of a session (S2-13)",
        {},
        _completed,
    ),
    "too-fast": Rule(
        "too-fast",
        "1",
        "answers given faster than a person can see the picture and press a key, and people "
        "with more than a share of them",
        {"seconds": 0.4, "share": 0.5},
        _too_fast,
    ),
    "too-slow": Rule(
        "too-slow",
        "1",
        "answers that took so long that something else was going on, and people with more than "
        "a share of them",
        {"seconds": 600.0, "share": 0.5},
        _too_slow,
    ),
    "straight-lining": Rule(
        "straight-lining",
        "1",
        "people who gave the same answer many times in a row, or chose one class always; raise "
        "the settings where one answer is common",
        {"run": 20, "always": 20},
        _straight_lining,
    ),
    "repeat-consistency": Rule(
        "repeat-consistency",
        "1",
        "people with another top choice on more than a share of their repeats, of which there "
        "must be at least some (S2-14)",
        {"share": 0.5, "least": 2},
        _repeat_consistency,
    ),
}
"""Every rule by name. Change settings with ``rule_with``."""


def _counted(judgments: Judgments, **columns: pl.Series) -> pl.DataFrame:
    """Answers that count for or against people: ``annotator``, ``view``, ``row``, ``columns``."""
    counts = (pl.col("view") != "practice") & pl.col("annotator").is_not_null()
    return (
        judgments.table.select("annotator", "view")
        .with_columns(pl.int_range(pl.len(), dtype=pl.Int64).alias("row"), **columns)
        .filter(counts & ~pl.Series(copies(judgments)))
    )


def _asked_checks(judgments: Judgments) -> pl.DataFrame:
    wrong = ~contains_gold(judgments, among=1)
    return (
        _counted(judgments, against=wrong).filter(pl.col("view") == "check").drop_nulls("against")
    )


def _offences(judgments: Judgments) -> pl.DataFrame:
    """The three errors of S3-05 in every answer; an answer counts once however wrong it is.

    The released data speak for this way of counting: under a rule that drops two errors they keep
    people whose one faulty answer rules out both of its choices.
    """
    stated = judgments.statements
    chosen = top_choice(stated)  # (answers,) a top-two answer always names one
    out_of_range = stated.oddities["out-of-range"]
    ruled_out = stated.oddities["chosen-and-ruled-out"]
    no_percent = np.isnan(stated.mass[np.arange(len(chosen)), chosen]) & ~out_of_range
    return _counted(
        judgments,
        out_of_range=pl.Series(out_of_range[stated.index]),
        ruled_out=pl.Series(ruled_out[stated.index]),
        no_percent=pl.Series(no_percent[stated.index]),
        against=pl.Series((out_of_range | ruled_out | no_percent)[stated.index]),
        right=contains_gold(judgments, among=1),
    )


def _timed(
    judgments: Judgments, settings: Mapping[str, float | str], against: pl.Series, words: str
) -> RuleFindings:
    share = float(settings["share"])
    known = _counted(judgments, against=against).drop_nulls("against")
    people = _by_person(known).filter(pl.col("against") / pl.col("answers") > share)
    reason = pl.format(
        f"{{}} of {{}} answers ({{}} %) {words}, more than {_percent(share)} %",
        "against",
        "answers",
        _share(pl.col("against")),
    )
    # Single answers need no author, and a copy of a dropped answer must go with it.
    single = (
        judgments.table.select("annotator", "view", "seconds")
        .with_columns(pl.int_range(pl.len(), dtype=pl.Int64).alias("row"), against=against)
        .filter(pl.col("against") & (pl.col("view") != "practice"))
        .filter(~pl.col("annotator").is_in(people["annotator"].implode()).fill_null(False))
        .with_columns(evidence=pl.concat_list("row"))
    )
    seconds = pl.format(f"answered in {{}} s, {words}", pl.col("seconds").round(2))
    found = pl.concat([_people(people, reason), _findings("answer", single, seconds)])
    return RuleFindings(found, int(against.count()))


def _in_order(answers: pl.DataFrame) -> pl.DataFrame:
    """Each person's answers as they gave them; in order of the file where places are no order."""
    places = pl.col("order")
    distinct = (places.null_count() == 0) & (places.n_unique() == pl.len())
    place = pl.when(distinct.over("annotator")).then(places).otherwise(pl.col("row"))
    return answers.with_columns(place=place).sort("annotator", "place")


def _same_answer_running(
    judgments: Judgments, answers: pl.DataFrame, *, least: float
) -> pl.DataFrame:
    length = pl.col("length")
    found = (
        answers.with_columns(run=pl.col("answer").rle_id())
        .with_columns(length=pl.len().over("annotator", "run"))
        .filter(length >= least)
        .group_by("annotator")
        .agg(
            length.max(),
            evidence=pl.col("row"),
            example=pl.col("row").filter(length == length.max()).first(),
        )
    )
    said = judgments.table["answer"].gather(found["example"]).str.slice(0, 60)
    reason = pl.format(
        f"gave the same answer {{}} times in a row ({least:g} are too many): {{}}", length, "said"
    )
    return _people(found.with_columns(said=said), reason)


def _always_one_class(judgments: Judgments, answers: pl.DataFrame, *, least: float) -> pl.DataFrame:
    choice = pl.col("choice")
    found = (
        answers.group_by("annotator")
        .agg(pl.len().alias("answers"), choice.min(), evidence=pl.col("row"), last=choice.max())
        .filter((pl.col("answers") >= least) & (choice == pl.col("last")) & (choice >= 0))
    )
    names = dict(enumerate(judgments.question.classes))
    reason = pl.format(
        "chose {} in all of {} answers", choice.replace_strict(names, default=None), "answers"
    )
    return _people(found, reason)


def _by_person(answers: pl.DataFrame, *more: pl.Expr) -> pl.DataFrame:
    """For each person: how many ``answers``, how many ``against``, and which rows those are."""
    against = pl.col("against")
    return answers.group_by("annotator").agg(
        pl.len().cast(pl.Int64).alias("answers"),
        *more,
        against.sum().cast(pl.Int64),
        evidence=pl.col("row").filter(against),
    )


def _people(found: pl.DataFrame, reason: pl.Expr) -> pl.DataFrame:
    return _findings("person", found.sort("annotator"), reason)


def _findings(what: str, found: pl.DataFrame, reason: pl.Expr) -> pl.DataFrame:
    return found.select(
        pl.lit(what).alias("what"), "annotator", reason.alias("reason"), "evidence"
    ).cast(FINDING)


def _share(part: pl.Expr) -> pl.Expr:
    return _percent_text(part / pl.col("answers"))


def _percent_text(share: pl.Expr) -> pl.Expr:
    return (100 * share).round(1).cast(pl.String).str.strip_suffix(".0")


def _percent(share: float) -> str:
    return f"{100 * share:g}"
