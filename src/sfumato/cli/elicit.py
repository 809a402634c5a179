"""The commands that make, run and end a collection of answers."""

import json
import os
import re
import secrets
import time
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, assert_never
from urllib.parse import parse_qs, urlsplit

import typer

import sfumato.cli.options as given
from sfumato.cli.options import names_in, refuse_existing
from sfumato.cli.printing import notify, print_json, progress
from sfumato.cli.train import IdColumn, TextColumns
from sfumato.errors import DataError, UnknownName, require_packages
from sfumato.names import find

if TYPE_CHECKING:
    from sfumato.elicit.live.live import Live
    from sfumato.elicit.session.collection import Collection
    from sfumato.elicit.storage.backup import Contents
    from sfumato.elicit.storage.database import Database
    from sfumato.items.items import Items

elicit_app = typer.Typer(help="Ask people: make, run and end a collection of answers.")

StudyFolder = Annotated[Path, typer.Argument(metavar="STUDY", help="The folder of the study.")]


def without_password(address: str | None) -> str | None:
    """Refuse an address with a password: everybody on the machine would see it."""
    place = urlsplit(address or "")
    if place.password or "password" in parse_qs(place.query):
        raise DataError(
            "The address of the database holds a password, which others on this machine can read "
            "in the list of processes; put the address into an environment variable and give "
            "env:NAME, or the password into a file that PGPASSFILE names."
        )
    return address


Address = Annotated[
    str | None,
    typer.Option(
        "--database",
        callback=without_password,
        help="postgresql://… or env:NAME, where the answers are not in the folder.",
    ),
]
Output = Annotated[Path, typer.Option("--output", "-o", help="The file to write.")]
Pictures = Annotated[Path | None, typer.Option("--images", help="Folder or zip archive of images.")]
Texts = Annotated[
    Path | None,
    typer.Option("--texts", help="Texts instead: .csv, .jsonl, .parquet, a folder of .txt."),
]

KnownClasses = Annotated[
    Path | None, typer.Option("--labels", help="CSV image,class: the known classes.")
]
Allocation = Annotated[
    Path | None, typer.Option("--allocation", help="CSV image,batch or JSON: the batches.")
]
Checks = Annotated[Path | None, typer.Option("--checks", help="CSV image,class: attention checks.")]
Practice = Annotated[
    Path | None, typer.Option("--practice", help="CSV image,class: images to practise with.")
]
Comparisons = Annotated[
    Path | None,
    typer.Option("--comparisons", help="CSV first,second (pairs) or item,first,second."),
]
Views = Annotated[
    Path | None, typer.Option("--views", help="CSV item,image: several images of one item.")
]
Groups = Annotated[
    Path | None,
    typer.Option("--groups", help="CSV class,group: classes that stand together in lists."),
]
Drawn = Annotated[
    int | None, typer.Option("--count", help="How many pairs, triplets or mixes to draw.")
]
PerItem = Annotated[
    int | None, typer.Option("--per-item", help="How many people answer about an item.")
]
Experts = Annotated[
    int | None,
    typer.Option("--experts", min=2, help="So many people you know all answer about all."),
]
WhoseView = Annotated[
    str | None, typer.Option("--whose", help="Whose view is asked for: own or others.")
]
Then = Annotated[str | None, typer.Option("--then", help="Begin at once to preview or serve it.")]
Mixes = Annotated[
    Path | None, typer.Option("--mixes", help="CSV of mixed images, by `sfumato mix`.")
]

Dataset = Annotated[
    str | None, typer.Option("--data", help="A dataset of pictures, such as digits.")
]
Only = Annotated[
    Path | None, typer.Option("--only", help="CSV with a column image: ask only about these.")
]
PresetName = Annotated[
    str | None,
    typer.Option("--question", help="What is asked: a preset (see below)."),
]

WHO = "command line"
"""What the log of a study calls whoever types these commands."""
SERVED = "SFUMATO_SERVED"
"""Environment variable by which processes of one server learn what to serve."""
STUDY_NAME = "{study}"
"""What stands for the name of each study in the address of a database."""
LOGS = {"text": "outages, as text", "json": "outages and requests, as JSON lines"}
DOUBTS = {"entropy": "of labels or beliefs", "disagreement": "between members of an ensemble"}
REFUSAL_SECONDS = 0.5
"""How long strangers wait to hear that they are too many."""
MANY_LINKS = 20
"""Fewer places than this have their links printed when the study is served."""
DIGITS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
"""Words, because beside each class stands a number: the key that chooses it."""


