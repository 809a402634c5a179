"""``import sfumato as sf``: every name loads when first used, and says what it is."""

import ast
import inspect
import json
import subprocess
import sys
from pathlib import Path

import pytest

import sfumato as sf
from sfumato.names import load_name
from sfumato.studies.study import read_study

ROOT = Path(sf.__file__).parent
NAMES: dict[str, str] = vars(sf)["_NAMES"]


def test_every_name_loads_and_is_documented() -> None:
    for name, target in NAMES.items():
        found = getattr(sf, name)
        assert found is load_name(target)
        assert inspect.getdoc(found), name


def test_the_types_of_editors_are_those_of_the_names() -> None:
    tree = ast.parse((ROOT / "__init__.pyi").read_text(encoding="utf-8"))
    typed = {
        alias.asname: f"{node.module}:{alias.name}"
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert typed == NAMES


def test_dir_lists_the_names_and_nothing_else() -> None:
    assert set(dir(sf)) == {*NAMES, "__version__"}


def test_no_public_name_hides_a_room() -> None:
    rooms = {path.stem for path in ROOT.iterdir()}
    assert not rooms & set(NAMES)


def test_an_unknown_name_suggests_the_nearest() -> None:
    with pytest.raises(AttributeError, match="Did you mean 'label'"):
        _ = sf.lable  # type: ignore[attr-defined]


def test_importing_loads_nothing_heavy() -> None:
    code = (
        "import sys, sfumato; dir(sfumato); sfumato.__version__;"
        "print(sorted(sys.modules.keys() & {'numpy', 'polars', 'scipy', 'torch', 'typer'}))"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "[]"


def test_python_m_is_the_command() -> None:
    command = [sys.executable, "-m", "sfumato", "--version"]
    told = subprocess.run(command, capture_output=True, text=True, check=True)
    assert told.stdout.strip() == sf.__version__


def test_methods_that_are_verbs_of_higher_layers_lead_somewhere() -> None:
    targets = [
        node.args[0].value
        for path in ROOT.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "load_name"
        and isinstance(node.args[0], ast.Constant)
    ]
    assert targets
    for target in targets:
        assert load_name(str(target)) is not None, target


def test_every_public_type_shows_itself_in_one_line() -> None:
    classes = [found for name in NAMES if inspect.isclass(found := getattr(sf, name))]
    shown = [
        one for one in classes if not issubclass(one, Exception) and "Soft" not in one.__name__
    ]
    assert len(shown) >= 9
    for one in shown:
        assert "_repr_html_" in dir(one), one
    many = [f"class {number}" for number in range(2_000)]
    question = sf.Question("choose-one", many, "Which one?")  # type: ignore[arg-type]
    assert repr(question).startswith("<Question: choose-one of 2,000 classes: class 0,")
    assert len(repr(question)) < 100
    assert repr(read_study("digits")) == "<Study digits (cpu): 6 arms, 3 networks, 6 seeds>"


def test_dict_of_dicts_is_read_as_the_json_file_of_the_same_shape(tmp_path: Path) -> None:
    said = {"7": {"ann": "cat", "bob": "dog"}, "8": {"ann": "cat", "bob": "cat"}}
    (tmp_path / "said.json").write_text(json.dumps(said))

    given = sf.read({7: {"ann": "cat", "bob": "dog"}, 8: {"ann": "cat", "bob": "cat"}})

    stored = sf.read(tmp_path / "said.json")
    assert given.table.equals(stored.table)
    assert sf.label(said)["7"] == {"cat": 0.5, "dog": 0.5}
