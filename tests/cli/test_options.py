from pathlib import Path

import pytest
from tests.cli.conftest import Run

from sfumato.cli.options import refuse_existing, refuse_filled, study_key
from sfumato.errors import DataError


def test_given_key_stands() -> None:
    assert study_key("mine") == "mine"


def test_own_key_is_drawn_once_and_kept_private(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))

    first = study_key(None)

    assert len(first) == 64
    assert study_key(None) == first
    assert (tmp_path / "sfumato" / "key").stat().st_mode & 0o077 == 0


# No command replaces a file unless it is told to, and none says more than is wanted.


VOTES = "task,worker,label\n1,ann,cat\n1,bob,dog\n2,ann,dog\n2,bob,dog\n3,ann\n"
LABELS = "item,cat,dog\n1,0.5,0.5\n2,0,1\n"


@pytest.fixture
def run(run: Run) -> Run:
    """Run ``sfumato`` in a folder with votes and labels."""
    Path("votes.csv").write_text(VOTES)
    Path("labels.csv").write_text(LABELS)
    return run


LABEL = ("label", "votes.csv", "--format", "crowd", "--recipe", "votes", "-o")
WRITING = {
    "label": ((*LABEL, "new.csv"), "new.csv"),
    "label, intervals": ((*LABEL, "l.csv", "--intervals", "i.csv"), "i.csv"),
    "label, left out": ((*LABEL, "l.csv", "--left-out", "left.csv"), "left.csv"),
    "simulate": (("simulate", "voters", "--labels", "labels.csv", "-o", "s.csv"), "s.csv"),
    "convert": (
        ("convert", "votes.csv", "--format", "crowd", "--to", "peerannot", "-o", "a.json"),
        "a.json",
    ),
    "evaluate": (
        ("evaluate", "--labels", "labels.csv", "--predictions", "labels.csv", "-o", "e.csv"),
        "e.csv",
    ),
    "audit": (("audit", "--labels", "labels.csv", "-o", "audited"), "audited/audit.json"),
}


@pytest.mark.parametrize("name", WRITING)
def test_file_is_replaced_only_when_that_is_wanted(run: Run, name: str) -> None:
    words, written = WRITING[name]
    path = Path(written)
    path.parent.mkdir(exist_ok=True)
    path.write_text("mine")

    refused = run(*words)
    assert refused.code == 1
    assert path.read_text() == "mine"
    assert refused.err.count("\n") == 1
    assert f"{path} exists already" in refused.err

    assert run(*words, "--overwrite").code == 0
    assert path.read_text() != "mine"


def test_input_is_not_overwritten_by_output(run: Run) -> None:
    assert run(*LABEL, "votes.csv").code == 1
    assert Path("votes.csv").read_text() == VOTES


def test_folder_may_hold_other_files(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")

    refuse_filled(tmp_path, "audit.json", overwrite=False)
    refuse_existing(None, tmp_path / "new.csv", overwrite=False)
    with pytest.raises(DataError, match="exists already"):
        refuse_filled(tmp_path, "notes.txt", overwrite=False)


@pytest.mark.parametrize("place", ["before", "after"])
def test_quiet_leaves_out_remarks_but_not_results(run: Run, place: str) -> None:
    words = (*LABEL, "new.csv")

    usual = run(*words, "--overwrite")
    quiet_words = ("--quiet", *words) if place == "before" else (*words, "-q")
    quiet = run(*quiet_words, "--overwrite")

    assert usual.code == quiet.code == 0
    assert "Rows set aside: 1" in usual.err
    assert quiet.err == ""
    assert quiet.out == usual.out


def test_quiet_does_not_hide_errors(run: Run) -> None:
    done = run("--quiet", "label", "none.csv", "--recipe", "votes", "-o", "x.csv")

    assert done.code == 1
    assert "none.csv" in done.err


def test_ctrl_c_ends_quietly_with_130(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("sfumato.judgments.formats.read", stop)

    done = run(*LABEL, "new.csv")

    assert (done.code, done.err) == (130, "")


@pytest.mark.parametrize(
    "error",
    [
        MemoryError("Unable to allocate 80.0 GiB for an array with shape (10, 10)"),
        RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory: 8 bytes"),
        RuntimeError("CUDA out of memory. Tried to allocate 20.00 MiB"),
        OSError(12, "Cannot allocate memory"),
    ],
)
def test_memory_that_ran_out_is_a_sentence(
    run: Run, error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("sfumato.judgments.formats.read", fail)

    done = run(*LABEL, "new.csv")

    assert done.code == 1
    assert done.err.startswith("sfumato: The memory of ")
    assert done.err.count("\n") == 1


def test_array_that_no_machine_can_hold_is_a_sentence(run: Run) -> None:
    done = run(
        "simulate", "voters", "--labels", "labels.csv", "--per-item", str(10**13), "-o", "s.csv"
    )

    assert done.code == 1
    assert "memory" in done.err


def test_our_own_mistake_keeps_its_traceback(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise AssertionError

    monkeypatch.setattr("sfumato.judgments.formats.read", fail)

    with pytest.raises(AssertionError):
        run(*LABEL, "new.csv")
