"""Whether gaps between arms grow, reach a level or are won: what is told beyond the scores.

All of it is paired by seed: both arms had the same items, first weights and order.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.stats import wasserstein_distance

from sfumato.evaluation.metrics import METRICS
from sfumato.evaluation.trials import (
    ArmTrials,
    MetricRows,
    Trial,
    compare_arms,
    paired_over_seeds,
    score_arm,
    steps_behind,
    value_of,
)
from sfumato.labels.labelset import align
from sfumato.labels.signals import entropy
from sfumato.provenance import is_simulated, to_json
from sfumato.scores import Estimate, metric_words, source_text
from sfumato.studies.data import Findings, Predictions, StudyData, TrainingRun
from sfumato.studies.measures.trials import (
    Venue,
    arm_trials,
    every_pair,
    pairs,
    venues,
    whole_seeds,
)

RATIO = "cross_entropy_ratio"
"""First arm's cross-entropy as a share of the second's (S0-44: −29 % near, −38 % far)."""
BY_TRAINING = ("accuracy", "cross_entropy")
"""The metrics of ladders and wins."""
OWN = "own labels"
"""What is held against: the label set that the arm learnt, on items that it did not learn."""


def growth(steps: Sequence[str]) -> str:
    """The name under which the growth of a gap along a ladder is kept.

    >>> growth(("near", "farther", "far"))
    'from near to far'
    """
    return f"from {steps[0]} to {steps[-1]}"


def gap_name(pair: tuple[str, str]) -> str:
    """The name under which the gap of two arms stands where an arm would.

    >>> gap_name(("soft", "hard"))
    'soft minus hard'
    """
    return f"{pair[0]} minus {pair[1]}"


def level_name(level: float) -> str:
    """What stands in place of a second arm.

    >>> level_name(0.945)
    'an accuracy of 0.945'
    """
    return f"an accuracy of {level:g}"


def ladder(data: StudyData, predictions: Predictions) -> Findings:
    """The gap at the far end of each ladder minus that at the near end, paired by seed (S0-44).

    Steps that were not tested are left out; a ladder of one step has no growth.
    """
    tested = {(venue.against, venue.network): venue for venue in venues(data, predictions)}
    found: list[Estimate] = []
    for steps in data.study.ladders:
        for network in data.study.networks:
            known = [step for step in steps if (step, network) in tested]
            if len(known) < 2:
                continue
            near, far = (
                arm_trials(data, predictions, tested[step, network], BY_TRAINING)
                for step in (known[0], known[-1])
            )
            rows: list[Estimate] = []
            for first, second in pairs(data.study, [arm for arm in near if arm in far]):
                ends = (near[first], near[second]), (far[first], far[second])
                rows += [*_growth_rows(*ends), *_ratio_rows(*ends)]
                if data.study.pairs == "all":  # a ratio says another thing the other way round
                    rows += _ratio_rows(*(end[::-1] for end in ends))
            found += [replace(one, network=network, against=growth(known)) for one in rows]
    return Findings(found)


def _growth_rows(
    near: tuple[ArmTrials, ArmTrials], far: tuple[ArmTrials, ArmTrials]
) -> Iterator[Estimate]:
    """The growth of the difference by both metrics."""
    mine, theirs = zip(near, far, strict=True)
    for at, metric in enumerate(BY_TRAINING):
        apart = {
            seed: (far_first - far_second) - (first - second)
            for seed, (first, second, far_first, far_second) in _by_seed((*near, *far), at)
        }
        yield from _paired(metric, (near[0].arm, near[1].arm), mine, theirs, at, apart)


def _ratio_rows(
    near: tuple[ArmTrials, ArmTrials], far: tuple[ArmTrials, ArmTrials]
) -> Iterator[Estimate]:
    """The growth of the ratio of both arms' cross-entropies."""
    mine, theirs = zip(near, far, strict=True)
    at = BY_TRAINING.index("cross_entropy")
    shares = {
        seed: far_first / far_second - first / second
        for seed, (first, second, far_first, far_second) in _by_seed((*near, *far), at)
    }
    yield from _paired(RATIO, (near[0].arm, near[1].arm), mine, theirs, at, shares)


