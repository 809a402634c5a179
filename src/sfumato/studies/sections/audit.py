"""Sections about people's doubt and what networks made of it, as paper 5 asks (S4).

They read numbers and tables only, so that a run and an audit of files are told in the same way.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from typing import Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.evaluation.alignment import EXPECTED, Sign, nearest_labels
from sfumato.evaluation.cartography import REGIONS
from sfumato.reporting.draw import Basis
from sfumato.reporting.figures import curves, galleries
from sfumato.reporting.figures import scores as score_figures
from sfumato.reporting.page import Block, Section, Table, Text
from sfumato.reporting.text import Finding, count, interval, mode_shift, number, signed_number
from sfumato.scores import Estimate, Estimates, metric_words
from sfumato.studies.data import LEARNT_ORIGINAL, LEARNT_SOFT, LEARNT_VOTE, PEOPLE, RunFolder
from sfumato.studies.measures.doubt import TOP, TOP_SHARE
from sfumato.studies.measures.dynamics import DOUBTS, EARLY, SIGNALS
from sfumato.studies.measures.interest import LEARNT
from sfumato.studies.measures.modes import STEPS
from sfumato.studies.measures.trained import ATTACKED
from sfumato.studies.sections.trained import file_name

HEADLINE = ("cross_entropy", "accuracy")
MODES_SHOWN = ("accuracy", "kl")
MAP_STRATA = ("all", "unanimous", "disputed")
ROWS_SHOWN = 20
"""Of tables that have a row per item."""
NAMED = 10
"""How many items a sentence names."""
GALLERIES = {
    "doubtful": "The items that people doubt most",
    "alternatives_bars": "The same first guess, other alternatives",
    "interest_bars": "A stray answer, a hard picture, or two readings?",
}
"""Tables of bars, and what is asked of their pictures."""


Tables = Mapping[str, pl.DataFrame]


class Results(Protocol):
    """What sections read: of a run's folder, or of an audit of files."""

    @property
    def estimates(self) -> Estimates:
        """Every number with its interval."""

    @property
    def tables(self) -> Tables:
        """What figures are drawn from besides estimates, by name."""

    @property
    def pictures(self) -> Mapping[str, NDArray[np.uint8]]:
        """The images that galleries show, by item."""

    @property
    def simulated(self) -> bool:
        """Whether simulated people are behind any of it."""


def modes(run: RunFolder) -> Section | None:
    """How much of what soft labels gain is the shift of the mode (S4-45, C15)."""
    counted = run.estimates.filter(metric="modes_differ", stratum="all")
    differ = min(counted, key=lambda one: bool(one.part), default=None)  # of all items if known
    if "modes" not in run.tables or differ is None:
        return None
    text = (
        f"The most frequent answer of people is not the original label on {differ.value:,.0f} of "
        f"{differ.items:,} {'tested ' if differ.part else ''}items. Re-annotation moves the label; "
        "a gain may come from that alone. Soft labels are therefore held against the majority vote "
        "of the same people, on the original labels and on people's."
    )
    paired = run.estimates.differences.filter(
        metric=HEADLINE, stratum="all", attack="", against=PEOPLE
    )
    told = mode_shift(list(paired), LEARNT_ORIGINAL, LEARNT_VOTE, LEARNT_SOFT)
    sentences = (Text(f"{one.text} {one.behind}") for one in told)
    return Section("Softness or a shifted mode?", text, (*sentences, *mode_blocks(run)))


def mode_blocks(results: Results) -> Iterable[Block]:
    """Every arm on original, majority and soft labels, and its gains step by step."""
    if "modes" not in results.tables:
        return
    metrics = {f"{name}_gain": name for name in MODES_SHOWN}
    gains = results.estimates.filter(metric=list(metrics))
    drawn = results.tables["modes"].filter(pl.col("metric").is_in(MODES_SHOWN))
    yield score_figures.mode_shift(drawn, score_figures.basis_of(gains.table))
    rows: dict[tuple[str, ...], dict[str, str]] = {}
    for one in gains:
        key = (one.arm, one.network, one.against, metric_words(metrics[one.metric]).title)
        rows.setdefault(key, {})[one.stratum] = _with_interval(one, signed_number(one.value))
    names = ("arm", "network", "tested on", "metric")
    shown = [dict(zip(names, key, strict=True)) | row for key, row in rows.items()]
    if shown:
        yield Table(
            "What softness adds to the majority vote",
            _without_empty(pl.DataFrame(shown)),
            caption=(
                f"Gains over original labels, positive is better: {', '.join(STEPS.values())}; in "
                "brackets 95 % intervals."
            ),
            simulated=results.simulated,
        )


