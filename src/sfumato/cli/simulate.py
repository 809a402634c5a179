"""``sfumato simulate``: simulated annotators, and how true to life they are."""

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

import sfumato.cli.options as given
from sfumato.cli.printing import print_json
from sfumato.cli.printing import progress
from sfumato.cli.reading import parse_numbers, read_judgments, read_options
from sfumato.errors import DataError

if TYPE_CHECKING:
    from sfumato.judgments.judgments import Judgments
    from sfumato.labels.labelset import LabelSet
    from sfumato.labels.simulate.run import Simulation, SimulationSettings
    from sfumato.labels.simulate.top_two import HabitsName

__all__ = ["simulate"]

AnswersOutput = Annotated[
    Path | None, typer.Option("--output", "-o", help="Where to write: .parquet, .jsonl or .csv.")
]
HabitsOption = Annotated[
    str | None,
    typer.Option("--habits", help="How fitted top-two people answer: published, joint, personal."),
]
Route = Annotated[
    str,
    typer.Option(
        "--route",
        metavar="human|none|FILE",
        help="Whose entropy says which items are disputed: that of --labels, nobody's, or that "
        "of a file of labels or predictions.",
    ),
]
Extend = Annotated[
    bool,
    typer.Option("--extend", help="Keep the answers of --fit and simulate the other items."),
]
Check = Annotated[
    str | None,
    typer.Option(
        "--check",
        metavar="items|people",
        help="Write nothing: fit to one half and compare with the other.",
    ),
]


def simulate(
    kind: given.SimulatorName,
    labels: given.SeenLabels,
    output: AnswersOutput = None,
    per_item: given.PerItem = 6,
    people: given.People = None,
    settings: given.Parameters = None,
    fit: given.FitTo = None,
    format_: given.Format = "sfumato",
    extend: Extend = False,
    habits: HabitsOption = None,
    route: Route = "human",
    vectors: given.Vectors = None,
    words: given.Words = None,
    distances: given.Distances = None,
    check: Check = None,
    draws: given.PeopleDraws = 300,
    model: given.SavedModel = None,
    save_model: given.SaveModel = None,
    classes: given.Classes = None,
    key: given.Key = None,
    seed: given.Seed = 0,
    as_json: given.AsJson = False,
) -> None:
    """Simulated annotators, fitted to real ones or by parameters."""
    from sfumato.judgments.formats import write
    from sfumato.labels.build.distances import choose_distances
    from sfumato.labels.files import read_labels
    from sfumato.labels.simulate.run import SimulationSettings

    _check_usage(output=output, fit=fit, extend=extend, check=check, model=model)
    options = read_options(classes, None, key)
    seen = read_labels(labels, classes=options.classes)
    real = None if fit is None else read_judgments(fit, format_, options, strict=False)
    simulation = SimulationSettings(
        kind,
        per_item=per_item,
        annotators=people,
        parameters=parse_numbers(settings or [], what=f"the simulator {kind!r}"),
        model=model,
        save_model=save_model,
        habits=_habits(habits),
        distances=choose_distances(seen.classes, vectors=vectors, words=words, distances=distances),
        routing=_routing(route, seen),
        items="without answers" if extend else "all",
    )
    if check is not None:
        assert real is not None
        _tell(_checked(check, simulation, seen, real, draws=draws, seed=seed), as_json=as_json)
        return
    assert output is not None
    made = _simulated(simulation, seen, real, seed=seed)
    write(made.answers, output, made.format)
    _tell({"written": str(output), **made.summary()}, as_json=as_json)


def _check_usage(
    *, output: Path | None, fit: Path | None, extend: bool, check: str | None, model: Path | None
) -> None:
    if fit and model:
        raise typer.BadParameter("--fit and --model exclude each other.")
    if output is None and check is None:
        raise typer.BadParameter("Missing option '--output' / '-o'.")
    if output is not None and check is not None:
        raise typer.BadParameter("--check writes nothing; leave out --output.")
    if fit is None and (extend or check is not None):
        raise typer.BadParameter("--extend and --check need the judgments of real people: --fit.")


def _habits(name: str | None) -> "HabitsName | None":
    from sfumato.labels.simulate.top_two import HABITS
    from sfumato.names import find

    return None if name is None else find(HABITS, name, what="kind of habits")


def _routing(route: str, seen: "LabelSet") -> "LabelSet | Literal['none'] | None":
    from sfumato.evaluation.predictions import read_predictions

    if route == "human":
        return None
    if route == "none":
        return "none"
    if not Path(route).exists():
        raise DataError(
            f"Items are routed by human, by none or by a file of labels or predictions; there is "
            f"no file {route}."
        )
    return read_predictions(Path(route), classes=seen.classes)


def _simulated(
    simulation: "SimulationSettings", seen: "LabelSet", real: "Judgments | None", *, seed: int
) -> "Simulation":
    import numpy as np

    from sfumato.labels.simulate.run import run_simulation

    with progress("Simulating"):
        return run_simulation(simulation, seen, real=real, rng=np.random.default_rng(seed))


def _checked(
    check: str,
    simulation: "SimulationSettings",
    seen: "LabelSet",
    real: "Judgments",
    *,
    draws: int,
    seed: int,
) -> dict[str, Any]:
    from sfumato.labels.simulate.held_out import HOLD_OUT, held_out_table
    from sfumato.labels.simulate.run import check_habits
    from sfumato.names import find

    hold_out = find(HOLD_OUT, check, what="half to hold out")
    with progress("Checking"):
        checks = check_habits(simulation, real, seen, hold_out=hold_out, draws=draws, seed=seed)
    return {
        "held_out": hold_out,
        "checks": [
            {
                "habits": one.habits,
                "fitted_answers": one.fitted_answers,
                "tested_answers": one.tested_answers,
                "tested_people": one.tested_people,
                "marginals": held_out_table(one).drop("held_out", "habits").to_dicts(),
            }
            for one in checks
        ],
    }


def _plain(value: Any) -> Any:
    """The same with null for what is not a number, which JSON cannot say."""
    match value:
        case dict():
            return {name: _plain(held) for name, held in value.items()}
        case list():
            return [_plain(held) for held in value]
        case float():
            return value if math.isfinite(value) else None
        case _:
            return value


def _tell(found: dict[str, Any], *, as_json: bool) -> None:
    import sfumato.cli.printing as show
    from sfumato.cli.label import held_out

    if as_json:
        print_json(_plain(found))
    elif "checks" in found:
        held_out(found)
    else:
        show.simulated(found)
