"""Turn results and refusals into responses; a refusal is always JSON with one sentence."""

import json
from math import ceil
from typing import Any

from pydantic import BaseModel
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from sfumato.elicit.refusals import (
    BadAnswer,
    Closed,
    Fault,
    Refused,
    TooMany,
    Unavailable,
    UnknownToken,
)

RETRY_SECONDS = 5
"""How long a page waits before it sends again what could not be stored."""

_SENTENCES = {
    404: "There is nothing at this address.",
    405: "This address does not take this method.",
}


class TooLarge(Refused):
    """The body is longer than any answer can be."""

    status = 413


class WrongType(Refused):
    """The body is not JSON by its own description."""

    status = 415


class Throttled(TooMany):
    """Too many requests in a short time; ``wait`` are the seconds until the next may come."""

    def __init__(self, sentence: str, *, wait: float) -> None:
        super().__init__(sentence)
        self.wait = wait


def as_json(value: Any, *, status: int = 200) -> Response:
    """A response with plain data."""
    body = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return Response(body, status, media_type="application/json")


def model_reply(model: BaseModel) -> Response:
    """A response with a checked model; its fields are all that leaves the server (S16)."""
    return Response(model.model_dump_json(), media_type="application/json")


def refusal_reply(error: Refused) -> Response:
    """The status, the sentence and the faults of a refusal."""
    faults: tuple[Fault, ...] = error.faults if isinstance(error, BadAnswer) else ()
    body: dict[str, Any] = {"error": str(error), "faults": [vars(fault) for fault in faults]}
    if isinstance(error, Closed):
        body["reason"] = error.reason
    reply = as_json(body, status=error.status)
    match error:
        case Throttled():
            reply.headers["Retry-After"] = str(max(1, ceil(error.wait)))
        case Unavailable():
            reply.headers["Retry-After"] = str(RETRY_SECONDS)
        case UnknownToken():
            reply.headers["WWW-Authenticate"] = "Bearer"
    return reply


def reply_to_refusal(_request: Request, error: Exception) -> Response:
    """The same as a handler of Starlette."""
    assert isinstance(error, Refused)
    return refusal_reply(error)


def http_reply(_request: Request, error: Exception) -> Response:
    """What routing refuses, in the shape of all other refusals."""
    assert isinstance(error, HTTPException)
    sentence = _SENTENCES.get(error.status_code, "The request could not be read.")
    reply = as_json({"error": sentence, "faults": []}, status=error.status_code)
    for name, value in (error.headers or {}).items():
        reply.headers[name] = value
    return reply


def broken_reply() -> Response:
    """A mistake of ours: nothing about it leaves the server."""
    return as_json(
        {"error": "Something went wrong here; please try again.", "faults": []}, status=500
    )
