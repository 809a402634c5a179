"""The commands that get answers out of a study, look after its database and end it."""

import time
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato.cli import options as given
from sfumato.cli.printing import print_json
from sfumato.cli.reading import names_in
from sfumato.errors import DataError, MissingPackage

if TYPE_CHECKING:
    from sfumato.elicit.session.collection import Collection
    from sfumato.elicit.storage.backup import Contents
    from sfumato.elicit.storage.database import Database

StudyFolder = Annotated[Path, typer.Argument(metavar="STUDY", help="The folder of the study.")]
Address = Annotated[
    str | None,
    typer.Option(
        "--database",
        help="postgresql://… where the answers are stored there and not in the folder.",
    ),
]
Output = Annotated[Path, typer.Option("--output", "-o", help="The file to write.")]

WHO = "command line"
PACKAGES = ("pydantic", "sqlalchemy", "psycopg")


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
    database: Address = None,
) -> None:
    """Write the answers to a file, without anybody's platform id."""
    need_packages(*PACKAGES)
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


def status(folder: StudyFolder, as_json: given.AsJson = False, database: Address = None) -> None:
    """Where the study stands: people, answers, items, signs, time and pay."""
    need_packages(*PACKAGES)
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
    need_packages(*PACKAGES)
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
    typer.echo("Earlier backups and exports still hold the person; delete or replace them.")


def close(folder: StudyFolder, database: Address = None) -> None:
    """Let nobody new in; sessions that run may end."""
    need_packages(*PACKAGES)
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


def copy(
    folder: StudyFolder,
    to: Annotated[
        str, typer.Option("--to", help="postgresql://… or sqlite:///FILE, a new database.")
    ],
    database: Address = None,
) -> None:
    """Copy every row to another database, and compare the two."""
    need_packages(*PACKAGES)
    from sfumato.elicit.storage.backup import copy_collection
    from sfumato.elicit.storage.database import open_database

    contents = copy_collection(_stored(folder, database), open_database(to))
    _print_contents(contents)
    typer.echo(
        "Both databases hold the same rows. What people answer from now on is only in the old "
        "one: stop the server before the copy that counts."
    )


def backup(folder: StudyFolder, output: Output, database: Address = None) -> None:
    """Write a checked backup of the database, also while the server runs."""
    need_packages(*PACKAGES)
    from sfumato.elicit.storage.backup import back_up

    contents = back_up(_stored(folder, database), output)
    _print_contents(contents)
    typer.echo(f"Wrote {output} and checked it. It holds platform ids: keep it as safe as the key.")


def restore(
    folder: StudyFolder,
    backup_file: Annotated[Path, typer.Option("--from", help="The backup.")],
) -> None:
    """Put a backup in the place of the database of a study."""
    need_packages(*PACKAGES)
    from sfumato.elicit.storage.backup import restore as put_back

    contents = put_back(backup_file, folder)
    _print_contents(contents)
    typer.echo(f"Restored {folder} from {backup_file}.")


def need_packages(*packages: str) -> None:
    """Say how to install what is missing."""
    for package in packages:
        if find_spec(package) is None:
            raise MissingPackage(
                f"Studies need the package {package}; install it with "
                "pip install 'sfumato[elicit]'."
            )


def _stored(folder: Path, address: str | None) -> "Database":
    """The database of a study; it must be there, as opening would make a new one."""
    from sfumato.elicit.design.places import DATABASE, database_url, open_study
    from sfumato.elicit.storage.database import open_database

    open_study(folder)
    if address is None and not (folder / DATABASE).is_file():
        raise DataError(f"{folder} holds no {DATABASE}; name its database with --database.")
    return open_database(address or database_url(folder))


def _collection(folder: Path) -> "Collection":
    from sfumato.elicit.design.places import open_study, read_key
    from sfumato.elicit.session.collection import collection_of

    return collection_of(open_study(folder), read_key(folder))


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
        f"people an item: {items['min']} to {items['max']}, median {items['median']:g}; "
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
