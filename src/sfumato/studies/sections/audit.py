"""Sections about people's doubt and what networks made of it, as paper 5 asks (S4)."""

from collections.abc import Iterable

import polars as pl

from sfumato.evaluation.alignment import EXPECTED, Sign, nearest_labels
from sfumato.evaluation.cartography import REGIONS
from sfumato.reporting.figures import curves, galleries
from sfumato.reporting.figures import scores as score_figures
from sfumato.reporting.page import Block, Section, Text
from sfumato.reporting.tables import Table
from sfumato.reporting.text import Finding, interval, mode_shift, number, signed
from sfumato.scores import Estimate, Estimates
from sfumato.studies.data import PEOPLE
from sfumato.studies.folder import RunFolder
from sfumato.studies.measures.doubt import TOP, TOP_SHARE
from sfumato.studies.measures.duplicates import LEARNT
from sfumato.studies.measures.dynamics import SIGNALS
from sfumato.studies.measures.rows import LEARNT_ORIGINAL, LEARNT_SOFT, LEARNT_VOTE

HEADLINE = ("cross_entropy", "accuracy")
MODES_SHOWN = ("accuracy", "kl")
MAP_STRATA = ("all", "unanimous", "disputed")
GALLERIES = {
    "doubtful": "The items that people doubt most",
    "alternatives": "The same first guess, other alternatives",
    "interest_bars": "Annotator noise, noisy image or true ambiguity?",
}
"""Tables of bars, and what is asked of their pictures."""


def modes(run: RunFolder) -> Section | None:
    """How much of what soft labels gain is the shift of the mode (S4-45, C15)."""
    if "modes" not in run.tables:
        return None
    differ = next(iter(run.estimates.filter(metric="modes_differ", part="", stratum="all")), None)
    moved = (
        f"The most frequent answer of people is not the original label on {differ.value:,.0f} of "
        f"{differ.items:,} items. "
        if differ is not None
        else ""
    )
    text = (
        f"{moved}Re-annotation moves the label; a gain may come from that alone. Soft labels are "
        "therefore held against the majority vote of the same people, on the original labels and "
        "on people's."
    )
    paired = run.estimates.differences.filter(
        metric=HEADLINE, stratum="all", attack="", against=PEOPLE
    )
    told = mode_shift(list(paired), LEARNT_ORIGINAL, LEARNT_VOTE, LEARNT_SOFT)
    gains = run.estimates.filter(metric=[f"{metric}_gain" for metric in MODES_SHOWN])
    drawn = score_figures.mode_shift(
        run.tables["modes"].filter(pl.col("metric").is_in(MODES_SHOWN)),
        score_figures.basis_of(gains.table),
    )
    sentences = (Text(finding.text) for finding in told)
    return Section("Softness or a shifted mode?", text, (*sentences, drawn))


def calibration(run: RunFolder) -> Section | None:
    """Whether confidence is earned."""
    if "reliability" not in run.tables:
        return None
    tested = run.estimates.scores.filter(metric="accuracy", stratum="all", attack="")
    basis = score_figures.basis_of(tested.table.with_columns(over=pl.lit("")))
    text = "Right means the class that most people chose; the seeds' predictions are pooled."
    drawn = score_figures.reliability(run.tables["reliability"], basis)
    return Section("Calibration", text, (drawn,))


