"""What a study compares on what: everything a run is told, in Python or in a small TOML file."""

import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

from sfumato.errors import DataError
from sfumato.evaluation.corruptions import CORRUPTIONS
from sfumato.judgments.formats import FORMATS
from sfumato.labels.build import RECIPES
from sfumato.labels.simulate import SIMULATORS
from sfumato.learn.networks import NETWORKS
from sfumato.learn.train import Recipe
from sfumato.names import find
from sfumato.studies.arms import ARMS
from sfumato.studies.comparison.setting import Comparison
from sfumato.studies.hmix.study import HMixStudy
from sfumato.studies.informativeness.study import GridStudy
from sfumato.studies.rescore.study import RescoreStudy
from sfumato.studies.sources import SOURCES

__all__ = ["AnyStudy", "Own", "Simulated", "Study", "read_study", "study_to_json"]


@dataclass(frozen=True)
class Own:
    """Files of one's own; paths are relative to the study's file."""

    images: str = ""
    """A folder or zip archive of PNG or JPEG pictures."""
    table: str = ""
    """A CSV table with the columns ``item`` and ``label``: what the pictures are called so far."""
    judgments: str = ""
    """What people said about them."""
    format: str = "sfumato"
    """The format of the judgments."""
    size: tuple[int, ...] = ()
    """Height and width to resize the pictures to; empty leaves them."""


@dataclass(frozen=True)
class Simulated:
    """Simulated people, for data without real ones."""

    kind: str = "top-two"
    """A name of ``SIMULATORS``."""
    per_item: int = 6
    annotators: int = 60


@dataclass(frozen=True)
class Study:
    """What is compared on what."""

    name: str
    title: str
    about: str = ""
    """A sentence or two for the head of the report."""
    data: str = "own"
    """A name of ``SOURCES``."""
    own: Own = field(default_factory=Own)
    simulated: Simulated = field(default_factory=Simulated)
    """Used by sources without real people only."""
    recipe: str = "votes"
    """How judgments become the label distributions that every arm is compared with."""
    arms: tuple[str, ...] = ("original", "majority", "soft")
    """What networks learn from: names of ``ARMS``, or of ``RECIPES`` for other readings of the
    same judgments."""
    networks: tuple[str, ...] = ("simple-ffn", "deeper-ffn", "lenet")
    seeds: int = 6
    """Trainings of each arm and network; they differ in first weights and order."""
    split: tuple[float, ...] = (0.7, 0.15, 0.15)
    """Shares for training, choosing and reporting, the same for all seeds."""
    split_seed: int = 0
    training: Recipe = field(
        default_factory=lambda: Recipe(
            "lenet", epochs=60, schedule="plateau", patience=3, stop_after=10, weights="best"
        )
    )
    """Everything about a training but its network and seed, the same for all (S4-23)."""
    fgsm: tuple[float, ...] = ()
    """Bounds of FGSM, in units of 1/255."""
    pgd: tuple[float, ...] = ()
    """Bounds of PGD, in units of 1/255: ten steps of a quarter of the bound."""
    attacked_items: int = 100
    """How many items of the part that is reported on are attacked and corrupted."""
    corruptions: tuple[str, ...] = ()
    """Names of ``CORRUPTIONS``."""
    strength: int = 3
    """Of the corruptions, 1 to 5."""
    draws: int = 1000
    """Resamples behind each bootstrap interval."""
    near_duplicates: bool = True
    """Whether near duplicates are searched besides exact ones."""

    def __post_init__(self) -> None:
        _check(self)


AnyStudy = Study | Comparison | GridStudy | HMixStudy | RescoreStudy
"""Whatever ``sfumato run`` can run."""


