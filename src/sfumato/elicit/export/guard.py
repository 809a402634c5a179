"""Keep a spreadsheet from running what stands in a table (S7)."""

import polars as pl

GUARD = "'"
"""Put before a text that a spreadsheet would take for a formula."""

_FORMULA = r"^[=+\-@\t\r]"


def guarded(table: pl.DataFrame) -> tuple[pl.DataFrame, int]:
    """The table with a mark before every text that begins like a formula, and how many there were.

    >>> guarded(pl.DataFrame({"item": ["=1+1", "a-b"], "order": [-1, 2]}))[0].rows()
    [("'=1+1", -1), ('a-b', 2)]
    """
    texts = [name for name in table.columns if table.schema[name] == pl.String]
    risky = {name: table[name].str.contains(_FORMULA).fill_null(False) for name in texts}
    changed = sum(int(rows.sum()) for rows in risky.values())
    marked = table.with_columns(
        pl.when(rows).then(pl.lit(GUARD) + pl.col(name)).otherwise(pl.col(name)).alias(name)
        for name, rows in risky.items()
    )
    return marked, changed