def robustness(run: RunFolder) -> Section | None:
    """Scores against the bound of attacks, and under every corruption."""
    found = run.estimates.scores.filter(metric=HEADLINE, against=PEOPLE)
    table = found.table.filter(pl.col("attack") != "")
    before = table.filter(pl.col("step") == 0).unique(
        ("arm", "network", "metric", "part"), keep="first", maintain_order=True
    )
    last = pl.col("step").max().over("attack", "bound", "part")
    after = table.filter(pl.col("step").is_null() | ((pl.col("step") == last) & (last > 0)))
    blocks: list[Block] = []
    for kind in ("fgsm", "pgd"):
        mine = after.filter(pl.col("attack") == kind)
        if len(mine):
            rows = pl.concat([before.with_columns(bound=0.0, attack=pl.lit(kind)), mine])
            blocks.append(
                curves.attack_curves(
                    rows.rename({"bound": "epsilon"}),
                    score_figures.basis_of(mine),
                    unit="ℓ∞ bound in units of 1/255",
                    name=f"attack-{kind}",
                    title=f"Under {kind.upper()} attack",
                )
            )
    spoilt = after.filter(pl.col("attack").is_in(run.study.corruptions))
    if len(spoilt):
        strength = spoilt["bound"][0]
        untouched = before.with_columns(attack=pl.lit("untouched"), bound=strength)
        rows = pl.concat([untouched, spoilt]).filter(pl.col("metric") == "cross_entropy")
        rows = rows.with_columns(strength=pl.col("bound").cast(pl.Int64), corruption="attack")
        blocks.append(score_figures.corruption_bars(rows, score_figures.basis_of(spoilt)))
    text = (
        "Attacks drive up the cross-entropy to people's labels on images that were not trained "
        "on; pixels are normalised inside the network, so bounds are in pixels."
    )
    return Section("Attacked and corrupted images", text, tuple(blocks)) if blocks else None


def doubt(run: RunFolder) -> Section | None:
    """In how few items people's doubt lies, strata of label variation, and what goes with doubt."""
    blocks: list[Block] = []
    text = ""
    for top in run.estimates.filter(metric="entropy_share", stratum=TOP, network=""):
        text = (
            f"The {TOP_SHARE:.0%} most doubtful items hold {percent(top)} of all doubt (in "
            "brackets the 95 % interval over items)."
        )
    strata = run.estimates.filter(metric="share_of_items")
    basis = score_figures.basis_of(strata.table)
    if "concentration" in run.tables:
        blocks.append(curves.concentration(run.tables["concentration"], basis))
    if len(strata):
        blocks.append(strata_table(run.estimates))
    signals = run.estimates.filter(metric="spearman")
    if len(signals):
        blocks.append(score_figures.correlation_matrix(correlation_rows(signals), basis))
    return Section("People's doubt", text, tuple(blocks)) if blocks else None


def strata_table(estimates: Estimates) -> Table:
    """How many items each stratum holds."""
    counted = {one.stratum: one.value for one in estimates.filter(metric="items", network="")}
    shares = list(estimates.filter(metric="share_of_items"))
    rows = [
        {
            "stratum": one.stratum,
            "items": f"{counted[one.stratum]:,.0f}",
            "share (95 % interval over items)": percent(one),
        }
        for one in shares
    ]
    simulated = any(one.simulated for one in shares)
    return Table("Strata of human label variation", pl.DataFrame(rows), simulated=simulated)


def correlation_rows(signals: Estimates) -> pl.DataFrame:
    """Correlations of pairs of signals, as a matrix of them is drawn from."""
    return signals.table.select(
        "low", "high", "items", first="arm", second="against", rho="value"
    ).select("first", "second", "rho", "low", "high", "items")


def percent(one: Estimate) -> str:
    """A share with its interval in words.

    >>> percent(Estimate("share_of_items", 0.25, low=0.1, high=0.5))
    '25.0% [10.0%, 50.0%]'
    """
    ends = "" if one.low is None or one.high is None else f" [{one.low:.1%}, {one.high:.1%}]"
    return f"{one.value:.1%}{ends}"


def learning(run: RunFolder) -> Section | None:
    """Data maps, whether they follow people's doubt, and whether training had ended."""
    blocks: list[Block] = [*_maps(run), *_alignment(run), *_steadiness(run)]
    if "convergence" in run.tables:
        moved = run.estimates.filter(metric="early_movement", second="")
        basis = score_figures.basis_of(moved.table)
        blocks.append(curves.convergence(run.tables["convergence"], basis))
    if "history" in run.tables:
        seeds = tuple(run.tables["history"]["seed"].unique().sort().to_list())
        basis = score_figures.basis_of(
            pl.DataFrame({"items": [0], "seeds": [seeds], "simulated": [run.simulated]})
        )
        blocks.append(curves.learning_curves(run.tables["history"], basis))
    return Section("How it was learnt", "", tuple(blocks)) if blocks else None


