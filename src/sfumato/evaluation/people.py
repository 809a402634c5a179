"""Turn people's own answers and what was expected of each into scores: is the person predicted?

A prediction may be one distribution for all (``LabelSet``) or one for each item and person
(``CrowdLabels``). LeWiDi calls this perspectivist evaluation.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import DataError
from sfumato.evaluation.trials import ArmTrials, MetricRows, Trial, score_arm
from sfumato.labels.compare import SMALLEST
from sfumato.labels.labelset import NOT_RECORDED, CrowdLabels, LabelSet
from sfumato.names import find
from sfumato.scores import Estimate
from sfumato.stats import mean_of_defined

PerAnswer = NDArray[np.float64]  # (answers,)
Rows = NDArray[np.float64]  # (answers, classes)

WITHOUT_NAMES = "best without names"
"""The arm that knows what people say of an item, but not who says what: no model that predicts the
same of everybody has a lower loss."""


def log_losses(said: NDArray[np.int64], expected: Rows, values: PerAnswer | None) -> PerAnswer:
    """−log of what was expected of the answer given."""
    chance = expected[np.arange(len(said)), said]
    return -np.log(np.maximum(chance, SMALLEST))


def misses(said: NDArray[np.int64], expected: Rows, values: PerAnswer | None) -> PerAnswer:
    """1 where another class than the answer is expected most; the first among equals."""
    return (expected.argmax(axis=1) != said).astype(np.float64)


def distances(said: NDArray[np.int64], expected: Rows, values: PerAnswer | None) -> PerAnswer:
    """|answer − middle of what is expected|, over the number of points.

    LeWiDi's scorer divides by the number of points of the scale, not by its length.
    """
    if values is None:
        raise DataError(
            "The normalised distance needs answers on a scale, and nobody says what the classes "
            "count. Read the answers as a rating."
        )
    order = np.argsort(values)
    half = np.cumsum(expected[:, order], axis=1) >= 0.5 - 1e-9
    middle = values[order][half.argmax(axis=1)]
    step = np.ptp(values) / (len(values) - 1)  # points that are one apart count as in LeWiDi
    return np.abs(values[said] - middle) / (step * len(values))


PERSON_METRICS = {
    "person_log_loss": log_losses,
    "error_rate": misses,
    "normalised_distance": distances,
}
"""How single answers are scored, by the name of the metric."""


def score_people(
    answers: CrowdLabels,
    predictions: Mapping[str, LabelSet | CrowdLabels],
    *,
    metrics: Sequence[str] | None = None,
    by_person: bool = False,
    rng: np.random.Generator,
    draws: int = 1000,
) -> list[Estimate]:
    """How well each person's own answer is predicted, with 95 % intervals over items.

    An item counts once, however many people answered about it. ``predictions`` are by arm; the arm
    ``WITHOUT_NAMES`` stands below them. With ``by_person`` each person stands
    in ``against`` too.

    >>> who = [0, 0, 1], [0, 1, 0]
    >>> votes = CrowdLabels(("a", "b"), ("p", "q"), ("x", "y"), *who, said=[0, 1, 1])
    >>> model = LabelSet(("a", "b"), ("x", "y"), [[0.75, 0.25], [0.25, 0.75]])
    >>> found = score_people(votes, {"ours": model}, rng=np.random.default_rng(0))
    >>> [(row.metric, round(row.value, 3)) for row in found if row.arm == "ours"]
    [('person_log_loss', 0.562), ('error_rate', 0.25)]
    """
    said = answers.votes
    if said is None:
        raise DataError(
            "Only single answers can be predicted or missed, and some of these are distributions. "
            "Take each person's top choice first (the recipe 'votes')."
        )
    asked = metrics or person_metrics(answers)
    for name in asked:
        find(PERSON_METRICS, name, what="metric of single answers")
    arms = {**predictions, WITHOUT_NAMES: answers.mean()}
    found = []
    for arm, model in arms.items():
        trial = person_trial(arm, answers, model, asked, by_person=by_person)
        found += score_arm(ArmTrials(arm, {0: [trial]}), rng=rng, draws=draws)
    return [replace(row, seeds=()) for row in found]


def person_metrics(answers: CrowdLabels) -> list[str]:
    """The metrics that these answers have: the distance needs a scale."""
    return [name for name in PERSON_METRICS if answers.values or name != "normalised_distance"]


def person_trial(
    arm: str,
    answers: CrowdLabels,
    model: LabelSet | CrowdLabels,
    metrics: Sequence[str],
    *,
    by_person: bool = False,
) -> Trial:
    """What one model expected of these answers, which are single choices."""
    said = answers.votes
    assert said is not None
    return _trial(answers, said, _expected(arm, answers, model), metrics, by_person, model)


def _expected(arm: str, answers: CrowdLabels, model: LabelSet | CrowdLabels) -> Rows:
    """What was expected of every answer, in its order."""
    if set(model.classes) != set(answers.classes):
        odd = sorted(set(model.classes) ^ set(answers.classes))
        raise DataError(f"{arm!r} and the answers differ in their classes, first in {odd[0]!r}.")
    columns = [model.classes.index(name) for name in answers.classes]
    if isinstance(model, LabelSet):
        judged = np.unique(answers.item)
        rows_of_items = model.take([answers.items[at] for at in judged]).probs
        return rows_of_items[np.searchsorted(judged, answers.item)][:, columns]
    place = {
        (model.items[item], model.annotators[person]): row
        for row, (item, person) in enumerate(zip(model.item, model.annotator, strict=True))
        if person != NOT_RECORDED
    }
    rows = []
    for item, person in zip(answers.item, answers.annotator, strict=True):
        who = None if person == NOT_RECORDED else answers.annotators[person]
        row = place.get((answers.items[item], who or ""))
        if row is None:
            raise DataError(
                f"{arm!r} predicts nothing of {who or 'an unnamed person'!r} about item "
                f"{answers.items[item]!r}; a prediction for each answer is needed."
            )
        rows.append(row)
    return model.probs[rows][:, columns]


def _trial(
    answers: CrowdLabels,
    said: NDArray[np.int64],
    expected: Rows,
    metrics: Sequence[str],
    by_person: bool,
    model: LabelSet | CrowdLabels,
) -> Trial:
    """Every metric by item: the mean over the answers about it."""
    judged = np.unique(answers.item)
    place = np.searchsorted(judged, answers.item)
    values = None if answers.values is None else np.array(answers.values)
    scored = {name: PERSON_METRICS[name](said, expected, values) for name in metrics}

    def means(each: PerAnswer, chosen: NDArray[np.bool_]) -> NDArray[np.float64]:
        count = np.bincount(place[chosen], minlength=len(judged))
        total = np.bincount(place[chosen], weights=each[chosen], minlength=len(judged))
        return np.divide(total, count, out=np.full(len(judged), np.nan), where=count > 0)

    rows = [
        MetricRows(
            name,
            "people" if who is None else who,
            means(each, chosen)[:, None],
            lambda of_items: mean_of_defined(of_items[:, 0]),
            is_mean=True,
            labels=answers.provenance,
        )
        for who, chosen in _whose(answers, by_person)
        for name, each in scored.items()
    ]
    items = tuple(answers.items[at] for at in judged)
    return Trial(items, rows, {"all": np.arange(len(items))}, model.provenance)


def _whose(answers: CrowdLabels, by_person: bool) -> Iterator[tuple[str | None, NDArray[np.bool_]]]:
    """Everybody's answers and, where asked for, those of each person."""
    yield None, np.ones(len(answers), dtype=bool)
    for code, name in enumerate(answers.annotators if by_person else ()):
        if (mine := answers.annotator == code).any():
            yield name, mine
