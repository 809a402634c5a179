"""What every public type that is a table can do: go to other libraries, and show itself.

Polars is imported when a table is asked for: types that only count need not wait for it.
"""

from html import escape
from typing import TYPE_CHECKING

from sfumato.errors import missing_package

if TYPE_CHECKING:
    import datasets
    import pandas as pd
    import polars as pl
    import pyarrow as pa


class ShortRepr:
    """What every public type shows of itself: one line, whatever its size."""

    def _summary(self) -> str:
        raise NotImplementedError(type(self).__name__)

    def __repr__(self) -> str:
        return f"<{self._summary()}>"

    def _repr_html_(self) -> str:
        return f"<p>{escape(self._summary())}</p>"


SHOWN_ROWS = 10
"""Rows of a table that a notebook shows."""


class Tabular(ShortRepr):
    """What every public type that is a table can do: go to other libraries, and show itself.

    A type says what it is in one line (``_summary``) and gives its rows (``to_polars``).
    """

    def to_polars(self) -> "pl.DataFrame":
        """The rows as a polars frame."""
        raise NotImplementedError(type(self).__name__)

    def to_pandas(self) -> "pd.DataFrame":
        """The rows as a pandas frame; its columns can be written to."""
        from sfumato.frames import to_pandas

        return to_pandas(self.to_polars())

    def to_arrow(self) -> "pa.Table":
        """The rows as an Arrow table."""
        try:
            return self.to_polars().to_arrow()
        except ImportError:
            raise missing_package("Making an Arrow table", "pyarrow", "tables") from None

    def to_hf(self) -> "datasets.Dataset":
        """The rows as a Hugging Face dataset."""
        try:
            from datasets import Dataset
        except ImportError:
            raise missing_package("Making a Hugging Face dataset", "datasets", "tables") from None
        return Dataset(self.to_arrow())

    def _repr_html_(self) -> str:
        import polars as pl

        frame = self.to_polars()
        with pl.Config(tbl_rows=SHOWN_ROWS, tbl_hide_dataframe_shape=True, tbl_cols=16):
            shown = frame.head(SHOWN_ROWS)._repr_html_()
        rest = len(frame) - min(len(frame), SHOWN_ROWS)
        more = f"<p>… and {rest:,} more</p>" if rest else ""
        return f"<p>{escape(self._summary())}</p>{shown}{more}"
