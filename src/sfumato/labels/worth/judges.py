"""Turn what a judge said into evidence, and into the numbers that judges are usually told by."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.special import entr, stdtr

from sfumato.errors import DataError
from sfumato.frames import is_table, to_frame
from sfumato.judgments.judgments import Judgments
from sfumato.labels.agreement import kappa, squared_distances
from sfumato.labels.build import codes as name_codes
from sfumato.labels.files import read_crowd_labels
from sfumato.labels.labelset import NOT_RECORDED, CrowdLabels, LabelSet
from sfumato.labels.tables import read_frame, table_ending
from sfumato.labels.verbs import label
from sfumato.labels.worth.panel import Panel
from sfumato.labels.worth.predictor import (
    Codes,
    EvidenceSource,
    Lesson,
    Values,
    believe_all,
    believe_nothing,
    believe_one,
)
from sfumato.provenance import Step, fingerprint_file

EPSILON = 0.2
"""What a judge may lose to a person in the alternative-annotator test: it is cheaper."""

JUDGED_ITEMS = 30
"""Items that an annotator needs to be compared with a judge."""


@dataclass(frozen=True, eq=False)
class Judge:
    """What a judge said, in its own words; where it said several things, one of them is drawn."""

    name: str
    crowd: CrowdLabels

    def source(
        self, items: Sequence[str], *, draws: int, rng: np.random.Generator
    ) -> EvidenceSource:
        """Its answers as evidence about these items; "no answer" is a word of its own."""
        chosen = self._choose(items, draws=draws, rng=rng)
        silent = chosen < 0
        if (votes := self.crowd.votes) is not None:
            words = len(self.crowd.classes)
            picked = np.where(silent, words, votes[chosen])
            return EvidenceSource(codes=picked[0] if len(picked) == 1 else picked)
        rows = self.crowd.answers[self.crowd.said[chosen]]
        if silent.any():
            rows = np.concatenate([np.where(silent[..., None], 0.0, rows), silent[..., None]], 2)
        return EvidenceSource(rows=rows)

    def _choose(self, items: Sequence[str], *, draws: int, rng: np.random.Generator) -> Codes:
        """The row that speaks about each item in each draw, -1 for none, (1 or draws, items)."""
        place = {item: at for at, item in enumerate(items)}
        where = np.array([place.get(item, -1) for item in self.crowd.items])[self.crowd.item]
        names = np.argsort(np.argsort(np.array(self.crowd.annotators, dtype=object)))
        order = np.lexsort((self.crowd.said, np.append(names, -1)[self.crowd.annotator], where))
        order = order[where[order] >= 0]
        counts = np.bincount(where[order], minlength=len(items))
        start = np.cumsum(counts) - counts
        if counts.max(initial=0) <= 1:
            turn = np.zeros((1, len(items)), dtype=np.int64)
        else:
            first = rng.random(len(items)) * np.maximum(counts, 1)
            turn = (first.astype(np.int64) + np.arange(draws)[:, None]) % np.maximum(counts, 1)
        at = np.minimum(start + turn, max(len(order) - 1, 0))
        return np.where(counts > 0, order[at] if len(order) else -1, -1)

    def first_choices(self, panel: Panel) -> tuple[tuple[str, ...], Codes] | None:
        """What it puts first for each item, -1 where it says nothing, among people's classes and
        then its own words; None if it shares no word with people."""
        words = (*panel.classes, *(one for one in self.crowd.classes if one not in panel.classes))
        if len(words) == len(panel.classes) + len(self.crowd.classes):
            return None
        code = np.array([words.index(word) for word in self.crowd.classes])
        mean = self.crowd.mean()
        rows = {item: at for at, item in enumerate(mean.items)}
        at = np.array([rows.get(item, -1) for item in panel.items])
        return words, np.where(at >= 0, code[mean.probs.argmax(axis=1)][at], -1)

    def stated(self, items: Sequence[str], classes: Sequence[str]) -> Values | None:
        """What it states about people's classes, as it is; None where that is no distribution."""
        if self.crowd.votes is not None or set(self.crowd.classes) != set(classes):
            return None
        mean = self.crowd.mean()
        if not set(items) <= set(mean.items):
            return None
        return mean.take(items).probs[:, [mean.classes.index(name) for name in classes]]


