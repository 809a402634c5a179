"""Measure aggregation against crowd-kit and cleanlab: same simulated votes, same answer, less time.

    python benchmarks/aggregation.py [--quick] [DATA]

Votes are simulated (seeded) at the size of CIFAR-10H: 511,000 votes by 2,571 annotators on 10,000
items with 10 classes. Every run is a process of its own. *CPU seconds* are from three columns of
ids in memory to the finished result, without imports; *peak memory* is of the whole process,
imports included. Both tools run the same number of iterations, and one function computes the
log-likelihood of the parameters that each ends with; *difference* is relative to it, and for
CROWDLAB, which has no likelihood, the largest of any weight. Peers come with ``pip install
sfumato[bench]``; one that is not installed is left out.

Then come rows of ours at ten times the votes, on the same items by the same people and on ten
times as many of both (growth is of user time: what the system takes to hand out fresh memory
varies too much from run to run), and Dawid–Skene until it converges on 300 classes.

With DATA, the folder of real data sets, the labels that both tools give to four sets of real
votes are held against the truth, each tool with its own settings; of classes that tie for the top
each counts for its part, as which one is named is an accident.
"""

import argparse
import csv
import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:  # each process imports only the tool that it measures
    from sfumato.labels.aggregate import Aggregation

OUT = Path(__file__).parent / "out"

Arrays = dict[str, NDArray[np.float64]]


@dataclass(frozen=True)
class Size:
    """How much work is simulated."""

    items: int
    annotators: int
    votes: int
    classes: int = 10


FULL = Size(10_000, 2_571, 511_000)
QUICK = Size(1_000, 257, 51_100)
MANY = Size(100_000, 5_000, 1_000_000, classes=300)
MANY_QUICK = Size(10_000, 500, 100_000, classes=300)

SETS = ("bluebird", "dog", "rte", "face")
"""Real votes with a known truth; those on which crowd-kit publishes accuracies are not here."""


@dataclass(frozen=True)
class Case:
    """One method, run by us and by a peer with the same number of iterations."""

    method: str
    peer: str
    iterations: int


CASES = (
    Case("dawid-skene", "crowd-kit", 20),
    Case("one-coin", "crowd-kit", 2),
    Case("glad", "crowd-kit", 2),
    Case("crowdlab", "cleanlab", 0),
)
TO_THE_END = Case("dawid-skene to the end", "", 100)
"""Until it converges, or so many iterations."""


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    tool: str
    method: str
    votes: int
    iterations: int
    cpu_seconds: float
    user_seconds: float
    peak_mb: float
    log_likelihood: float | None
    cpu_ratio: float | None = None
    memory_ratio: float | None = None
    difference: float | None = None


@dataclass(frozen=True, eq=False)
class Answer:
    """What a tool found: parameters by name, and how well they explain the votes."""

    arrays: Arrays
    log_likelihood: float | None


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a tenth of the size")
    parser.add_argument("data", nargs="?", type=Path, help="folder of real data sets")
    parser.add_argument("--run", nargs=5, help=argparse.SUPPRESS)  # what a child process does
    parser.add_argument("--label", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.run:
        tool, method, iterations, work, answer = given.run
        run_child(tool, method, int(iterations), Path(work), Path(answer))
        return
    if given.label:
        label_child(given.label[0], Path(given.label[1]))
        return
    rows = compare(QUICK if given.quick else FULL, MANY_QUICK if given.quick else MANY)
    OUT.mkdir(exist_ok=True)
    path = OUT / ("aggregation-quick.json" if given.quick else "aggregation.json")
    path.write_text(json.dumps([asdict(row) for row in rows], indent=1) + "\n")
    print(f"\nWritten to {path}")
    if given.data:
        compare_accuracy(given.data / "crowd")


def compare(size: Size, many: Size) -> list[Row]:
    """Run every case with both tools, then ours on more votes and on many classes; print it."""
    rows: list[Row] = []
    print(HEADER)
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder) / "work.npz"
        simulate(size, work)
        for case in CASES:
            for row in compare_case(case, size, work):
                rows.append(row)
                print(line(row), flush=True)
        small = {row.method: row for row in rows if row.tool == "sfumato"}
        for more, note in ((1, "same items and people"), (10, "10 times the items and people")):
            larger = Size(size.items * more, size.annotators * more, size.votes * 10)
            simulate(larger, work)
            for case in CASES:
                ours, _ = measure("sfumato", case, larger, work)
                rows.append(ours)
                growth = ours.user_seconds / small[case.method].user_seconds
                print(line(ours), f"  {growth:.1f} times the time, {note}", flush=True)
        simulate(many, work)
        ours, _ = measure("sfumato", TO_THE_END, many, work)
        print(line(ours), f"  {many.annotators:,} people, {many.classes} classes", flush=True)
    return [*rows, ours]


