"""Turn a study into a copy to be looked at: all its screens, marked, and nothing is kept."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from starlette.applications import Starlette

from sfumato.elicit.design.places import IMAGES, LOGO, database_url, open_study, read_key
from sfumato.elicit.session.collection import collection_of
from sfumato.elicit.session.writer import Writer
from sfumato.elicit.storage.backup import copy_stimuli
from sfumato.elicit.storage.database import Database, open_database
from sfumato.elicit.web.app import make_app


@contextmanager
def preview_app(folder: Path, stored: Database | None = None) -> Iterator[Starlette]:
    """The application of a study as people will see it, over a database that is thrown away.

    Nobody's answers are in it, no place is taken, and any id comes in. ``stored`` is the database
    of the study, where it is not in the folder.
    """
    study = open_study(folder)
    entry = study.recruiting.model_copy(
        update={"platform": "link", "entry": "open", "places": None, "id_parameter": "participant"}
    )
    # Another name: a browser keeps the sessions of the two apart.
    name = f"{study.name[:56]}-preview"
    shown = study.model_copy(update={"recruiting": entry, "name": name})
    with TemporaryDirectory(prefix="sfumato-preview-") as place:
        database = open_database(f"sqlite:///{Path(place) / 'preview.sqlite'}")
        copy_stimuli(stored or open_database(database_url(folder)), database)
        (Path(place) / IMAGES).symlink_to((folder / IMAGES).absolute())
        if shown.page.logo:
            shutil.copy(folder / LOGO, Path(place) / LOGO)
        collection = collection_of(shown, read_key(folder))
        writer = Writer(database, collection, rng=np.random.default_rng())
        yield make_app(Path(place), writer=writer, preview=True)
