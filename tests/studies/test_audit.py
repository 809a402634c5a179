"""The audit of a folder of planted files finds what was planted, and only what the files tell.

40 pictures in two splits; planted are three exact copies and a noisy one, 5 shifted modes, 12
disputed items, and beliefs that make 10 items easy, 10 hard and 20 ambiguous.
"""

import json
from collections.abc import Callable
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from PIL import Image

from sfumato.errors import DataError
from sfumato.judgments.formats import write
from sfumato.judgments.judgments import Judgments
from sfumato.judgments.question import ask
from sfumato.labels.files import write_labels
from sfumato.labels.labelset import LabelSet, hard_labels
from sfumato.provenance import Step
from sfumato.scores import Estimate
from sfumato.studies.audit import TABLES, Audit, audit, audit_values, draw_audit, write_audit
from sfumato.studies.audit_sources import AuditSettings, AuditSources, named_predictions

QUICK = AuditSettings(draws=60)
CLASSES = ("cat", "dog", "fox")
ITEMS = tuple(f"i{place:02}" for place in range(40))
SHIFTED = ("i01", "i05", "i09", "i20", "i33")
DISPUTED = 12


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("inherited")
    rng = np.random.default_rng(0)
    original = rng.integers(3, size=40)
    _write_pictures(folder, original, rng)
    labels = np.eye(3)[original]
    for item in SHIFTED:
        row = ITEMS.index(item)
        labels[row] = np.roll(labels[row], 1)
    for row in range(DISPUTED):
        labels[row] = 0.75 * labels[row] + 0.25 * np.roll(labels[row], 1)
    people = LabelSet(ITEMS, CLASSES, labels, np.full(40, 4.0))
    write_labels(people, folder / "people.csv")
    rows = [f"{item},{CLASSES[k]}" for item, k in zip(ITEMS, original, strict=True)]
    (folder / "original.csv").write_text("\n".join(["item,label", *rows]) + "\n")
    hard = hard_labels(ITEMS, CLASSES, labels.argmax(axis=1))
    for name, learnt in {
        "original": np.eye(3)[original],
        "majority": hard.probs,
        "soft": labels,
    }.items():
        for seed in (1, 2):
            believed = 0.9 * learnt + 0.1 * rng.dirichlet(np.ones(3), 40)
            np.savez(folder / f"{name}-{seed}.npz", probs=believed, items=ITEMS, classes=CLASSES)
    _write_dynamics(folder, original)
    return folder


def _write_pictures(folder: Path, original: np.ndarray, rng: np.random.Generator) -> None:
    images = rng.integers(256, size=(40, 12, 12)).astype(np.uint8)
    images[30] = images[0]  # a leak; its label is made the same below
    images[31] = images[2]  # a leak with another label
    images[9] = images[8]  # inside train
    images[32] = np.clip(images[4] + rng.normal(0, 4, (12, 12)), 0, 255).astype(np.uint8)
    original[30], original[31] = original[0], (original[2] + 1) % 3
    original[9], original[32] = original[8], original[4]
    (folder / "pictures").mkdir()
    rows = ["item,label,split"]
    for place, item in enumerate(ITEMS):
        Image.fromarray(images[place]).save(folder / "pictures" / f"{item}.png")
        rows.append(f"{item},{CLASSES[original[place]]},{'train' if place < 25 else 'test'}")
    (folder / "table.csv").write_text("\n".join(rows) + "\n")


def _write_dynamics(folder: Path, original: np.ndarray) -> None:
    of_target = np.full((2, 6, 40), 0.5)  # (seeds, epochs, items)
    of_target[:, :, :10], of_target[:, :, 10:20] = 0.95, 0.05
    watched = np.empty((*of_target.shape, 3))
    watched[:] = ((1 - of_target) / 2)[..., None]
    np.put_along_axis(
        watched, np.broadcast_to(original[:, None], (2, 6, 40, 1)), of_target[..., None], axis=3
    )
    # the classes in another order than that of the labels
    np.savez(
        folder / "dynamics.npz", watched=watched[..., ::-1], items=ITEMS, classes=CLASSES[::-1]
    )