def compare_accuracy(folder: Path) -> None:
    """Accuracies of both tools on real votes, side by side."""
    print(f"\n{'set':10} {'method':12} {'sfumato':>8} {'crowd-kit':>10} {'difference':>11}")
    for name in SETS:
        found = {}
        for tool in ("sfumato", "crowd-kit"):
            command = [sys.executable, __file__, "--label", tool, str(folder / f"{name}_label.csv")]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode == NOT_INSTALLED:
                print(f"{tool} is not installed: pip install sfumato[bench]")
                return
            if done.returncode:
                raise RuntimeError(f"{tool} failed on {name}:\n{done.stderr}")
            found[tool] = json.loads(done.stdout.splitlines()[-1])
        with (folder / f"{name}_truth.csv").open() as file:
            truth = {row["item"]: row["truth"] for row in csv.DictReader(file)}
        for method, ours in found["sfumato"].items():
            mine, theirs = (accuracy(tops, truth) for tops in (ours, found["crowd-kit"][method]))
            print(f"{name:10} {method:12} {mine:8.4f} {theirs:10.4f} {mine - theirs:+11.4f}")


def compare_case(case: Case, size: Size, work: Path) -> list[Row]:
    """Ours, and the peer's with its ratios to ours if it is installed."""
    ours, our_answer = measure("sfumato", case, size, work)
    try:
        theirs, their_answer = measure(case.peer, case, size, work)
    except PeerMissing as error:
        print(error)
        return [ours]
    return [
        ours,
        replace(
            theirs,
            cpu_ratio=theirs.cpu_seconds / ours.cpu_seconds,
            memory_ratio=theirs.peak_mb / ours.peak_mb,
            difference=difference(our_answer, their_answer),
        ),
    ]


def difference(ours: Answer, theirs: Answer) -> float:
    """Relative difference of log-likelihoods; without them, the largest of any weight."""
    if ours.log_likelihood is not None and theirs.log_likelihood is not None:
        return abs(ours.log_likelihood - theirs.log_likelihood) / abs(theirs.log_likelihood)
    return max(float(np.abs(ours.arrays[key] - theirs.arrays[key]).max()) for key in ours.arrays)


Tops = dict[str, list[str]]
"""The most probable class of each item, or several that tie."""


def accuracy(tops: Tops, truth: dict[str, str]) -> float:
    known = [(tops[item], true) for item, true in truth.items() if item in tops]
    return float(np.mean([(true in top) / len(top) for top, true in known]))


# --- the work ---------------------------------------------------------------------------------


def simulate(size: Size, path: Path) -> None:
    """Simulated votes in random order, and a simulated classifier's predictions.

    Each item has an own distribution p, mostly one class. Of the annotators 85 % are careful, 12 %
    sloppy, 3 % spam: with their error rate they answer from an own bias, else from p.
    """
    rng = np.random.default_rng(20_190_819)
    truth = rng.integers(size.classes, size=size.items)
    spread = rng.gamma(0.04, 0.3, size=(size.items, size.classes))
    spread[np.arange(size.items), truth] += 1
    probs = spread / spread.sum(axis=1, keepdims=True)
    bias = rng.dirichlet(np.full(size.classes, 0.5), size=size.annotators)
    kind = rng.choice(3, p=(0.85, 0.12, 0.03), size=size.annotators)
    errs = rng.beta((1, 4, 40), (60, 12, 4), size=(size.annotators, 3))
    errs = errs[np.arange(size.annotators), kind]

    item, annotator = _assignment(size, rng)
    slips = rng.random(size.votes) < errs[annotator]
    luck = rng.random(size.votes)
    label = np.where(slips, _draw(bias, annotator, luck), _draw(probs, item, luck))
    noise = probs * np.exp(rng.normal(0, 1.2, size=probs.shape)) + 1e-3
    order = rng.permutation(size.votes)
    np.savez(
        path,
        item=item[order],
        annotator=annotator[order],
        label=label[order],
        predictions=noise / noise.sum(axis=1, keepdims=True),
    )


