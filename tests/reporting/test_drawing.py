import re
from itertools import pairwise
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from sfumato.errors import DataError
from sfumato.reporting.draw import (
    Basis,
    Drawing,
    dots,
    finish_drawing,
    first_style,
    panels,
    png_bytes,
    save,
    styles,
    written,
)
from sfumato.reporting.page import Page, Section, render, write

TAG = "simulated annotators"


def drawn(name: str = "one", *, simulated: bool = True) -> Drawing:
    figure, axes = panels(1)
    axes[0].plot([0, 1, 2], [0.1, 0.5, 0.2])
    axes[0].set_xlabel("x < y & z")
    table = pl.DataFrame(
        {"x": [0, 1, 2], "value": [0.1, 1 / 3, float("nan")], "who": ["a", "b,", '"']}
    )
    return finish_drawing(
        name, "A line", "What it is.", figure=figure, table=table, basis=Basis(simulated)
    )


def test_three_files_are_written(tmp_path: Path) -> None:
    paths = save(drawn(), tmp_path / "figures")

    assert [path.name for path in paths] == ["one.svg", "one.png", "one.csv"]
    assert all(path.stat().st_size > 0 for path in paths)
    with Image.open(paths[1]) as image:
        assert image.width > 800


def test_csv_equals_the_drawn_table(tmp_path: Path) -> None:
    drawing = drawn()

    back = pl.read_csv(save(drawing, tmp_path)[2])

    assert (
        back.equals(drawing.table, null_equal=True) or back.write_csv() == drawing.table.write_csv()
    )
    assert back["value"][1] == 1 / 3
    assert back["simulated"].to_list() == [True] * 3


def test_same_drawing_gives_the_same_bytes(tmp_path: Path) -> None:
    first = [path.read_bytes() for path in save(drawn(), tmp_path / "a")]
    second = [path.read_bytes() for path in save(drawn(), tmp_path / "b")]

    assert first == second
    assert drawn().svg == drawn().svg


def test_svg_is_rendered_once_for_the_file_and_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawing = drawn()
    kinds: list[str] = []
    render = drawing.figure.savefig
    monkeypatch.setattr(
        drawing.figure,
        "savefig",
        lambda *args, **more: kinds.append(more["format"]) or render(*args, **more),  # type: ignore[func-returns-value]
    )

    save(drawing, tmp_path)
    write(Page("A page", sections=(Section("One", blocks=(drawing,)),)), tmp_path / "page.html")

    assert sorted(kinds) == ["png", "svg"]


def test_nothing_of_time_or_program_is_written() -> None:
    assert "<dc:date>" not in drawn().svg
    assert b"Software" not in png_bytes(drawn())


def test_mark_is_inside_the_figure_and_in_every_row() -> None:
    assert TAG in drawn().svg
    assert TAG not in drawn(simulated=False).svg
    assert drawn(simulated=False).table["simulated"].to_list() == [False] * 3


def test_mark_is_not_cut_off_by_the_edge() -> None:
    drawing = drawn()
    drawing.figure.draw_without_rendering()

    tag = next(text for text in drawing.figure.texts if text.get_text() == TAG)
    patch = tag.get_bbox_patch()

    assert patch is not None
    box, page = patch.get_window_extent(), drawing.figure.bbox
    assert box.x0 >= 0 and box.y0 >= 0
    assert box.x1 <= page.x1 and box.y1 <= page.y1


@pytest.mark.parametrize("name", ["", "../up", "a/b", ".hidden", "a b", "a\n"])
def test_name_that_is_no_file_name_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no file name"):
        save(drawn(name), tmp_path)


def test_text_in_the_svg_is_text() -> None:
    assert "x &lt; y &amp; z" in drawn().svg


def test_forty_nine_series_all_look_different() -> None:
    looks = styles(str(n) for n in range(49))

    assert len({(style.colour, style.marker) for style in looks.values()}) == 49


def test_neighbouring_series_differ_in_colour_and_in_shape() -> None:
    looks = list(styles(str(n) for n in range(40)).values())

    for one, other in pairwise(looks):
        assert one.colour != other.colour
        assert one.marker != other.marker


def luminance(colour: str) -> float:
    parts = np.array([int(colour[at : at + 2], 16) for at in (1, 3, 5)]) / 255
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


@pytest.mark.parametrize("paper", ["#ffffff", "#15181c"])
def test_colours_stand_out_on_light_and_on_dark_paper(paper: str) -> None:
    for style in styles(str(n) for n in range(7)).values():
        light, dark = sorted((luminance(style.colour), luminance(paper)), reverse=True)
        assert (light + 0.05) / (dark + 0.05) > 2


@given(st.text() | st.text("a$\\ \n"), st.integers(5, 40))
def test_written_name_is_one_short_line_without_formulas(text: str, width: int) -> None:
    shown = written(text, width)

    assert len(shown.replace("\\$", "$")) <= width
    assert "\n" not in shown
    assert "$" not in shown.replace("\\$", "")


def test_caption_says_items_people_seeds_and_interval() -> None:
    basis = Basis(True, items=1, seeds=(3,), interval="items", people=2)

    assert basis.sentence() == (
        "n = 1 item; 2 simulated annotators; 1 seed (3); bars and bands: 95 % interval over items."
    )


def test_simulated_worlds_are_not_called_annotators() -> None:
    figure, _ = panels(1)
    basis = Basis(True, seeds=(0, 1, 2), made="worlds")
    table = pl.DataFrame({"x": [1]})

    drawing = finish_drawing("w", "Worlds", "What.", figure=figure, table=table, basis=basis)
    page = render(Page("t", sections=(Section("s", blocks=(drawing,)),)))

    assert drawing.caption == "What. 3 seeds (0 to 2)."
    assert "simulated worlds" in drawing.svg
    assert "Simulated worlds: these numbers" in page
    assert "annotators" not in page


def test_mark_tells_its_value_to_who_points_at_it() -> None:
    figure, (axes,) = panels(1)
    table = pl.DataFrame(
        {"arm": ["a<b", "c", "d"], "value": [0.25, float("nan"), 0.5], "low": [0.2, 0.1, None],
         "high": [0.3, 0.4, None]}
    )  # fmt: skip
    dots(axes, table, np.array([0.0, 1.0, 2.0]), first_style())

    svg = finish_drawing("t", "T", "", figure=figure, table=table, basis=Basis(False)).svg

    told = re.findall(r"<use [^>]*><title>([^<]*)</title></use>", svg)
    assert told == ["a&lt;b: 0.250 [0.200, 0.300]", "d: 0.500"]
    assert "tips-" not in svg