def gains(data: StudyData, predictions: Predictions) -> Findings:
    """The gap of one pair of arms minus that of another, paired by seed, by every metric.

    Pairs of which an arm was not trained are left out.
    """
    metrics = data.study.metrics or tuple(METRICS)
    found: list[Estimate] = []
    for venue in venues(data, predictions) if data.study.gains else ():
        arms = arm_trials(data, predictions, venue, metrics)
        for both in data.study.gains:
            if not all(arm in arms for pair in both for arm in pair):
                continue
            mine, theirs = ([arms[arm] for arm in pair] for pair in both)
            names = (gap_name(both[0]), gap_name(both[1]))
            for at, metric in enumerate(metrics):
                apart = {
                    seed: (one - two) - (three - four)
                    for seed, (one, two, three, four) in _by_seed((*mine, *theirs), at)
                }
                found += [
                    replace(one, part=venue.part, network=venue.network, against=venue.against)
                    for one in _paired(metric, names, mine, theirs, at, apart)
                ]
    return Findings(found)


def _by_seed(sides: Sequence[ArmTrials], at: int) -> Iterator[tuple[int, tuple[float, ...]]]:
    """The values of all sides on all items, for every seed that each of them has."""
    values = [side.values["all", at] for side in sides]
    for seed in values[0]:
        if all(seed in value for value in values):
            yield seed, tuple(value[seed] for value in values)


def _paired(
    metric: str,
    names: tuple[str, str],
    mine: Sequence[ArmTrials],
    theirs: Sequence[ArmTrials],
    at: int,
    apart: Mapping[int, float],
) -> Iterator[Estimate]:
    """What is apart by seed as one estimate; none without a common seed."""
    if not apart:
        return
    labels = steps_behind([side.rows[at].labels for side in mine])
    blank = Estimate(
        metric,
        float("nan"),
        arm=names[0],
        second=names[1],
        items=min(side.count("all") for side in (*mine, *theirs)),
        simulated=is_simulated(labels) or any(side.simulated for side in (*mine, *theirs)),
        source=source_text(
            labels=labels,
            model=steps_behind([model for side in mine for model in side.models]),
            second=to_json(steps_behind([model for side in theirs for model in side.models])),
        ),
    )
    yield paired_over_seeds(blank, apart, rng=np.random.default_rng(0))


def levels(data: StudyData, predictions: Predictions) -> Findings:
    """Every arm's accuracy on untouched items minus each level that the study names (S4-15)."""
    study = data.study
    rng = np.random.default_rng(study.seed)
    found: list[Estimate] = []
    for venue in venues(data, predictions) if study.levels else ():
        for arm in arm_trials(data, predictions, venue, ("accuracy",)).values():
            (one,) = score_arm(
                arm, network=venue.network, interval=study.interval, rng=rng, draws=study.draws
            )
            found += [
                replace(
                    one,
                    part=venue.part,
                    second=level_name(level),
                    value=one.value - level,
                    low=None if one.low is None else one.low - level,
                    high=None if one.high is None else one.high - level,
                )
                for level in study.levels
            ]
    return Findings(found)


def wins(data: StudyData, predictions: Predictions) -> Findings:
    """In how many trainings an arm is better than a control of the same seed and fold (C5).

    Means hide a network or a collection on which the other arm is better.
    """
    controls = data.study.controls
    rows = []
    for venue in venues(data, predictions) if controls else ():
        arms = arm_trials(data, predictions, venue, BY_TRAINING)
        kept = [name for name in arms if name not in controls]
        for at, metric in enumerate(BY_TRAINING):
            values = {name: _by_training(arm, at) for name, arm in arms.items()}
            for control in (name for name in controls if name in arms):
                rows += [
                    {
                        "arm": arm,
                        "control": control,
                        "network": venue.network,
                        "held against": venue.against,
                        "metric": metric,
                        **_count_wins(metric, values[arm], values[control]),
                    }
                    for arm in kept
                ]
    return Findings(tables={"wins": pl.DataFrame(rows)})