def _assignment(
    size: Size, rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Who judges what: everybody in turn, so nobody an item twice while there are enough."""
    votes = np.full(size.items, size.votes // size.items)
    votes[: size.votes % size.items] += 1
    item = np.repeat(rng.permutation(size.items), votes)
    in_turn = np.arange(size.votes) % size.annotators
    return item, rng.permutation(size.annotators)[in_turn]


def _draw(
    probs: NDArray[np.float64], row: NDArray[np.int64], luck: NDArray[np.float64]
) -> NDArray[np.int64]:
    """One class from the given row of ``probs`` for each number in ``luck``."""
    edges = np.cumsum(probs, axis=1)
    label = np.zeros(len(row), dtype=np.int64)
    for edge in edges[:, :-1].T:
        label += luck > edge[row]
    return label


# --- one measurement --------------------------------------------------------------------------


class PeerMissing(Exception):
    """A tool to compare with is not installed."""


def measure(tool: str, case: Case, size: Size, work: Path) -> tuple[Row, Answer]:
    """Run a tool in a process of its own."""
    answer = work.with_name("answer.npz")
    command = [sys.executable, __file__, "--run", tool, case.method, str(case.iterations)]
    done = subprocess.run(
        [*command, str(work), str(answer)],
        env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode == NOT_INSTALLED:
        raise PeerMissing(f"{tool} is not installed: pip install sfumato[bench]")
    if done.returncode:
        raise RuntimeError(f"{tool} {case.method} failed:\n{done.stderr}")
    with np.load(answer) as found:
        arrays = {key: found[key] for key in found.files}
    figures = {key: float(arrays.pop(key)) for key in ("cpu_seconds", "user_seconds", "peak_mb")}
    likelihood = LIKELIHOODS.get(case.method)
    value = None if likelihood is None else likelihood(work, arrays)
    iterations = case.iterations
    if "trace" in arrays:
        iterations, value = len(arrays["trace"]), float(arrays["trace"][-1])
    row = Row(tool, case.method, size.votes, iterations, **figures, log_likelihood=value)
    return row, Answer(arrays, value)


NOT_INSTALLED = 9

LABELLERS = ("majority", "dawid-skene", "one-coin", "glad", "mace")


def label_child(tool: str, path: Path) -> None:
    """Print the labels that each method of one tool gives to a file of votes."""
    with path.open() as file:
        rows = [(row["item"], row["worker"], row["label"]) for row in csv.DictReader(file)]
    columns = tuple(map(list, zip(*rows, strict=True)))
    labellers = {"sfumato": sfumato_labels, "crowd-kit": crowdkit_labels}
    try:
        label = labellers[tool]
        print(json.dumps({method: label(method, columns) for method in LABELLERS}))
    except ImportError:
        sys.exit(NOT_INSTALLED)


def sfumato_labels(method: str, columns: tuple[list[str], ...]) -> Tops:
    from sfumato.labels.aggregate import aggregate
    from sfumato.labels.votes import votes_of_columns

    labels = aggregate(votes_of_columns(*columns), method, rng=np.random.default_rng(0)).labels
    return tops_of(labels.items, labels.classes, labels.probs)


def tops_of(items: Any, classes: Any, probs: NDArray[np.float64]) -> Tops:
    best = probs == probs.max(axis=1, keepdims=True)
    return {
        item: [classes[k] for k in np.flatnonzero(row)]
        for item, row in zip(items, best, strict=True)
    }


def crowdkit_labels(method: str, columns: tuple[list[str], ...]) -> Tops:
    import pandas as pd
    from crowdkit.aggregation import GLAD, MACE, DawidSkene, MajorityVote, OneCoinDawidSkene

    kinds = {
        "majority": MajorityVote,
        "dawid-skene": DawidSkene,
        "one-coin": OneCoinDawidSkene,
        "glad": GLAD,
        "mace": MACE,
    }
    table = pd.DataFrame(dict(zip(("task", "worker", "label"), columns, strict=True)))
    probs = kinds[method]().fit_predict_proba(table)
    return tops_of(probs.index, probs.columns, probs.to_numpy())


def run_child(tool: str, method: str, iterations: int, work: Path, answer: Path) -> None:
    """Load the work, run one tool, write down what it found, how long it took and its memory."""
    try:
        runner = RUNNERS[tool](method)
    except ImportError:
        sys.exit(NOT_INSTALLED)
    with np.load(work) as saved:
        columns = {key: saved[key] for key in saved.files if key != "predictions"}
        if method == "crowdlab":
            columns["predictions"] = saved["predictions"]
    before = resource.getrusage(resource.RUSAGE_SELF)
    finish = runner(columns, iterations)
    after = resource.getrusage(resource.RUSAGE_SELF)
    user = after.ru_utime - before.ru_utime
    figures = {
        "cpu_seconds": user + after.ru_stime - before.ru_stime,
        "user_seconds": user,
        "peak_mb": after.ru_maxrss / 1024,  # Linux counts in kilobytes
    }
    found: dict[str, Any] = {**figures, **finish()}
    np.savez(answer, **found)


Columns = dict[str, NDArray[Any]]
Finish = Callable[[], Arrays]
"""Collect the parameters, after the clock has stopped."""

Runner = Callable[[Columns, int], Finish]


def sfumato_runner(method: str) -> Runner:
    from sfumato.labels.aggregate import aggregate
    from sfumato.labels.labelset import LabelSet
    from sfumato.labels.votes import votes_of_columns

    if method == "glad":
        import scipy.optimize  # noqa: F401  imports are not timed

    def run(columns: Columns, iterations: int) -> Finish:
        votes = votes_of_columns(columns["item"], columns["annotator"], columns["label"])
        rng = np.random.default_rng(0)
        if method == "crowdlab":
            predictions = LabelSet(votes.items, votes.classes, columns["predictions"])
            result = aggregate(votes, method, rng=rng, predictions=predictions)
        elif method == TO_THE_END.method:
            result = aggregate(votes, "dawid-skene", rng=rng, iterations=iterations)
        else:
            result = aggregate(votes, method, rng=rng, iterations=iterations, tolerance=-np.inf)
        return lambda: our_parameters(method, result)

    return run


def our_parameters(method: str, result: "Aggregation") -> Arrays:
    assert result.quality is not None
    quality = np.array(list(result.quality.values()))
    match method:
        case "dawid-skene":
            assert result.confusion is not None
            return {"confusion": result.confusion, "shares": our_shares(result)}
        case "one-coin":
            return {"skill": quality, "shares": our_shares(result)}
        case "glad":
            assert result.difficulty is not None
            return {"ability": quality, "ease": -np.log(result.difficulty)}
        case TO_THE_END.method:
            assert result.converged
            return {"trace": np.array(result.trace)}
        case _:
            weight = result.fitted["model_weight"]
            return {"annotator_weight": quality, "model_weight": np.array([weight], dtype=float)}


def our_shares(result: "Aggregation") -> NDArray[np.float64]:
    shares = result.fitted["class_shares"]
    assert isinstance(shares, dict)
    return np.array([shares[name] for name in result.labels.classes], dtype=float)


def crowdkit_runner(method: str) -> Runner:
    import pandas as pd
    from crowdkit.aggregation import GLAD, DawidSkene, OneCoinDawidSkene

    kinds = {"dawid-skene": DawidSkene, "one-coin": OneCoinDawidSkene, "glad": GLAD}

    def run(columns: Columns, iterations: int) -> Finish:
        table = pd.DataFrame(
            {"task": columns["item"], "worker": columns["annotator"], "label": columns["label"]}
        )
        model = kinds[method](n_iter=iterations, tol=-np.inf)
        model.fit(table)
        return lambda: crowdkit_parameters(method, model)

    return run


def crowdkit_parameters(method: str, model: Any) -> Arrays:
    match method:
        case "dawid-skene":
            shares = model.priors_.sort_index()
            said = model.errors_[shares.index].stack().unstack("label")[shares.index]
            confusion = said.fillna(0).sort_index().to_numpy()  # rows are worker and true label
            shape = -1, len(shares), len(shares)
            return {"confusion": confusion.reshape(shape), "shares": shares.to_numpy()}
        case "one-coin":
            shares = model.priors_.sort_index().to_numpy()
            return {"skill": model.skills_.sort_index().to_numpy(), "shares": shares}
        case _:
            ability, ease = model.alphas_.sort_index(), model.betas_.sort_index()
            return {"ability": ability.to_numpy(), "ease": ease.to_numpy()}


def cleanlab_runner(method: str) -> Runner:
    import pandas as pd
    from cleanlab.multiannotator import (
        convert_long_to_wide_dataset,
        get_label_quality_multiannotator,
    )

    def run(columns: Columns, iterations: int) -> Finish:
        table = pd.DataFrame(
            {"task": columns["item"], "annotator": columns["annotator"], "label": columns["label"]}
        )
        found = get_label_quality_multiannotator(
            convert_long_to_wide_dataset(table),
            np.asarray(columns["predictions"]),
            return_detailed_quality=False,
            return_annotator_stats=False,
            return_weights=True,
            verbose=False,
        )
        return lambda: {
            "annotator_weight": found["annotator_weight"],
            "model_weight": np.array([found["model_weight"]]),
        }

    return run


RUNNERS = {"sfumato": sfumato_runner, "crowd-kit": crowdkit_runner, "cleanlab": cleanlab_runner}


# --- one log-likelihood for all ---------------------------------------------------------------


Codes = NDArray[np.int64]
Probability = Callable[[int, Codes, Codes, Codes], NDArray[np.float64]]
"""Of each vote, given the true class."""


def dawid_skene_likelihood(work: Path, found: Arrays) -> float:
    """Σ_i log Σ_t share_t Π_j π_w[t, said]."""
    return _likelihood(
        work, lambda t, item, who, said: found["confusion"][who, t, said], found["shares"]
    )


def one_coin_likelihood(work: Path, found: Arrays) -> float:
    wrong = (1 - found["skill"]) / (len(found["shares"]) - 1)

    def probability(t: int, item: Codes, who: Codes, said: Codes) -> NDArray[np.float64]:
        return np.where(said == t, found["skill"][who], wrong[who])

    return _likelihood(work, probability, found["shares"])


def glad_likelihood(work: Path, found: Arrays) -> float:
    """With ten classes and no preference for any of them."""

    def probability(t: int, item: Codes, who: Codes, said: Codes) -> NDArray[np.float64]:
        right = 1 / (1 + np.exp(-found["ability"][who] * np.exp(found["ease"][item])))
        return np.where(said == t, right, (1 - right) / (FULL.classes - 1))

    return _likelihood(work, probability, np.full(FULL.classes, 1 / FULL.classes))


def _likelihood(work: Path, probability: Probability, shares: NDArray[np.float64]) -> float:
    with np.load(work) as votes:
        item, who, said = votes["item"], votes["annotator"], votes["label"]
    log_joint = np.stack(
        [
            np.bincount(item, weights=np.log(np.clip(probability(t, item, who, said), 1e-10, 1)))
            + np.log(max(share, 1e-10))
            for t, share in enumerate(shares)
        ]
    )
    top = log_joint.max(axis=0)
    return float((top + np.log(np.exp(log_joint - top).sum(axis=0))).sum())


LIKELIHOODS: dict[str, Callable[[Path, Arrays], float]] = {
    "dawid-skene": dawid_skene_likelihood,
    "one-coin": one_coin_likelihood,
    "glad": glad_likelihood,
}


# --- the table --------------------------------------------------------------------------------

HEADER = (
    f"{'tool':10} {'method':22} {'votes':>9} {'iterations':>10} {'CPU s':>9} {'ratio':>8} "
    f"{'peak MB':>8} {'ratio':>6} {'log-likelihood':>19} {'difference':>11}"
)


def line(row: Row) -> str:
    def number(value: float | None, form: str) -> str:
        return "-" if value is None else format(value, form)

    cpu, memory = number(row.cpu_ratio, ",.0f"), number(row.memory_ratio, ".1f")
    return (
        f"{row.tool:10} {row.method:22} {row.votes:9,} {row.iterations:10} {row.cpu_seconds:9.3f} "
        f"{cpu:>8} {row.peak_mb:8.0f} {memory:>6} "
        f"{number(row.log_likelihood, '.6f'):>19} {number(row.difference, '.1e'):>11}"
    )


if __name__ == "__main__":
    main()