def _without_empty(table: pl.DataFrame) -> pl.DataFrame:
    """Without columns in which no row says anything, such as the network of stored predictions."""
    return table.drop([name for name in table.columns if set(table[name]) <= {"", None}])


def _with_interval(one: Estimate, value: str) -> str:
    return f"{value} {interval(one.low, one.high)}".rstrip()


def calibration(run: RunFolder) -> Section | None:
    """Whether confidence is earned."""
    if "reliability" not in run.tables:
        return None
    tested = run.estimates.scores.filter(metric="accuracy", stratum="all", attack="")
    drawn = score_figures.reliability(run.tables["reliability"], _basis(tested))
    text = "Right means the class that most people chose; the seeds' predictions are pooled."
    return Section("Calibration", text, (drawn,))


def _basis(estimates: Estimates) -> Basis:
    """Items and seeds behind numbers whose intervals are not drawn."""
    return score_figures.basis_of(estimates.table.with_columns(over=pl.lit("")))


def robustness(run: RunFolder) -> Section | None:
    """Scores against the bound of attacks, and under every corruption."""
    found = run.estimates.scores.filter(metric=HEADLINE, against=PEOPLE)
    table = found.table.filter(pl.col("attack") != "")
    before = found.filter(attack="", stratum=ATTACKED).table
    last = pl.col("step").max().over("attack", "bound", "part")
    after = table.filter(pl.col("step").is_null() | (pl.col("step") == last))
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
        untouched = before.with_columns(attack=pl.lit("untouched"), bound=spoilt["bound"][0])
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
    blocks = tuple(doubt_blocks(run))
    text = " ".join(finding.text for finding in doubt_sentences(run.estimates))
    return Section("People's doubt", text, blocks) if blocks else None


def doubt_sentences(estimates: Estimates) -> list[Finding]:
    """How many labels are spread over classes, and how much of the entropy lies in few items."""
    found = {(one.metric, one.stratum): one for one in estimates.filter(network="", part="")}
    disputed = found.get(("share_of_items", "disputed"))
    mean, top = found.get(("mean_entropy", "all")), found.get(("entropy_share", TOP))
    texts = []
    if disputed is not None and mean is not None:
        texts.append(
            f"The labels of {found['items', 'disputed'].value:,.0f} of {disputed.items:,} items "
            f"have mass on several classes ({percent(disputed)}); the mean entropy is "
            f"{mean.value:.3f} nats {interval(mean.low, mean.high)}."
        )
    if top is not None:
        texts.append(f"The {TOP_SHARE:.0%} most doubtful items hold {percent(top)} of all doubt.")
    return [Finding(text, "found") for text in texts]


def doubt_blocks(results: Results) -> Iterable[Block]:
    """Strata, concentration of doubt, and correlations of its signals."""
    strata = results.estimates.filter(metric="share_of_items")
    basis = score_figures.basis_of(strata.table)
    if len(strata):
        rows = strata_rows(results.estimates)
        yield Table("Strata of human label variation", rows, simulated=results.simulated)
    if "concentration" in results.tables:
        yield curves.concentration(results.tables["concentration"], basis)
    signals = results.estimates.filter(metric="spearman")
    if len(signals):
        yield Table(
            "Signals of ambiguity, correlated",
            correlation_rows(signals),
            "Spearman's rank correlation of every pair, with its 95 % interval over items.",
            simulated=results.simulated,
        )


