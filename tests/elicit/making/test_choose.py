"""Which items are asked about: by doubt, in batches, against the released choice of CIFAR-10S."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from sfumato.cli import app
from sfumato.elicit.design.places import database_url
from sfumato.elicit.making.choose import ItemChoice, choose_items, doubt_of
from sfumato.elicit.making.tables import read_levels
from sfumato.elicit.storage.database import open_database
from sfumato.errors import DataError
from sfumato.labels.labelset import LabelSet

ITEMS = tuple(f"i{place}" for place in range(40))


def labels(seed: int) -> LabelSet:
    rng = np.random.default_rng(seed)
    return LabelSet(ITEMS, ("cat", "dog", "deer"), rng.dirichlet([0.4, 0.4, 0.4], size=len(ITEMS)))


def test_entropy_is_the_mean_of_the_members_and_disagreement_that_of_pairs() -> None:
    one, two = labels(0), labels(1)
    p, q = one.probs, two.probs
    plain = [-(rows * np.log(rows)).sum(axis=1) for rows in (p, q)]
    both_ways = (p * np.log(p / q)).sum(axis=1) + (q * np.log(q / p)).sum(axis=1)

    assert doubt_of([one, two], "entropy") == pytest.approx(np.mean(plain, axis=0))
    assert doubt_of([one, two], "disagreement") == pytest.approx(both_ways, rel=1e-6)
    with pytest.raises(DataError, match="two files or more"):
        doubt_of([one], "disagreement")


@given(st.integers(1, 4), st.integers(0, 3), st.integers(1, 4), st.integers(0, 99))
def test_every_batch_has_as_many_hard_and_as_many_easy_items(
    hard: int, easy: int, batches: int, seed: int
) -> None:
    choice = ItemChoice(hard * batches, easy * batches, batches=batches)
    doubt = doubt_of([labels(seed)], "entropy")
    table = choose_items(ITEMS, doubt, choice, rng=np.random.default_rng(seed))

    assert table["image"].n_unique() == len(table) == (hard + easy) * batches
    counts = table.group_by("batch", "kind").len()
    assert set(counts.filter(kind="hard")["len"]) == {hard}
    assert set(counts.filter(kind="easy")["len"]) == ({easy} if easy else set())
    hardest = np.sort(doubt)[-hard * batches :]
    assert sorted(table.filter(kind="hard")["doubt"]) == pytest.approx(hardest.tolist())


def test_bounds_hold_and_too_few_or_uneven_are_told() -> None:
    doubt = doubt_of([labels(0)], "entropy")
    rng = np.random.default_rng(0)
    table = choose_items(ITEMS, doubt, ItemChoice(9, 3, hard_above=0.25, easy_below=0.1), rng=rng)

    assert (table.filter(kind="hard")["doubt"] > 0.25).all()
    assert (table.filter(kind="easy")["doubt"] <= 0.1).all()
    with pytest.raises(DataError, match=r"30 hard items are wanted, but only"):
        choose_items(ITEMS, doubt, ItemChoice(30, hard_above=0.9), rng=rng)
    with pytest.raises(DataError, match=r"cannot be dealt evenly into 4 batches; 8 can"):
        choose_items(ITEMS, doubt, ItemChoice(9, batches=4), rng=rng)


@given(st.data())
@settings(max_examples=40, deadline=None)
def test_every_batch_has_as_many_of_every_group_of_every_level(data: st.DataObject) -> None:
    """Give or take one; kinds stay exact, also where a level has groups of different sizes."""
    seed = data.draw(st.integers(0, 99))
    leaves = data.draw(st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from("xyz")),
                                min_size=1, max_size=5, unique=True))  # fmt: skip
    groups = pl.DataFrame(
        [leaves[place % len(leaves)] for place in range(len(ITEMS))],
        schema=["over", "class"], orient="row",
    )  # fmt: skip
    batches = data.draw(st.integers(1, 4))
    choice = ItemChoice(
        batches * data.draw(st.integers(0, 4 // batches)),
        batches * data.draw(st.integers(0, 4 // batches)),
        batches=batches,
    )
    doubt = doubt_of([labels(seed)], "entropy")
    table = choose_items(ITEMS, doubt, choice, rng=np.random.default_rng(seed), groups=groups)

    assert table["image"].n_unique() == len(table) == choice.hard + choice.easy
    names = [f"{batch + 1}" for batch in range(batches)]
    for level in (
        ["kind"],
        ["over"],
        ["over", "class"],
        ["kind", "over"],
        ["kind", "over", "class"],
    ):
        for _, rows in table.group_by(level):
            numbers = [rows["batch"].to_list().count(name) for name in names]
            assert max(numbers) - min(numbers) <= (0 if level == ["kind"] else 1)
    for kind, number in (("hard", choice.hard), ("easy", choice.easy)):
        over = [len(table.filter(kind=kind, over=one)) for one in {one for one, _ in leaves}]
        assert sum(over) == number and max(over) - min(over) <= 1


def test_groups_that_cannot_be_even_are_told(tmp_path: Path) -> None:
    doubt = doubt_of([labels(0)], "entropy")
    groups = pl.DataFrame({"over": ["few"] * 3 + ["many"] * 37, "class": ["cat"] * 40})
    with pytest.raises(DataError, match="4 hard items of cat of few are wanted, but only 3 of 3"):
        choose_items(ITEMS, doubt, ItemChoice(8), rng=np.random.default_rng(0), groups=groups)

    path = tmp_path / "groups.csv"
    for text, told in (
        ("image\ni0\n", "a column per level of groups beside image; there is none"),
        ("image,kind\ni0,cat\n", "'kind' is a column of what is written"),
        ("image,class\ni0,cat\n", "of 1 of 2 items; the first without is 'i1'"),
        ("image,class\ni0,cat\ni0,dog\n", "'i0' is named before"),
    ):
        path.write_text(text)
        with pytest.raises(DataError, match=told):
            read_levels(path, ("i0", "i1"))


def test_bounds_of_cifar10s_fit_its_released_choice(data_folder: Path) -> None:
    """1,000 images: 886 with H of 0.25 and more, 114 with at most 0.1, in nats (S2-05)."""
    counts = np.load(data_folder / "cifar10h" / "cifar10h-counts.npy")
    known = LabelSet(
        tuple(map(str, range(len(counts)))),
        tuple("0123456789"),
        counts / counts.sum(axis=1, keepdims=True),
    )
    choice = ItemChoice(886, 114, hard_above=0.25, easy_below=0.1)
    table = choose_items(
        known.items, doubt_of([known], "entropy"), choice, rng=np.random.default_rng(0)
    )

    assert len(table) == 1_000


def test_chosen_items_become_a_study_with_their_batches(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    rows = rng.dirichlet([0.3] * 10, size=1797)
    names = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
    from sfumato.studies.ambiguous import load_pictures

    items = load_pictures("digits", split=None).items
    text = "\n".join(
        ",".join([item, *(f"{value:.6f}" for value in row / row.sum())])
        for item, row in zip(items, rows, strict=True)
    )
    (tmp_path / "known.csv").write_text(f"item,{','.join(names)}\n{text}\n")
    chosen, study = tmp_path / "chosen.csv", tmp_path / "study"

    def run(*arguments: Any) -> str:
        done = CliRunner().invoke(app, ["elicit", *map(str, arguments)])
        assert done.exit_code == 0, done.output + repr(done.exception)
        return done.output

    sizes = ("--hard", 20, "--easy", 4, "--batches", 4)
    said = run("choose", tmp_path / "known.csv", *sizes, "-o", chosen)
    assert "24 of 1,797 items" in said and "in 4 batches: 20 hard" in said
    run(
        "new", study, "--data", "digits", "--only", chosen, "--allocation", chosen,
        "--question", "top-two-guarded",
    )  # fmt: skip

    with open_database(database_url(study)).reader() as connection:
        found = connection.driver.execute(
            "SELECT batch, count(*) FROM stimulus WHERE role = 'main' GROUP BY batch"
        ).fetchall()
    assert dict(found) == {"1": 6, "2": 6, "3": 6, "4": 6}
