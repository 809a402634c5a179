"""The folder of a study that ran: what is in it, read by everything that draws or judges."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import DataError
from sfumato.labels.files import read_labels
from sfumato.labels.labelset import LabelSet
from sfumato.scores import Estimates
from sfumato.studies.claims import JudgedClaim, judge, read_claims, read_printed
from sfumato.studies.study import Study, read_study, study_settings
from sfumato.tabular import ShortRepr


@dataclass(frozen=True)
class Timing:
    """How long a run took, over all its sittings."""

    seconds: float = 0.0
    """From beginning to end."""
    cell_seconds: float = 0.0
    """Of its cells, one after the other."""
    work: float = 0.0
    """What those cells did: model-epochs for trainings, worlds for simulations."""


@dataclass(frozen=True, eq=False, repr=False)
class RunFolder(ShortRepr):
    """The folder of a study that ran, finished or not."""

    folder: Path
    study: Study
    info: Mapping[str, Any]
    """Versions, fingerprints, whether people are simulated, what is missing, timing."""

    @classmethod
    def open(cls, folder: Path | str) -> Self:
        """The run in a folder; a folder of anything else is an error that says so."""
        folder = Path(folder)
        if (folder / "study.json").is_file() and not (folder / "study.toml").is_file():
            raise DataError(
                f"{folder} holds a run of version 0.1, whose folders had another form. Run the "
                "study again; its labels and predictions can still be read as files."
            )
        if not (folder / "study.toml").is_file() or not (folder / "run.json").is_file():
            raise DataError(f"{folder} has no study.toml and run.json: it is not a run's folder.")
        info = json.loads((folder / "run.json").read_text(encoding="utf-8"))
        return cls(folder, read_study(folder / "study.toml"), info)

    def _summary(self) -> str:
        done = (self.folder / "estimates.parquet").is_file()
        state = f"{len(self.estimates):,} estimates" if done else "not finished"
        return f"{type(self).__name__} of {self.study.name} in {self.folder}: {state}"

    @property
    def simulated(self) -> bool:
        """Whether simulated people are behind any of it."""
        return bool(self.info["simulated"])

    @property
    def timing(self) -> Timing:
        """How long it took so far."""
        return Timing(**self.info.get("timing", {}))

    @cached_property
    def estimates(self) -> Estimates:
        """Every number with its interval."""
        path = self.folder / "estimates.parquet"
        if not path.is_file():
            raise DataError(
                f"{self.folder} has no estimates.parquet: the run is not finished. Run the study "
                "again into the same folder; only what is missing is done."
            )
        return Estimates.read(path)

    @cached_property
    def tables(self) -> dict[str, pl.DataFrame]:
        """What figures are drawn from besides estimates, by name."""
        paths = sorted((self.folder / "tables").glob("*.parquet"))
        return {path.stem: pl.read_parquet(path) for path in paths}

    @cached_property
    def pictures(self) -> dict[str, NDArray[np.uint8]]:
        """The images that galleries show, by item."""
        path = self.folder / "pictures.npz"
        if not path.is_file():
            return {}
        with np.load(path, allow_pickle=False) as stored:
            return dict(zip(stored["items"].tolist(), stored["images"], strict=True))

    @property
    def judgments_file(self) -> Path:
        """Where answers are kept that nobody gave: simulated ones."""
        return self.folder / "judgments.parquet"

    @cached_property
    def claims(self) -> list[JudgedClaim]:
        """What papers say about the study, and what was found."""
        return judge(read_claims(self.study.name), self.estimates.table)

    @property
    def printed(self) -> list[dict[str, Any]]:
        """What papers print for the arms of the study."""
        return read_printed(self.study.name)

    @property
    def settings(self) -> dict[str, Any]:
        """The resolved study as plain values."""
        return study_settings(self.study)

    def label_set(self, name: str) -> LabelSet:
        """Labels that the run worked with, by name."""
        return read_labels(self.folder / "labels" / f"{name.replace('/', '-')}.parquet")