def strata_rows(estimates: Estimates) -> pl.DataFrame:
    """How many items each stratum holds, and which share."""
    counted = {one.stratum: one.value for one in estimates.filter(metric="items", network="")}
    rows = [
        {
            "stratum": one.stratum,
            "items": int(counted[one.stratum]),
            "of": one.items,
            "share": one.value,
            "low": one.low,
            "high": one.high,
        }
        for one in estimates.filter(metric="share_of_items")
    ]
    return pl.DataFrame(rows)


def correlation_rows(signals: Estimates) -> pl.DataFrame:
    """Correlations of pairs of signals, as a matrix of them is drawn from."""
    names = {"first": pl.col("arm"), "second": pl.col("against"), "rho": pl.col("value")}
    return signals.table.select(**names, low="low", high="high", items="items")


def percent(one: Estimate) -> str:
    """A share with its interval in words.

    >>> percent(Estimate("share_of_items", 0.25, low=0.1, high=0.5))
    '25.0% [10.0%, 50.0%]'
    """
    ends = "" if one.low is None or one.high is None else f" [{one.low:.1%}, {one.high:.1%}]"
    return f"{one.value:.1%}{ends}"


def shift_sentences(estimates: Estimates, tables: Tables) -> list[Finding]:
    """How often the most frequent human class is the original label, and where it is not."""
    found = {(one.metric, one.stratum): one for one in estimates.filter(network="", part="")}
    agreement = found.get(("mode_agreement", "all"))
    if agreement is None:
        return []
    differ, tied = (int(found[name, "all"].value) for name in ("modes_differ", "modes_tied"))
    ties = (
        f" People tie on {count(tied, 'item')}, where the first class counts; "
        f"{found['modes_differ', 'tied'].value:,.0f} of those that differ are ties."
        if tied
        else ""
    )
    text = (
        f"The most frequent human class is the original label on {agreement.items - differ:,} of "
        f"{agreement.items:,} items ({percent(agreement)}); it is another on {differ:,}"
        f"{first_named(tables['differs']['item'].to_list() if differ else [])}.{ties}"
    )
    return [finding(text, bool(differ))]


def finding(text: str, is_there: bool) -> Finding:
    """A sentence that is "found" where what it tells of is there."""
    return Finding(text, "found" if is_there else "not found")


def first_named(items: Sequence[str], amount: int | None = None) -> str:
    """The first items in brackets.

    >>> first_named(["a", "b"]), first_named(["a"], 40)
    (' (a, b)', ' (a, …)')
    """
    if not items:
        return ""
    more = ", …" if (amount or len(items)) > NAMED else ""
    return f" ({', '.join(items[:NAMED])}{more})"


def learning(run: RunFolder) -> Section | None:
    """Data maps, whether they follow people's doubt, and whether training had ended."""
    blocks = [*learning_blocks(run)]
    if "history" in run.tables:
        seeds = tuple(run.tables["history"]["seed"].unique().sort().to_list())
        drawn = curves.learning_curves(run.tables["history"], Basis(run.simulated, seeds=seeds))
        blocks.append(drawn)
    return Section("How it was learnt", "", tuple(blocks)) if blocks else None


def learning_blocks(results: Results) -> Iterable[Block]:
    """Data maps with their regions, alignment with people, steadiness and convergence."""
    yield from _maps(results)
    yield from alignment_blocks(results)
    yield from _steadiness(results)
    if "convergence" in results.tables:
        moved = results.estimates.filter(metric=EARLY, second="", stratum="all")
        yield curves.convergence(results.tables["convergence"], score_figures.basis_of(moved.table))


def _maps(results: Results) -> Iterable[Block]:
    if "data_map" not in results.tables:
        return
    table = results.tables["data_map"]
    regions = {f"{region}_share": region for region in REGIONS}
    shares = results.estimates.filter(metric=list(regions), stratum=MAP_STRATA)
    basis = _basis(shares.filter(stratum="all"))
    for network in table["network"].unique(maintain_order=True):
        of = f" of {network}" if network else ""
        yield curves.data_map(
            table.filter(pl.col("network") == network),
            basis,
            name=f"data-map-{file_name(network)}".rstrip("-"),
            title=f"Data maps{of}, coloured by people's uncertainty",
        )
    rows: dict[tuple[str, str, str], dict[str, str]] = {}
    for one in shares:
        row = rows.setdefault((one.arm, one.network, one.stratum), {})
        row["items"] = f"{one.items:,}"
        row[regions[one.metric]] = percent(one)
    shown = [
        {"arm": arm, "network": network, "stratum": stratum, **row}
        for (arm, network, stratum), row in rows.items()
    ]
    yield Table(
        "Where items lie in the data maps",
        _without_empty(pl.DataFrame(shown)),
        caption="Shares of the items of each stratum with 95 % intervals over items.",
        simulated=results.simulated,
    )