def _maps(run: RunFolder) -> Iterable[Block]:
    if "data_map" not in run.tables:
        return
    table = run.tables["data_map"]
    regions = {f"{region}_share": region for region in REGIONS}
    shares = run.estimates.filter(metric=list(regions), stratum=MAP_STRATA)
    basis = score_figures.basis_of(shares.filter(stratum="all").table.with_columns(over=pl.lit("")))
    for network in table["network"].unique(maintain_order=True):
        yield curves.data_map(
            table.filter(pl.col("network") == network),
            basis,
            name=f"data-map-{network}",
            title=f"Data maps of {network}, coloured by people's uncertainty",
        )
    rows: dict[tuple[str, str, str], dict[str, str]] = {}
    for one in shares:
        row = rows.setdefault((one.arm, one.network, one.stratum), {})
        row["items"] = f"{one.items:,}"
        row[regions[one.metric]] = percent(one)
    yield Table(
        "Where items lie in the data maps",
        pl.DataFrame(
            [
                {"arm": arm, "network": network, "stratum": stratum, **row}
                for (arm, network, stratum), row in rows.items()
            ]
        ),
        caption="Shares of the items of each stratum with 95 % intervals over items.",
        simulated=basis.simulated,
    )


def _alignment(run: RunFolder) -> Iterable[Block]:
    metrics = {f"spearman_entropy_{name}": name for name in SIGNALS}
    found = run.estimates.scores.filter(metric=list(metrics), stratum="all")
    if not len(found):
        return
    rows = [
        {
            "arm": one.arm,
            "network": one.network,
            "people": "entropy of people",
            "model": metrics[one.metric],
            "rho": f"{number(one.value)} {interval(one.low, one.high)}".rstrip(),
            "expected": EXPECTED[metrics[one.metric]],
            "found": found_words(one, EXPECTED[metrics[one.metric]]),
        }
        for one in found
    ]
    yield Table(
        "Do models doubt what people doubt? (training part)",
        pl.DataFrame(rows),
        caption="Spearman's rank correlation with its 95 % interval over items (S4-35).",
        simulated=bool(found.table["simulated"].any()),
    )


def found_words(one: Estimate, expected: Sign) -> str:
    """How the sign of a correlation, by its interval and not by the estimate, compares.

    >>> found_words(Estimate("spearman", -0.5, low=-0.6, high=-0.4), "negative")
    'as expected'
    """
    if one.low is None or one.high is None:
        return "undefined"
    if one.low <= 0 <= one.high:
        return "not told apart from zero"
    return "as expected" if (one.high < 0) == (expected == "negative") else "opposite"


def _steadiness(run: RunFolder) -> Iterable[Block]:
    names = ("late_movement", "late_seed_spread", "late_seed_spread_less_movement")
    rows: dict[tuple[str, str], dict[str, Estimate]] = {}
    for one in run.estimates.filter(metric=names):
        rows.setdefault((one.arm, one.network), {})[one.metric] = one
    if not rows:
        return
    shown = []
    for (arm, network), row in rows.items():
        movement, spread, apart = (row[name] for name in names)
        shown.append(
            {
                "arm": arm,
                "network": network,
                "movement in a run (bits)": number(movement.value),
                "spread between seeds (bits)": number(spread.value),
                "ratio": number(movement.value / spread.value if spread.value else float("nan")),
                "spread - movement": f"{signed(apart.value)} {interval(apart.low, apart.high)}",
            }
        )
    yield Table(
        "How steady the end of training is",
        pl.DataFrame(shown),
        caption=(
            "Mean Jensen-Shannon divergence over the last epochs, and the 95 % interval of the "
            "difference over items (S4-51)."
        ),
        simulated=any(one.simulated for row in rows.values() for one in row.values()),
    )


