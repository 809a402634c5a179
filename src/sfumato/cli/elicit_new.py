"""The command that makes a study: images, labels and a question, from options or a file."""

import tomllib
from pathlib import Path
from typing import Annotated, Any

import typer

from sfumato.cli import options as given
from sfumato.cli.elicit_data import need_packages
from sfumato.cli.progress import progress
from sfumato.errors import DataError, UnknownName

StudyFolder = Annotated[Path, typer.Argument(metavar="FOLDER", help="The folder of the study.")]
ImagesPath = Annotated[
    Path | None, typer.Option("--images", help="Folder or zip archive of images.")
]
Preset = Annotated[
    str | None, typer.Option("--question", help="What is asked: a preset (docs/elicit-presets.md).")
]
SettingsFile = Annotated[
    Path | None, typer.Option("--from", help="TOML file of settings; it names the preset.")
]
Demo = Annotated[bool, typer.Option("--demo", help="A working study of handwritten digits.")]
Labels = Annotated[
    Path | None, typer.Option("--labels", help="CSV image,class: the known classes.")
]
Allocation = Annotated[
    Path | None, typer.Option("--allocation", help="CSV image,batch or JSON: the batches.")
]
Checks = Annotated[Path | None, typer.Option("--checks", help="CSV image,class: attention checks.")]
Practice = Annotated[
    Path | None, typer.Option("--practice", help="CSV image,class: images to practise with.")
]
Comparisons = Annotated[
    Path | None,
    typer.Option("--comparisons", help="CSV first,second (pairs) or item,first,second."),
]
MixesTable = Annotated[
    Path | None, typer.Option("--mixes", help="CSV of mixed images, by `sfumato mix`.")
]
Count = Annotated[
    int | None, typer.Option("--count", help="How many pairs, triplets or mixes to draw.")
]
PerItem = Annotated[
    int | None, typer.Option("--per-item", help="How many people answer about an item.")
]
Trials = Annotated[int | None, typer.Option("--trials", help="Main trials a person.")]
Mode = Annotated[str | None, typer.Option("--mode", help="faithful or guarded.")]
Title = Annotated[str | None, typer.Option("--title", help="What people read on top.")]
Assigned = Annotated[
    list[str] | None,
    typer.Option("--set", help="Any other setting, as layout.repeats=3; repeatable."),
]
DatabaseUrl = Annotated[
    str | None, typer.Option("--database", help="postgresql://… instead of a file.")
]

DIGITS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
"""Words, because beside each class stands a number: the key that chooses it."""


def new(
    folder: StudyFolder,
    images: ImagesPath = None,
    classes: given.Classes = None,
    question: Preset = None,
    settings: SettingsFile = None,
    demo: Demo = False,
    labels: Labels = None,
    allocation: Allocation = None,
    checks: Checks = None,
    practice: Practice = None,
    comparisons: Comparisons = None,
    mixes: MixesTable = None,
    count: Count = None,
    per_item: PerItem = None,
    trials: Trials = None,
    mode: Mode = None,
    title: Title = None,
    assign: Assigned = None,
    database: DatabaseUrl = None,
    seed: given.Seed = 0,
) -> None:
    """Make a study from a folder of images, a list of labels and a question."""
    tables = {
        "labels": labels, "allocation": allocation, "checks": checks, "practice": practice,
        "comparisons": comparisons, "mixes": mixes, "count": count, "database": database,
    }  # fmt: skip
    if demo and any((images, classes, settings, *tables.values())):
        raise typer.BadParameter("--demo brings images, classes and tables of its own.")
    need_packages("pydantic", "sqlalchemy", "psycopg")
    changes = _changes(settings, assign or [])
    shortcuts = {"per_item": per_item, "mode": mode, "title": title}
    changes |= {key: value for key, value in shortcuts.items() if value is not None}
    if trials is not None:
        changes["layout"] = {**changes.get("layout", {}), "trials_per_person": trials}
    if classes is not None:
        from sfumato.judgments.formats.reading import read_classes

        changes["classes"] = read_classes(classes)
    preset = question or changes.get("preset")
    changes.pop("preset", None)
    _make(folder, images, preset, tables, changes, demo=demo, settings=settings, seed=seed)
    _tell(folder)


def demo_digits() -> dict[str, Any]:
    """The images, labels and classes of a study of handwritten digits."""
    from sfumato.data import digits

    pictures = digits.load()
    names = [DIGITS[label] for label in pictures.labels]
    return {
        "images": dict(zip(pictures.items, pictures.images, strict=True)),
        "labels": dict(zip(pictures.items, names, strict=True)),
        "classes": DIGITS,
    }


def _make(
    folder: Path,
    images: Path | None,
    preset: str | None,
    tables: dict[str, Any],
    changes: dict[str, Any],
    *,
    demo: bool,
    settings: Path | None,
    seed: int,
) -> None:
    from sfumato.elicit.making.make import demo_study, new_study

    if demo:
        changes = {**demo_digits(), **changes}
        demo_study(folder, preset=preset or "distribution", seed=seed, **changes)
    elif images is None or preset is None:
        raise typer.BadParameter("A study needs --images and --question (or --from or --demo).")
    else:
        where = "" if settings is None else settings.name
        with progress("Preparing images") as advance:
            new_study(
                folder, images=images, preset=preset, seed=seed, advance=advance, where=where,
                **tables, **changes,
            )  # fmt: skip


def _changes(settings: Path | None, assigned: list[str]) -> dict[str, Any]:
    """What stands in the file, and over it what was set on the command line."""
    from sfumato.elicit.design.study import ElicitStudy, read_settings
    from sfumato.names import find

    where = "--set" if settings is None else settings.name
    changes = {} if settings is None else read_settings(settings)
    for text in assigned:
        key, equals, value = text.partition("=")
        *table, last = key.strip().split(".")
        if not equals or not last or len(table) > 1:
            raise DataError(f"--set is written key=value or table.key=value; found {text!r}.")
        inside = changes.setdefault(table[0], {}) if table else changes
        if not isinstance(inside, dict):
            raise DataError(f"{table[0]} is a table of settings, not {inside!r}.")
        inside[last] = _value(value)
    for key in changes:
        try:
            find(ElicitStudy.model_fields, key, what="setting")
        except UnknownName as error:
            raise DataError(f"{where}: {error}") from None
    return changes


def _value(text: str) -> Any:
    """A value as in TOML; anything else is a text."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def _tell(folder: Path) -> None:
    from sfumato.elicit.design.places import IMAGES, SETTINGS, open_study

    study = open_study(folder)
    shown = len(list((folder / IMAGES).iterdir()))
    typer.echo(
        f"Made {folder}: {study.form} about {shown:,} images, {study.per_item} people each, "
        f"{study.layout.trials_per_person} trials a person."
    )
    typer.echo(
        f"Next: read {folder / SETTINGS} and replace its consent by your own, then\n"
        f"  sfumato elicit serve {folder}"
    )