def alignment_rows(estimates: Estimates) -> pl.DataFrame:
    """Rank correlations of people's doubts with signals of models, against what is expected."""
    pairs = {
        f"spearman_{doubt}_{name}": (DOUBTS[doubt], name)
        for doubt, name in product(DOUBTS, SIGNALS)
    }
    rows = [
        {
            "arm": one.arm,
            "network": one.network,
            "stratum": one.stratum,
            "people": pairs[one.metric][0],
            "model": pairs[one.metric][1],
            "rho": one.value,
            "low": one.low,
            "high": one.high,
            "items": one.items,
            "expected": EXPECTED[pairs[one.metric][1]],
            "found": found_words(one, EXPECTED[pairs[one.metric][1]]),
        }
        for one in estimates.scores.filter(metric=list(pairs))
    ]
    return pl.DataFrame(rows, schema_overrides=dict.fromkeys(("low", "high"), pl.Float64))


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


def alignment_blocks(results: Results) -> Iterable[Block]:
    """Whether models doubt what people doubt."""
    rows = alignment_rows(results.estimates)
    if len(rows):
        yield Table(
            "Do models doubt what people doubt?",
            _without_empty(rows),
            caption="Spearman's rank correlation with its 95 % interval over items (S4-35).",
            simulated=results.simulated,
        )


def _steadiness(results: Results) -> Iterable[Block]:
    names = ("late_movement", "late_seed_spread", "late_seed_spread_less_movement")
    rows: dict[tuple[str, str, str], dict[str, Estimate]] = {}
    for one in results.estimates.filter(metric=names):
        rows.setdefault((one.arm, one.network, one.stratum), {})[one.metric] = one
    shown = []
    for (arm, network, stratum), row in rows.items():
        movement, spread, apart = (row[name] for name in names)
        shown.append(
            {
                "arm": arm,
                "network": network,
                "stratum": stratum,
                "movement in a run (bits)": number(movement.value),
                "spread between seeds (bits)": number(spread.value),
                "ratio": number(movement.value / spread.value if spread.value else float("nan")),
                "spread - movement": _with_interval(apart, signed_number(apart.value)),
            }
        )
    if shown:
        yield Table(
            "How steady the end of training is",
            _without_empty(pl.DataFrame(shown)),
            caption=(
                "Mean Jensen-Shannon divergence over the last epochs, and the 95 % interval of the "
                "difference over items (S4-51)."
            ),
            simulated=results.simulated,
        )


def single_items(run: RunFolder) -> Section | None:
    """Entropies of labels and models, and the pictures that a person should look at."""
    blocks = (*_entropies(run), *item_blocks(run))
    return Section("Single items", "", blocks) if blocks else None


def item_blocks(results: Results) -> Iterable[Block]:
    """Galleries of pictures with who believes what, and the samples of each kind of interest."""
    tables = results.tables
    basis = Basis(results.simulated)
    for name, title in GALLERIES.items():
        if len(tables.get(name, ())):
            shown = (tables[name], results.pictures, basis)
            yield galleries.gallery(*shown, name=name.removesuffix("_bars"), title=title)
    if len(tables.get("interest", ())):
        columns = ("item", "kind", "human_entropy", "confidence", "variability")
        counted = ", ".join(
            f"{one.value:,.0f} {one.stratum}"
            for one in results.estimates.filter(metric="items_of_interest")
        )
        yield Table(
            "Samples of interest",
            tables["interest"].select(columns).head(ROWS_SHOWN),
            caption=(
                "Chosen by rules on people's answers and, where it is known, the model's dynamics; "
                f"the kinds say what the rules saw, not why. In all: {counted}."
            ),
            simulated=results.simulated,
        )