def single_items(run: RunFolder) -> Section | None:
    """Entropies of labels and models, and the pictures that a person should look at."""
    blocks: list[Block] = [*_entropies(run)]
    tables = run.tables
    tested = run.estimates.filter(metric="entropy_distance")
    basis = score_figures.basis_of(tested.table.with_columns(over=pl.lit("")))
    blocks += [
        galleries.gallery(tables[name], run.pictures, basis, name=name, title=title)
        for name, title in GALLERIES.items()
        if name in tables and len(tables[name])
    ]
    if "interest" in tables and len(tables["interest"]):
        columns = ("item", "kind", "human_entropy", "confidence", "variability")
        counted = ", ".join(
            f"{one.value:,.0f} {one.stratum}"
            for one in run.estimates.filter(metric="items_of_interest")
        )
        blocks.append(
            Table(
                "Samples of interest",
                tables["interest"].select(columns),
                caption=(
                    "Training items, by rules on people's answers and the model's dynamics; the "
                    f"kinds say what the rules saw, not why. In all: {counted}."
                ),
                simulated=run.simulated,
            )
        )
    return Section("Single items", "", tuple(blocks)) if blocks else None


def _entropies(run: RunFolder) -> Iterable[Block]:
    if "entropy" not in run.tables:
        return
    apart = run.estimates.filter(metric="entropy_distance")
    basis = score_figures.basis_of(apart.table.with_columns(over=pl.lit("")))
    yield curves.entropy_histograms(run.tables["entropy"], basis)
    distances = apart.table.select(model="arm", labels="against", distance="value")
    own = {arm: arm for arm in distances["model"].unique(maintain_order=True)}
    nearest = nearest_labels(distances, own)
    yield Table(
        "Is a model as undecided as its labels?",
        nearest.rename(
            {
                "model": "learnt from",
                "own": "distance to its labels (nats)",
                "nearest": "nearest labels",
                "least": "distance to these (nats)",
                "resonates": "its own are the nearest",
            }
        ).drop("trained_on"),
        caption=(
            "Wasserstein distances between the entropies of models and those of all labels that "
            "were learnt, on tested items (S1-56)."
        ),
        simulated=basis.simulated,
    )


def pictures(run: RunFolder) -> Section | None:
    """Duplicates, and what leaked from the part that was learnt."""
    searched = list(run.estimates.filter(metric="pictures", part=""))
    if not searched:
        return None
    twice = sum(
        one.value for one in run.estimates.filter(metric="duplicated_pictures", stratum="all")
    )
    leaked = leaked_pictures(run)
    text = (
        f"{searched[0].value:,.0f} pictures were searched for exact and near duplicates: "
        f"{twice:,.0f} have one; {leaked:,} pairs lie in the training part and in the part that is "
        "reported on."
    )
    blocks: list[Block] = [
        Text("Pairs that are nearly the same carry their distance, for a person to judge.")
    ]
    if "duplicates" in run.tables:
        blocks.append(Table("Duplicates", run.tables["duplicates"]))
    if "leakage" in run.tables:
        blocks.append(Table("Leaked between parts", run.tables["leakage"]))
    return Section("The pictures", text, tuple(blocks))


def leaked_pictures(run: RunFolder) -> int:
    """How many pictures of the part that is reported on were learnt too."""
    found = run.estimates.filter(
        metric="leaked_pictures", part="test", against=LEARNT, stratum="all"
    )
    return int(sum(one.value for one in found))


def leak_cautions(run: RunFolder) -> list[Finding]:
    """What stands at the top of a report where pictures leaked."""
    leaked = leaked_pictures(run)
    if not leaked:
        return []
    searched = next(iter(run.estimates.filter(metric="pictures", part=""))).value
    text = (
        f"{leaked} pairs of the same or nearly the same picture lie in the training part and in "
        f"the part that is reported on ({searched:,.0f} pictures)."
    )
    return [Finding(text, "caution")]
