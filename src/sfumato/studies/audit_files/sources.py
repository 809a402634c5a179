"""What can be handed to an audit, and whether it goes together."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sfumato.errors import DataError
from sfumato.evaluation.predictions import Scale
from sfumato.evaluation.score import Missing

__all__ = ["AuditSettings", "AuditSources", "check_sources", "named_predictions"]


@dataclass(frozen=True)
class AuditSources:
    """The files; all are optional, but one must be there."""

    labels: Path | None = None
    judgments: Path | None = None
    """Instead of ``labels``, with what only judgments tell: times, unsure marks."""
    format: str = "sfumato"
    recipe: str | None = None
    """How one judgment becomes a label; by default the one that uses all that was asked."""
    original: Path | None = None
    images: Path | None = None
    table: Path | None = None
    predictions: tuple[tuple[str, Path], ...] = ()
    """Name and file; several files of one name are seeds."""
    dynamics: Path | None = None


@dataclass(frozen=True)
class AuditSettings:
    """How the files are read and how much is drawn."""

    classes: tuple[str, ...] | None = None
    """The order of columns and class numbers that a file does not name."""
    scale: Scale = "probabilities"
    missing: Missing = "error"
    near: bool = True
    """Whether near duplicates are sought too."""
    draws: int = 1000
    seed: int = 0


def named_predictions(texts: Sequence[str]) -> tuple[tuple[str, Path], ...]:
    """Name and file of each ``NAME=FILE`` or ``FILE``, which is called as the file.

    >>> named_predictions(["soft=run-1.npz", "models/resnet.csv"])
    (('soft', PosixPath('run-1.npz')), ('resnet', PosixPath('models/resnet.csv')))
    """
    found: list[tuple[str, Path]] = []
    plain = [Path(text) for text in texts if not _is_named(text)]
    stems = [path.stem for path in plain]
    for text in texts:
        name, _, file = text.partition("=") if _is_named(text) else ("", "", text)
        if _is_named(text) and not (name.strip() and file.strip()):
            raise DataError(f"Predictions are given as FILE or NAME=FILE; found {text!r}.")
        path = Path(file.strip())
        unique = stems.count(path.stem) == 1
        called = name.strip() or (path.stem if unique else str(path.with_suffix("")))
        if any(path == other for _, other in found):
            raise DataError(f"The predictions {path} are given twice; give each file once.")
        found.append((called, path))
    return tuple(found)


def _is_named(text: str) -> bool:
    return "=" in text and not Path(text).is_file()


def check_sources(sources: AuditSources) -> None:
    """Refuse files that cannot be audited, alone or together, with what to give instead."""
    if not any((sources.labels, sources.judgments, sources.images, sources.dynamics)):
        more = " or ".join(
            name
            for name, given in (
                ("--original", sources.original),
                ("--predictions", sources.predictions),
            )
            if given
        )
        raise DataError(
            (
                f"{more} needs something to be held against. "
                if more
                else "There is nothing to audit. "
            )
            + "Give people's labels (--labels) or judgments (--judgments), pictures (--images with "
            "--table), or what models believed while they learnt (--dynamics)."
        )
    if sources.labels and sources.judgments:
        raise DataError("--labels and --judgments are both given; labels are made from judgments.")
    if (sources.images is None) != (sources.table is None):
        raise DataError("--images and --table go together: pictures, and their items and labels.")
    people = sources.labels or sources.judgments
    if sources.predictions and not people:
        raise DataError(
            "--predictions are held against people's labels; give them too (--labels, --judgments)."
        )
    if sources.recipe and not sources.judgments:
        raise DataError("--recipe makes labels from judgments; give the judgments (--judgments).")
    if sources.original and not people and not sources.dynamics:
        raise DataError(
            "--original is held against people's labels (--labels, --judgments) or is the target "
            "of a data map (--dynamics); give one of these."
        )