@elicit_app.command()
def new(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="The folder of the study.")],
    images: Pictures = None,
    texts: Texts = None,
    text: TextColumns = None,
    item: IdColumn = None,
    data: Dataset = None,
    only: Only = None,
    classes: given.Classes = None,
    question: PresetName = None,
    settings: Annotated[
        Path | None, typer.Option("--from", help="TOML file of settings; it names the preset.")
    ] = None,
    demo: Annotated[
        bool, typer.Option("--demo", help="A working study of handwritten digits.")
    ] = False,
    labels: KnownClasses = None,
    allocation: Allocation = None,
    checks: Checks = None,
    practice: Practice = None,
    comparisons: Comparisons = None,
    mixes: Mixes = None,
    views: Views = None,
    groups: Groups = None,
    count: Drawn = None,
    per_item: PerItem = None,
    trials: Annotated[int | None, typer.Option("--trials", help="Main trials per person.")] = None,
    experts: Experts = None,
    mode: Annotated[str | None, typer.Option("--mode", help="faithful or guarded.")] = None,
    title: Annotated[str | None, typer.Option("--title", help="What people read on top.")] = None,
    whose: WhoseView = None,
    assign: Annotated[
        list[str] | None,
        typer.Option("--set", help="Any other setting, as layout.repeats=3; repeatable."),
    ] = None,
    then: Then = None,
    port: Annotated[int, typer.Option("--port", min=1, max=65_535)] = 8000,
    database: Address = None,
    seed: given.Seed = 0,
) -> None:
    """Make a study from images or texts, a list of labels and a question."""
    database = database and _address(database)
    tables = {
        "labels": labels, "allocation": allocation, "checks": checks, "practice": practice,
        "comparisons": comparisons, "mixes": mixes, "count": count, "database": database,
        "experts": experts, "views": views, "only": only,
    }  # fmt: skip
    if demo and any((images, texts, data, classes, settings, *tables.values())):
        raise typer.BadParameter("--demo brings images, classes and tables of its own.")
    if sum(map(bool, (images, texts, data))) > 1:
        raise typer.BadParameter("Give one of --images, --texts and --data.")
    need_packages()
    commands: dict[str, Callable[..., None]] = {"preview": preview, "serve": _serve_one}
    begin = find(commands, then, what="next command") if then else None
    changes = _changes(settings, assign or [])
    shortcuts = {"per_item": per_item, "mode": mode, "title": title, "whose": whose}
    changes |= {key: value for key, value in shortcuts.items() if value is not None}
    if trials is not None:
        changes["layout"] = {**changes.get("layout", {}), "trials_per_person": trials}
    if classes is not None:
        from sfumato.judgments.formats.reading import read_classes

        changes["classes"] = read_classes(classes)
    if groups is not None:
        from sfumato.elicit.making.tables import read_groups

        changes["groups"] = read_groups(groups, changes.get("classes", ()))
    preset = question or changes.get("preset")
    changes.pop("preset", None)
    shown: Any = _read_texts(texts, item, text) if texts else images
    if data:
        shown, tables["labels"], changes["classes"] = _dataset(data, preset, labels, changes)
    _make(folder, shown, preset, tables, changes, demo=demo, settings=settings, seed=seed)
    _tell(folder, shown)
    if begin is not None:
        begin(folder, port=port, database=database)


