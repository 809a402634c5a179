"""Five people's verdicts on labels of CIFAR-10 and MNIST that are suspected to be wrong."""

from sfumato.data.fetch import Dataset, RemoteFile

__all__ = ["DATASET"]

UPSTREAM = "https://raw.githubusercontent.com/cleanlab/label-errors/5457895eee26e49187de5c4d6617b9de6f172221"

DATASET = Dataset(
    name="label-errors",
    about=(
        "verdicts of five people on suspected label errors in the test sets of CIFAR-10 and MNIST"
    ),
    source=(
        "github.com/cleanlab/label-errors (commit 6d5d6b3). Northcutt, Athalye, Mueller, "
        '"Pervasive Label Errors in Test Sets Destabilize Machine Learning Benchmarks", NeurIPS'
        " 2021."
    ),
    licence="Apache-2.0",
    files=(
        RemoteFile(
            "label_errors/cifar10_mturk.json",
            size=88_252,
            sha256="81b2c16c9eee060d6cc2390f6bbce1e0e7be0a050574be5177c9428f3596b5b5",
            url=f"{UPSTREAM}/mturk/cifar10_mturk.json",
        ),
        RemoteFile(
            "label_errors/mnist_mturk.json",
            size=29_472,
            sha256="448bd00fc9df262c68d50d48709d7fa3d5dc966bc66580e5df20e0dcba6e5612",
            url=f"{UPSTREAM}/mturk/mnist_mturk.json",
        ),
        RemoteFile(
            "label_errors/cifar10_test_crossval_probs.npy",
            size=400_128,
            sha256="81a38d5a85df9325659de8c062eb26be3b41b9421c7645e91dfc2f1dd58c45c7",
            made="cross_validated_predicted_probabilities/cifar10_test_set_pyx.npy as float32.",
        ),
    ),
)
