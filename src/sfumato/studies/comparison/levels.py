"""Whether arms reach an accuracy that a paper names."""

from collections.abc import Sequence

from sfumato.scores import Difference, Score

__all__ = ["level_differences", "level_name"]


def level_name(level: float) -> str:
    """What stands in place of a second arm.

    >>> level_name(0.945)
    'an accuracy of 0.945'
    """
    return f"an accuracy of {level:g}"


def level_differences(levels: Sequence[float], scores: Sequence[Score]) -> list[Difference]:
    """Every arm's accuracy on untouched images minus each level, with the interval over seeds."""
    return [
        Difference(
            one.metric,
            one.value - level,
            one.arm,
            level_name(level),
            network=one.network,
            against=one.against,
            low=None if one.low is None else one.low - level,
            high=None if one.high is None else one.high - level,
            interval=one.interval,
            items=one.items,
            seeds=one.seeds,
            simulated=one.simulated,
        )
        for level in levels
        for one in scores
        if one.metric == "accuracy" and one.stratum == "all"
    ]
