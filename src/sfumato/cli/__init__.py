"""The command line: parses, calls one function, prints.

Nothing heavy is imported before a command runs, so that ``sfumato --help`` answers at once.
"""

import sys

from sfumato.errors import MissingDataset, SfumatoError, explain_missing

__all__ = ["main"]

INTERRUPTED = 130
"""What a shell expects of a program that was stopped with Ctrl-C."""


def main() -> None:
    """Run the command line; a mistake in the input is one sentence and exit code 1."""
    try:
        from sfumato.cli.commands import app

        app()
    except MissingDataset as error:
        _end(f"{error} `sfumato data get {error.dataset}` fetches it or says how to make it.")
    except SfumatoError as error:
        _end(str(error))
    except BrokenPipeError:  # the reader of a pipe, such as head, has seen enough
        sys.stderr.close()
        raise SystemExit(0) from None
    except KeyboardInterrupt:
        raise SystemExit(INTERRUPTED) from None
    except Exception as error:
        sentence = _explain(error)
        if sentence is None:  # our own mistake: the traceback says where
            raise
        _end(sentence)


def _end(sentence: str) -> None:
    sys.stderr.write(f"sfumato: {sentence}\n")
    raise SystemExit(1) from None


def _explain(error: Exception) -> str | None:
    """What to do about an error that no line of ours raised; None where it is our mistake."""
    from sfumato.cli.memory import explain_shortage

    if isinstance(error, ModuleNotFoundError):
        missing = explain_missing(error, f"`{_command()}`")
        return None if missing is None else str(missing)
    shortage = explain_shortage(error)
    if shortage is not None:
        return shortage
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        return f"{error.filename}: {error.strerror}."
    return None


def _command() -> str:
    """The command that was typed, without its options."""
    from sfumato.cli.commands import COMMANDS

    typed = [word for word in sys.argv[1:] if word in COMMANDS]
    return " ".join(["sfumato", *typed[:1]])
