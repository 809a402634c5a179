"""The files under deploy/: the same commands as processes, behind a real Caddy and a real nginx."""

import json
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml
from tests.elicit.conftest import empty_postgresql
from tests.elicit.web.conftest import make_study

from sfumato.elicit.design.places import database_url, open_study, read_key
from sfumato.elicit.session.collection import Collection, collection_of
from sfumato.elicit.session.entry import collection_hash
from sfumato.elicit.storage.backup import copy_collection
from sfumato.elicit.storage.database import open_database
from sfumato.elicit.web.platforms import link_for

ROOT = Path(__file__).parent.parent.parent
DEPLOY = ROOT / "deploy"
COMPOSE = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))["services"]
CANARY = "CANARY77"
KEYS = {"SFUMATO_ADMIN_KEY": "a long key for tests only", "SFUMATO_METRICS_KEY": "figures"}
FIGURES = {"authorization": "Bearer figures"}
BARE: dict[str, list[str]] = {
    "consent": [],
    "instructions": [],
    "comprehension": [],
    "debrief": [],
}

Start = Callable[..., subprocess.Popen[bytes]]


def free_port() -> int:
    with closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def wait_for(address: str, process: subprocess.Popen[bytes]) -> None:
    for _ in range(300):
        try:
            if httpx.get(address, verify=False).status_code < 500:
                return
        except httpx.TransportError:
            assert process.poll() is None, "the process ended"
        time.sleep(0.1)
    raise AssertionError(f"{address} did not answer")


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Start a process whose output goes to a file ``NAME.log``."""
    started: list[subprocess.Popen[bytes]] = []

    def run(name: str, arguments: list[str], **environment: str) -> subprocess.Popen[bytes]:
        with (tmp_path / f"{name}.log").open("wb") as log:
            process = subprocess.Popen(
                arguments,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=tmp_path,
                env={**os.environ, "OMP_NUM_THREADS": "1", **KEYS, **environment},
            )
        started.append(process)
        return process

    yield run
    for process in reversed(started):
        process.terminate()
        process.wait(timeout=20)


def study_in(folder: Path, **recruiting: Any) -> Collection:
    """A study that takes signed links only."""
    settings = {"entry": "signed", **recruiting}
    make_study(folder, welcome=BARE, per_item=50, name=folder.name, recruiting=settings)
    return collection_of(open_study(folder), read_key(folder), folder)


def sfumato(*arguments: str) -> list[str]:
    return [sys.executable, "-c", "from sfumato.cli import main; main()", "elicit", *arguments]


def answer_all(client: httpx.Client, link: str) -> int:
    """Go through a session as the page does; how many answers were acknowledged."""
    origin = re.match(r"https?://[^/]+", link)
    assert origin is not None
    page = client.get(link)
    assert page.status_code == 200
    home = link.partition("?")[0]
    parameters = dict(httpx.URL(link).params)
    head = {"origin": origin[0]}
    entered = client.post(f"{home}api/enter", json={"parameters": parameters}, headers=head)
    assert entered.status_code == 200, entered.text
    head["authorization"] = f"Bearer {entered.json()['token']}"
    shown, answers = client.get(f"{home}api/screen", headers=head).json(), 0
    while shown["stage"] == "trials":
        trial = shown["trial"]
        assert client.get(f"{home}{trial['images'][0][1:]}").status_code == 200
        body = {"trial": trial["id"], "key": f"key{trial['id']:08d}", "answer": "cat"}
        reply = client.post(
            f"{home}api/answer", json={**body, "timing": {"seconds": 1.0}}, headers=head
        )
        assert reply.status_code == 200, reply.text
        shown, answers = reply.json(), answers + 1
        time.sleep(0.25)  # one answer in 200 ms is let through
    return answers


def check_site(site: str, server: str, collection: Collection, database: str, log: Path) -> None:
    """Everything that a proxy could spoil."""
    forged = {"x-forwarded-for": "203.0.113.9"}
    with httpx.Client(verify=False, headers=forged, timeout=20) as client:
        answers = answer_all(client, link_for(collection, site, CANARY))
        assert client.get(site).headers["strict-transport-security"].startswith("max-age=")
        assert client.get(f"{site}/metrics", headers=FIGURES).status_code == 404
        figures = (httpx.get(f"{server}/metrics", headers=FIGURES).text for _ in range(50))
        told = next(text for text in figures if 'path="/api/answer",status="200"' in text)
        assert 'sfumato_places{state="finished"} 4' in told  # without checks and practice
        key = {"key": KEYS["SFUMATO_ADMIN_KEY"]}
        login = client.post(f"{site}/admin/login", data=key, headers={"origin": site})
        assert "secure" in login.headers["set-cookie"].lower()
        with client.stream("GET", f"{site}/admin/events") as news:
            assert next(news.iter_lines()) == "retry: 3000"
    with open_database(database).reader() as connection:
        found = connection.driver.execute("SELECT address FROM session").fetchall()
    assert [tuple(row) for row in found] == [(collection_hash(collection, "address", "127.0.0.1"),)]
    lines = log.read_text().splitlines()
    requests = [json.loads(line) for line in lines if line.startswith("{")]
    assert answers == sum(one.get("path") == "/api/answer" for one in requests)
    assert CANARY not in "".join(line for line in lines if line.startswith("{"))


@pytest.mark.check
def test_compose_command_behind_caddy_with_tls_and_postgresql(
    tmp_path: Path, start: Start, needs: Any, postgresql_server: str
) -> None:
    if shutil.which("caddy") is None:
        needs("proxy", "Caddy is not installed.")
    collection = study_in(tmp_path / "study")
    database = empty_postgresql(postgresql_server, schema="deployed")
    copy_collection(open_database(database_url(tmp_path / "study")), open_database(database))
    port, server_port = free_port(), free_port()
    changed = {
        "/studies/study": str(tmp_path / "study"),
        "--host=0.0.0.0": "--host=127.0.0.1",
        "--port=8000": f"--port={server_port}",
    }
    command = [changed.get(word, word) for word in COMPOSE["study"]["command"]]
    assert set(changed) <= set(COMPOSE["study"]["command"])
    settings = tmp_path / "Caddyfile"
    options = "{\n\tadmin off\n\tskip_install_trust\n\tauto_https disable_redirects\n"
    text = (DEPLOY / "Caddyfile").read_text(encoding="utf-8")
    settings.write_text(text.replace("{\n", options, 1))
    site, server = f"https://localhost:{port}", f"http://127.0.0.1:{server_port}"

    running = start("study", sfumato(*command), SFUMATO_DATABASE=database)
    wait_for(f"{server}/healthz", running)
    folders = {"XDG_DATA_HOME": str(tmp_path), "HOME": str(tmp_path)}
    run = ["caddy", "run", "--adapter", "caddyfile", "--config", str(settings)]
    proxy = start("caddy", run, SITE=site, STUDY=f"127.0.0.1:{server_port}", **folders)
    wait_for(f"{site}/healthz", proxy)

    check_site(site, server, collection, database, tmp_path / "study.log")
    assert CANARY not in (tmp_path / "caddy.log").read_text()


@pytest.mark.check
def test_systemd_command_behind_nginx(tmp_path: Path, start: Start, needs: Any) -> None:
    nginx = shutil.which("nginx") or "/usr/sbin/nginx"
    if not Path(nginx).exists():
        needs("proxy", "nginx is not installed.")
    collection = study_in(tmp_path / "study")
    unit = (DEPLOY / "sfumato-elicit.service").read_text(encoding="utf-8")
    words = shlex.split(unit.split("ExecStart=")[1].splitlines()[0])
    port, server_port = free_port(), free_port()
    changed = {"/srv/sfumato/study": str(tmp_path / "study"), "8000": str(server_port)}
    command = [changed.get(word, word) for word in words[2:]]
    settings = nginx_settings(tmp_path, port, server_port)
    site, server = f"https://localhost:{port}", f"http://127.0.0.1:{server_port}"

    running = start("study", sfumato(*command))
    wait_for(f"{server}/healthz", running)
    proxy = start("nginx", [nginx, "-c", str(settings), "-g", "daemon off;"])
    wait_for(f"{site}/healthz", proxy)

    database = database_url(tmp_path / "study")
    check_site(site, server, collection, database, tmp_path / "study.log")
    written = "".join(path.read_text() for path in tmp_path.glob("nginx*.log"))
    assert CANARY not in written


def nginx_settings(folder: Path, port: int, server_port: int) -> Path:
    """The example as part of a whole file, with a certificate made here."""
    keys = folder / "privkey.pem", folder / "fullchain.pem"
    request = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost"
    command = f"{request} -keyout {keys[0]} -out {keys[1]}"
    subprocess.run(shlex.split(command), check=True, capture_output=True)
    text = (DEPLOY / "nginx.conf").read_text(encoding="utf-8")
    for before, after in (
        ("/etc/letsencrypt/live/study.example", str(folder)),
        ("listen 80;", f"listen 127.0.0.1:{free_port()};"),
        ("listen 443 ssl", f"listen 127.0.0.1:{port} ssl"),
        ("127.0.0.1:8000", f"127.0.0.1:{server_port}"),
        ("/var/log/nginx/sfumato.log", str(folder / "nginx-error.log")),
    ):
        assert before in text
        text = text.replace(before, after)
    places = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    temporary = "".join(f"{name}_temp_path {folder}/{name};\n" for name in places)
    whole = folder / "nginx.conf"
    whole.write_text(
        f"pid {folder}/nginx.pid;\nerror_log {folder}/nginx-start.log crit;\n"
        f"events {{}}\nhttp {{\n{temporary}{text}}}\n"
    )
    return whole


def test_unit_is_accepted_by_systemd(tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not installed.")
    unit = (DEPLOY / "sfumato-elicit.service").read_text(encoding="utf-8")
    place = tmp_path / "sfumato-elicit.service"
    place.write_text(unit.replace("/opt/sfumato/bin/sfumato", sys.executable))

    found = subprocess.run(
        ["systemd-analyze", "verify", str(place)], capture_output=True, text=True, check=False
    )

    assert "sfumato-elicit" not in found.stderr
    assert "executable" in _verified(tmp_path, unit)  # it does look at the file


def _verified(folder: Path, unit: str) -> str:
    place = folder / "sfumato-elicit-other.service"
    place.write_text(unit)
    found = subprocess.run(
        ["systemd-analyze", "verify", str(place)], capture_output=True, text=True, check=False
    )
    return found.stderr


def test_image_is_made_of_files_that_are_there_and_of_packages_with_hashes() -> None:
    lines = (DEPLOY / "Dockerfile").read_text(encoding="utf-8").splitlines()
    copied = [word for line in lines if line.startswith("COPY ") for word in line.split()[1:-1]]
    text = (DEPLOY / "requirements.txt").read_text(encoding="utf-8")
    pinned = dict(re.findall(r"^(\S+)==(\S+) \\$", text, re.MULTILINE))
    constraints = (ROOT / "constraints.txt").read_text(encoding="utf-8")
    known = dict(re.findall(r"^([^#=\s]+)==(\S+)$", constraints, re.MULTILINE))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = [*project["dependencies"], *project["optional-dependencies"]["elicit"]]

    assert all((ROOT / name).exists() for name in copied)
    assert not {re.split(r"[\[<>=;]", one)[0] for one in wanted} - set(pinned)
    normal = {name.lower().replace("_", "-"): version for name, version in known.items()}
    assert {name: normal.get(name) for name in pinned} == pinned
    assert len(re.findall(r"--hash=sha256:[0-9a-f]{64}\b", text)) >= len(pinned)


def test_settings_of_compose_are_those_of_the_example() -> None:
    text = (DEPLOY / "compose.yaml").read_text(encoding="utf-8")
    asked = set(re.findall(r"\$\{([A-Z_]+)", text))
    told = (DEPLOY / "env.example").read_text(encoding="utf-8")

    assert asked == set(re.findall(r"^([A-Z_]+)=", told, re.MULTILINE))


def test_several_studies_under_a_path_with_named_admins(tmp_path: Path, start: Start) -> None:
    studies = {name: study_in(tmp_path / name) for name in ("cats", "dogs")}
    keys = {"ann": "ann's own long key", "bob": "bob's own long key"}
    (tmp_path / "admins").write_text("# who\n" + "".join(f"{a} {b}\n" for a, b in keys.items()))
    port = free_port()
    server = f"http://127.0.0.1:{port}"
    folders = [str(tmp_path / name) for name in studies]
    options = ["--port", str(port), "--prefix", "/lab", "--admins", str(tmp_path / "admins")]
    wait_for(f"{server}/lab/cats/healthz", start("lab", sfumato("serve", *folders, *options)))

    with httpx.Client(base_url=server, timeout=20) as client:
        for name, collection in studies.items():
            assert answer_all(client, link_for(collection, f"{server}/lab/{name}", CANARY)) > 3
            moved = client.get(f"/lab/{name}?participant=1")
            assert moved.headers["location"] == f"{name}/?participant=1"
            assert client.get(f"/lab/{name}/admin").headers["location"] == "admin/"
        assert client.get("/cats/").status_code == client.get("/").status_code == 404
        wrong = {"name": "ann", "key": keys["bob"]}
        assert client.post("/lab/cats/admin/login", data=wrong).status_code == 403
        right = {"name": "ann", "key": keys["ann"]}
        assert client.post("/lab/cats/admin/login", data=right).status_code == 303
        assert "ann " in client.get("/lab/cats/admin/log").text
        page = client.get("/lab/cats/admin/items").text
        images = re.findall(r'src="(/lab/cats/image/[^"]+)"', page)
        assert images and client.get(images[0]).status_code == 200
        assert client.get("/lab/dogs/admin/log").status_code == 401
