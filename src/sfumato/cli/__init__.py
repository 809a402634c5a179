"""The command line: parses, calls one function, prints.

Nothing heavy is imported before a command runs, so that ``sfumato --help`` answers at once.
"""

import sys

from sfumato.errors import SfumatoError

__all__ = ["main"]


def main() -> None:
    """Run the command line; a mistake in the input is one sentence and exit code 1."""
    from sfumato.cli.commands import app

    try:
        app()
    except SfumatoError as error:
        sys.stderr.write(f"sfumato: {error}\n")
        raise SystemExit(1) from None
    except BrokenPipeError:  # the reader of a pipe, such as head, has seen enough
        sys.stderr.close()
        raise SystemExit(0) from None