@elicit_app.command()
def choose(
    labels: Annotated[
        list[Path], typer.Argument(metavar="LABELS...", help="Labels, or an ensemble's beliefs.")
    ],
    output: Output,
    hard: Annotated[int, typer.Option("--hard", min=1, help="How many items with much doubt.")],
    easy: Annotated[int, typer.Option("--easy", min=0, help="How many with little.")] = 0,
    doubt: Annotated[
        str, typer.Option("--doubt", help="entropy, or disagreement of several files.")
    ] = "entropy",
    hard_above: Annotated[
        float | None, typer.Option("--hard-above", help="Draw hard ones from those above.")
    ] = None,
    easy_below: Annotated[
        float | None, typer.Option("--easy-below", help="Draw easy ones from those at most here.")
    ] = None,
    batches: Annotated[
        int | None, typer.Option("--batches", min=1, help="Deal all into so many batches.")
    ] = None,
    groups: Annotated[
        Path | None,
        typer.Option("--groups", help="CSV image,superclass,class,...: as many of each group."),
    ] = None,
    overwrite: given.Overwrite = False,
    seed: given.Seed = 0,
) -> None:
    """Choose items to ask about by how much people or models doubt them."""
    import numpy as np

    from sfumato.elicit.making.choose import ItemChoice, choose_items, doubt_of
    from sfumato.elicit.making.tables import read_levels
    from sfumato.labels.files import read_labels

    find(DOUBTS, doubt, what="kind of doubt")
    refuse_existing(output, overwrite=overwrite)
    known = [read_labels(path) for path in labels]
    choice = ItemChoice(hard, easy, hard_above, easy_below, batches)
    table = choose_items(
        known[0].items,
        doubt_of(known, "entropy" if doubt == "entropy" else "disagreement"),
        choice,
        rng=np.random.default_rng(seed),
        groups=None if groups is None else read_levels(groups, known[0].items),
    )
    table.write_csv(output)
    means = {kind: np.mean(rows["doubt"].to_numpy()) for (kind,), rows in table.group_by("kind")}
    told = ", ".join(
        f"{count:,} {kind} (mean {doubt} {means[kind]:.3f})"
        for kind, count in (("hard", hard), ("easy", easy))
        if count
    )
    dealt = f" in {_counted(batches, 'batch', 'batches')}" if batches else ""
    typer.echo(f"Wrote {len(table):,} of {len(known[0].items):,} items to {output}{dealt}: {told}.")


