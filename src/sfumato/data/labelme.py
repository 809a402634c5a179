"""LabelMe: crowd labels of scene pictures, and features of the pictures instead of the pictures."""

from pathlib import Path
from typing import Literal

from sfumato.data.fetch import Dataset, RemoteFile, locate
from sfumato.data.images import FeatureSet
from sfumato.judgments.formats.datasets import LABELME
from sfumato.judgments.formats.tables import load_array
from sfumato.provenance import Step, fingerprint_file

__all__ = ["DATASET", "load"]

UPSTREAM = "https://raw.githubusercontent.com/fmenat/PyLearningCrowds/272bf1deb6237908262b8103ae0538ae08638f41/data/LabelMe"

DATASET = Dataset(
    name="labelme",
    about=(
        "labels of 59 people for 1,000 scene pictures, with features of these and 1,688 more "
        "pictures"
    ),
    source=(
        'github.com/fmenat/PyLearningCrowds (commit 0edf617). Rodrigues, Pereira, "Deep '
        'Learning from Crowds", AAAI 2018.'
    ),
    licence="none stated",
    files=(
        RemoteFile(
            "labelme_crowd/answers.npy",
            size=59_128,
            sha256="61ae96d527c0bb056cea6df4d40a95b5237fbfb94c9be84308d21f1c7f23b11a",
            made="data/LabelMe/answers.txt as a NumPy array of int8 (-1: not asked).",
        ),
        RemoteFile(
            "labelme_crowd/labels_train.npy",
            size=1_128,
            sha256="4d29d467d14d7176e0b208fa13759bc5295ed8919ca7b3cdaad8213ac995fa1e",
            made="data/LabelMe/LabelMe_Z_train.txt as a NumPy array of uint8.",
        ),
        RemoteFile(
            "labelme_crowd/labels_valid.npy",
            size=628,
            sha256="5a02d717e6d89b655a409dfdf15bd0cf085d7ccbdb86cb7efaddf249d596d082",
            made="data/LabelMe/LabelMe_Z_valid.txt as a NumPy array of uint8.",
        ),
        RemoteFile(
            "labelme_crowd/labels_test.npy",
            size=1_316,
            sha256="e6f3284cdae712c09e31f4f12753a370be7e93f440afe6d70073ab351820a5a3",
            made="data/LabelMe/LabelMe_Z_test.txt as a NumPy array of uint8.",
        ),
        RemoteFile(
            "labelme_crowd/vgg_avg_train.npy",
            size=2_048_128,
            sha256="0ddfbcbd722aab70e81525a459cc37d47c1d344322b401ee35a3e9b158a209e8",
            url=f"{UPSTREAM}/LabelMe_VGG_avg_train.npy",
        ),
        RemoteFile(
            "labelme_crowd/vgg_avg_valid.npy",
            size=1_024_128,
            sha256="cb80ce99ef9fc80c666e6b9c43259ee0aac4e0cf82f8ac654b8bb309fb28953d",
            url=f"{UPSTREAM}/LabelMe_VGG_avg_valid.npy",
        ),
        RemoteFile(
            "labelme_crowd/vgg_avg_test.npy",
            size=2_433_152,
            sha256="af407538f702f98e775f233652152cdcb58583c9d4668492308151c126ce7873",
            url=f"{UPSTREAM}/LabelMe_VGG_avg_test.npy",
        ),
    ),
)


def load(split: Literal["train", "valid", "test"], folder: Path | None = None) -> FeatureSet:
    """The 512 averaged VGG-16 features and the true class of each picture of a split.

    An item is its row; people labelled the rows of "train".
    """
    features_file = locate(DATASET, f"vgg_avg_{split}.npy", folder)
    labels_file = locate(DATASET, f"labels_{split}.npy", folder)
    features = load_array(features_file, dimensions=2)
    step = Step(
        "load labelme",
        {"split": split},
        inputs={path.name: fingerprint_file(path) for path in (features_file, labels_file)},
    )
    return FeatureSet(
        items=tuple(map(str, range(len(features)))),
        features=features,
        labels=load_array(labels_file, dimensions=1),
        classes=LABELME,
        split=(split,) * len(features),
        provenance=(step,),
    )
