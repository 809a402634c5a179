"""Turn the weights of a network into a safetensors file, and such a file into weights."""

from pathlib import Path

from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from sfumato.errors import DataError

__all__ = ["load_weights", "save_weights"]


def save_weights(network: nn.Module, path: Path) -> None:
    """Write all weights and batch statistics; the same weights give the same bytes.

    The file appears whole or not at all: it is written under another name and then renamed.
    """
    if not path.parent.is_dir():
        raise DataError(f"There is no folder {path.parent} to write {path.name} into.")
    part = path.with_name(f".{path.name}.part")
    # safetensors refuses tensors in other memory layouts, such as channels-last
    tensors = {name: tensor.contiguous() for name, tensor in network.state_dict().items()}
    try:
        save_file(tensors, part)
        part.replace(path)
    except (OSError, SafetensorError) as error:
        raise DataError(f"The weights cannot be written to {path}: {error}.") from error
    finally:
        part.unlink(missing_ok=True)


def load_weights(network: nn.Module, path: Path) -> None:
    """Read into ``network`` what ``save_weights`` wrote of one with the same layers.

    The network keeps its device and memory layout. Nothing is changed if anything does not fit.
    """
    stored = _read(path)
    needed = network.state_dict()
    for name, tensor in needed.items():
        if name not in stored:
            raise DataError(
                f"{path} lacks the tensor {name!r} of {_describe(tensor)} that the network needs. "
                f"Build the network under the name, classes and image shape it was saved with."
            )
        if _describe(stored[name]) != _describe(tensor):
            raise DataError(
                f"{path} holds {name!r} as {_describe(stored[name])}, but the network has "
                f"{_describe(tensor)}. Build it with the classes and image shape it was saved with."
            )
    extra = sorted(stored.keys() - needed.keys())
    if extra:
        raise DataError(
            f"{path} holds {len(extra)} tensors that the network has no place for; the first is "
            f"{extra[0]!r} of {_describe(stored[extra[0]])}. Build the network that was saved."
        )
    network.load_state_dict(stored)


def _read(path: Path) -> dict[str, Tensor]:
    if not path.is_file():
        raise DataError(f"There is no file of weights {path}.")
    try:
        return load_file(path)
    except SafetensorError as error:
        raise DataError(
            f"{path} is not a complete safetensors file ({error}). Save the weights again."
        ) from error


def _describe(tensor: Tensor) -> str:
    return f"{str(tensor.dtype).removeprefix('torch.')} {tuple(tensor.shape)}"
