"""``--help`` is the documentation that a wheel brings along."""

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator

import pytest
import typer
import typer.main
from typer.core import TyperCommand, TyperGroup
from typer.testing import CliRunner

from sfumato.cli import COMMANDS, app
from sfumato.cli.help import CHOICES, help_entry, help_texts, list_choices

ROOT = typer.main.get_command(app)


def paths(group: TyperGroup, before: str = "") -> Iterator[tuple[str, TyperCommand]]:
    for name, command in group.commands.items():
        if isinstance(command, TyperGroup):
            yield from paths(command, f"{before}{name} ")
        else:
            assert isinstance(command, TyperCommand)
            yield f"{before}{name}", command


assert isinstance(ROOT, TyperGroup)
ALL = dict(paths(ROOT))


def help_of(*words: str, columns: int = 80) -> str:
    done = CliRunner().invoke(app, [*words], env={"COLUMNS": str(columns)}, prog_name="sfumato")
    assert done.exit_code == 0, done.output
    return done.output


@pytest.mark.parametrize("path", ALL)
def test_every_command_says_what_goes_in_and_comes_out_with_an_example(path: str) -> None:
    entry = help_entry(path)

    assert "Out" in entry["text"]
    assert entry["examples"]
    assert all(f"sfumato {path}" in line for line in entry["examples"])


def test_no_help_is_about_a_command_that_is_not_there() -> None:
    assert set(help_texts()) == set(ALL)


@pytest.mark.parametrize(
    ("path", "line"), [(path, line) for path in ALL for line in help_entry(path)["examples"]]
)
def test_examples_are_commands_that_can_be_parsed(path: str, line: str) -> None:
    words = shlex.split(re.sub(r"^.*?(?=sfumato )", "", line).rstrip(")"))
    given = words[len(path.split()) + 1 :]

    with ALL[path].make_context(path, given) as context:
        assert context.params


@pytest.mark.parametrize(
    ("path", "option"),
    [(path, name) for path in ALL for name in help_entry(path).get("choices", {})],
)
def test_choices_are_for_options_that_the_command_has(path: str, option: str) -> None:
    known = [
        name
        for parameter in ALL[path].params
        for name in (*parameter.opts, (parameter.metavar or parameter.name or "").upper())
    ]

    assert option in known


@pytest.mark.parametrize("kind", CHOICES)
def test_every_choice_has_a_sentence(kind: str) -> None:
    rows = list_choices(kind)

    assert rows
    assert all(name and about.strip() for name, about in rows)


@pytest.mark.parametrize("path", ["", "elicit", "data", *ALL])
def test_help_fits_80_columns_and_breaks_no_name(path: str) -> None:
    shown = help_of(*path.split(), "-h")

    assert max(map(len, shown.splitlines())) <= 80
    for kind in help_entry(path).get("choices", {}).values():
        for name, _ in list_choices(kind):
            assert re.search(rf"^  {re.escape(name)}(  |$)", shown, re.MULTILINE), name


def test_choices_have_one_line_each() -> None:
    shown = help_of("label", "--help")
    rows = list_choices("aggregators")

    listed = shown.partition("Choices for --aggregate:\n")[2].partition("\n\n")[0].splitlines()

    assert [line.split()[0] for line in listed] == [name for name, _ in rows]
    assert not re.search(r"\(S\d-\d\d", shown)


def test_short_and_long_option_give_the_same_help() -> None:
    assert help_of("-h") == help_of("--help")
    assert help_of("elicit", "new", "-h") == help_of("elicit", "new", "--help")


def test_commands_stand_in_the_order_of_work() -> None:
    shown = re.findall(r"^  ([a-z]+)  +[A-Z]", help_of("--help"), re.MULTILINE)

    assert shown == list(COMMANDS)
    order = ["plan", "elicit", "describe", "label", "simulate", "evaluate", "audit", "run"]
    assert [name for name in shown if name in order] == order


def test_list_of_commands_loads_no_table_library() -> None:
    code = (
        "import sys; sys.argv = ['sfumato', '--help']\n"
        "from sfumato.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "heavy = {'numpy', 'polars', 'scipy', 'rich', 'PIL', 'torch'} & set(sys.modules)\n"
        "sys.exit(f'loaded: {heavy}' if heavy else 0)"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    assert "Usage" in done.stdout


@pytest.mark.parametrize(
    ("shell", "given"),
    [
        ("bash", {"COMP_WORDS": "sfumato la", "COMP_CWORD": "1"}),
        ("zsh", {"_TYPER_COMPLETE_ARGS": "sfumato la"}),
        ("fish", {"_TYPER_COMPLETE_ARGS": "sfumato la", "_TYPER_COMPLETE_FISH_ACTION": "get-args"}),
    ],
)
def test_shells_complete_names_of_commands(shell: str, given: dict[str, str]) -> None:
    runner = CliRunner()

    script = runner.invoke(app, prog_name="sfumato", env={"_SFUMATO_COMPLETE": f"source_{shell}"})
    found = runner.invoke(
        app, prog_name="sfumato", env={"_SFUMATO_COMPLETE": f"complete_{shell}", **given}
    )

    assert "sfumato" in script.output
    assert "label" in found.output
    assert "plan" not in found.output
