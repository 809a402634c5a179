import numpy as np
import polars as pl
import pytest

from sfumato.errors import DataError
from sfumato.reporting.draw import Basis, png_bytes
from sfumato.reporting.figures import coefficient_curves, mix_gallery, pair_curves

BASIS = Basis(False, items=3, people=4)


def answers(mixes: int) -> pl.DataFrame:
    rows = [
        {
            "mix": f"m{mix}",
            "first_item": "a",
            "second_item": "b",
            "first_class": "cat",
            "second_class": "dog",
            "shown": 0.25,
            "perceived": 0.1 * person,
            "confidence": 1.0,
        }
        for mix in range(mixes)
        for person in range(3)
    ]
    return pl.DataFrame(rows)


def curves(pairs: int, shown: tuple[float, ...]) -> pl.DataFrame:
    rows = [
        {"pair": f"cat + {pair}", "shown": at, "value": at, "low": at - 0.1, "high": at + 0.1}
        for pair in range(pairs)
        for at in shown
    ]
    return pl.DataFrame(rows)


def test_gallery_shows_twelve_mixes_with_both_images_and_the_answers() -> None:
    images = {name: np.zeros((4, 4, 3), np.uint8) for name in ("a", "b")}

    drawn = mix_gallery(answers(14), images, BASIS)

    assert drawn.table["mix"].n_unique() == 12
    assert len(drawn.figure.axes) == 12 * 4
    assert "no image" in drawn.svg  # the mixes themselves were not given
    assert drawn.svg.count("0.25 : 0.75") == 12


def test_left_image_is_on_the_left_of_the_answers() -> None:
    drawn = mix_gallery(answers(1), {}, BASIS)

    below = drawn.figure.axes[3]
    assert below.get_xlim()[0] > below.get_xlim()[1]
    (mark, mean) = below.lines
    assert np.asarray(mark.get_xdata()).tolist() == [0.25, 0.25]
    assert float(np.asarray(mean.get_xdata())[0]) == pytest.approx(0.1)


@pytest.mark.parametrize("pairs", [1, 7])
def test_every_class_pair_has_a_panel(pairs: int) -> None:
    points, lines = curves(pairs, (0.1, 0.5, 0.9)), curves(pairs, (0.0, 0.5, 1.0))

    drawn = pair_curves(points, lines, BASIS)

    assert len(drawn.figure.axes) == pairs
    assert set(drawn.table["kind"]) == {"answers", "curve"}
    assert len(drawn.table) == 6 * pairs
    assert len(png_bytes(drawn)) > 1_000


def test_curves_by_coefficient_have_a_line_a_series() -> None:
    table = curves(2, (0.1, 0.5, 0.9)).rename({"pair": "series"})

    drawn = coefficient_curves(table, BASIS, ylabel="confidence")

    assert len(drawn.figure.axes[0].lines) == 2
    assert "confidence" in drawn.svg


def test_missing_column_is_named() -> None:
    with pytest.raises(DataError, match="lacks the column 'perceived'"):
        mix_gallery(answers(1).drop("perceived"), {}, BASIS)
