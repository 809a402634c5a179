"""CIFAR-10H: the votes of about 51 people for each CIFAR-10 test image."""

from sfumato.data.fetch import Dataset, RemoteFile

__all__ = ["DATASET"]

UPSTREAM = "https://raw.githubusercontent.com/jcpeterson/cifar-10h/597cbc5f07266c9405b830ee4a53463539124c4f/data"

DATASET = Dataset(
    name="cifar10h",
    about="votes of about 51 people for each of the 10,000 CIFAR-10 test images",
    source=(
        "github.com/jcpeterson/cifar-10h (commit 48da312). Peterson, Battleday, Griffiths, "
        'Russakovsky, "Human Uncertainty Makes Classification More Robust", ICCV 2019.'
    ),
    licence="CC BY-NC-SA 4.0",
    files=(
        RemoteFile(
            "cifar10h/cifar10h-counts.npy",
            size=800_128,
            sha256="9b36b4550349af56c79083356312eb4af856cc5fd3caf1f669d40b9d0bbb69ff",
            url=f"{UPSTREAM}/cifar10h-counts.npy",
        ),
        RemoteFile(
            "cifar10h/cifar10h-probs.npy",
            size=800_128,
            sha256="436ae98620e00073f9d08585ac870573b588853e7af9f54eb1647408114af77d",
            url=f"{UPSTREAM}/cifar10h-probs.npy",
        ),
    ),
)