@elicit_app.command()
def serve(
    folders: Annotated[
        list[Path], typer.Argument(metavar="STUDY...", help="Folders; several under their names.")
    ],
    host: Annotated[str, typer.Option("--host", help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", min=1, max=65_535)] = 8000,
    database: Address = None,
    admin_key_env: Annotated[
        str, typer.Option("--admin-key-env", help="Environment variable with the admin key.")
    ] = "SFUMATO_ADMIN_KEY",
    webhook_key_env: Annotated[
        str,
        typer.Option("--webhook-key-env", help="Environment variable with Prolific's secret."),
    ] = "SFUMATO_PROLIFIC_SECRET",
    admins: Annotated[
        Path | None, typer.Option("--admins", help="File with a name and a key on each line.")
    ] = None,
    metrics_key_env: Annotated[
        str, typer.Option("--metrics-key-env", help="Variable with the key of /metrics.")
    ] = "SFUMATO_METRICS_KEY",
    prefix: Annotated[
        str, typer.Option("--prefix", help="Path under which it is served, as /pets.")
    ] = "",
    log: Annotated[
        str, typer.Option("--log", help="What is logged: text (outages) or json (also requests).")
    ] = "text",
    workers: Annotated[
        int, typer.Option("--workers", min=1, help="Processes; more than one on PostgreSQL.")
    ] = 1,
    entries_per_minute: Annotated[
        int, typer.Option("--entries-per-minute", min=1, help="Sessions from one address.")
    ] = 30,
    proxy: Annotated[
        str | None, typer.Option("--proxy", help="Address of a reverse proxy to be believed.")
    ] = None,
    per_address: Annotated[
        int, typer.Option("--per-address", min=1, help="Connections from one address.")
    ] = 1_000,
    request_seconds: Annotated[
        float, typer.Option("--request-seconds", min=1, help="In which a request must be there.")
    ] = 20,
) -> None:
    """Serve studies to the people who answer, until it is stopped."""
    need_packages("starlette", "uvicorn", "jinja2", "argon2", "itsdangerous")
    from sfumato.elicit.serve import check_workers, run_server
    from sfumato.elicit.web.security import check_address

    find(LOGS, log, what="kind of log")
    if admins is None:
        check_address(host, os.environ.get(admin_key_env) or None)
    check_workers(workers, database and _address(database))
    if is_new_key := admins is None and not os.environ.get(admin_key_env):
        os.environ[admin_key_env] = secrets.token_urlsafe(24)
    paths = _paths(folders, prefix, database)
    os.environ[SERVED] = json.dumps(
        {
            "paths": {path: str(folder) for path, folder in paths.items()},
            "database": database,
            "admin_key_env": admin_key_env,
            "admins": None if admins is None else str(admins),
            "webhook_key_env": webhook_key_env,
            "metrics_key_env": metrics_key_env,
            "log": log,
            "entries_per_minute": entries_per_minute,
        }
    )
    app = make_served_app()  # also where each process makes its own: mistakes are told before
    key = f"key {os.environ[admin_key_env]}" if is_new_key else f"key in {admin_key_env}"
    _tell_addresses(paths, host, port, admins.name if admins else key)
    factory = f"{__name__}:{make_served_app.__name__}"
    run_server(
        app if workers == 1 else factory,
        host=host,
        port=port,
        workers=workers,
        proxy=proxy,
        per_address=per_address,
        request_seconds=request_seconds,
    )


def _serve_one(folder: Path, **options: Any) -> None:
    serve([folder], **options)


@elicit_app.command()
def preview(
    folder: StudyFolder,
    port: Annotated[int, typer.Option("--port", min=1, max=65_535)] = 8000,
    database: Address = None,
) -> None:
    """Show all screens of a study on this machine; nothing is stored and no place is taken."""
    need_packages("starlette", "uvicorn", "jinja2", "argon2", "itsdangerous")
    from sfumato.elicit.preview import preview_app
    from sfumato.elicit.serve import run_server

    with preview_app(folder, _stored(folder, database)) as app:
        address = f"http://127.0.0.1:{port}/?participant="
        _tell_address(f"Look at {folder} at {address}1 (Ctrl-C stops it).")
        _tell_address("Nothing is stored. Another number in the place of the 1 begins anew.")
        run_server(app, host="127.0.0.1", port=port)


@elicit_app.command()
def links(
    folder: StudyFolder,
    address: Annotated[
        str, typer.Option("--address", help="Where the study is served, as https://study.example.")
    ] = "http://127.0.0.1:8000",
    people: Annotated[
        int | None, typer.Option("--people", min=1, help="Make links for so many, with new ids.")
    ] = None,
    ids: Annotated[
        Path | None, typer.Option("--ids", help="Text file with an id per line.")
    ] = None,
) -> None:
    """Print a link for each person; nobody can make one without the key of the study."""
    need_packages()
    from sfumato.elicit.web.platforms import link_for

    if (people is None) == (ids is None):
        raise typer.BadParameter("Give --people or --ids.")
    collection = _collection(folder)
    if collection.study.recruiting.platform != "link":
        raise DataError(
            f"People of this study come from {collection.study.recruiting.platform}, which makes "
            "their addresses itself."
        )
    if ids is None:
        named = [secrets.token_hex(6) for _ in range(people or 0)]
    else:
        named = [line.strip() for line in ids.read_text(encoding="utf-8-sig").splitlines()]
    for person in filter(None, named):
        typer.echo(link_for(collection, address, person))


@elicit_app.command()
def export(
    folder: StudyFolder,
    output: Output,
    format_: Annotated[
        str, typer.Option("--format", help="judgments, jspsych, label-studio or potato.")
    ] = "judgments",
    keep: Annotated[
        str,
        typer.Option("--with", help="Also repeats, checks, practice, excluded; comma-separated."),
    ] = "",
    overwrite: given.Overwrite = False,
    database: Address = None,
) -> None:
    """Write the answers to a file, without anybody's platform id."""
    need_packages()
    refuse_existing(output, overwrite=overwrite)
    from sfumato.elicit.design.places import open_study
    from sfumato.elicit.export import export as write_export

    study = open_study(folder)
    with _stored(folder, database).reader() as connection:
        found = write_export(connection, study, output, shape=format_, keep=names_in(keep))
    typer.echo(
        f"Wrote {len(found.answers):,} answers of {_counted(found.people, 'person', 'people')} "
        f"to {output}."
    )
    if found.left_out:
        listed = ", ".join(f"{count:,} {why}" for why, count in found.left_out.items())
        typer.echo(f"Left out (see --with): {listed}.")
    if found.late:
        typer.echo(f"Late, after their place had been given up: {found.late:,} of these.")
    if found.marked:
        typer.echo(
            f"{_counted(found.marked, 'cell begins', 'cells begin')} like a formula and got a ' in "
            "front; write .parquet or .jsonl to keep them as they are."
        )


@elicit_app.command()
def pay(
    folder: StudyFolder,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="The CSV file to write.")
    ] = None,
    simulate: Annotated[
        bool,
        typer.Option("--simulate", help="Print what simulated people would get as a bonus."),
    ] = False,
    overwrite: given.Overwrite = False,
    database: Address = None,
    seed: given.Seed = 0,
) -> None:
    """Write whom to pay what, with platform ids; the bonus is for foreseeing what others answer."""
    need_packages()
    if (output is None) == (not simulate):
        raise typer.BadParameter("Give --output or --simulate.")
    from sfumato.elicit.live.live import Live

    live = Live(_stored(folder, database), _collection(folder))
    if output is None:
        _simulate_bonus(live, seed)
        return
    refuse_existing(output, overwrite=overwrite)
    from sfumato.elicit.pay import pay_list, write_pay_list

    with live.database.reader() as connection:
        lines = pay_list(live, connection)
    write_pay_list(lines, output)
    approved = [line for line in lines if line.decision == "approve"]
    base, bonus = (sum(getattr(line, name) for line in approved) for name in ("base", "bonus"))
    currency = live.collection.study.recruiting.currency
    rejected = sum(line.decision == "reject" for line in lines)
    typer.echo(
        f"Wrote {_counted(len(lines), 'person', 'people')} to {output}: {len(approved):,} to "
        f"approve, {rejected:,} to reject; {base:.2f} {currency} pay and {bonus:.2f} {currency} "
        "bonus. It holds platform ids: delete it when everybody is paid."
    )