@pytest.fixture(scope="module")
def everything(planted: Path) -> AuditSources:
    names = [
        f"{name}={planted / name}-{k}.npz"
        for name in ("original", "majority", "soft")
        for k in (1, 2)
    ]
    return AuditSources(
        labels=planted / "people.csv",
        original=planted / "original.csv",
        images=planted / "pictures",
        table=planted / "table.csv",
        predictions=named_predictions(names),
        dynamics=planted / "dynamics.npz",
    )


@pytest.fixture(scope="module")
def audited(everything: AuditSources) -> Audit:
    return audit(everything, QUICK)


def only(audited: Audit, metric: str, **wanted: str) -> Estimate:
    """The estimate of a metric over everything, unless a stratum or part is named."""
    (found,) = audited.estimates.filter(metric=metric, **{"stratum": "all", "part": "", **wanted})
    return found


def amount(audited: Audit, metric: str, **wanted: str) -> float:
    return only(audited, metric, **wanted).value


@pytest.fixture
def without_png(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each figure is drawn as SVG only; PNG is the matter of others, and takes half the time."""
    monkeypatch.setattr("sfumato.reporting.draw.png_bytes", lambda drawing: b"")


def test_planted_copies_are_counted(audited: Audit) -> None:
    assert amount(audited, "pictures") == 40
    assert [amount(audited, "pictures", part=part) for part in ("train", "test")] == [25, 15]
    kinds = [amount(audited, "duplicated_pictures", stratum=kind) for kind in ("exact", "near")]
    assert kinds == [6, 2]
    assert (amount(audited, "duplicate_groups"), amount(audited, "duplicate_pairs")) == (4, 4)
    assert amount(audited, "duplicate_pairs", stratum="other label") == 1


def test_leaks_are_named_with_their_labels(audited: Audit) -> None:
    (leak,) = audited.estimates.filter(metric="leaked_share")

    assert (leak.against, leak.part, leak.items) == ("train", "test", 15)
    assert leak.value == pytest.approx(3 / 15)
    assert leak.low is not None and leak.high is not None
    assert leak.low < 3 / 15 < leak.high
    strata = {one.stratum: one.value for one in audited.estimates.filter(metric="leaked_pictures")}
    assert strata == {"all": 3, "exact": 2, "other label": 1}
    rows = audited.tables["leakage"].select("item", "twin", "kind", "labels_agree").rows()
    assert rows == [
        ("i30", "i00", "exact", True),
        ("i31", "i02", "exact", False),
        ("i32", "i04", "near", True),
    ]


def test_train_is_learnt_from_wherever_it_stands_in_the_table(
    planted: Path, tmp_path: Path
) -> None:
    rows = (planted / "table.csv").read_text().splitlines()
    (tmp_path / "table.csv").write_text("\n".join([rows[0], *reversed(rows[1:])]) + "\n")
    sources = AuditSources(images=planted / "pictures", table=tmp_path / "table.csv")

    (leak,) = audit(sources, QUICK).estimates.filter(metric="leaked_pictures", stratum="all")

    assert (leak.against, leak.part, leak.value) == ("train", "test", 3)


def test_without_near_the_noisy_copy_is_not_found(everything: AuditSources) -> None:
    pictures = AuditSources(images=everything.images, table=everything.table)

    found = audit(pictures, replace(QUICK, near=False))

    assert amount(found, "duplicated_pictures") == 6
    assert not len(found.estimates.filter(metric="duplicated_pictures", stratum="near"))
    assert amount(found, "leaked_pictures", part="test") == 2
    assert "near ones were not sought" in found.findings["Pictures"][0].text


def test_strata_and_concentration_are_those_planted(audited: Audit) -> None:
    assert amount(audited, "items", stratum="disputed") == DISPUTED
    assert amount(audited, "share_of_items", stratum="unanimous") == pytest.approx(28 / 40)
    assert amount(audited, "entropy_share", stratum="top 30 %") == pytest.approx(1)  # 12 of 40
    entropy = -(0.75 * np.log(0.75) + 0.25 * np.log(0.25)) * DISPUTED / 40
    assert amount(audited, "mean_entropy") == pytest.approx(entropy)


def test_shifted_modes_are_named(audited: Audit) -> None:
    agreement = only(audited, "mode_agreement")

    assert (agreement.items, agreement.value) == (40, 35 / 40)
    assert (amount(audited, "modes_differ"), amount(audited, "modes_tied")) == (5, 0)
    assert audited.tables["differs"]["item"].to_list() == list(SHIFTED)
    (sentence,) = audited.findings["Original labels"]
    assert "35 of 40 items" in sentence.text and "i01, i05, i09, i20, i33" in sentence.text


def test_tie_that_makes_a_difference_is_said(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("item,a,b\nx,0.5,0.5\ny,0,1\n")
    (tmp_path / "original.csv").write_text("item,label\nx,b\ny,b\n")
    sources = AuditSources(labels=tmp_path / "people.csv", original=tmp_path / "original.csv")

    found = audit(sources, QUICK)

    assert amount(found, "modes_differ", stratum="tied") == 1
    assert found.tables["differs"]["tied"].to_list() == [True]


def test_data_map_takes_the_classes_by_name_and_finds_the_regions(audited: Audit) -> None:
    shares = [
        only(audited, f"{region}_share", part="training")
        for region in ("easy", "ambiguous", "hard")
    ]

    assert [round(one.value * one.items) for one in shares] == [10, 20, 10]
    assert shares[0].seeds == (0, 1)
    text = audited.findings["Learning"][1].text
    assert "target: original labels; epochs 2 to 6 of 2 seeds" in text
    assert audited.tables["convergence"]["jsd"][-1] == pytest.approx(0)
    # nothing varied while learning, and rounding is no signal
    assert "variability while learning" not in audited.tables["correlations"]["second"]


def test_seeds_of_one_name_decouple_the_modes(audited: Audit) -> None:
    vote, softness = (
        only(audited, "accuracy_gain", against="majority", part="predicted", stratum=step)
        for step in ("by the vote", "by softness")
    )

    assert (vote.items, vote.seeds) == (40, (0, 1))
    assert amount(audited, "modes_differ", part="predicted") == 5
    assert vote.value == pytest.approx(5 / 40)
    assert softness.value == pytest.approx(0)


def test_leaderboard_and_alignment_have_every_file(audited: Audit) -> None:
    names = {f"{name} {seed}" for name in ("original", "majority", "soft") for seed in (1, 2)}

    ranked = audited.tables["leaderboard"]["arm"].to_list()
    assert set(ranked) == names
    assert {name.split()[0] for name in ranked[:2]} == {"soft"}
    assert set(audited.tables["alignment"]["arm"]) == names | {"dynamics"}


def test_numbers_of_a_part_do_not_depend_on_other_files(
    everything: AuditSources, audited: Audit
) -> None:
    alone = audit(AuditSources(labels=everything.labels), QUICK)

    both = audited.estimates.table.join(
        alone.estimates.table, on=["metric", "arm", "against", "stratum", "part"], suffix="_alone"
    ).filter(pl.col("metric") != "items_of_interest")  # which the data map has a say in
    assert {"mean_entropy", "entropy_share", "share_of_items", "spearman"} <= set(both["metric"])
    for name in ("value", "low", "high"):
        assert both[name].equals(both[f"{name}_alone"], null_equal=True)
    assert list(alone.findings) == ["People", "Samples of interest"]


def test_every_number_leads_back_to_files(audited: Audit) -> None:
    for one in audited.estimates:
        assert json.loads(one.source)


def test_judgments_tell_of_times_and_unsure_marks(tmp_path: Path) -> None:
    question = ask("yes-no-unsure", ["cat", "dog"])
    said = {"cat": "yes", "dog": "no"}, {"cat": "unsure", "dog": "no"}, {"cat": "yes", "dog": "yes"}
    rows = [
        {
            "item": item,
            "annotator": who,
            "answer": json.dumps(said[place]),
            "seconds": 1.0 + place,
        }
        for place, item in enumerate(("a", "b", "c"))
        for who in ("p", "q")
    ]
    write(Judgments(question, pl.DataFrame(rows)), tmp_path / "judgments.jsonl", "sfumato")

    found = audit(AuditSources(judgments=tmp_path / "judgments.jsonl"), QUICK)

    assert {"response time", "unsure proportion", "mean uncertainty"} <= {
        name for one in found.estimates.filter(metric="spearman") for name in (one.arm, one.against)
    }
    paired = {
        frozenset((one.arm, one.against)) for one in found.estimates.filter(metric="spearman")
    }
    five = ("response time", "unsure proportion", "mean uncertainty", "entropy of people")
    assert {frozenset(pair) for pair in combinations(five, 2)} <= paired  # here both readings agree
    assert amount(found, "unsure_proportion") == pytest.approx(1 / 3)
    assert amount(found, "items", stratum="none of these") == 0
    strata = ("NoHLV", "HLV", "NoHLV, some unsure")
    assert [amount(found, "items", stratum=stratum) for stratum in strata] == [2, 1, 1]
    assert amount(found, "percent_agreement") == 1


def test_models_that_cannot_say_none_of_these_are_held_against_the_classes_they_know() -> None:
    """As labels made by a model are, which people were then asked about (S4-53)."""
    rng = np.random.default_rng(2)
    items = tuple(f"s{place}" for place in range(30))
    made = LabelSet(items, ("cat", "dog"), rng.dirichlet((1, 1), 30))
    probs = np.column_stack([0.8 * made.probs, np.full(30, 0.2)])
    probs[0] = 0, 0, 1
    people = LabelSet(items, ("cat", "dog", "none of these"), probs, np.full(30, 5.0))

    found = audit(AuditSources(labels=people, predictions=(("a", made), ("b", made))), QUICK)

    assert amount(found, "items", stratum="none of these") == 1  # people's own are of all classes
    assert amount(found, "none_of_these_mass") == pytest.approx((29 * 0.2 + 1) / 30)
    assert "Only the labels have the class 'none of these'" in " ".join(found.remarks)
    scored = next(iter(found.estimates.filter(metric="cross_entropy", arm="a", stratum="all")))
    assert scored.items == 29
    mean = -(made.probs[1:] * np.log(made.probs[1:])).sum(axis=1).mean()  # the labels themselves
    assert scored.value == pytest.approx(mean)
    other = LabelSet(items, ("cat", "cow"), made.probs)
    with pytest.raises(DataError, match="'cow' is in b only"):
        audit(AuditSources(labels=people, predictions=(("b", other),)), QUICK)


@pytest.mark.usefixtures("without_png")
def test_simulated_people_are_marked_everywhere(tmp_path: Path) -> None:
    step = Step("simulate voters", simulated=True)
    rows = np.array([[0.5, 0.5], [1, 0]])
    made_up = LabelSet(("a", "b"), ("x", "y"), rows, np.full(2, 2.0), (step,))
    write_labels(made_up, tmp_path / "labels.csv")

    found = audit(AuditSources(labels=tmp_path / "labels.csv"), QUICK)
    write_audit(found, tmp_path / "out")
    page = draw_audit(found, tmp_path / "out").read_text()

    assert found.simulated and audit_values(found)["simulated"]
    assert pl.read_parquet(tmp_path / "out" / "tables" / "strata.parquet")["simulated"].all()
    assert "Simulated" in (tmp_path / "out" / "datasheet.md").read_text()
    assert "Simulated people or models" in page


def test_folder_has_every_table_twice_a_datasheet_and_one_page(
    audited: Audit, tmp_path: Path
) -> None:
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables" / "notes.csv").write_text("mine")

    write_audit(audited, tmp_path)

    assert set(audited.tables) == set(TABLES)
    for name, table in audited.tables.items():
        assert len(pl.read_parquet(tmp_path / "tables" / f"{name}.parquet")) == len(table)
        assert len(pl.read_csv(tmp_path / "tables" / f"{name}.csv")) == len(table)
    assert (tmp_path / "tables" / "notes.csv").read_text() == "mine"
    stored = json.loads((tmp_path / "audit.json").read_text())["estimates"]
    assert [row["value"] for row in stored if row["metric"] == "modes_differ"] == [5, 0, 5]
    for ending in ("parquet", "csv"):
        assert (tmp_path / f"estimates.{ending}").is_file()
    gains = pl.read_csv(tmp_path / "estimates.csv").filter(pl.col("metric") == "kl_gain")
    assert set(gains["stratum"]) == {"in all", "by the vote", "by softness"}
    assert "train 25, test 15" in (tmp_path / "datasheet.md").read_text()


@pytest.mark.usefixtures("without_png")
def test_page_needs_nothing_else_and_tells_every_part(
    everything: AuditSources, tmp_path: Path
) -> None:
    one_seed = tuple(pair for pair in everything.predictions if "-1" in Path(str(pair[1])).name)
    few = audit(replace(everything, predictions=one_seed), QUICK)
    one = few.tables["doubtful"].head(12)  # of 8 pictures one is enough here
    few = replace(few, tables={**few.tables, "doubtful": one})

    page = draw_audit(few, tmp_path, title="Audit of it").read_text()

    parts = ("Pictures", "People", "Original labels", "Models", "Softness or a shifted mode")
    for text in (*parts, "Learning", "Samples of interest", "Audit of it", "i31"):
        assert text in page
    drawn = {path.stem for path in (tmp_path / "figures").glob("*.svg")}
    assert {"concentration", "mode-shift", "data-map", "doubtful"} <= drawn


def test_second_audit_leaves_no_table_of_the_first(
    audited: Audit, everything: AuditSources, tmp_path: Path
) -> None:
    write_audit(audited, tmp_path)
    write_audit(audit(AuditSources(labels=everything.labels), QUICK), tmp_path)

    left = {path.stem for path in (tmp_path / "tables").iterdir()}
    assert left == {"strata", "concentration", "correlations", "interest", "kinds"}


def test_same_seed_gives_the_same_json(everything: AuditSources, audited: Audit) -> None:
    again = audit_values(audit(everything, QUICK))

    assert json.dumps(again, allow_nan=False) == json.dumps(audit_values(audited), allow_nan=False)


def test_modes_without_the_majority_are_a_remark(planted: Path, everything: AuditSources) -> None:
    two = named_predictions([f"soft={planted}/soft-1.npz", f"original={planted}/original-1.npz"])

    found = audit(replace(everything, predictions=two), QUICK)

    assert "modes" not in found.tables
    assert any("'majority'" in remark for remark in found.remarks)


def test_shared_items_may_be_asked_for(planted: Path, tmp_path: Path) -> None:
    np.savez(tmp_path / "few.npz", probs=np.full((5, 3), 1 / 3), items=ITEMS[:5], classes=CLASSES)
    sources = AuditSources(
        labels=planted / "people.csv", predictions=(("few", tmp_path / "few.npz"),)
    )

    with pytest.raises(DataError, match=r"few\.npz: Item 'i05'.*35 of 40"):
        audit(sources, QUICK)
    found = audit(sources, replace(QUICK, missing="leave out"))
    assert [*found.remarks] == ["few.npz covers 5 of 40 labelled items."]
    (sentence,) = found.findings["Models"]
    assert sentence.text.endswith("no rank correlation, one of them never changes.")


def _nothing(folder: Path) -> AuditSources:
    return AuditSources()


def _only_original(folder: Path) -> AuditSources:
    return AuditSources(original=folder / "original.csv")


def _only_predictions(folder: Path) -> AuditSources:
    return AuditSources(images=folder, table=folder, predictions=(("a", folder / "soft-1.npz"),))


def _both_sources(folder: Path) -> AuditSources:
    return AuditSources(labels=folder / "people.csv", judgments=folder / "people.csv")


def _no_table(folder: Path) -> AuditSources:
    return AuditSources(images=folder / "pictures")


def _recipe_alone(folder: Path) -> AuditSources:
    return AuditSources(labels=folder / "people.csv", recipe="votes")


def _missing_file(folder: Path) -> AuditSources:
    return AuditSources(labels=folder / "nobody.csv")


def _missing_original(folder: Path) -> AuditSources:
    (folder / "part.csv").write_text("item,label\ni00,cat\n")
    return AuditSources(labels=folder / "people.csv", original=folder / "part.csv")


def _other_class(folder: Path) -> AuditSources:
    text = (folder / "table.csv").read_text().replace("cat", "cow")
    (folder / "cows.csv").write_text(text)
    return AuditSources(
        labels=folder / "people.csv", images=folder / "pictures", table=folder / "cows.csv"
    )


def _not_watched(folder: Path) -> AuditSources:
    np.savez(folder / "no.npz", probs=np.eye(3))
    return AuditSources(dynamics=folder / "no.npz")


def _no_distribution(folder: Path) -> AuditSources:
    np.savez(folder / "bad.npz", watched=np.full((1, 2, 2, 3), 0.2), items=["i00", "i01"])
    return AuditSources(labels=folder / "people.csv", dynamics=folder / "bad.npz")


def _other_items(folder: Path) -> AuditSources:
    np.savez(folder / "x.npz", watched=np.full((1, 2, 1, 3), 1 / 3), items=["x"])
    return AuditSources(labels=folder / "people.csv", dynamics=folder / "x.npz")


def _no_archive(folder: Path) -> AuditSources:
    return AuditSources(labels=folder / "people.csv", dynamics=folder / "original.csv")


@pytest.mark.parametrize(
    ("sources", "sentence"),
    [
        (_nothing, "There is nothing to audit"),
        (_only_original, "Original labels need something"),
        (_only_predictions, "Predictions are held against people's labels"),
        (_both_sources, "Labels and judgments are both given"),
        (_no_table, "Images and a table go together"),
        (_recipe_alone, "A recipe makes labels from judgments"),
        (_missing_file, r"There is no file .*nobody\.csv"),
        (_missing_original, r"part\.csv: item 'i01' has no original label \(39 of 40"),
        (_other_class, r"cows\.csv: No class is called 'cow'"),
        (_not_watched, r"no\.npz has no array 'watched'; it holds probs"),
        (_no_distribution, r"bad\.npz: The probabilities of item 'i00' in epoch 1"),
        (_other_items, "No watched item has a label: the first watched is 'x'"),
        (_no_archive, r"original\.csv cannot be read as \.npz"),
    ],
)
def test_bad_input_is_a_sentence_that_names_the_place(
    planted: Path, sources: Callable[[Path], AuditSources], sentence: str
) -> None:
    with pytest.raises(DataError, match=sentence):
        audit(sources(planted), QUICK)


def test_predictions_are_called_as_given_or_as_their_file() -> None:
    found = named_predictions(["soft=a.npz", "soft=b.npz", "x/net.csv", "y/net.csv", "other.csv"])

    assert [name for name, _ in found] == ["soft", "soft", "x/net", "y/net", "other"]


@pytest.mark.parametrize("texts", [["=a.npz"], ["soft="], ["a.npz", "a.npz"], ["x=a.npz", "a.npz"]])
def test_odd_names_of_predictions_are_refused(texts: list[str]) -> None:
    with pytest.raises(DataError, match=r"NAME=FILE|given twice"):
        named_predictions(texts)


def test_file_with_an_equals_sign_is_a_file(tmp_path: Path) -> None:
    path = tmp_path / "lr=0.1.csv"
    path.write_text("item,a,b\n")

    assert named_predictions([str(path)]) == (("lr=0.1", path),)


def test_published_numbers_of_cifar10h(data_folder: Path) -> None:
    sources = AuditSources(
        labels=data_folder / "cifar10h" / "cifar10h-probs.npy",
        original=data_folder / "cifar10h-predictions" / "test_labels.npy",
    )

    found = audit(sources, replace(QUICK, draws=20))

    assert amount(found, "modes_differ") == 79
    assert amount(found, "entropy_share", stratum="top 30 %") == pytest.approx(0.826, abs=0.0005)
