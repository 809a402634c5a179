"""Make the layout of a session fit the images there are, and say where it cannot."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from sfumato.elicit.design.study import ElicitStudy, study_from
from sfumato.elicit.storage.schema import Stimulus
from sfumato.errors import DataError


def fit_study(
    study: ElicitStudy, stimuli: Sequence[Stimulus], given: Mapping[str, Any]
) -> ElicitStudy:
    """The study with a layout for these stimuli; what was ``given`` is kept or refused.

    Sessions get shorter where there are fewer stimuli, whole batches where there are batches, and
    all the practice there is.
    """
    by_role = {
        role: [one for one in stimuli if one.role == role] for role in ("main", "check", "practice")
    }
    layout = study.layout.model_dump()
    if any(one.batch for one in by_role["main"]):
        layout["whole_batches"] = given.get("whole_batches", True)
    if by_role["practice"]:
        layout["practice"] = given.get("practice", len(by_role["practice"]))
    layout["trials_per_person"] = _trials(layout, by_role["main"], given)
    layout = fit_layout(layout, given)
    fitted = study_from({**study.model_dump(), "layout": layout}, where="The layout")
    _check(fitted, by_role)
    return fitted


def _trials(layout: Mapping[str, Any], main: Sequence[Stimulus], given: Mapping[str, Any]) -> int:
    wanted: int = layout["trials_per_person"]
    if layout["whole_batches"]:
        sizes = Counter(one.batch for one in main if one.batch)
        if not sizes:
            raise DataError(
                "layout.whole_batches needs an allocation of the images to batches; give one, or "
                "set it to false."
            )
        batch, largest = sizes.most_common(1)[0]
        if "trials_per_person" in given and wanted != largest:
            raise DataError(
                f"layout.trials_per_person is {wanted}, but people get whole batches, and batch "
                f"{batch!r} has {largest} trials; leave it out, or set layout.whole_batches to "
                "false."
            )
        return largest
    if wanted > len(main) and "trials_per_person" in given:
        raise DataError(
            f"layout.trials_per_person is {wanted}, but there are only {len(main)} things to show "
            "a person; it can be at most that."
        )
    return min(wanted, len(main))


def _check(study: ElicitStudy, by_role: Mapping[str, Sequence[Stimulus]]) -> None:
    layout = study.layout
    checks, practice = len(by_role["check"]), len(by_role["practice"])
    met = layout.trials_per_person // layout.checks_every if layout.checks_every else 0
    if met > checks:
        raise DataError(
            f"A person meets {met} attention checks, one every {layout.checks_every} trials, but "
            f"{checks} are given; name images with an obvious class in a table of checks (columns "
            "image and class), or set layout.checks_every to 0."
        )
    if checks and not met:
        raise DataError(
            "The images in the table of checks would never be shown; say with layout.checks_every "
            "after how many trials."
        )
    if layout.practice > practice:
        raise DataError(
            f"layout.practice is {layout.practice}, but {practice} images to practise with are "
            "given; name them in a table of practice images (columns image and class)."
        )
    if layout.per_class and not all(one.stratum for one in by_role["main"]):
        raise DataError(
            "layout.per_class spreads the trials of a person over the known classes of the images; "
            "give them in a table of labels (columns image and class), or set it to false."
        )


def fit_layout(layout: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """A layout whose settings fit a smaller number of trials, but for those that were given.

    >>> fit_layout({"trials_per_person": 10, "repeats": 2, "repeat_numbers": [15, 20]}, {})
    {'trials_per_person': 10, 'repeats': 2, 'repeat_numbers': []}
    """
    fitted = dict(layout)
    trials = fitted.get("trials_per_person")
    if not isinstance(trials, int):  # the check of all settings will say so
        return fitted
    most = {"repeats": max(trials - 1, 0), "checks_every": max(trials, 0)}
    for key, limit in most.items():
        if key in fitted and key not in given:
            fitted[key] = min(fitted[key], limit)
    numbers = fitted.get("repeat_numbers", ())
    if "repeat_numbers" not in given and (
        len(numbers) != fitted.get("repeats") or any(number > trials for number in numbers)
    ):
        fitted["repeat_numbers"] = []
    return fitted
