"""Turn answers about some items into answers about all: people's, then those of simulated ones.

People were asked about some items; labels of all items are at hand (votes, hard labels, a
model's predictions). Simulated people are fitted to what the real ones said and answer about
the items that nobody was asked about (S2-37). What people said stays as it is; what was made up
says so in the column ``simulated``, in its annotators' names and in the provenance.
"""

import hashlib
from collections.abc import Callable

import polars as pl

from sfumato.errors import DataError
from sfumato.judgments.comparisons import Comparisons
from sfumato.judgments.judgments import Judgments, select
from sfumato.labels.labelset import CrowdLabels, LabelSet
from sfumato.labels.simulate.crowd import SIMULATED
from sfumato.names import sorted_names
from sfumato.provenance import Step, is_simulated

__all__ = ["check_extendable", "extend", "items_without_answers", "simulated_items"]

Answer = Callable[[LabelSet], Judgments | Comparisons]
"""Lets simulated people answer about the items of a label set."""


def extend(judgments: Judgments, reference: LabelSet, answer: Answer) -> Judgments:
    """The judgments, untouched, and below them simulated ones about the other items (S2-37).

    ``answer`` are simulated people, most likely fitted to the judgments; they are asked about
    the items of ``reference`` without a judgment that a label could be made from.
    """
    check_extendable(judgments)
    wanted = items_without_answers(judgments, reference)
    made = answer(reference.take(wanted))
    if not isinstance(made, Judgments) or made.question.kind != judgments.question.kind:
        found = made.question.kind if isinstance(made, Judgments) else "comparisons"
        raise DataError(
            f"Answers to {judgments.question.kind} cannot be extended by simulated answers to "
            f"{found}."
        )
    step = Step(
        "extend by simulated answers",
        {
            "items of people": select(judgments).table["item"].n_unique(),
            "answers of people": len(judgments),
            "simulated items": len(wanted),
            "simulated answers": len(made),
            "simulated items, SHA-256": _fingerprint(wanted),
        },
        simulated=True,
    )
    # the fitted people bring the history of the judgments with them
    added = [one for one in made.provenance if one not in judgments.provenance]
    return Judgments(
        judgments.question,
        pl.concat([judgments.table, made.table]),
        judgments.rejected,
        judgments.remarks,
        (*judgments.provenance, *added, step),
    )


def check_extendable(judgments: Judgments) -> None:
    """Refuse answers that are simulated already: simulated people would be fitted to themselves."""
    if is_simulated(judgments.provenance) or judgments.table["simulated"].any():
        raise DataError(
            "These judgments hold simulated answers already. Extend what people said, with as "
            "many simulated answers an item as are wanted."
        )


def items_without_answers(judgments: Judgments, reference: LabelSet) -> list[str]:
    """The items of the reference that no label can be made for from the judgments."""
    judged = set(select(judgments).table["item"].unique().to_list())
    wanted = [item for item in reference.items if item not in judged]
    if not wanted:
        raise DataError(
            f"All {len(reference)} items of the reference have answers of people; there is "
            "nothing to extend. Give labels of further items."
        )
    return wanted


def simulated_items(answers: Judgments | CrowdLabels) -> tuple[str, ...]:
    """The items about which only simulated people answered, in natural order.

    Judgments are told apart by the column ``simulated``; rows of labels by their annotators'
    names.
    """
    if isinstance(answers, Judgments):
        table = answers.table.select("item", made_up=pl.col("simulated").fill_null(False))
    else:
        made_up = [name.startswith(SIMULATED) for name in answers.annotators] + [False]
        table = pl.DataFrame(
            {
                "item": [answers.items[place] for place in answers.item],
                "made_up": [made_up[code] for code in answers.annotator],  # -1: nobody known
            },
            schema={"item": pl.String, "made_up": pl.Boolean},
        )
    found = table.group_by("item").agg(pl.col("made_up").all()).filter("made_up")
    return tuple(sorted_names(found["item"].to_list()))


def _fingerprint(items: list[str]) -> str:
    return hashlib.sha256("\n".join(items).encode()).hexdigest()
