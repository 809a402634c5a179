"""``sfumato view`` prints an address that works, until Ctrl-C; mistakes are sentences."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import httpx
import numpy as np
from tests.cli.conftest import Run

VOTES = "photo,rater,category,sentence\n1,ann,cat,small\n1,ben,dog,small\n2,ann,dog,barks\n"


def test_page_is_served_until_interrupted(tmp_path: Path) -> None:
    (tmp_path / "votes.csv").write_text(VOTES)
    (tmp_path / "soft.csv").write_text("item,cat,dog\n1,0.75,0.25\n2,0,1\n")
    before = sorted(path.name for path in tmp_path.iterdir())
    words = ["view", "votes.csv", "--text", "sentence", "--predictions", "soft=soft.csv"]
    started = subprocess.Popen(
        [sys.executable, "-m", "sfumato", *words], cwd=tmp_path, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env={**os.environ, "XDG_CONFIG_HOME": str(tmp_path)},
    )  # fmt: skip
    assert started.stdout is not None
    told = started.stdout.readline()
    found = re.fullmatch(r"2 items at (\S+) \(Ctrl-C stops it\)\.\n", told)
    assert found, told + (started.communicate(timeout=20)[1] if started.poll() else "")

    with httpx.Client(follow_redirects=True) as client:
        page = client.get(found[1])
        rows = client.get(str(page.url.join("/rows.json?set=people&set=soft&sort=distance")))
    started.send_signal(signal.SIGINT)
    _, err = started.communicate(timeout=20)

    assert page.status_code == 200
    assert [row["item"] for row in rows.json()["rows"]] == ["1", "2"]
    assert rows.json()["rows"][0]["text"] == "small"
    assert (started.returncode, "Traceback" in err) == (0, False)
    assert sorted(path.name for path in tmp_path.iterdir()) == before


def test_mistakes_are_sentences(run: Run) -> None:
    Path("votes.csv").write_text(VOTES)
    np.savez("odd.npz", probs=np.eye(3))

    for words, sentence in (
        (["none.csv"], "There is no file or folder none.csv"),
        (["cifar1Oh"], "Did you mean 'cifar10h'?"),
        (["votes.csv", "--images", "nowhere"], "There is no folder or archive nowhere."),
        (["votes.csv", "--text", "words"], "have no column of that name"),
        (["votes.csv", "--predictions", "odd.npz"], "odd.npz"),
        (["votes.csv", "--predictions", "a=odd.npz", "--predictions", "a=x.csv"], "NAME=FILE"),
    ):
        done = run("view", *words)
        assert done.code == 1
        assert sentence in done.err, done.err
