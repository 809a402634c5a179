"""Turn answers into the few numbers that a simulation is fitted to and judged by."""

from typing import NamedTuple, assert_never

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import DataError
from sfumato.judgments.judgments import Judgments
from sfumato.judgments.statements import Statements, top_choice
from sfumato.labels.build import codes
from sfumato.labels.build.top_two import Rule
from sfumato.labels.simulate.yes_no_unsure import answer_rates

__all__ = ["TwoChoices", "compare_marginals", "over_full", "two_choices"]

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


class TwoChoices(NamedTuple):
    """What each judgment chose, how sure it was, and what it left open."""

    first: NDArray[np.int64]  # (judgments,) class chosen as most probable
    second: NDArray[np.int64]  # (judgments,) another class chosen as second; -1: none
    top1: NDArray[np.float64]  # (judgments,) probability of the first; NaN: no usable number
    top2: NDArray[np.float64]  # (judgments,) probability of the second; NaN: no usable number
    named: NDArray[np.bool_]  # (judgments,) whether a second choice was made
    possible: NDArray[np.int64]  # (judgments,) number of classes not ruled out

    def take(self, rows: NDArray[np.bool_] | NDArray[np.int64]) -> "TwoChoices":
        """The judgments for which ``rows`` is true, or at the positions it holds."""
        return TwoChoices(
            self.first[rows],
            self.second[rows],
            self.top1[rows],
            self.top2[rows],
            self.named[rows],
            self.possible[rows],
        )


def two_choices(judgments: Judgments, rule: Rule = "consistent") -> TwoChoices:
    """Read top-two answers; a 0 typed for the chosen class is no usable number.

    The rules are those of the labels. ``consistent``: who names one class twice names no
    second, and a chosen class is possible. ``released``: the second number counts whichever
    class it is for, and only what was ruled out counts against a class, as in the figures
    published for CIFAR-10S (S2-31…S2-34).
    """
    if judgments.question.kind != "top-two":
        raise DataError(
            f"The simulation of two choices is fitted to answers of the kind top-two, "
            f"but the question was {judgments.question.kind}."
        )
    stated = judgments.statements
    rows = np.arange(len(stated.mass))
    first = (stated.rank == 1).argmax(axis=1)
    other = stated.rank == 2  # (answers, classes)
    second = np.where(other.any(axis=1), other.argmax(axis=1), -1)
    top1 = stated.mass[rows, first]
    top1 = np.where(top1 > 0, top1, np.nan)
    top2 = np.where(second >= 0, stated.mass[rows, second], np.nan)
    top2, named, possible = _by_rule(stated, top2, second >= 0, rule)
    return TwoChoices(first, second, top1, top2, named, possible).take(stated.index)


def over_full(choices: TwoChoices) -> NDArray[np.bool_]:
    """Which judgments give their two choices more than 100 % together."""
    return np.where(choices.named, choices.top1 + choices.top2, np.nan) > 1 + 1e-9


def compare_marginals(
    real: Judgments, simulated: Judgments, *, rule: Rule = "consistent"
) -> pl.DataFrame:
    """Each marginal of real answers beside that of simulated ones, in the simulators' own terms.

    Columns ``marginal``, ``real``, ``simulated``. Top-two answers are compared by S2-31…S2-34,
    which ``rule`` reads; votes and yes/no/unsure by their rates and how much people agree. Only
    the same items, equally often, can be compared: what is said depends on the item.
    """
    if real.question.kind != simulated.question.kind:
        raise DataError(
            f"Answers to {real.question.kind} cannot be compared with simulated answers to "
            f"{simulated.question.kind}."
        )
    if set(real.question.classes) != set(simulated.question.classes):
        odd = sorted(set(real.question.classes) ^ set(simulated.question.classes))
        raise DataError(
            f"The real and the simulated answers are about different classes: {odd[0]!r} is in "
            "one and not in the other."
        )
    ours, theirs = (_marginals(judgments, rule) for judgments in (real, simulated))
    return pl.DataFrame(
        {
            "marginal": list(ours),
            "real": list(ours.values()),
            "simulated": [theirs[name] for name in ours],
        }
    )


