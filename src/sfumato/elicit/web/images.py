"""Serve pictures by their opaque ids; no text of a request ever becomes part of a path (S6)."""

import os
from collections.abc import Mapping
from pathlib import Path

import sqlalchemy as sa
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.responses import Response

from sfumato.elicit.storage import store
from sfumato.elicit.storage.database import Connection, prepare
from sfumato.errors import DataError

KINDS = {".png": "image/png", ".jpg": "image/jpeg"}
FOREVER = "public, max-age=31536000, immutable"

_IMAGES = prepare(sa.select(store.image.c.id, store.image.c.file))


def image_files(connection: Connection) -> dict[str, str]:
    """The file of each picture by its id."""
    files = {row.id: row.file for row in connection.all(_IMAGES)}
    for name in files.values():
        if Path(name).name != name or Path(name).suffix not in KINDS:
            raise DataError(
                f"The database names the picture {name!r}; a picture is a .png or .jpg file in the "
                "folder of images."
            )
    return files


async def image_reply(folder: Path, files: Mapping[str, str], image: str) -> Response:
    """The picture, which never changes under its id."""
    file = files.get(image)
    if file is None:
        raise HTTPException(404)
    try:
        content = await run_in_threadpool(_read, folder / file)
    except OSError:
        raise HTTPException(404) from None
    kind = KINDS[Path(file).suffix]
    return Response(content, media_type=kind, headers={"Cache-Control": FOREVER})


def _read(path: Path) -> bytes:
    # A link could lead out of the folder.
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW), "rb") as file:
        return file.read()
