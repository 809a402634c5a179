"""What papers 3 and 4 print in the tables about CIFAR-10S, by arm, labels and column."""

from sfumato.studies.comparison.cifar10s import PEOPLE_H, PEOPLE_S

__all__ = [
    "ABLATION",
    "AGGREGATED",
    "BOTH",
    "FEW",
    "PAPER_4",
    "SEPARATE",
    "THESIS",
    "WHAT",
    "Numbers",
    "printed_key",
]

FGSM = "fgsm/4"
WHAT = {
    "CE": ("all", "cross_entropy", "cross-entropy to people"),
    "calibration": ("all", "rms_calibration", "calibration error"),
    "FGSM": (FGSM, "cross_entropy", "loss under FGSM"),
}
"""The three columns of every table, in the order of paper 4."""
BOTH = (PEOPLE_H, PEOPLE_S)

Key = tuple[str, str, str, str]
Numbers = dict[Key, str]
"""What is printed, by arm, against, stratum and metric."""


def printed_key(arm: str, against: str, what: str) -> Key:
    """Where the number of an arm in a column of ``WHAT`` is kept."""
    stratum, metric, _ = WHAT[what]
    return arm, against, stratum, metric


def _table(rows: dict[str, tuple[str, str]]) -> Numbers:
    """Rows of a table: an arm's three columns held against CIFAR-10H, then CIFAR-10S."""
    return {
        printed_key(arm, against, what): value
        for arm, sides in rows.items()
        for against, side in zip(BOTH, sides, strict=True)
        for what, value in zip(WHAT, side.split(), strict=True)
    }


AGGREGATED = _table(
    {
        "hard": ("2.026±.18 .277±.01 15.455±7.5", "4.460±.49 .425±.09 15.782±4.67"),
        "random": ("1.770±.16 .226±.02 13.476±1.39", "3.093±.53 .353±.05 10.697±4.14"),
        "uniform": ("1.599±.13 .203±.02 10.199±3.82", "2.923±.26 .311±.06 11.768±5.18"),
        PEOPLE_H: ("1.325±.07 .201±.01 8.750±1.80", "2.558±.16 .313±.03 8.416±1.64"),
        "T2 clamp": ("1.369±.07 .203±.01 8.872±1.63", "2.591±.19 .324±.02 9.116±1.63"),
    }
)
SEPARATE = AGGREGATED | _table(
    {
        "label smoothing": ("1.368±.19 .175±.05 6.965±1.7", "2.674±.33 .299±.05 9.375±3.4"),
        f"{PEOPLE_H} separate": ("1.293±.08 .194±.01 8.577±1.91", "2.459±.21 .311±.02 8.334±1.75"),
        "T2 clamp separate": ("1.281±.06 .184±.01 8.406±1.75", "2.355±.14 .297±.03 8.405±1.59"),
    }
)
FEW = _table(
    {
        f"{PEOPLE_H} M=1": ("2.17±.11 .29±.01 19.20±.86", "4.49±.31 .45±.05 17.85±.68"),
        f"{PEOPLE_H} M=2": ("1.71±.15 .25±.02 14.16±.67", "3.37±.42 .34±.08 13.13±.70"),
        "T2 clamp M=1": ("1.58±.08 .23±.01 12.57±1.29", "2.90±.31 .38±.06 12.13±1.31"),
        "T2 clamp M=2": ("1.49±.08 .22±.01 11.57±.44", "2.88±.17 .36±.04 11.39±.59"),
    }
)
# Three networks in paper 4; in the thesis ResNet-34A alone, which moves all numbers (C9).
PAPER_4 = _table(
    {
        "T1 uniform separate": ("1.320±.08 .187±.01 8.647±1.72", "2.512±.12 .317±.04 9.029±1.7"),
        "T1 clamp separate": ("1.299±.06 .190±.01 8.385±1.55", "2.501±.18 .306±.03 8.590±1.42"),
        "T2 uniform separate": ("1.287±.10 .180±.02 8.345±1.63", "2.437±.16 .293±.04 8.605±1.59"),
        "T2 clamp separate": ("1.281±.06 .184±.01 8.406±1.75", "2.355±.14 .297±.03 8.405±1.59"),
        "select top 2 separate": ("1.300±.06 .180±.01 8.639±1.46", "2.448±.15 .313±.02 8.797±1.25"),
    }
)
THESIS = _table(
    {
        "T1 uniform separate": ("1.423±.08 .198±.01 10.891±.32", "2.531±.15 .312±.03 11.25±.4"),
        "T1 clamp separate": ("1.368±.12 .198±.02 10.386±.8", "2.637±.31 .328±.06 10.423±1.17"),
        "T2 uniform separate": ("1.448±.14 .203±.02 10.474±.44", "2.630±.29 .339±.1 10.667±1.15"),
        "T2 clamp separate": ("1.306±.19 .183±.03 8.482±3.95", "2.466±.32 .321±.07 10.382±1.0"),
        "T1 semantic separate": (
            "1.439±.05 .198±.02 10.369±1.23",
            "2.568±.97 .320±.17 10.284±1.35",
        ),
        "T2 semantic separate": (
            "1.382±.19 .195±.04 10.378±1.11",
            "2.640±.73 .335±.18 10.326±1.72",
        ),
    }
)
ABLATION: Numbers = {
    key: "; ".join(
        f"{source} {table[key]}"
        for source, table in (("paper 4:", PAPER_4), ("thesis:", THESIS))
        if key in table
    )
    for key in (PAPER_4 | THESIS)
}