def read_judge(name: str, given: object) -> Judge:
    """A judge from answers, label distributions, a file or a table of them, or item to answer."""
    match given:
        case CrowdLabels():
            return Judge(name, given)
        case LabelSet():
            rows = np.arange(len(given))
            nobody = np.full(len(given), NOT_RECORDED)
            return Judge(
                name,
                CrowdLabels(
                    given.items, (), given.classes, rows, nobody, given.probs, given.provenance
                ),
            )
        case Judgments():
            return Judge(name, label(given, per_annotator=True))
        case str() | Path():
            return _read_file(name, Path(given))
        case Mapping() if all(isinstance(one, str | int | float | bool) for one in given.values()):
            frame = pl.DataFrame(
                {
                    "item": [str(item) for item in given],
                    "answer": [str(one) for one in given.values()],
                }
            )
            return Judge(name, _answers(name, frame))
    if not is_table(given):
        raise DataError(
            f"Judge {name!r} is a {type(given).__name__}; give a file, a table with the columns "
            "'item' and 'answer', labels, or a dict from item to answer."
        )
    frame = to_frame(given, what=f"table of judge {name!r}")
    if _is_hard(frame):
        return Judge(name, _answers(f"The table of judge {name!r}", frame))
    return Judge(name, read_crowd_labels(frame))


def _read_file(name: str, path: Path) -> Judge:
    if table_ending(path):
        frame = read_frame(path)
        if _is_hard(frame):
            step = Step("read judge", {}, {path.name: fingerprint_file(path)})
            return Judge(name, _answers(path.name, frame).with_provenance((step,)))
    if path.suffix in (".npy", ".npz"):
        from sfumato.labels.files import read_labels

        return read_judge(name, read_labels(path))
    return Judge(name, read_crowd_labels(path))


def _is_hard(frame: pl.DataFrame) -> bool:
    return {"item", "answer"} <= set(frame.columns)


def _answers(what: str, frame: pl.DataFrame) -> CrowdLabels:
    """Rows ``item``, ``answer`` (and ``annotator``); empty answers are no answers."""
    said = frame.filter(pl.col("answer").is_not_null() & (pl.col("answer").cast(pl.String) != ""))
    if not len(said):
        raise DataError(f"{what} holds no answer: its column 'answer' is empty.")
    if said["item"].null_count():
        raise DataError(f"{what}: {said['item'].null_count()} rows have an answer but no item.")
    items, item = name_codes(said["item"].cast(pl.String))
    words, word = name_codes(said["answer"].cast(pl.String))
    whose = said["annotator"] if "annotator" in said.columns else pl.Series([None] * len(said))
    people, who = name_codes(whose.cast(pl.String))
    return CrowdLabels(items, people, words, item, who, said=word)


# The numbers that judges are usually told by


USUAL = ("accuracy", "cohen_kappa", "quadratic_kappa", "winning_rate", "advantage_probability")


def usual_numbers(panel: Panel, judge: Judge, *, epsilon: float) -> dict[str, float | None]:
    """Accuracy against the mode, kappas, and the alternative-annotator test; None where the judge
    shares no word with people."""
    given = judge.first_choices(panel)
    if given is None or (given[1] < 0).all():
        return dict.fromkeys(USUAL)
    words, chosen = given
    known = chosen >= 0
    mode = panel.votes().argmax(axis=1)[known]
    table = np.bincount(mode * len(words) + chosen[known], minlength=len(words) ** 2)
    table = table.reshape(len(words), len(words)) / table.sum()
    squares = _squares(panel, words)
    rate, advantage = alternative_annotator(panel, words, chosen, epsilon=epsilon)
    found = (
        float(np.trace(table)),
        kappa(table, 1.0 - np.eye(len(words))),
        None if squares is None else kappa(table, squares),
        rate,
        advantage,
    )
    return dict(zip(USUAL, found, strict=True))


def _squares(panel: Panel, words: Sequence[str]) -> Values | None:
    """How far apart words are on the scale, squared; None where the question has no scale."""
    if panel.values is None or len(words) > len(panel.classes):
        return None
    return squared_distances(panel.values)


def alternative_annotator(
    panel: Panel, words: Sequence[str], chosen: Codes, *, epsilon: float = EPSILON
) -> tuple[float | None, float | None]:
    """Winning rate and advantage probability (Calderon, Reichart and Dror, 2025).

    Each annotator is left out and compared with the judge: who is nearer to the others, by shared
    answers, or by squared distance where classes are the points of a scale? The judge wins where it
    is not worse by ``epsilon`` (one-sided t-test, false discoveries by Benjamini and Yekutieli).
    """
    counts = panel.counts
    pairs = (panel.said >= 0) & ((counts > 1) & (chosen >= 0))[:, None]
    item, column = np.nonzero(pairs)
    own, who, judge = panel.said[item, column], panel.who[item, column], chosen[item]
    if not len(item) or (who == NOT_RECORDED).any():
        return None, None
    squares = _squares(panel, words)
    apart = 1.0 - np.eye(len(words)) if squares is None else squares
    to_all = panel.votes() @ apart[: len(panel.classes)]  # how far each word is from all answers
    person = to_all[item, own]  # nothing from itself
    other = to_all[item, judge] - apart[judge, own]
    wins, loses = other <= person, person <= other
    found = [
        (_worse(loses[mine].astype(float) - wins[mine], epsilon), float(wins[mine].mean()))
        for one in np.unique(who)
        if (mine := who == one).sum() >= JUDGED_ITEMS
    ]
    if not found:
        return None, None
    p_values, advantages = (np.array(column) for column in zip(*found, strict=True))
    return _rejected(p_values) / len(found), float(advantages.mean())


