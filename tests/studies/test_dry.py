"""A dry run says what the papers say, tries every arm and network once, and ends soon."""

import time
import tomllib
from dataclasses import replace
from functools import cache
from importlib.resources import files
from pathlib import Path

import pytest

from sfumato.errors import DataError, UnknownName
from sfumato.learn.fit import training_cost
from sfumato.studies import dry
from sfumato.studies.dry import ProtocolRow, dry_run, network_costs, protocol_of
from sfumato.studies.sources import load_data
from sfumato.studies.study import Study, bases_of, read_study, shipped_names

STATED = tomllib.loads(
    files("sfumato.studies").joinpath("protocol.toml").read_text(encoding="utf-8")
)


def of_papers() -> list[str]:
    """The shipped studies that have the size of a paper."""
    found = []
    for name in shipped_names():
        try:
            read_study(name, "paper")
        except DataError:
            continue
        found.append(name)
    return found


@pytest.mark.parametrize("name", of_papers())
def test_study_of_a_paper_says_what_the_paper_says_and_why_it_differs(name: str) -> None:
    rows = protocol_of(read_study(name, "paper"))

    assert rows
    for row in rows:  # a reason where the study differs or the paper is silent, and only there
        assert bool(row.why) == (row.differs or row.stated is None), row.setting
        assert row.place.startswith(("paper ", "thesis, ")) and row.sentence


def test_sentences_are_about_studies_that_are_there() -> None:
    used = {base for name in of_papers() for base in bases_of(name)}

    assert STATED.keys() <= used


def test_study_of_no_paper_says_so() -> None:
    assert protocol_of(read_study("digits-table")) == ()
    assert any(
        "No paper describes this study" in line
        for line in dry_run(read_study("judges"), data=None).lines()
    )


def test_sentence_about_a_setting_that_is_not_there_is_an_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    study = read_study("hmix")
    row = {"place": "paper 5", "sentence": "Max Epochs 60"}
    monkeypatch.setattr(tomllib, "loads", lambda text: {"hmix": {"training.epoch": row}})

    with pytest.raises(UnknownName, match="Did you mean 'epochs'"):
        protocol_of(study)


@pytest.mark.parametrize(
    ("stated", "why", "size", "says"),
    [
        (150, "", "paper", "training.epochs = 150, as the paper"),
        (65, "ours", "paper", "training.epochs = 150; the paper has 65: ours"),
        (65, "", "cpu", "training.epochs = 150; the paper has 65, this is the size 'cpu'"),
        (None, "not printed", "paper", "training.epochs = 150; not printed"),
        (150, "no longer", "paper", "training.epochs = 150, as the paper"),
    ],
)
def test_a_difference_is_told_with_its_reason(
    stated: int | None, why: str, size: str, says: str
) -> None:
    row = ProtocolRow("training.epochs", 150, "paper 1, section 5.1", "at most", stated, why)

    assert row.lines(size) == [f"# {says}", '#   paper 1, section 5.1: "at most"']


def test_lists_are_the_same_in_any_order_and_numbers_of_any_type() -> None:
    assert not ProtocolRow("arms", ["b", "a"], "", "", ["a", "b"]).differs
    assert not ProtocolRow("fgsm", [4.0], "", "", [4]).differs
    assert ProtocolRow("fgsm", [4.0, 8.0], "", "", [4]).differs


def test_every_arm_is_tried_with_the_smallest_network_and_every_other_network_once() -> None:
    told: list[str] = []
    changes = {"networks": ["resnet-8", "simple-ffn", "deeper-ffn"], "fgsm": [4, 8]}

    found = dry_run(read_study("digits-table", changes=changes), data=None, stage=told.append)

    assert found.tried == 5 + 2
    assert told[1:] == [
        f"A batch through {name}" for name in ("simple-ffn", "resnet-8", "deeper-ffn")
    ]
    assert tomllib.loads("\n".join(found.lines()).split("\nTried ")[0])["name"] == "digits-table"
    assert [one.network for one in found.planned] == ["resnet-8", "simple-ffn", "deeper-ffn"]


@pytest.mark.check
@pytest.mark.parametrize("name", ["cifar10h-alternatives", "cifar10s-few", "mixing-full"])
def test_paper_size_is_tried_within_a_minute_of_one_core(name: str, data_folder: Path) -> None:
    study: Study = read_study(name, "paper")
    started = time.process_time()  # other work on the machine does not count

    found = dry_run(study, data=data_folder)

    assert time.process_time() - started < 60
    assert found.tried == len(study.arms) + len(study.networks) - 1
    tries = [
        sum(map(len, study.search.values(mixes=arm.mix not in ("", "no mixing")).values())) or 1
        for arm in study.arms
        if arm.use == "learnt"
    ]
    trained = study.seeds * study.folds * sum(tries)
    before = study.pretraining
    for one in found.planned:
        assert one.trainings == trained + (before is not None)
        images = study.collection.pretraining
        assert before is None or one.presentations > before.epochs * images


@pytest.mark.check
def test_middle_size_takes_one_gpu_a_day_at_most(
    data_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dry, "training_cost", cache(training_cost))
    few = {"collection.near": 8, "collection.pretraining": 8, "collection.most": 8}
    hours = {}
    for name in of_papers():
        study = read_study(name, "paper")
        if not study.networks or study.data.startswith("soft-digits"):  # not to be had
            continue
        study = read_study(name, "lab")
        changed = read_study(name, "lab", changes=few)
        data = replace(load_data(changed, data_folder), study=study)
        hours[name] = sum(one.gpu_hours for one in network_costs(data))

    assert len(hours) > 15
    assert {name: spent for name, spent in hours.items() if spent > 24} == {}
