"""Only a browser of this machine with the token is served, and it can ask for nothing else."""

import http.client
import io
import socket
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import httpx
import numpy as np
import pytest
from PIL import Image
from tests.viewing.conftest import make_beliefs, make_crowd

from sfumato.errors import DataError
from sfumato.viewing.server import Viewer, encode_picture, view

ADDRESSES = ("/", "/about.json", "/rows.json", "/item.json?item=item%200", "/picture/x/small/0")


@pytest.fixture(scope="module")
def viewer() -> Iterator[Viewer]:
    crowd = make_crowd(30, np.random.default_rng(0))
    model = make_beliefs(crowd.mean(), np.random.default_rng(1))
    pictures = {item: np.full((8, 8), 5, np.uint8) for item in crowd.items}
    found = view(crowd, {"model": model}, pictures)
    yield found
    found.stop()


@pytest.fixture
def browser(viewer: Viewer) -> Iterator[httpx.Client]:
    """A client that was let in by the token."""
    with httpx.Client(base_url=viewer.url.partition("/?")[0]) as client:
        assert client.get(viewer.url).status_code == 303
        yield client


def rows(client: httpx.Client, query: str) -> dict[str, Any]:
    reply = client.get(f"/rows.json?{query}")
    assert reply.status_code == 200, reply.text
    found: dict[str, Any] = reply.json()
    return found


@pytest.mark.parametrize("path", ADDRESSES)
def test_nothing_without_the_token(viewer: Viewer, path: str) -> None:
    base, _, token = viewer.url.partition("/?token=")
    wrong = token[:-1] + ("a" if token[-1] != "a" else "b")
    joined = "&" if "?" in path else "?"

    for address in (path, f"{path}{joined}token={wrong}", f"{path}{joined}token="):
        reply = httpx.get(base + address)
        assert reply.status_code == 403, address
        assert "set-cookie" not in reply.headers


def test_wrong_token_is_refused_even_with_the_cookie(browser: httpx.Client) -> None:
    assert browser.get("/").status_code == 200
    assert browser.get("/?token=wrong").status_code == 403


def test_token_leaves_the_address_and_the_rest_stays(viewer: Viewer) -> None:
    reply = httpx.get(f"{viewer.url}&sort=entropy&top.people={quote('<b>deer</b>')}")

    assert reply.status_code == 303
    assert reply.headers["location"] == "/?sort=entropy&top.people=%3Cb%3Edeer%3C%2Fb%3E"
    cookie = reply.headers["set-cookie"]
    assert cookie.startswith(f"sfumato_view_{viewer.port}=")
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8300", "0.0.0.0:8300", ""])
def test_other_hosts_are_refused(viewer: Viewer, browser: httpx.Client, host: str) -> None:
    cookie = f"sfumato_view_{viewer.port}={browser.cookies[f'sfumato_view_{viewer.port}']}"

    for path in ("/about.json", f"/?token={viewer.url.partition('token=')[2]}", "/static/dom.js"):
        reply = httpx.get(
            str(browser.base_url.join(path)), headers={"Host": host, "Cookie": cookie}
        )
        assert reply.status_code in (400, 403)
        assert "people" not in reply.text


def test_it_listens_on_this_machine_alone(viewer: Viewer) -> None:
    listening = viewer._server.servers[0].sockets[0].getsockname()

    assert listening == ("127.0.0.1", viewer.port)


def test_every_reply_has_the_headers_of_the_guard(browser: httpx.Client) -> None:
    for path in ("/", "/about.json", "/static/view/view.js", "/nothing"):
        headers = browser.get(path).headers
        assert "default-src 'none'" in headers["content-security-policy"]
        assert "'unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["x-frame-options"] == "DENY"
    assert browser.get("/about.json").headers["cache-control"] == "no-store"


@pytest.mark.parametrize(
    "path",
    [
        "/static/view/../server.py",
        "/static/view/%2e%2e/server.py",
        "/static/view/..%2fserver.py",
        "/static/../../../../../../etc/passwd",
        "/static/view//etc/passwd",
        "/picture/x/small/..%2f..%2fetc%2fpasswd",
        "/picture/x/../../etc/passwd",
    ],
)
def test_no_path_leads_out(viewer: Viewer, browser: httpx.Client, path: str) -> None:
    name = f"sfumato_view_{viewer.port}"
    raw = http.client.HTTPConnection("127.0.0.1", viewer.port)  # it sends the path as it is
    raw.request("GET", path, headers={"Cookie": f"{name}={browser.cookies[name]}"})
    reply = raw.getresponse()
    content = reply.read()
    raw.close()

    assert reply.status == 404
    assert b"root:" not in content


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
def test_nothing_can_be_changed(browser: httpx.Client, method: str) -> None:
    for path in ("/", "/rows.json", "/about.json", "/item.json"):
        assert browser.request(method, path).status_code == 405


def test_windows_of_an_order_fit_together(browser: httpx.Client) -> None:
    whole = rows(browser, "sort=disagreement&start=0&count=30")
    parts = [
        rows(browser, f"sort=disagreement&start={at}&count=7")["rows"] for at in range(0, 30, 7)
    ]

    assert whole["total"] == 30
    assert [row["item"] for part in parts for row in part] == [r["item"] for r in whole["rows"]]
    assert rows(browser, "sort=disagreement&item=item%203")["place"] == [
        row["item"] for row in whole["rows"]
    ].index("item 3")


def test_what_cannot_be_asked_for_is_a_sentence(browser: httpx.Client) -> None:
    for query, told in (
        ("sort=entropi", "number to sort by"),
        ("person=nobody", "annotator"),
        ("set=modle", "Did you mean 'model'"),
        ("top.people=fox", "class"),
        ("stratum=none", "stratum"),
    ):
        reply = browser.get(f"/rows.json?{query}")
        assert reply.status_code == 422
        assert told in reply.json()["error"]
    assert browser.get("/item.json?item=nothing").status_code == 404
    assert rows(browser, "start=-5&count=99999999999999")["start"] == 0


def test_pictures_are_small_in_the_list(viewer: Viewer, browser: httpx.Client) -> None:
    key = browser.get("/about.json").json()["key"]
    reply = browser.get(f"/picture/{key}/small/0")

    assert reply.headers["content-type"] == "image/png"
    assert browser.get(f"/picture/{key}/small/30").status_code == 404
    assert browser.get(f"/picture/{key}/huge/0").status_code == 404
    assert browser.get("/picture/other/small/0").status_code == 404


def test_large_pictures_are_made_smaller_and_keep_their_form() -> None:
    written = io.BytesIO(encode_picture(np.zeros((300, 600, 3), np.uint8), 160))

    with Image.open(written) as picture:
        assert picture.size == (160, 80)


def test_port_that_is_taken(viewer: Viewer) -> None:
    labels = [{"item": "a", "cat": 0.5, "dog": 0.5}]
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        taken = other.getsockname()[1]
        with pytest.raises(DataError, match=f"Port {taken} cannot be used"):
            view(labels, port=taken)

    second = view(labels)  # while the first may have the usual one
    assert second.port != viewer.port
    second.stop()
    with pytest.raises(httpx.ConnectError):
        httpx.get(second.url)
