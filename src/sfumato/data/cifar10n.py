"""CIFAR-10N: three people's hard labels for every CIFAR-10 training image."""

from sfumato.data.fetch import Dataset, RemoteFile

__all__ = ["DATASET"]

UPSTREAM = "https://raw.githubusercontent.com/UCSC-REAL/cifar-10-100n/59b5f4ed8d21aad7d09c3bc99b11eb41748250c3"

DATASET = Dataset(
    name="cifar10n",
    about="hard labels of three people for each of the 50,000 CIFAR-10 training images",
    source=(
        "github.com/UCSC-REAL/cifar-10-100n (commit 49df7d8). Wei, Zhu, Cheng, Liu, Niu, Liu, "
        '"Learning with Noisy Labels Revisited: A Study Using Real-World Human Annotations", '
        "ICLR 2022."
    ),
    licence="CC BY-NC 4.0",
    files=(
        RemoteFile(
            "cifar10n/cifar10n-labels.npz",
            size=149_520,
            sha256="6024485a143efa682792c21d7f2adfdef5a374dce699bb2fcd4d62cd55cc4852",
            made="the six arrays of data/CIFAR-10_human.pt, saved again as uint8 in one .npz file.",
        ),
        RemoteFile(
            "cifar10n/side_info_cifar10N.csv",
            size=170_902,
            sha256="50fcbe619a003d0b804a20ece51447dcdb48978c60e1202371d08302b2e14351",
            url=f"{UPSTREAM}/side_info_cifar10N.csv",
        ),
    ),
)