def _simulate_bonus(live: "Live", seed: int) -> None:
    import numpy as np

    from sfumato.elicit.pay import STRATEGIES, labels_so_far, simulate_bonus

    live.refresh()
    study = live.collection.study
    labels = labels_so_far(live.known)
    most = study.recruiting.bonus or 1.0
    rng = np.random.default_rng(seed)
    about = "made-up items" if labels is None else f"{len(labels):,} items as people answered them"
    typer.echo(f"Bonus of simulated people, at most {most:g}, about {about}: mean, 5 to 95 %")
    for name, mean, low, high in simulate_bonus(study, labels, most=most, rng=rng).rows():
        typer.echo(f"{name:<8}  {mean:5.3f}  ({low:.3f} to {high:.3f})  {STRATEGIES[name]}")


@elicit_app.command()
def status(folder: StudyFolder, as_json: given.AsJson = False, database: Address = None) -> None:
    """Where the study stands: people, answers, items, signs, time and pay."""
    need_packages()
    from sfumato.elicit.design.places import open_study
    from sfumato.elicit.status import status_of

    study = open_study(folder)
    with _stored(folder, database).reader() as connection:
        found = status_of(connection, study, now=time.time())
    if as_json:
        print_json(found)
        return
    for line in _status_lines(found):
        typer.echo(line)


@elicit_app.command()
def withdraw(
    folder: StudyFolder,
    person: Annotated[
        str, typer.Argument(metavar="PSEUDONYM", help="The person, or their id on the platform.")
    ],
    identity_only: Annotated[
        bool,
        typer.Option(
            "--identity-only", help="Keep the answers without the person, as the consent says."
        ),
    ] = False,
    database: Address = None,
) -> None:
    """Erase a person with all their answers; how many there were is kept."""
    need_packages()
    import numpy as np

    from sfumato.elicit.session.people import withdraw_person

    done = withdraw_person(
        _stored(folder, database),
        _collection(folder),
        person,
        identity_only=identity_only,
        who=WHO,
        now=time.time(),
        rng=np.random.default_rng(),
    )
    what = "Kept without the person" if identity_only else "Erased"
    typer.echo(f"{what}: {_counted(done.answers, 'answer', 'answers')}.")
    if not done.scrubbed:
        typer.echo(
            "The rows are gone, but their traces in the files could not be overwritten while "
            "others read them; that happens when the server stops, or at the next withdrawal."
        )
    typer.echo(
        "Earlier backups and exports still hold the person; delete or replace them. A backup that "
        "is restored into this folder loses them again."
    )


@elicit_app.command()
def close(folder: StudyFolder, database: Address = None) -> None:
    """Let nobody new in; sessions that run may end."""
    need_packages()
    import numpy as np

    from sfumato.elicit.session.people import close as close_collection
    from sfumato.elicit.session.writer import run_once

    with _stored(folder, database).connect() as connection:
        run_once(
            connection,
            _collection(folder),
            close_collection,
            now=time.time(),
            rng=np.random.default_rng(),
            who=WHO,
        )
    typer.echo(f"Closed {folder}: nobody new is let in, those who began may finish.")


