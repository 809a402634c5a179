"""Write requirements.txt: what a server needs, in exact versions and with hashes.

    python deploy/lock.py > deploy/requirements.txt

Versions are those of constraints.txt; hashes are those of the wheels for CPython on Linux, for each
Python and processor below, as the package index gives them. pip refuses anything else.
"""

import json
import subprocess
import sys
import tempfile
import tomllib
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parent.parent
PYTHONS = ("3.11", "3.12", "3.13")
PROCESSORS = ("x86_64", "aarch64")
LIBRARIES = ("manylinux2014", "manylinux_2_17", "manylinux_2_24", "manylinux_2_28")


def main() -> None:
    """Print the file."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = [*project["dependencies"], *project["optional-dependencies"]["elicit"]]
    hashes: dict[str, set[str]] = defaultdict(set)
    for python in PYTHONS:
        for processor in PROCESSORS:
            for name, sha256 in resolve(wanted, python, processor):
                hashes[name].add(sha256)
    print("# Written by deploy/lock.py; install with: pip install --require-hashes -r THIS")  # noqa: T201
    for name in sorted(hashes):
        lines = [name, *(f"    --hash=sha256:{one}" for one in sorted(hashes[name]))]
        print(" \\\n".join(lines))  # noqa: T201


def resolve(wanted: list[str], python: str, processor: str) -> list[tuple[str, str]]:
    """What pip would install on such a machine: name==version, and the hash of its file."""
    platforms = [f"--platform={library}_{processor}" for library in LIBRARIES]
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        subprocess.run(
            [
                *(sys.executable, "-m", "pip", "install", "--quiet", "--dry-run"),
                *("--ignore-installed", "--only-binary=:all:", f"--python-version={python}"),
                *platforms,
                *("--target", folder, "--report", str(report)),
                *("--constraint", str(ROOT / "constraints.txt"), *wanted),
            ],
            check=True,
        )
        found = json.loads(report.read_text(encoding="utf-8"))["install"]
    return [
        (
            f"{one['metadata']['name'].lower().replace('_', '-')}=={one['metadata']['version']}",
            one["download_info"]["archive_info"]["hashes"]["sha256"],
        )
        for one in found
    ]


if __name__ == "__main__":
    main()
