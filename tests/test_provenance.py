import json
from pathlib import Path

from sfumato.provenance import Step, fingerprint_file, from_json, is_simulated, to_json


def test_steps_survive_json() -> None:
    steps = (Step("read", {"a": 1}, {"f": "00"}), Step("simulate", {}, {}, simulated=True))

    assert from_json(json.loads(json.dumps(to_json(steps)))) == steps


def test_one_simulated_step_makes_everything_after_it_simulated() -> None:
    assert not is_simulated((Step("read"),))
    assert is_simulated((Step("simulate", simulated=True), Step("label")))


def test_fingerprint_is_the_sha256_of_the_content(tmp_path: Path) -> None:
    path = tmp_path / "abc"
    path.write_bytes(b"abc")

    # FIPS 180-2, example B.1
    assert fingerprint_file(path).startswith("ba7816bf8f01cfea414140de5dae2223")