def _by_training(arm: ArmTrials, at: int) -> dict[tuple[int, int], float]:
    """The value of every seed and fold."""
    return {
        (seed, fold): value_of(trial.rows[at], trial.places["all"])
        for seed, trials in arm.trials.items()
        for fold, trial in enumerate(trials)
    }


def _count_wins(
    metric: str, mine: Mapping[tuple[int, int], float], theirs: Mapping[tuple[int, int], float]
) -> dict[str, int]:
    sign = -1.0 if metric_words(metric).better == "lower" else 1.0
    ahead = [sign * (value - theirs[key]) for key, value in mine.items() if key in theirs]
    return {"better": sum(gain > 0 for gain in ahead), "trainings": len(ahead)}


def resonance(data: StudyData, predictions: Predictions) -> Findings:
    """Whether a network is about as undecided as the labels that it learnt (S1-56, S1-F7).

    Both are looked at on the same held-out items: how the entropies of the labels are spread, and
    how those of the network are. Their distance is Wasserstein's, in nats. The table
    ``entropies`` has those of the first training of every arm.
    """
    study = data.study
    rng = np.random.default_rng(study.seed)
    found: list[Estimate] = []
    tables = []
    for network in study.networks:
        arms: dict[str, ArmTrials] = {}
        for name in study.crossed:
            labels = study.arm(name).labels
            venue = _venue_of(data, predictions, labels, network)
            seeds = {} if venue is None else whole_seeds(predictions, name, venue)
            if venue is None or not seeds:
                continue
            trials = {s: [_entropies(run, venue) for run in runs] for s, runs in seeds.items()}
            arms[name] = ArmTrials(name, trials)
            tables.append(_entropy_rows(next(iter(trials.values()))[0], name, network))
        how = {"network": network, "interval": study.interval, "rng": rng, "draws": study.draws}
        for arm in arms.values():
            found += score_arm(arm, **how)  # type: ignore[arg-type]
        for first, second in every_pair(study, tuple(arms)):
            found += compare_arms(arms[first], arms[second], **how)  # type: ignore[arg-type]
    return Findings(found, {"entropies": pl.concat(tables)} if tables else {})


def _venue_of(data: StudyData, predictions: Predictions, labels: str, network: str) -> Venue | None:
    """Where a network is tested against the named labels; None where it is not."""
    wanted = (labels, network)
    tested = venues(data, predictions)
    return next((venue for venue in tested if (venue.against, venue.network) == wanted), None)


def _entropies(run: TrainingRun, venue: Venue) -> Trial:
    """Entropies of the labels and of the network's beliefs, side by side."""
    own, model = align(run.test(venue.part).labels[venue.against], run.beliefs(venue.part))
    rows = MetricRows(
        "entropy_distance",
        OWN,
        np.stack([entropy(own), entropy(model)], axis=1),
        _distance,
        is_mean=False,
        labels=own.provenance,
    )
    return Trial(own.items, [rows], {"all": np.arange(len(own))}, model.provenance)


def _distance(rows: NDArray[np.float64]) -> float:
    return float(wasserstein_distance(rows[:, 0], rows[:, 1]))


def _entropy_rows(trial: Trial, arm: str, network: str) -> pl.DataFrame:
    """One row per item and source, "labels" or "model"."""
    return pl.concat(
        pl.DataFrame({"source": source, "entropy": trial.rows[0].rows[:, side]}).select(
            pl.lit(network).alias("network"), pl.lit(arm).alias("arm"), pl.all()
        )
        for side, source in enumerate(("labels", "model"))
    )