def _marginals(judgments: Judgments, rule: Rule) -> dict[str, float]:
    match judgments.question.kind:
        case "top-two":
            return _of_two_choices(two_choices(judgments, rule))
        case "choose-one":
            return _of_votes(judgments)
        case "yes-no-unsure":
            return _of_thresholds(judgments)
        case other:
            raise DataError(
                f"Nobody simulates answers to {other}; answers to choose-one, top-two and "
                "yes-no-unsure can be compared."
            )


def _by_rule(
    stated: Statements, top2: NDArray[np.float64], named: NDArray[np.bool_], rule: Rule
) -> tuple[NDArray[np.float64], NDArray[np.bool_], NDArray[np.int64]]:
    match rule:
        case "consistent":
            excluded = stated.ruled_out & (stated.rank == 0)
        case "released":
            excluded = stated.ruled_out
            twice = stated.oddities["same-class-twice"]
            top2, named = np.where(twice, stated.said_again, top2), named | twice
        case _:
            assert_never(rule)
    return top2, named, (~excluded).sum(axis=1)


def _of_two_choices(choices: TwoChoices) -> dict[str, float]:
    return {
        **_spread("top-1 probability", choices.top1),
        "share naming an alternative": float(choices.named.mean()),
        **_spread("top-2 probability", choices.top2[choices.named]),
        "possible classes, mean": float(choices.possible.mean()),
        **{
            f"share with {count} possible": float((choices.possible == count).mean())
            for count in (1, 2, 3, 4)
        },
        "share stating more than 100 %": float(over_full(choices).mean()),
    }


def _of_votes(judgments: Judgments) -> dict[str, float]:
    stated = judgments.statements
    said = top_choice(stated)[stated.index]
    items, item = codes(judgments.table["item"])
    width = len(judgments.question.classes)
    votes = np.bincount(item * width + said, minlength=len(items) * width).reshape(-1, width)
    totals = votes.sum(axis=1)
    several = totals >= 2
    pairs = (votes * (votes - 1)).sum(axis=1)[several] / (totals * (totals - 1))[several]
    shares = votes.sum(axis=0) / votes.sum()
    named = zip(judgments.question.classes, shares.tolist(), strict=True)
    return {
        **{f"share of votes for {name}": share for name, share in named},
        "share of the most voted class, mean": float((votes.max(axis=1) / totals).mean()),
        "chance that two votes on an item agree": float(pairs.mean()) if len(pairs) else np.nan,
        "share of items with one class only": float((votes.max(axis=1) == totals).mean()),
    }


def _of_thresholds(judgments: Judgments) -> dict[str, float]:
    stated = judgments.statements
    rates = answer_rates(judgments)
    unsure = pl.DataFrame(
        {
            "annotator": judgments.table["annotator"],
            "unsure": stated.unsure[stated.index].mean(axis=1),
        }
    )
    by_person = unsure.drop_nulls().group_by("annotator").mean()["unsure"].to_numpy()
    return {
        **{f"rate of {name}": rate for name, rate in rates._asdict().items()},
        "share of none of these": float(stated.none_of_these[stated.index].mean()),
        "unsure rate, standard deviation between people": float(by_person.std())
        if len(by_person)
        else np.nan,
    }


def _spread(what: str, values: NDArray[np.float64]) -> dict[str, float]:
    known = values[~np.isnan(values)]
    names = [f"{what}, {100 * level:.0f} % quantile" for level in QUANTILES]
    if not len(known):
        return dict.fromkeys([f"{what}, mean", *names], float("nan"))
    quantiles = np.quantile(known, QUANTILES).tolist()
    return {f"{what}, mean": float(known.mean()), **dict(zip(names, quantiles, strict=True))}