def _worse(differences: Values, epsilon: float) -> float:
    """One-sided p that the judge is worse by less than epsilon."""
    error = differences.std(ddof=1) / np.sqrt(len(differences))
    gap = differences.mean() - epsilon
    if error == 0:
        return float(gap >= 0)
    return float(stdtr(len(differences) - 1, gap / error))


def _rejected(p_values: Values, level: float = 0.05) -> int:
    """How many hypotheses Benjamini and Yekutieli's procedure rejects."""
    ranks = np.arange(1, len(p_values) + 1)
    limits = ranks / len(p_values) * level / (1 / ranks).sum()
    below = np.flatnonzero(np.sort(p_values) <= limits)
    return int(below[-1]) + 1 if len(below) else 0


# Which items need a person


def expected_gains(
    panel: Panel, judges: Sequence[Judge], *, rng: np.random.Generator
) -> pl.DataFrame:
    """What asking one more person is expected to gain per item, given the judges, in nats.

    It is what the person's answer would tell about the next person's. All items that a judge
    speaks about are ranked, whether people answered about them or not.
    """
    others = sorted({item for judge in judges for item in judge.crowd.items} - set(panel.items))
    items = (*panel.items, *others)
    given = [judge.source(items, draws=1, rng=rng) for judge in judges]
    kinds, kind = _kinds(given)
    asked, classes = len(kinds), len(panel.classes)
    counts = np.asarray(panel.votes(), dtype=np.float64)
    pairs = np.argsort(rng.random(panel.said.shape) + 2 * (panel.said < 0), axis=1)[:, 0]
    person = panel.said[np.arange(len(panel.items)), pairs]
    rest = counts.copy()
    rest[np.arange(len(rest)), person] -= 1
    rows = np.concatenate([np.arange(len(panel.items)), np.repeat(kinds, classes)])
    told = np.concatenate([person, np.tile(np.arange(classes), asked)])
    sources = [_rows(source, rows) for source in given]
    aims = np.zeros((1, len(rows), classes))
    aims[0, : len(rest)] = rest / rest.sum(axis=1, keepdims=True)
    fold = (np.arange(len(rows)) < len(rest)).astype(np.int64)  # the model of fold 0 sees people
    lesson = Lesson(aims, fold[None], 2)
    nothing = believe_nothing(lesson)
    sources = [*sources, EvidenceSource(codes=told)]
    alone = [believe_one(source, lesson, nothing) for source in sources]
    before = believe_all(sources[:-1], alone[:-1], lesson, nothing).believed[0, 0, len(rest) :]
    after = believe_all(sources, alone, lesson, nothing).believed[0, 0, len(rest) :]
    chance = before.reshape(asked, classes, classes)[:, 0]  # (kinds, answers)
    then = after.reshape(asked, classes, classes)  # (kinds, answers, the next person's)
    mean = np.einsum("ka,kay->ky", chance, then)
    gain = entr(mean).sum(axis=1) - np.einsum("ka,ka->k", chance, entr(then).sum(axis=2))
    found = pl.DataFrame(
        {
            "item": pl.Series(items, dtype=pl.String),
            "gain": np.maximum(gain, 0.0)[kind],
            "expected": pl.Series([panel.classes[place] for place in chance.argmax(axis=1)[kind]]),
            "answers": np.append(panel.counts, np.zeros(len(others), dtype=np.int64)),
        }
    )
    return found.sort(["gain", "item"], descending=[True, False])


def _kinds(sources: Sequence[EvidenceSource]) -> tuple[Codes, Codes]:
    """One item for each thing that judges say, and which of them each item is."""
    columns: list[Values] = []
    for source in sources:
        if source.codes is not None:
            columns.append(np.atleast_2d(source.codes)[0][:, None].astype(np.float64))
        elif source.rows is not None:
            columns.append(source.rows[0])
    seen = np.concatenate(columns, axis=1)
    _, first, kind = np.unique(seen, axis=0, return_index=True, return_inverse=True)
    return first, kind.reshape(-1)


def _rows(source: EvidenceSource, rows: NDArray[np.int64]) -> EvidenceSource:
    if source.codes is not None:
        return EvidenceSource(codes=np.atleast_2d(source.codes)[0][rows])
    assert source.rows is not None
    return EvidenceSource(rows=source.rows[:1, rows])