def _entropies(results: Results) -> Iterable[Block]:
    if "entropy" not in results.tables:
        return
    apart = results.estimates.filter(metric="entropy_distance")
    yield curves.entropy_histograms(results.tables["entropy"], _basis(apart))
    distances = apart.table.select(model="arm", labels="against", distance="value")
    own = {arm: arm for arm in distances["model"].unique(maintain_order=True)}
    words = {
        "model": "learnt from",
        "own": "distance to its labels (nats)",
        "nearest": "nearest labels",
        "least": "distance to these (nats)",
        "resonates": "its own are the nearest",
    }
    yield Table(
        "Is a model as undecided as its labels?",
        nearest_labels(distances, own).rename(words).drop("trained_on"),
        caption=(
            "Wasserstein distances between the entropies of models and those of all labels that "
            "were learnt, on tested items (S1-56)."
        ),
        simulated=results.simulated,
    )


def pictures(run: RunFolder) -> Section | None:
    """Duplicates, and what leaked from the part that was learnt."""
    text = " ".join(finding.text for finding in picture_sentences(run.estimates, run.tables))
    return Section("The pictures", text, tuple(picture_blocks(run))) if text else None


def picture_sentences(estimates: Estimates, tables: Tables) -> list[Finding]:
    """How many pictures are there twice, with which labels, and in two parts."""
    found = {(one.metric, one.part, one.against, one.stratum): one for one in estimates}
    searched = found.get(("pictures", "", "", "all"))
    if searched is None:
        return []
    exact = found["duplicated_pictures", "", "", "exact"].value
    near = found.get(("duplicated_pictures", "", "", "near"))
    also = " (near ones were not sought)" if near is None else f", {near.value:,.0f} a near one"
    told = [
        finding(
            f"Of {count(int(searched.value), 'picture')} {exact:,.0f} have an exact "
            f"duplicate{also}.",
            bool(exact or (near is not None and near.value)),
        )
    ]
    pairs = found["duplicate_pairs", "", "", "all"].value
    if pairs:
        other = int(found["duplicate_pairs", "", "", "other label"].value)
        named = tables["pairs"].filter(~pl.col("labels_agree"))["first_item"].to_list()
        text = f"{count(other, 'pair')} of {pairs:,.0f} with different labels{first_named(named)}."
        told.append(finding(text, bool(other)))
    shares = [one for one in found.values() if one.metric == "leaked_share"]
    for one in shares:
        amounts = {
            stratum: found["leaked_pictures", one.part, one.against, stratum].value
            for stratum in ("all", "exact", "other label")
        }
        text = (
            f"{amounts['all']:,.0f} of {one.items:,} pictures of {one.part!r} ({percent(one)}) are "
            f"in {one.against!r} too, {amounts['exact']:,.0f} of them exactly; "
            f"{amounts['other label']:,.0f} with another label."
        )
        told.append(finding(text, bool(amounts["all"])))
    if not shares:
        told.append(Finding("There is one split, so no leakage between splits.", "not found"))
    return told


def picture_blocks(results: Results) -> Iterable[Block]:
    """The pictures that are there twice, and those in two parts."""
    yield Text("Pairs that are nearly the same carry their distance, for a person to judge.")
    for name, title in (
        ("duplicates", "Duplicates"),
        ("pairs", "Pairs of duplicates, closest first"),
        ("leakage", "Leaked between parts"),
    ):
        if len(results.tables.get(name, ())):
            yield Table(title, results.tables[name].head(ROWS_SHOWN))


def leak_cautions(run: RunFolder) -> list[str]:
    """What stands at the top of a report where pictures leaked into the part it is about."""
    leaked = run.estimates.filter(
        metric="leaked_pictures", part="test", against=LEARNT, stratum="all"
    )
    return [
        f"{one.value:,.0f} pairs of the same or nearly the same picture lie in the training part "
        f"and in the part that is reported on ({one.items:,} pictures)."
        for one in leaked
        if one.value
    ]
