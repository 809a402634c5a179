"""What paper 1 prints about its networks."""

__all__ = ["ENSEMBLE", "TABLE_1"]

ARMS = ("pretrained", "hard", "hard + mixup", "category", "soft", "sampled")


def _rows(*rows: str) -> dict[str, tuple[float, ...]]:
    """Cross-entropy on c10H, c10, v4 and v6, a text for each way of training."""
    return {arm: tuple(map(float, row.split())) for arm, row in zip(ARMS, rows, strict=True)}


TABLE_1: dict[str, dict[str, tuple[float, ...]]] = {
    "ResNet": _rows(
        ".82 .25 .84 .82", ".57 .19 .60 .58", ".36 .18 .48 .46",
        ".42 .21 .53 .51", ".35 .19 .50 .49", ".35 .19 .48 .46",
    ),
    "ResNet preact": _rows(
        ".75 .20 .69 .66", ".65 .19 .61 .59", ".40 .18 .45 .43",
        ".44 .23 .47 .46", ".35 .21 .49 .48", ".34 .19 .42 .41",
    ),
    "VGG": _rows(
        ".71 .26 .79 .76", ".54 .20 .62 .59", ".47 .20 .56 .53",
        ".42 .22 .51 .49", ".34 .21 .49 .48", ".35 .21 .49 .47",
    ),
    "DenseNet": _rows(
        ".61 .15 .54 .54", ".59 .14 .51 .50", ".36 .13 .43 .42",
        ".39 .18 .42 .42", ".32 .17 .40 .40", ".31 .16 .40 .39",
    ),
    "PyramidNet": _rows(
        ".54 .12 .42 .42", ".51 .11 .38 .38", ".49 .11 .40 .40",
        ".36 .14 .32 .32", ".28 .13 .35 .34", ".28 .12 .32 .32",
    ),
    "ResNext": _rows(
        ".47 .10 .37 .36", ".46 .10 .35 .34", ".47 .10 .37 .36",
        ".37 .17 .37 .36", ".29 .13 .34 .33", ".28 .13 .34 .33",
    ),
    "Wide ResNet": _rows(
        ".46 .14 .40 .39", ".42 .12 .37 .36", ".40 .12 .37 .36",
        ".36 .15 .33 .33", ".27 .13 .32 .31", ".28 .13 .31 .30",
    ),
    "Shake-Shake": _rows(
        ".60 .09 .34 .33", ".51 .07 .28 .27", ".63 .08 .34 .33",
        ".33 .12 .28 .28", ".26 .10 .27 .26", ".27 .10 .27 .27",
    ),
}  # fmt: skip
"""Table 1: network to arm to cross-entropy on c10H, c10, v4 and v6 (S0-T1)."""

ENSEMBLE = 0.41
"""Cross-entropy to people of the mean of all eight, before tuning (S0-11)."""
