from pathlib import Path

import pytest
import torch
from torch import Tensor

from sfumato.errors import DataError
from sfumato.learn.networks import Network, build_network, load_weights, save_weights


def resnet_8(*, classes: int = 3, channels: int = 1, seed: int = 0) -> Network:
    return build_network("resnet-8", classes=classes, image_shape=(8, 8, channels), seed=seed)


def some_images() -> Tensor:
    return torch.randn(4, 1, 8, 8, generator=torch.Generator().manual_seed(0))


def test_loaded_network_answers_as_the_saved_one_did(tmp_path: Path) -> None:
    saved, loaded = resnet_8(seed=1), resnet_8(seed=2)
    saved(some_images())  # moves the batch statistics, which must be kept too
    saved.eval(), loaded.eval()

    save_weights(saved, tmp_path / "weights.safetensors")
    load_weights(loaded, tmp_path / "weights.safetensors")

    assert torch.equal(loaded(some_images()), saved(some_images()))
    assert [path.name for path in tmp_path.iterdir()] == ["weights.safetensors"]


def test_same_weights_give_the_same_bytes_in_any_layout(tmp_path: Path) -> None:
    one, other = resnet_8(), resnet_8()
    other.to(memory_format=torch.channels_last)  # type: ignore[call-overload]

    save_weights(one, tmp_path / "one")
    save_weights(other, tmp_path / "other")

    assert (tmp_path / "one").read_bytes() == (tmp_path / "other").read_bytes()


def test_loading_keeps_the_memory_layout(tmp_path: Path) -> None:
    network = resnet_8(channels=3)
    save_weights(network, tmp_path / "weights")
    network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]

    load_weights(network, tmp_path / "weights")

    kernel = next(weight for weight in network.parameters() if weight.shape == (32, 16, 3, 3))
    assert kernel.is_contiguous(memory_format=torch.channels_last)


def test_other_classes_are_refused_with_both_shapes_and_nothing_changes(tmp_path: Path) -> None:
    save_weights(resnet_8(classes=10), tmp_path / "weights")
    network, untouched = resnet_8(classes=11, seed=5), resnet_8(classes=11, seed=5)

    with pytest.raises(
        DataError, match=r"holds 'head.weight' as float32 \(10, 64\).*has float32 \(11, 64\)"
    ):
        load_weights(network, tmp_path / "weights")

    for found, expected in zip(network.parameters(), untouched.parameters(), strict=True):
        assert torch.equal(found, expected)


def test_other_precision_is_refused(tmp_path: Path) -> None:
    save_weights(resnet_8().half(), tmp_path / "weights")

    with pytest.raises(DataError, match=r"float16 .*, but the network has float32"):
        load_weights(resnet_8(), tmp_path / "weights")


def test_deeper_network_names_the_tensor_it_lacks(tmp_path: Path) -> None:
    save_weights(resnet_8(), tmp_path / "weights")
    deeper = build_network("resnet-20", classes=3, image_shape=(8, 8, 1), seed=0)

    with pytest.raises(DataError, match=r"lacks the tensor 'body\.stage1\.1.*' of float32 \("):
        load_weights(deeper, tmp_path / "weights")


def test_shallower_network_names_the_tensor_it_has_no_place_for(tmp_path: Path) -> None:
    deeper = build_network("resnet-20", classes=3, image_shape=(8, 8, 1), seed=0)
    save_weights(deeper, tmp_path / "weights")

    with pytest.raises(DataError, match=r"no place for; the first is 'body\.stage1\.1"):
        load_weights(resnet_8(), tmp_path / "weights")


def test_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no file of weights .*nowhere"):
        load_weights(resnet_8(), tmp_path / "nowhere")


@pytest.mark.parametrize("kept", [0, 5, 1000])
def test_torn_file_is_refused(tmp_path: Path, kept: int) -> None:
    path = tmp_path / "weights"
    save_weights(resnet_8(), path)
    path.write_bytes(path.read_bytes()[:kept])

    with pytest.raises(DataError, match="not a complete safetensors file"):
        load_weights(resnet_8(), path)


def test_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no folder .*nowhere to write weights"):
        save_weights(resnet_8(), tmp_path / "nowhere" / "weights")


def test_failed_writing_keeps_the_old_file_and_leaves_no_scraps(tmp_path: Path) -> None:
    (tmp_path / "weights").mkdir()  # a folder is in the way

    with pytest.raises(DataError, match="cannot be written"):
        save_weights(resnet_8(), tmp_path / "weights")

    assert [path.name for path in tmp_path.iterdir()] == ["weights"]
