"""Headers, origins, images, addresses to listen on, and ids that are never logged."""

import logging
from pathlib import Path
from typing import Any

import pytest
from starlette.responses import PlainTextResponse
from tests.elicit.conftest import on_both

from sfumato.elicit.storage import store
from sfumato.elicit.web.app import make_app
from sfumato.elicit.web.security import check_address, headers_for
from sfumato.errors import DataError

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; "
    "media-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'self'; "
    "frame-ancestors 'none'"
)


@on_both
def test_s5_headers_are_on_every_response(visit: Any) -> None:
    async def story(site: Any) -> None:
        token = await site.enter()
        image = (await site.screen(token))["trial"]["images"][0]
        paths = ("/", "/consent", "/api/screen", image, "/image/none", "/static/main.js", "/x")
        replies = [await site.get(path) for path in paths]
        replies.append(await site.post("/api/answer", b"x" * 20_000))
        replies.append(await site.post("/api/answer", {}, origin="https://evil.example"))

        for reply in replies:
            assert reply.headers["content-security-policy"] == POLICY
            assert reply.headers["x-content-type-options"] == "nosniff"
            assert reply.headers["referrer-policy"] == "no-referrer"
            assert reply.headers["x-frame-options"] == "DENY"
            assert "server" not in reply.headers

    visit(story)


def test_s5_only_images_are_kept_for_ever_and_the_api_not_at_all(visit: Any) -> None:
    async def story(site: Any) -> None:
        token = await site.enter()
        image = (await site.screen(token))["trial"]["images"][0]

        assert "immutable" in (await site.get(image)).headers["cache-control"]
        assert (await site.get("/image/none")).headers["cache-control"] == "no-store"
        assert (await site.get("/static/main.js")).headers["cache-control"] == "no-cache"
        for path in ("/", "/consent", "/api/screen", "/health"):
            assert (await site.get(path, token)).headers["cache-control"] == "no-store"

    visit(story)


@on_both
def test_s5_markup_in_the_settings_is_text_in_the_page(visit: Any, change_study: Any) -> None:
    change_study(title="<script>alert(1)</script>")

    async def story(site: Any) -> None:
        page = (await site.get("/?participant=<script>alert(2)</script>")).text

        assert "<script>alert" not in page
        assert "&lt;script&gt;alert(1)" in page

    visit(story)


def test_s5_only_mturk_may_frame_the_page() -> None:
    policies = {
        platform: dict(headers_for(platform))[b"content-security-policy"].decode()
        for platform in ("prolific", "link", "mturk")
    }

    assert policies["prolific"] == policies["link"] == POLICY
    assert "frame-ancestors https://www.mturk.com https://worker.mturk.com" in policies["mturk"]
    assert "'none'" not in policies["mturk"].partition("frame-ancestors")[2]


@pytest.mark.parametrize(
    "name",
    [
        "../study.toml",
        "..%2fstudy.toml",
        "%2e%2e/key",
        "%2e%2e%2fkey",
        "..\\key",
        "/etc/passwd",
        "//etc/passwd",
        "%00",
        "a\x00.png",
        "key",
        "",
        ".",
        "x" * 5_000,
    ],
)
def test_s6_only_ids_from_the_table_are_images(visit: Any, name: str) -> None:
    async def story(site: Any) -> None:
        status, _, body = await site.raw(f"/image/{name}")

        assert status == 404
        assert b"there is nothing" in body.lower()

    visit(story)


@on_both
def test_s6_image_is_served_by_its_id_but_not_by_its_file_or_through_a_link(
    visit: Any, study_folder: Path
) -> None:
    async def story(site: Any) -> None:
        token = await site.enter()
        address = (await site.screen(token))["trial"]["images"][0]
        [file] = [path for path in (study_folder / "images").iterdir() if path.stem in address]

        reply = await site.get(address)
        assert reply.headers["content-type"] == "image/png"
        assert reply.content == file.read_bytes()
        assert (await site.get(f"/image/{file.name}")).status_code == 404
        file.unlink()
        assert (await site.get(address)).status_code == 404
        file.symlink_to(study_folder / "key")
        assert (await site.get(address)).status_code == 404

    visit(story)


@on_both
@pytest.mark.parametrize(
    ("origin", "status"),
    [
        ("http://site", 200),
        ("https://site", 200),
        ("https://evil.example", 403),
        ("null", 403),
        ("http://site:81", 403),
        ("http://site.evil.example", 403),
        ("http://[", 403),
        ("", 403),
    ],
)
def test_s9_posts_from_other_origins_are_refused(visit: Any, origin: str, status: int) -> None:
    async def story(site: Any) -> None:
        token = await site.enter()
        body = site.body_of((await site.screen(token))["trial"]["id"])

        reply = await site.post("/api/answer", body, token, origin=origin)

        assert reply.status_code == status
        assert site.count("answer") == (status == 200)

    visit(story)


def test_s9_posts_to_the_researchers_part_are_checked_too(visit: Any) -> None:
    admin = PlainTextResponse("inside")

    async def story(site: Any) -> None:
        assert (await site.get("/admin/")).text == "inside"
        ours = await site.post("/admin/act", {}, origin="http://site")
        other = await site.post("/admin/act", {}, origin="http://evil.example")

        assert (ours.status_code, other.status_code) == (200, 403)

    visit(story, admin=admin)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.7", "study.example.org", ""])
def test_s10_no_public_address_without_a_key(host: str) -> None:
    with pytest.raises(DataError, match="SFUMATO_ADMIN_KEY"):
        check_address(host, None)

    check_address(host, "long enough to be no guess")
    check_address(host, "$argon2id$v=19$m=65536,t=3,p=4$c2FsdA$aGFzaA")


def test_s10_key_that_can_be_guessed_is_refused_anywhere() -> None:
    check_address("::1", None)
    check_address("localhost", None)
    with pytest.raises(DataError, match="6 characters"):
        check_address("127.0.0.1", "secret")


@on_both
def test_s13_ids_are_in_one_table_and_in_no_log(
    visit: Any, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)

    async def story(site: Any) -> None:
        token = await site.enter("CANARY42")
        await site.finish(token)

        holding = [
            name
            for name in store.tables.tables
            for row in site.rows(f"SELECT * FROM {name}")
            if "CANARY42" in str(row) or "198.51.100.7" in str(row)
        ]
        assert holding == ["participant_identity"]

    visit(story)
    ours = [
        record for record in caplog.records if not record.name.startswith(("httpx", "httpcore"))
    ]
    assert "CANARY42" not in "".join(record.getMessage() for record in ours)


def test_database_that_names_a_file_elsewhere_is_refused(visit: Any, study_folder: Path) -> None:
    async def story(site: Any) -> None:
        with site.writer.database.connect() as connection:
            connection.plain("UPDATE image SET file = '../key'")
        with pytest.raises(DataError, match=r"'\.\./key'"):
            make_app(study_folder, writer=site.writer)

    visit(story)
