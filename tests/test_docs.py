"""The documentation is tested: it names everything a person can type, and its examples run.

A ``console`` block is a story: each line that begins with ``$ `` is run by bash, in one
temporary folder a page, and what it prints must be what the block shows; ``...`` stands for
anything. A ``pycon`` block is the same for a session of Python. Networks learn a little
differently on each kind of processor: below the comment
``<!-- numbers differ between processors -->`` any number may stand for another. ``make
docs-update`` writes what was printed into the pages. A ``python`` block is run as it is, the
blocks of a page one after the other.
"""

import doctest
import io
import os
import re
import runpy
import shlex
import socket
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from contextlib import redirect_stdout
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import polars as pl
import pytest
import typer.main
from typer.core import TyperCommand, TyperGroup, TyperOption

from sfumato.cli import app
from sfumato.cli.options import names_in
from sfumato.data.registry import DATASETS
from sfumato.elicit.design.presets import PRESETS
from sfumato.evaluation.metrics import METRICS
from sfumato.judgments.formats import FORMATS
from sfumato.judgments.question import QUESTIONS
from sfumato.labels.aggregate import AGGREGATORS
from sfumato.labels.build import RECIPES
from sfumato.names import find
from sfumato.reporting import figures
from sfumato.reporting.page import duration, markdown_table
from sfumato.studies.claims import counts_text
from sfumato.studies.results import CONTROLS, counts_table, read_estimates, read_results
from sfumato.studies.run import choose_study
from sfumato.studies.study import (
    Arm,
    FurtherSets,
    MixAnswers,
    Own,
    Parts,
    SimulatedPeople,
    Study,
    StudyCurve,
    TestSpec,
    Worlds,
    read_study,
)

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
TEXT = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
TRAINED = "<!-- numbers differ between processors -->"
BLOCK = re.compile(
    rf"^(?:({re.escape(TRAINED)})\n)?```(console|python|pycon)\n(.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
PORT = re.compile(r"(?:(?<=--port )|(?<=127\.0\.0\.1:))\d{4,5}\b")
"""A port that an example serves at; others are used when it is run."""
NUMBER = re.compile(r" *\b\d[\d,]*(?:\.\d+)?(?:e-?\d+)?")
TOLD_IN_README = (
    (
        "fashion-h",
        "digits-audit-01",
        "On items that people dispute, KL divergence from people is lower after soft labels than "
        "after the majority vote (Fashion-MNIST; nats).",
    ),
    (
        "fashion-h",
        "digits-audit-10",
        "Soft labels gain accuracy over original ones (soft - original), and more of it comes with "
        "the majority vote than with softness (vote - softness; Fashion-MNIST; share of items).",
    ),
    (
        "cifar10h-shift",
        "cifar10h-shift-02",
        "On new images, cross-entropy is lower after people's soft labels than after hard ones "
        "(CIFAR-10H, CIFAR-10; nats).",
    ),
    (
        "cifar10h-shift",
        "cifar10h-shift-01",
        "On new images, accuracy is higher after people's soft labels than after hard ones "
        "(CIFAR-10H, CIFAR-10; share of items).",
    ),
    (
        "cifar10h-alternatives",
        "cifar10h-alternatives-02",
        "Cross-entropy to people is lower after soft labels than after hard ones (CIFAR-10H; "
        "nats).",
    ),
    (
        "cifar10h-alternatives",
        "cifar10h-alternatives-04",
        "Cross-entropy to people is lower after soft labels than after one average distribution "
        "per class (CIFAR-10H; nats).",
    ),
    (
        "cifar10h-attacks",
        "cifar10h-attacks-03",
        "Under attack (FGSM of 8/255), cross-entropy is lower after soft labels than after hard "
        "ones (CIFAR-10H; nats).",
    ),
    (
        "cifar10s-items",
        "cifar10s-items-01",
        "With 250 images to learn from, cross-entropy to people is lower after six people's soft "
        "answers than after some fifty votes (CIFAR-10S, CIFAR-10H; nats).",
    ),
    (
        "mixing-augment",
        "mixing-augment-30",
        "Cross-entropy to people is lower after mixed images with people's own coefficients than "
        "with mixup's (CIFAR-10; nats).",
    ),
)
"""A study, the id of a claim that it was held against, and the claim in plain words with its unit;
some fail."""
UPDATE = bool(os.environ.get("SFUMATO_UPDATE_DOCS"))
ID = r"(?:S[0-4]-\d\d|C\d{1,2})"
"""What a paper describes (S2-17), or a contradiction in one (C12)."""
NAMED_FILE = re.compile(r"`([\w/.-]+)`:\n\n```(?:toml|csv)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
"""A file that is shown below its name."""
CITING = {".py", ".toml", ".csv", ".html", ".j2", ".js"}
"""Endings of source files that cite such ids."""


def commands(group: TyperGroup, prefix: str = "sfumato") -> dict[str, TyperCommand]:
    found: dict[str, TyperCommand] = {}
    for name, command in group.commands.items():
        full = f"{prefix} {name}"
        if isinstance(command, TyperGroup):
            found |= commands(command, full)
        else:
            assert isinstance(command, TyperCommand)
            found[full] = command
    return found


OF_ALL = ("help", "quiet")
"""Options that every command takes; they are on the page of the command line."""

TYPER = typer.main.get_command(app)
assert isinstance(TYPER, TyperGroup)
COMMANDS = commands(TYPER)


@pytest.mark.parametrize("name", COMMANDS)
def test_command_is_documented(name: str) -> None:
    assert f"`{name}" in TEXT


@pytest.mark.parametrize(
    ("command", "option"),
    [
        (name, max(parameter.opts, key=len))
        for name, command in COMMANDS.items()
        for parameter in command.params
        if isinstance(parameter, TyperOption) and parameter.name not in OF_ALL
    ],
)
def test_option_is_on_the_page_of_its_verb(command: str, option: str) -> None:
    page = (ROOT / "docs" / f"{command.split()[1]}.md").read_text(encoding="utf-8")

    assert f"`{option}" in page


def test_study_of_ones_own_on_its_page_can_be_read_and_all_its_fields_are_told(
    tmp_path: Path,
) -> None:
    page = (ROOT / "docs" / "run.md").read_text(encoding="utf-8")
    own_page = (ROOT / "docs" / "your-own-data.md").read_text(encoding="utf-8")
    block = page.split("```toml\n")[1].split("```")[0]
    path = tmp_path / "clinic.toml"
    path.write_text(block, encoding="utf-8")

    assert read_study(path).own.size == (32, 32)
    kinds = (
        Study, Arm, SimulatedPeople, FurtherSets, Parts, TestSpec, StudyCurve, Worlds, MixAnswers,
    )  # fmt: skip
    names = [name for kind in kinds for name in kind.model_fields]
    assert [name for name in names if f"`{name}`" not in page and f"`[{name}]`" not in page] == []
    assert [name for name in Own.model_fields if f"`{name}`" not in own_page] == []


RESULTS = {one["name"]: one for one in read_results(ROOT / "docs" / "results")}


def claims_of(result: dict[str, Any]) -> list[dict[str, Any]]:
    return [claim for claim in result["claims"] if claim["work"] != CONTROLS]


def kept_true(page: Path, expected: str) -> None:
    """Compare what a page says between two marks, or write it there."""
    text = page.read_text(encoding="utf-8")
    begin, end = "from docs/results -->\n", "<!-- /found -->"
    if UPDATE:
        if begin not in text:
            text += (
                f"\n## What was found\n\n<!-- found: written by tests/test_docs.py {begin}{end}\n"
            )
        head, _, rest = text.partition(begin)
        text = f"{head}{begin}{expected}{end}{rest.partition(end)[2]}"
        page.write_text(text, encoding="utf-8")
    assert text.partition(begin)[2].partition(end)[0] == expected


def test_readme_tells_results_as_the_files_do() -> None:
    rows = []
    for study, claim_id, words in TOLD_IN_README:
        (claim,) = (one for one in RESULTS[study]["claims"] if one["id"] == claim_id)
        items = f"{claim['items']} items, " if claim["items"] else ""
        told = {
            "claim of a paper": words,
            "here": claim["weakest"],
            "on": f"{items}{RESULTS[study]['seeds']} seeds",
            "verdict": f"[{claim['verdict']}](docs/results/{study}.md)",
        }
        rows.append(told)
    counted = [one for one in RESULTS.values() if not one["beside"]]
    verdicts = (claim["verdict"] for one in counted for claim in claims_of(one))

    expected = f"{counts_text(verdicts)}\n\n{markdown_table(pl.DataFrame(rows))}"
    kept_true(ROOT / "README.md", expected)


PAPER = ROOT / "paper" / "paper.md"
SOURCES = re.compile(r"<!-- numbers: (\S+) by `([^`]+)` -->")
"""Behind a paragraph of the paper: the page with its numbers, and the command that prints them."""


def test_paper_tells_results_as_the_files_do() -> None:
    claims = [claim for one in RESULTS.values() if not one["beside"] for claim in claims_of(one)]
    works = {work: [one for one in claims if one["work"] == work] for work in works_of(claims)}

    expected = f"{counts_text(claim['verdict'] for claim in claims)}\n\n{counts_table(works)}"
    kept_true(PAPER, expected)


def works_of(claims: list[dict[str, Any]]) -> list[str]:
    return sorted({claim["work"] for claim in claims})


def test_every_number_of_the_paper_is_on_a_page_that_names_its_command() -> None:
    _, _, body = PAPER.read_text(encoding="utf-8").partition("\n# Summary\n")
    body, _, _ = body.partition("<!-- found")
    looked = 0
    for paragraph in body.split("\n\n"):
        prose = re.sub(r"`[^`]*`|@\w+|<!--.*?-->", "", paragraph)
        numbers = re.findall(r"\d[\d,]*(?:\.\d+)?", prose)
        sources = SOURCES.findall(paragraph)
        assert sources or not numbers, f"Nothing is named that prints these: {paragraph}"
        for page, command in sources:
            text = (ROOT / page).read_text(encoding="utf-8")
            program, name, *words = shlex.split(command)
            if program == "python":
                assert (ROOT / name).is_file()
                assert f"python {name}" in text
            else:
                assert f"sfumato {' '.join([name, *words[:1]])}" in text
            told = set(re.findall(r"\d[\d,]*(?:\.\d+)?", text))
            missing = [number for number in numbers if number not in told]
            assert missing == [], f"{page} has no {missing}: {paragraph}"
            looked += len(numbers)
    assert looked > 15


def test_paper_has_the_parts_and_the_length_of_its_journal() -> None:
    text = PAPER.read_text(encoding="utf-8")
    keys = set(
        re.findall(r"^@\w+\{(\w+),$", (PAPER.parent / "paper.bib").read_text(), re.MULTILINE)
    )

    heads = re.findall(r"^# (.*)$", text, re.MULTILINE)
    assert heads[:3] == ["Summary", "Statement of need", "State of the field"]
    assert heads[-1] == "References"
    assert len(text.split()) < 1300
    assert set(re.findall(r"@(\w+)", text)) == keys


@pytest.mark.parametrize("name", RESULTS)
def test_page_of_a_study_tells_how_its_claims_came_out(name: str) -> None:
    result = RESULTS[name]
    verdicts = counts_text(claim["verdict"] for claim in claims_of(result))
    link = f"[What came out, in what regime](../results/{name}.md)"
    run = f"size {result['size']}, {duration(result['seconds'])}"
    seeds = f", {result['seeds']} seeds" if result["seeds"] is not None else ""

    expected = f"{verdicts}\n{link}; {run}{seeds}.\n"
    kept_true(ROOT / "docs" / "studies" / f"{name}.md", expected)


def test_page_on_mode_shift_has_the_gains_of_the_study() -> None:
    page = (ROOT / "docs" / "concepts" / "mode-shift.md").read_text(encoding="utf-8")
    gains = read_estimates(ROOT / "docs" / "results" / "fashion-h" / "estimates.csv")
    gains = gains.filter(metric="accuracy_gain_by_vote")
    told = re.findall(r'"([\w-]+)": \{"majority": ([\d.]+), "soft": ([\d.]+)\}', page)

    expected = []
    for (network,), rows in gains.group_by("network", maintain_order=True):
        values = dict(rows.select("stratum", "value").iter_rows())
        soft, apart = values["soft - original"], values["vote - softness"]
        expected.append((network, f"{(soft + apart) / 2:.3f}", f"{soft:.3f}"))
    assert told == expected
    assert len(told) == 3


def test_release_has_one_version_and_one_date() -> None:
    cited = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    version, date = re.search(r"^## (\S+) – (\S+)$", CHANGELOG, re.MULTILINE).groups()  # type: ignore[union-attr]

    assert version == tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert f"\nversion: {version}\ndate-released: {date}\n" in cited


def test_gallery_draws_every_figure() -> None:
    page = (ROOT / "docs" / "gallery.md").read_text(encoding="utf-8")

    assert [name for name in figures.__all__ if f"drawing = figures.{name}(" not in page] == []


CHANGELOG = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")


def test_contributing_has_the_layers_that_are_tested() -> None:
    layers = runpy.run_path(str(ROOT / "tests" / "test_architecture.py"))["LAYERS"]
    rows = re.findall(r"^\| \d \| (.*?) \|", CONTRIBUTING, re.MULTILINE)

    assert [tuple(re.findall(r"`(\w+)`", row)) for row in rows] == list(layers)


@pytest.mark.check
def test_everything_that_contributing_adds_works_and_is_short(tmp_path: Path) -> None:
    """In a process of its own, for it adds to registries."""
    code = re.findall(r"^```python\n(.*?)^```$", CONTRIBUTING, re.MULTILINE | re.DOTALL)
    for name, text in NAMED_FILE.findall(CONTRIBUTING):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    (tmp_path / "examples.py").write_text("\n".join(code), encoding="utf-8")

    done = subprocess.run(
        [sys.executable, "examples.py"], cwd=tmp_path, capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stderr
    assert max(len(text.splitlines()) for text in code) < 40
    assert (tmp_path / "runs" / "certain" / "report.html").is_file()


SHOWN = re.findall(
    r"^\| (S[0-4]-[\w.]+) \|.*\| ([^|]*) \|$",
    (ROOT / "docs" / "formulas.md").read_text(encoding="utf-8"),
    re.MULTILINE,
)
"""What shows each row, figure and table of the papers."""
TYPED: dict[str, Mapping[str, object]] = {
    "aggregate": AGGREGATORS,
    "format_": FORMATS,
    "metric": METRICS,
    "name": DATASETS,
    "question": {**PRESETS, **QUESTIONS},
    "recipe": RECIPES,
}
"""Parameters of commands whose values are names, and the names."""


def test_no_row_of_a_paper_is_without_a_command() -> None:
    ids = [name for name, _ in SHOWN]

    assert len([name for name in ids if re.fullmatch(r"S[0-4]-\d\d", name)]) == 288
    assert len(ids) == len(set(ids))
    assert [name for name, cell in SHOWN if "`sfumato" not in cell] == []


@pytest.mark.parametrize("cell", sorted({cell for _, cell in SHOWN}))
def test_what_shows_a_row_of_a_paper_is_there(cell: str) -> None:
    for code in re.findall(r"`([^`]+)`", cell):
        if " " in code:
            check_command(shlex.split(code)[1:])
        else:
            resolve_name(code)


def check_command(words: list[str]) -> None:
    """The command takes these words, and every name among them is known."""
    command: Any = typer.main.get_command(app)
    while isinstance(command, TyperGroup):
        command = command.commands[words.pop(0)]
    context = command.make_context(command.name, words)
    given = context.params
    for name, known in TYPED.items():
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            for value in [given[name]] if isinstance(given[name], str) else given[name]:
                find(known, value, what=name)
    if "study" in given:
        networks = names_in(given["networks"]) if given["networks"] else None
        study = choose_study(given["study"], size=given["size"], networks=networks)
        for arm in names_in(given["arms"]) if given["arms"] else ():
            study.arm(arm)


def test_every_cited_id_of_a_paper_is_explained() -> None:
    key = (ROOT / "docs" / "formulas.md").read_text(encoding="utf-8")
    known = set(re.findall(rf"^\| ({ID}) \|", key, re.MULTILINE))
    files = [path for path in (ROOT / "src").rglob("*") if path.suffix in CITING]

    cited = {
        (name, str(path.relative_to(ROOT)))
        for path in (*files, *PAGES)
        for name in re.findall(rf"\b{ID}\b", path.read_text(encoding="utf-8"))
    }

    assert len(known) == 288 + 23
    assert sorted(pair for pair in cited if pair[0] not in known) == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_only_the_key_and_results_speak_in_ids(page: Path) -> None:
    known = page.name == "formulas.md" or bool({"results", "papers"} & set(page.parts))

    assert known or re.findall(rf"\b{ID}\b|\bS[0-4]-[FT]", page.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CONTRIBUTING.md"], ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    targets = re.findall(r"\]\((?!http)([^)#]+)", page.read_text(encoding="utf-8"))

    assert [name for name in targets if not (page.parent / name).exists()] == []


@pytest.mark.check
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_examples_run_and_print_what_the_page_shows(
    page: Path,
    tmp_path: Path,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)  # python blocks find what commands wrote
    text = page.read_text(encoding="utf-8")
    blocks = BLOCK.findall(text)
    if any("$SFUMATO_DATA" in body for _, _, body in blocks):
        request.getfixturevalue("data_folder")

    names: dict[str, object] = {}
    ports = {shown: free_port() for shown in PORT.findall(text)}
    for trained, kind, body in blocks:
        if kind == "python":
            exec(compile(body, page.name, "exec"), names)
            continue
        if kind == "console":
            printed = exchange(
                rerun(exchange(body, ports), tmp_path), {v: k for k, v in ports.items()}
            )
        else:
            printed = rerun_python(body, names)
        if UPDATE and not matches(body, printed):
            text = text.replace(body, printed)
        elif not UPDATE:
            same = matches(body, printed, any_number=bool(trained))
            assert same, f"{page.name} shows\n{body}\nbut it prints\n{printed}"
    if UPDATE:
        page.write_text(text, encoding="utf-8")


def free_port() -> str:
    """A port of this machine that nobody listens at: pages may be run side by side."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        return str(held.getsockname()[1])


def exchange(text: str, ports: dict[str, str]) -> str:
    """The same text with other ports."""
    return PORT.sub(lambda found: ports.get(found[0], found[0]), text)


def rerun_python(body: str, names: dict[str, object]) -> str:
    """Run the statements of a session and put what they print below each."""
    printed = ""
    for example in doctest.DocTestParser().get_examples(body):
        first, *others = example.source.splitlines()
        out = io.StringIO()
        with redirect_stdout(out):
            exec(compile(example.source, "session", "single"), names)
        lines = [f">>> {first}", *(f"... {line}" for line in others), out.getvalue()]
        printed += "\n".join(lines)
    return printed


PROGRESS = re.compile(r"^[A-Z][\w ]*: +\d+%.*\n", re.MULTILINE)
"""How far a slow command is; a quick one does not say."""


def rerun(body: str, folder: Path) -> str:
    """Run the commands of a block and put what they print below each."""
    printed = ""
    for command in re.findall(r"^\$ ((?:.*\\\n)*.*)$", body, re.MULTILINE):
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=folder,
            env=_environment(folder),
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        said = PROGRESS.sub("", done.stderr)
        printed += f"$ {command}\n{done.stdout}{said}"
    return re.sub(r"[ \t]+$", "", printed, flags=re.MULTILINE)


def matches(shown: str, printed: str, *, any_number: bool = False) -> bool:
    if any_number:
        shown, printed = (NUMBER.sub(" #", text) for text in (shown, printed))
    pattern = re.escape(shown).replace(r"\.\.\.", ".*?")
    return re.fullmatch(pattern, printed, re.DOTALL) is not None


def _environment(folder: Path) -> dict[str, str]:
    here = Path(sys.executable).parent
    if not (folder / "examples").exists():  # pages name them as seen from the repository
        (folder / "examples").symlink_to(ROOT / "examples")
    return {
        **os.environ,
        "PATH": f"{here}:{os.environ.get('PATH', '')}",
        "XDG_CONFIG_HOME": str(folder / ".config"),
        "COLUMNS": "100",
        "TERM": "dumb",
    }
