"""``sfumato cover``: numbers as JSON, sets as a table."""

import json

import numpy as np
import polars as pl
from tests.cli.conftest import Run


def write_tables() -> None:
    rng = np.random.default_rng(0)
    true = rng.dirichlet([0.5, 0.5], 120)
    shares = np.array([rng.multinomial(10, row) for row in true]) / 10
    items = [f"i{number}" for number in range(120)]
    for name, rows, count in (("people.csv", shares, 100), ("model.csv", true, 120)):
        columns = {"item": items[:count], "cat": rows[:count, 0], "dog": rows[:count, 1]}
        pl.DataFrame(columns).write_csv(name)


def test_numbers_as_json_and_sets_of_items_without_labels(run: Run) -> None:
    write_tables()

    done = run(
        *("cover", "--labels", "people.csv", "--predictions", "model.csv"),
        *("--level", "0.8", "--out", "sets.csv", "--json"),
    )

    told = json.loads(done.out)
    sets = pl.read_csv("sets.csv")
    assert done.code == 0
    assert {"coverage", "low", "high", "size", "empty", "level"} <= set(told)
    assert (told["level"], told["items"], told["classes"]) == (0.8, 100, 2)
    assert sets.columns == ["item", "cat", "dog"]
    assert sets["item"].to_list() == [f"i{number}" for number in range(100, 120)]
    assert set(sets.drop("item").to_numpy().ravel().tolist()) == {0, 1}


def test_existing_sets_are_not_replaced_and_wrong_levels_are_told(run: Run) -> None:
    write_tables()
    words = ("cover", "--labels", "people.csv", "--predictions", "model.csv")

    assert run(*words, "--level", "90").err.startswith("sfumato: The level is 90")
    assert run(*words, "--out", "people.csv").code == 1
    assert pl.read_csv("people.csv").columns == ["item", "cat", "dog"]