@elicit_app.command()
def copy(
    folder: StudyFolder,
    to: Annotated[
        str,
        typer.Option(
            "--to",
            callback=without_password,
            help="postgresql://…, sqlite:///FILE or env:NAME, a new database.",
        ),
    ],
    database: Address = None,
) -> None:
    """Copy every row to another database, and compare the two."""
    need_packages()
    from sfumato.elicit.storage.backup import copy_collection
    from sfumato.elicit.storage.database import open_database

    contents = copy_collection(_stored(folder, database), open_database(_address(to)))
    _print_contents(contents)
    typer.echo(
        "Both databases hold the same rows. What people answer from now on is only in the old "
        "one: stop the server before the copy that counts."
    )


@elicit_app.command()
def backup(
    folder: StudyFolder,
    output: Output,
    overwrite: given.Overwrite = False,
    database: Address = None,
) -> None:
    """Write a checked backup of the database, also while the server runs."""
    need_packages()
    refuse_existing(output, overwrite=overwrite)
    from sfumato.elicit.storage.backup import back_up

    contents = back_up(_stored(folder, database), output)
    _print_contents(contents)
    typer.echo(f"Wrote {output} and checked it. It holds platform ids: keep it as safe as the key.")


@elicit_app.command()
def restore(
    folder: StudyFolder,
    backup_file: Annotated[Path, typer.Option("--from", help="The backup.")],
) -> None:
    """Put a backup in the place of the database of a study."""
    need_packages()
    import numpy as np

    from sfumato.elicit.session.people import withdraw_again
    from sfumato.elicit.storage.backup import restore_backup

    contents = restore_backup(backup_file, folder)
    _print_contents(contents)
    typer.echo(f"Restored {folder} from {backup_file}.")
    again = withdraw_again(
        _stored(folder, None),
        _collection(folder),
        who=WHO,
        now=time.time(),
        rng=np.random.default_rng(),
    )
    if again:
        typer.echo(
            f"{_counted(again, 'person', 'people')} had withdrawn after it was made, and "
            f"{'is' if again == 1 else 'are'} erased again."
        )


def make_served_app() -> Any:
    """The application that ``serve`` described in the environment; each process makes one."""
    from sfumato.elicit.admin.login import read_admins
    from sfumato.elicit.serve import end_with_parent, serve_under, served_app
    from sfumato.elicit.web.metrics import log_as_json
    from sfumato.elicit.web.security import Limits

    end_with_parent()
    wanted = json.loads(os.environ[SERVED])
    if wanted["log"] == "json":
        log_as_json()
    admins = wanted["admins"] and read_admins(Path(wanted["admins"]))
    apps = {
        path: served_app(
            Path(folder),
            database=wanted["database"] and _address_of(wanted["database"], Path(folder)),
            webhook_secret=os.environ.get(wanted["webhook_key_env"]) or None,
            metrics_key=os.environ.get(wanted["metrics_key_env"]) or None,
            limits=Limits(
                entries_per_minute=wanted["entries_per_minute"], refusal_delay=REFUSAL_SECONDS
            ),
            admin_key=None if admins else os.environ[wanted["admin_key_env"]],
            admins=admins,
        )
        for path, folder in wanted["paths"].items()
    }
    return apps[""] if "" in apps else serve_under(apps)


def _paths(folders: list[Path], prefix: str, database: str | None) -> dict[str, Path]:
    """Under which path each study is served: the prefix, and its name where there are several."""
    from sfumato.elicit.design.places import open_study

    if prefix and not re.fullmatch(r"(/[A-Za-z0-9._~-]+)+", prefix):
        raise typer.BadParameter("--prefix is a path as /pets, without a slash at its end.")
    if len(folders) == 1:
        return {prefix: folders[0]}
    if database and STUDY_NAME not in _address(database):
        raise DataError(
            f"Several studies need a database each: write {STUDY_NAME} in the address where their "
            "names shall stand."
        )
    paths: dict[str, Path] = {}
    for folder in folders:
        path = f"{prefix}/{open_study(folder).name}"
        if path in paths:
            raise DataError(f"{paths[path]} and {folder} have the same name; change one.")
        paths[path] = folder
    return paths


