"""CINIC-10: turn its folders of pictures into image sets, whole or without the CIFAR-10 part."""

from pathlib import Path
from typing import Literal, assert_never

import numpy as np
from numpy.typing import NDArray

from sfumato.data.fetch import Dataset, RemoteFile, locate
from sfumato.data.images import ImageSet
from sfumato.data.pictures import decode
from sfumato.errors import DataError
from sfumato.judgments.formats.datasets import CIFAR10
from sfumato.provenance import Step

__all__ = ["DATASET", "Part", "load"]

Part = Literal["all", "imagenet", "cifar10"]

SIDE = 32

FROM_CIFAR = ("cifar10-", "cifar-10-")
"""How the names of the CIFAR-10 part begin, in the archive and in its description."""

UNPACKED = (
    "the folder of this name in CINIC-10.tar.gz (687,544,992 bytes, MD5 "
    "6ee4d0c996905fe93221de577967a372; no SHA-256 is published), unpacked."
)

DATASET = Dataset(
    name="cinic10",
    about="270,000 pictures in the classes of CIFAR-10, 210,000 of them from ImageNet",
    source=(
        "doi.org/10.7488/ds/2448, github.com/BayesWatch/cinic-10. Darlow, Crowley, Antoniou, "
        'Storkey, "CINIC-10 is not ImageNet or CIFAR-10", 2018.'
    ),
    licence="CC BY 4.0 (the pictures themselves come from CIFAR-10 and ImageNet)",
    files=tuple(
        RemoteFile(f"cinic10/{split}", size=None, sha256=None, made=UNPACKED)
        for split in ("train", "valid", "test")
    ),
)


def load(
    split: Literal["train", "valid", "test"], part: Part = "all", folder: Path | None = None
) -> ImageSet:
    """The 90,000 pictures of a split, or the 70,000 from ImageNet among them (S0-42).

    An item is its file within the split without the ending, such as "cat/n02121620_1234".
    """
    root = locate(DATASET, split, folder)
    files = [(label, path) for label, name in enumerate(CIFAR10) for path in _files(root / name)]
    files = [(label, path) for label, path in files if _belongs(path.name, part)]
    if not files:
        raise DataError(f"{root} holds no PNG pictures of the part {part!r}.")
    pictures = np.empty((len(files), SIDE, SIDE, 3), dtype=np.uint8)
    for row, (_, path) in enumerate(files):
        pictures[row] = _picture(path)
    pictures.flags.writeable = False
    return ImageSet(
        items=tuple(f"{path.parent.name}/{path.stem}" for _, path in files),
        images=pictures,
        labels=np.array([label for label, _ in files], dtype=np.int64),
        classes=CIFAR10,
        split=(split,) * len(files),
        provenance=(Step("load cinic10", {"split": split, "part": part, "items": len(files)}),),
    )


def _files(folder: Path) -> list[Path]:
    if not folder.is_dir():
        raise DataError(f"{folder} is missing; every split has a folder for each of ten classes.")
    return sorted(folder.glob("*.png"))


def _belongs(name: str, part: Part) -> bool:
    match part:
        case "all":
            return True
        case "imagenet":
            return not name.startswith(FROM_CIFAR)
        case "cifar10":
            return name.startswith(FROM_CIFAR)
        case _:
            assert_never(part)


def _picture(path: Path) -> NDArray[np.uint8]:
    pixels = decode(path.read_bytes(), str(path), "plain")
    if pixels.shape[:2] != (SIDE, SIDE):
        raise DataError(f"{path} has the shape {pixels.shape}; expected {SIDE} × {SIDE} pixels.")
    # ImageNet has grey photographs; grey is the colour with three equal parts
    return pixels if pixels.ndim == 3 else np.repeat(pixels[..., None], 3, axis=2)
