"""Run a study in one call, shipped or one's own: the verb ``run`` of the front door."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sfumato.data import data_folder
from sfumato.errors import DataError
from sfumato.studies.run import Run, Runner, run_study
from sfumato.studies.study import Size, Study, read_study, with_arms


def choose_study(
    study: str | Path | Study,
    *,
    size: Size = "cpu",
    seeds: int | None = None,
    arms: Sequence[str] | None = None,
    networks: Sequence[str] | None = None,
    epochs: int | None = None,
    settings: Mapping[str, Any] | None = None,
) -> Study:
    """A study by its name or TOML file, with what differs from the file.

    ``settings`` change anything by its dotted name, such as ``{"training.batch_size": 32}``.
    """
    named = {
        "seeds": seeds,
        "networks": None if networks is None else list(networks),
        "training.epochs": epochs,
    }
    changes = dict(settings or {}) | {
        key: value for key, value in named.items() if value is not None
    }
    if isinstance(study, Study):
        if changes:
            raise DataError(
                f"{next(iter(changes))!r} changes a study's file; this study has been read already."
            )
        chosen = study
    else:
        chosen = read_study(str(study), size, changes=changes)
    if not chosen.networks and not chosen.worlds and seeds is not None:
        raise DataError(f"The study {chosen.name!r} trains nothing, so it has no seeds to count.")
    return chosen if arms is None else with_arms(chosen, tuple(arms))


def run(
    study: str | Path | Study,
    folder: str | Path | None = None,
    *,
    size: Size = "cpu",
    seeds: int | None = None,
    arms: Sequence[str] | None = None,
    networks: Sequence[str] | None = None,
    epochs: int | None = None,
    settings: Mapping[str, Any] | None = None,
    runner: Runner | None = None,
) -> Run:
    """Run a study end to end: labels, trainings, evaluation, audit, report.

    The folder, by default ``runs/STUDY``, keeps everything; a run that was stopped goes on where
    it was. ``runner`` says where data lies and on what machines the work is done.
    """
    chosen = choose_study(
        study, size=size, seeds=seeds, arms=arms, networks=networks, epochs=epochs,
        settings=settings,
    )  # fmt: skip
    target = Path(folder) if folder is not None else Path("runs") / chosen.name
    return run_study(chosen, target, runner or Runner(data_folder()))
