"""Fashion-MNIST-H: about 67 votes for each Fashion-MNIST test image, and the images."""

from pathlib import Path

from sfumato.data.fetch import Dataset, RemoteFile, locate
from sfumato.data.idx import idx_images
from sfumato.data.images import ImageSet
from sfumato.judgments.formats.datasets import FASHION_MNIST

__all__ = ["DATASET", "load"]

UPSTREAM = "https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion"

DATASET = Dataset(
    name="fashion-mnist-h",
    about=(
        "votes of about 67 people for each of the 10,000 Fashion-MNIST test images, with the images"
    ),
    source=(
        "votes: github.com/takashiishida/irreducible (commit 4bc347d), Ishida, Yamane, "
        'Charoenphakdee, Niu, Sugiyama, "Is the Performance of My Deep Network Too Good to Be '
        'True?", ICLR 2023; images: github.com/zalandoresearch/fashion-mnist, Xiao, Rasul, '
        "Vollgraf, 2017."
    ),
    licence="GPL-3.0 (votes), MIT (images)",
    files=(
        RemoteFile(
            "fashion_mnist_h/fmh-counts.npy",
            size=200_128,
            sha256="968e75940fd596d1696b7119ff2ee98dfae801df72a096c731e91097d9502009",
            made="data/fmh_counts.csv of the repository of the votes as a NumPy array of uint16.",
        ),
        RemoteFile(
            "fashion_mnist_h/t10k-images-idx3-ubyte.gz",
            size=4_422_102,
            sha256="5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
            url=f"{UPSTREAM}/t10k-images-idx3-ubyte.gz",
        ),
        RemoteFile(
            "fashion_mnist_h/t10k-labels-idx1-ubyte.gz",
            size=5_148,
            sha256="0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34",
            url=f"{UPSTREAM}/t10k-labels-idx1-ubyte.gz",
        ),
    ),
)


def load(folder: Path | None = None) -> ImageSet:
    """The 10,000 test images of Fashion-MNIST; an item is its place in the file."""
    return idx_images(
        name="fashion-mnist",
        images=locate(DATASET, "t10k-images-idx3-ubyte.gz", folder),
        labels=locate(DATASET, "t10k-labels-idx1-ubyte.gz", folder),
        classes=FASHION_MNIST,
        split="test",
    )
