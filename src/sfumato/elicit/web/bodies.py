"""Read the body of a request as strict JSON (S4), and turn results and refusals into responses.

A refusal is always JSON with one sentence.
"""

import json
import math
import re
from math import ceil
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from sfumato.elicit.refusals import (
    AnswerFault,
    CollectionClosed,
    InvalidAnswer,
    Refusal,
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


class TooLarge(Refusal):
    """The body is longer than any answer can be."""

    status = 413


class WrongType(Refusal):
    """The body is not JSON by its own description."""

    status = 415


def as_json(value: Any, *, status: int = 200) -> Response:
    """A response with plain data."""
    body = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return Response(body, status, media_type="application/json")


def model_reply(model: BaseModel) -> Response:
    """A response with a checked model; its fields are all that leaves the server (S16)."""
    return Response(model.model_dump_json(), media_type="application/json")


def refusal_reply(error: Refusal) -> Response:
    """The status, the sentence and the faults of a refusal."""
    faults: tuple[AnswerFault, ...] = error.faults if isinstance(error, InvalidAnswer) else ()
    body: dict[str, Any] = {"error": str(error), "faults": [vars(fault) for fault in faults]}
    if isinstance(error, CollectionClosed):
        body["reason"] = error.reason
    reply = as_json(body, status=error.status)
    match error:
        case TooMany():
            reply.headers["Retry-After"] = str(max(1, ceil(error.wait)))
        case Unavailable():
            reply.headers["Retry-After"] = str(RETRY_SECONDS)
        case UnknownToken():
            reply.headers["WWW-Authenticate"] = "Bearer"
    return reply


def reply_to_refusal(_request: Request, error: Exception) -> Response:
    """The same as a handler of Starlette."""
    assert isinstance(error, Refusal)
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


FAULTS_SHOWN = 10
_JSON_TYPE = re.compile(r'application/json(\s*;\s*charset="?utf-8"?)?', re.IGNORECASE)
_TOKEN = re.compile(r"bearer ([A-Za-z0-9_-]{22,128})", re.IGNORECASE)

M = TypeVar("M", bound=BaseModel)

Name = Annotated[str, Field(max_length=64)]
Value = Annotated[str, Field(max_length=500)]


class EnterGiven(BaseModel):
    """The body of POST /api/enter: the parameters of the address by which a person came."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    parameters: dict[Name, Value] = Field(default={}, max_length=30)
    """As they stand in the address; the server picks those that the platform uses."""
    consent_version: Annotated[str, Field(max_length=200)] | None = None
    """Of the text that the person agreed to."""
    language: str | None = Field(default=None, pattern=r"^[a-z]{2,3}(-[A-Za-z0-9]{2,8}){0,3}$")
    """In which the page is shown; None: the one of the study."""


class EnterReply(BaseModel):
    """The secret of the session, and whether it had begun before."""

    token: str
    resumed: bool


def token_of(request: Request) -> str:
    """The session's secret; only the header is read, so that no address ever holds it (S1)."""
    found = _TOKEN.fullmatch(request.headers.get("authorization", ""))
    if found is None:
        raise UnknownToken("The request names no session; enter the study by its link.")
    return found[1]


async def read_model(request: Request, model: type[M]) -> M:
    """The body as a model; 415, 400 or 422 where it is none."""
    value = await read_json(request)
    try:
        return model.model_validate(value)
    except ValidationError as error:
        raise InvalidAnswer(_faults(error)) from None


async def read_json(request: Request) -> Any:
    """The body as plain data."""
    kind = request.headers.get("content-type", "")
    if not _JSON_TYPE.fullmatch(kind.strip()) or "content-encoding" in request.headers:
        raise WrongType("The body must be JSON, with the content type application/json.")
    return parse_json(await request.body())


def parse_json(body: bytes) -> Any:
    """Plain data from JSON without NaN, infinities or a field that occurs twice.

    >>> parse_json(b'{"percent": 3, "percent": 4}')
    Traceback (most recent call last):
        ...
    sfumato.elicit.refusals.Refusal: The body is not plain JSON: 'percent' occurs twice.
    """
    try:
        text = body.decode("utf-8")
        return _STRICT.decode(text)
    except UnicodeDecodeError:
        raise Refusal("The body is not UTF-8.") from None
    except json.JSONDecodeError as error:
        raise Refusal(f"The body is not JSON: {error.msg} at {error.pos}.") from None
    except RecursionError:
        raise Refusal("The body is not plain JSON: it is nested too deeply.") from None
    except ValueError:  # more than 4,300 digits
        raise Refusal("The body is not plain JSON: a number is too long.") from None


def _without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for place, name in enumerate(names) if name in names[:place])
        raise Refusal(f"The body is not plain JSON: {twice[:60]!r} occurs twice.")
    return made


def _no_constant(name: str) -> Any:
    raise Refusal(f"The body is not plain JSON: it holds {name}.")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise Refusal("The body is not plain JSON: a number is too large.")
    return value


_STRICT = json.JSONDecoder(
    object_pairs_hook=_without_doubles, parse_constant=_no_constant, parse_float=_finite
)


def _faults(error: ValidationError) -> tuple[AnswerFault, ...]:
    """What is wrong, without what was sent: it may hold an id."""
    return tuple(
        AnswerFault(
            ".".join(str(part) for part in fault["loc"])[:200], "malformed", f"{fault['msg']}."
        )
        for fault in error.errors(include_url=False, include_input=False)[:FAULTS_SHOWN]
    )
