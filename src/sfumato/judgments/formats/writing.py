"""What all writers share: whole files or none, no platform ids, one label where one fits."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import polars as pl

from sfumato.errors import DataError
from sfumato.judgments.formats.reading import PLATFORM_ID
from sfumato.judgments.judgments import Judgments
from sfumato.judgments.statements import top_choice


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """A path to write to that takes the place of ``path`` once everything is written."""
    part = path.with_name(f".{path.name}.part")
    try:
        yield part
        part.replace(path)
    except OSError as error:
        raise DataError(f"{path} cannot be written: {error.strerror or error}.") from None
    finally:
        part.unlink(missing_ok=True)


def refuse_platform_ids(annotators: pl.Series) -> None:
    """Worker ids of a platform are never exported."""
    people = annotators.drop_nulls().unique().sort().to_list()
    found = [name for name in people if PLATFORM_ID.fullmatch(name)]
    if found:
        raise DataError(
            f"{len(found)} annotator ids look like those of a crowd platform, such as "
            f"{found[0][:4]}…; they are never written. Replace them by pseudonyms first."
        )


def choices_of(judgments: Judgments, format_name: str) -> pl.DataFrame:
    """Columns item, annotator and label of choose-one judgments; anything else is refused.

    A format with one label per judgment would turn repeats and checks into ordinary answers.
    """
    refuse_platform_ids(judgments.coded.coded("annotator").used())
    if judgments.question.kind != "choose-one":
        raise DataError(
            f"The format {format_name!r} holds one label per judgment and cannot hold answers to "
            f"the question {judgments.question.kind!r}. Write them as 'sfumato'."
        )
    other = judgments.table.filter(pl.col("view") != "first")
    if len(other):
        raise DataError(
            f"The format {format_name!r} cannot say that {len(other)} of {len(judgments)} "
            f"judgments are not first views (the first is a {other['view'][0]!r}). Leave them "
            "out, or write 'sfumato'."
        )
    chosen = top_choice(judgments.statements)[judgments.statements.index]
    labels = pl.Series(judgments.question.classes, dtype=pl.String).gather(chosen)
    return judgments.table.select("item", "annotator").with_columns(labels.alias("label"))


def refuse_second_labels(table: pl.DataFrame, format_name: str) -> None:
    """For formats with one place for each person's label of an item."""
    nameless = int(table["annotator"].null_count())
    if nameless:
        raise DataError(
            f"The format {format_name!r} needs the annotator of every judgment; {nameless} of "
            f"{len(table)} are not recorded. Write 'crowd' or 'sfumato'."
        )
    again = table.filter(~pl.struct("item", "annotator").is_first_distinct())
    if len(again):
        item, annotator = again.select("item", "annotator").row(0)
        raise DataError(
            f"The format {format_name!r} has one place for an annotator's label of an item, but "
            f"{annotator!r} judged item {item!r} more than once. Leave duplicates out first."
        )
