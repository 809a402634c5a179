"""Every error that is somebody else's mistake, as a sentence they can act on.

    SfumatoError
    ├── DataError        what was read or passed in is wrong: names the place and the remedy
    ├── UnknownName      a recipe, format, question … that does not exist: suggests the nearest
    └── MissingPackage   an optional package is needed: gives the install line

The command line prints the message and ends with exit code 1. Our own mistakes are
``assert`` and leave a traceback.
"""


class SfumatoError(Exception):
    """The root of all errors that a user can do something about."""


class DataError(SfumatoError):
    """What was read or passed in is wrong."""


class UnknownName(SfumatoError):
    """A name that is in no registry."""


class MissingPackage(SfumatoError):
    """An optional package is not installed."""


def missing_package(job: str, package: str, extra: str) -> MissingPackage:
    """The error of a job that needs a package of an extra, with the line that installs it.

    >>> print(missing_package("Training a network", "torch", "learn"))
    Training a network needs torch, which is not installed. Install it: pip install 'sfumato[learn]'
    """
    return MissingPackage(
        f"{job} needs {package}, which is not installed. Install it: pip install 'sfumato[{extra}]'"
    )