def _address_of(text: str, folder: Path) -> str:
    """The address of the database of one of several studies."""
    from sfumato.elicit.design.places import open_study

    return _address(text).replace(STUDY_NAME, open_study(folder).name)


def _tell_address(text: str) -> None:
    """What a server is for: told with ``--quiet`` too, as nobody could come in otherwise."""
    typer.echo(text, err=True)


def _tell_addresses(paths: dict[str, Path], host: str, port: int, key: str) -> None:
    shown = f"[{host}]" if ":" in host else host
    for path, folder in paths.items():
        address = f"http://{shown}:{port}{path}/"
        _tell_address(f"Serving {folder} at {address} (Ctrl-C stops it).")
        _tell_address(way_in(folder, address))
        _tell_address(f"Dashboard: {address}admin/ ({key}).")


def way_in(folder: Path, address: str) -> str:
    """The address that leads people in, by where they come from."""
    from sfumato.elicit.design.places import open_study
    from sfumato.elicit.web.platforms import link_for

    recruiting = open_study(folder).recruiting
    match recruiting.platform:
        case "link":
            few = recruiting.places if (recruiting.places or MANY_LINKS) < MANY_LINKS else 0
            if not few:
                return f"Answer yourself: {link_for(_collection(folder), address, 'me')}"
            collection = _collection(folder)
            links = [link_for(collection, address, f"{one + 1}") for one in range(few)]
            return "\n".join(f"Link for person {one}: {link}" for one, link in enumerate(links, 1))
        case "prolific":
            ids = ("PROLIFIC_PID", "STUDY_ID", "SESSION_ID")
            named = "&".join(f"{name}={{{{%{name}%}}}}" for name in ids)
            return f"Address for Prolific: {address}?{named}"
        case "mturk":
            return f"Address for MTurk: {address} (it adds who comes)."
        case _:
            assert_never(recruiting.platform)


def demo_digits() -> dict[str, Any]:
    """The images, labels and classes of a study of handwritten digits."""
    from sfumato.data.decode import read_digits

    pictures = read_digits()
    names = [DIGITS[label] for label in pictures.labels]
    return {
        "images": dict(zip(pictures.items, pictures.images, strict=True)),
        "labels": dict(zip(pictures.items, names, strict=True)),
        "classes": DIGITS,
    }


def need_packages(*packages: str) -> None:
    """Say how to install what is missing, the database's packages first."""
    require_packages("Asking people", "sqlalchemy", "psycopg", *packages, extra="elicit")


def _read_texts(path: Path, item: str | None, text: str | None) -> "Items":
    from sfumato.items.load import holds_files, load_items

    if holds_files(path):
        found = load_items(path, naming="stem")
    else:
        found = load_items(path, item=item, text=None if text is None else names_in(text))
    for remark in found.remarks:
        notify(remark)
    return found


def _dataset(
    name: str, preset: str | None, labels: Path | None, changes: dict[str, Any]
) -> tuple[dict[str, Any], Any, Any]:
    """The pictures of a dataset by id, with its own labels and classes where none are given."""
    from sfumato.elicit.design.presets import PRESETS
    from sfumato.studies.ambiguous import load_pictures

    found = load_pictures(name, split=None)
    images = dict(zip(found.items, found.images, strict=True))
    compared = preset in PRESETS and PRESETS[preset].shows in ("pair", "triplet")
    own = {item: found.classes[at] for item, at in zip(found.items, found.labels, strict=True)}
    known = labels or (None if compared else own)
    return images, known, changes.get("classes", () if compared else found.classes)


def _make(
    folder: Path,
    images: Any,
    preset: str | None,
    tables: dict[str, Any],
    changes: dict[str, Any],
    *,
    demo: bool,
    settings: Path | None,
    seed: int,
) -> None:
    from sfumato.elicit.making.make import demo_study, new_study

    if demo:
        changes = {**demo_digits(), **changes}
        demo_study(folder, preset=preset or "distribution", seed=seed, **changes)
    elif images is None or preset is None:
        raise typer.BadParameter(
            "A study needs --images, --texts or --data, and --question (or --from or --demo)."
        )
    else:
        where = "" if settings is None else settings.name
        with progress("Preparing images") as advance:
            new_study(
                folder, images=images, preset=preset, seed=seed, advance=advance, where=where,
                **tables, **changes,
            )  # fmt: skip


