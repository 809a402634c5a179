"""From second looks to whether answers that others do not share are error or variation.

An answer that nobody else gave may be a slip, or another way of seeing it. Where its giver looked
again, without being told what others said, one can know: who keeps it means it. Without second
looks nothing can be said, however many people disagree.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.judgments.judgments import Judgments, mark_selected
from sfumato.stats import percentile_interval

DRAWS = 1000
FEW_PEOPLE = 10
FEW_ANSWERS = 10
NOTHING = (
    "No answer that others do not share was looked at again by its giver, so nothing can be said "
    "about whether such answers are error or variation: ask some items twice."
)


def second_looks(judgments: Judgments, *, rng: np.random.Generator) -> dict[str, Any]:
    """Share of answers that their own givers kept at the second look, shared by others or not.

    An answer is one class that a person put first, or in a set, about an item that others
    answered too. Intervals are over items and people at once. ``sentence`` says what follows.
    """
    table = _looks(judgments)
    found: dict[str, Any] = {}
    groups = {"unshared": ~table["shared"], "shared": table["shared"]}
    weights = _weights(table, rng)
    for name, rows in groups.items():
        found[name] = _kept(table["kept"], rows, weights)
    classes = judgments.question.classes
    found["classes"] = {
        name: _kept(table["kept"], groups["unshared"] & (table["label"] == code), weights)
        for code, name in enumerate(classes)
        if (groups["unshared"] & (table["label"] == code)).any()
    }
    found["people"] = len(np.unique(table["person"]))
    found["sentence"] = _sentence(found)
    return found


def _looks(judgments: Judgments) -> dict[str, NDArray[Any]]:
    """One row per answer that was looked at again: whose, what, shared, kept."""
    item = judgments.coded.coded("item").code.astype(np.int64)
    person = judgments.coded.coded("annotator").code.astype(np.int64)
    chosen = judgments.statements.rank[judgments.statements.index] == 1  # (answers, classes)
    first, again = mark_selected(judgments), judgments.in_view("repeat") & (person >= 0)
    key = item * (person.max(initial=0) + 1) + person
    given = np.zeros((item.max(initial=-1) + 1, chosen.shape[1]), dtype=np.int64)
    np.add.at(given, item[first], chosen[first])
    others = np.bincount(item[first], minlength=len(given)) - 1
    kept_by = np.zeros((key.max(initial=0) + 1, chosen.shape[1]), dtype=bool)
    np.logical_or.at(kept_by, key[again], chosen[again])
    looked = first & np.isin(key, key[again]) & (person >= 0)
    row, label = np.nonzero(chosen & (looked & (others[item] > 0))[:, None])
    return {
        "item": item[row],
        "person": person[row],
        "label": label,
        "shared": given[item[row], label] > 1,
        "kept": kept_by[key[row], label],
    }


def _weights(table: dict[str, NDArray[Any]], rng: np.random.Generator) -> NDArray[np.float64]:
    """Exponential weights of items times those of people, (draws, answers)."""
    codes = (np.unique(table[name], return_inverse=True)[1] for name in ("item", "person"))
    weights = np.ones((DRAWS, len(table["item"])))
    for code in codes:
        weights *= rng.standard_exponential((DRAWS, int(code.max(initial=-1)) + 1))[:, code]
    return weights


def _kept(
    kept: NDArray[np.bool_], rows: NDArray[np.bool_], weights: NDArray[np.float64]
) -> dict[str, Any]:
    answers = int(rows.sum())
    if not answers:
        return {"answers": 0, "kept": None, "low": None, "high": None}
    mine = weights[:, rows]
    # half an answer of each kind: that all were kept does not show that all would be
    half = np.random.default_rng(answers).gamma(0.5, size=(2, len(mine)))
    drawn = (mine @ kept[rows] + half[0]) / (mine.sum(axis=1) + half.sum(axis=0))
    low, high = percentile_interval(drawn)
    return {
        "answers": answers,
        "kept": float(kept[rows].mean()),
        "low": float(low),
        "high": float(high),
    }


def _sentence(found: dict[str, Any]) -> str:
    alone, shared = found["unshared"], found["shared"]
    if alone["kept"] is None:
        return NOTHING
    few = f" They are of {found['people']} people only." if found["people"] < FEW_PEOPLE else ""
    ends = f"{alone['low']:.0%} to {alone['high']:.0%}"
    beside = "" if shared["kept"] is None else f", of shared ones {shared['kept']:.0%}"
    return (
        f"Of {alone['answers']:,} answers that nobody else gave, their givers kept "
        f"{alone['kept']:.0%} ({ends}) at a second look{beside}: "
        f"so much is variation rather than a slip, and {1 - alone['kept']:.0%} was taken back.{few}"
    )


def look_lines(found: dict[str, Any]) -> Iterator[tuple[str, float, float, float, int]]:
    """Name, share, interval and number of each group, and of classes that are not too few."""
    groups = {
        "kept of what others share": found["shared"],
        "kept of what nobody else said": found["unshared"],
        **{
            f"… of these: {name}": each
            for name, each in found["classes"].items()
            if each["answers"] >= FEW_ANSWERS
        },
    }
    for name, each in groups.items():
        if each["kept"] is not None:
            yield name, each["kept"], each["low"], each["high"], each["answers"]