def _check(study: Study) -> None:
    find(SOURCES, study.data, what="data source of studies")
    find(RECIPES, study.recipe, what="recipe")
    find(SIMULATORS, study.simulated.kind, what="simulator")
    find(FORMATS, study.own.format, what="format")
    for names, table, what in (
        (study.arms, {**ARMS, **RECIPES}, "arm"),
        (study.networks, NETWORKS, "network"),
        (study.corruptions, CORRUPTIONS, "corruption"),
    ):
        for name in names:
            find(table, name, what=what)
        if len(set(names)) < len(names):
            raise DataError(f"The study {study.name!r} names an {what} twice: {', '.join(names)}.")
    if not (study.arms and study.networks and study.seeds > 0):
        raise DataError(f"The study {study.name!r} needs an arm, a network and a seed at least.")
    if len(study.split) != 3 or min(study.split) <= 0 or abs(sum(study.split) - 1) > 1e-9:
        raise DataError(
            f"The study {study.name!r} needs three shares above 0 that sum to 1 (training, "
            f"choosing, reporting), not {list(study.split)}."
        )
    if not study.name or any(sign in study.name for sign in "/\\ "):
        raise DataError(f"A study's name has no spaces or slashes, as {study.name!r} does.")


def read_study(path: Path) -> Study:
    """A study of one's own from a TOML file with the fields of ``Study``.

    Tables ``[own]``, ``[simulated]`` and ``[training]`` hold theirs. An unknown key is an
    error that names the nearest one.
    """
    if not path.is_file():
        raise DataError(f"There is no study file {path}.")
    try:
        stated = tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise DataError(f"{path} is not TOML: {error}.") from error
    for needed in ("name", "title"):
        if needed not in stated:
            raise DataError(f"{path}: the key {needed!r} is missing.")
    values = dict(stated)
    for name, kind in (("own", Own), ("simulated", Simulated)):
        if name in values:
            values[name] = kind(**_values(path, f"[{name}]", values[name], kind))
    training = values.pop("training", {})
    study = Study(**_values(path, "the study", values, Study))
    trained = _values(path, "[training]", training, Recipe)
    if hidden := sorted(trained.keys() & {"network", "seed"}):
        raise DataError(f"{path}: [training] cannot set {hidden[0]!r}; the study has {hidden[0]}s.")
    study = replace(study, training=replace(study.training, **trained))
    own = study.own
    beside = [
        path.parent / name if name else name for name in (own.images, own.table, own.judgments)
    ]
    images, table, judgments = map(str, beside)
    return replace(study, own=replace(own, images=images, table=table, judgments=judgments))


def study_to_json(study: AnyStudy) -> dict[str, Any]:
    """The study as plain lists and dicts, for ``study.json``."""
    plain: dict[str, Any] = json.loads(json.dumps(_plain(study)))
    return plain


def _plain(value: Any) -> Any:
    if hasattr(value, "__dataclass_fields__"):
        return {each.name: _plain(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, Mapping):
        return {key: _plain(each) for key, each in value.items()}
    return [_plain(each) for each in value] if isinstance(value, tuple) else value


def _values(path: Path, where: str, stated: Any, kind: type) -> dict[str, Any]:
    """The stated values as the fields of ``kind`` hold them."""
    if not isinstance(stated, Mapping):
        raise DataError(f"{path}: {where} must be a table, not {stated!r}.")
    types = get_type_hints(kind)
    found = {}
    for key, value in stated.items():
        wanted = find(types, key, what=f"key of {where} in {path}")
        found[key] = _fitting(path, where, key, value, wanted)
    return found


def _fitting(path: Path, where: str, key: str, value: Any, wanted: Any) -> Any:
    if hasattr(wanted, "__dataclass_fields__"):
        return value  # a table, read already
    if get_origin(wanted) is tuple:
        if not isinstance(value, list):
            raise DataError(f"{path}: {key} of {where} must be a list, not {value!r}.")
        inner = get_args(wanted)[0]
        return tuple(_fitting(path, where, key, each, inner) for each in value)
    choices = get_args(wanted)
    if choices and all(isinstance(choice, str) for choice in choices):
        return find({choice: choice for choice in choices}, value, what=key)
    kinds = tuple(each for each in choices or (wanted,) if isinstance(each, type))
    if float in kinds and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
        names = " or ".join(each.__name__ for each in kinds if each is not type(None))
        raise DataError(f"{path}: {key} of {where} must be {names}, not {value!r}.")
    return value