def _changes(settings: Path | None, assigned: list[str]) -> dict[str, Any]:
    """What stands in the file, and over it what was set on the command line."""
    from sfumato.elicit.design.study import ElicitStudy, read_settings

    where = "--set" if settings is None else settings.name
    changes = {} if settings is None else read_settings(settings)
    for text in assigned:
        key, equals, value = text.partition("=")
        *table, last = key.strip().split(".")
        if not equals or not last or len(table) > 1:
            raise DataError(f"--set is written key=value or table.key=value; found {text!r}.")
        inside = changes.setdefault(table[0], {}) if table else changes
        if not isinstance(inside, dict):
            raise DataError(f"{table[0]} is a table of settings, not {inside!r}.")
        inside[last] = _value(value)
    for key in changes:
        try:
            find(ElicitStudy.model_fields, key, what="setting")
        except UnknownName as error:
            raise DataError(f"{where}: {error}") from None
    return changes


def _value(text: str) -> Any:
    """A value as in TOML; anything else is a text."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def _tell(folder: Path, shown: "Path | Items | None") -> None:
    from sfumato.elicit.design.places import IMAGES, SETTINGS, open_study

    study = open_study(folder)
    if shown is None or isinstance(shown, Path):
        count = f"{len(list((folder / IMAGES).iterdir())):,} images"
    else:
        count = f"{len(shown):,} texts"
    typer.echo(
        f"Made {folder}: {study.form} about {count}, {study.per_item} people each, "
        f"{study.layout.trials_per_person} trials per person."
    )
    typer.echo(
        f"Next: read {folder / SETTINGS} and replace its consent by your own, then\n"
        f"  sfumato elicit serve {folder}"
    )


def _stored(folder: Path, address: str | None) -> "Database":
    """The database of a study; it must be there, as opening would make a new one."""
    from sfumato.elicit.design.places import DATABASE, database_url, open_study
    from sfumato.elicit.storage.database import open_database

    open_study(folder)
    if address is None and not (folder / DATABASE).is_file():
        raise DataError(f"{folder} holds no {DATABASE}; name its database with --database.")
    return open_database(_address(address) if address else database_url(folder))


def _address(text: str) -> str:
    """The address of a database, which may stand in an environment variable."""
    name = text.removeprefix("env:")
    if name == text:
        return text
    if not os.environ.get(name):
        raise DataError(f"The environment variable {name} is not set; it should hold an address.")
    return os.environ[name]


def _collection(folder: Path) -> "Collection":
    from sfumato.elicit.design.places import open_study, read_key
    from sfumato.elicit.session.collection import collection_of

    return collection_of(open_study(folder), read_key(folder), folder)


def _print_contents(contents: "dict[str, Contents]") -> None:
    width = max(map(len, contents))
    for name, held in contents.items():
        typer.echo(f"{name:<{width}}  {held.rows:>9,} rows  {held.checksum}")


def _status_lines(found: dict[str, Any]) -> list[str]:
    people, items = found["people"], found["items"]
    others = ", ".join(
        f"{count:,} {name.replace('_', ' ')}"
        for name, count in people.items()
        if count and name != "entered"
    )
    views = ", ".join(f"{count:,} {view}" for view, count in found["answers"].items())
    flags = ", ".join(f"{times:,} {kind}" for kind, times in found["flags"].items())
    lines = [
        f"{found['study']}: {found['form']}, {'closed' if found['closed'] else 'open'}",
        f"people: {people['entered']:,} entered" + (f"; {others}" if others else ""),
        f"answers: {views or 'none yet'}" + (f"; {found['late']:,} late" if found["late"] else ""),
        f"people per item: {items['min']} to {items['max']}, median {items['median']:g}; "
        f"{items['at_target']:,} of {items['stimuli']:,} have all they need",
        f"signs: {flags or 'none'}",
    ]
    if found["median_seconds"] is not None:
        lines.append(f"time: {found['median_seconds']:g} s an answer (median)")
    if found["median_minutes_a_session"] is not None:
        lines[-1] += f", {found['median_minutes_a_session']:.1f} min a session"
    pay = found["hourly_pay"]
    if pay is not None:
        meant = "" if pay["meant"] is None else f", meant were {pay['meant']:g}"
        lines.append(f"pay: {pay['amount']:g} {pay['currency']} an hour in effect{meant}")
    return lines


def _counted(count: int, one: str, several: str) -> str:
    return f"{count:,} {one if count == 1 else several}"
