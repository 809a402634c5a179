"""What eight published networks believe about the CIFAR-10 test images."""

from sfumato.data.fetch import Dataset, RemoteFile

__all__ = ["DATASET"]

SAVED_AGAIN = (
    "the softmax outputs of the repository, saved again as float32 under the name `probs`, "
    "in official test order."
)
LABELS = "the official test labels in official order, a NumPy array of uint8."

DATASET = Dataset(
    name="cifar10h-predictions",
    about=(
        "probabilities that eight published networks give the CIFAR-10 test images (models, not"
        " people)"
    ),
    source=(
        "github.com/jcpeterson/cifar10-human-experiments (commit efadada). Peterson, Battleday,"
        ' Griffiths, Russakovsky, "Human Uncertainty Makes Classification More Robust", ICCV '
        "2019."
    ),
    licence="none stated",
    files=(
        RemoteFile(
            "cifar10h-predictions/densenet_BC_100_12.npz",
            size=375_681,
            sha256="11aac2b47ae23ae44246f2cbb19e7910f71aa09c9fe56c8af6c17d7c33ab3eee",
            made=SAVED_AGAIN,
        ),
        RemoteFile(
            "cifar10h-predictions/pyramidnet_basic_110_270.npz",
            size=372_375,
            sha256="bd6cdacdce4695111cb17e3b4312fb97b1b11741548ad3698c18a4865c431e88",
            made=SAVED_AGAIN,
        ),
        RemoteFile(
            "cifar10h-predictions/resnet_basic_110.npz",
            size=373_885,
            sha256="cc1ebc50a8c78dab13f7755aaa64d720f4d059b3d9e8bf54886b4e5560f8617c",
            made=SAVED_AGAIN,
        ),
        RemoteFile(
            "cifar10h-predictions/resnet_preact_bottleneck_164.npz",
            size=375_021,
            sha256="87b3c21c4bf45720b47e8fcf571f4864452704494ca8c6e15811e84bfae2cdc7",
            made=SAVED_AGAIN,
        ),
        RemoteFile(
            "cifar10h-predictions/resnext_29_8x64d.npz",
            size=374_145,
            sha256="fa0494ad88bf3775864540abb312c3f3a344827b3997fe325cacf75335a8f8dd",
            made=SAVED_AGAIN,
        ),
        RemoteFile(
            "cifar10h-predictions/shake_shake_26_2x64d_SSI_cutout16.npz",
            size=374_384,
            sha256="08dbca61eb9ea9cb93f65cc62b4f9f8cc9cab2054faad4d8dc75ffd52f22f8f6",
            made=SAVED_AGAIN,
        ),
        RemoteFile(
            "cifar10h-predictions/test_labels.npy",
            size=10_128,
            sha256="19004b019bd095265b4ce6637c9ff979c66abcbc8e658a665f791b487cdea5eb",
            made=LABELS,
        ),
        RemoteFile(
            "cifar10h-predictions/vgg_15_BN_64.npz",
            size=372_536,
            sha256="e25743272975980d87670741d7e4065b37437cb7804368bab70af90fedb1c9f7",
            made=SAVED_AGAIN,
        ),
        RemoteFile(
            "cifar10h-predictions/wrn_28_10.npz",
            size=364_490,
            sha256="6759149dfefdaee5ea9c7e66c821215b1ab57b17c0d262d11de9756c4f156ff7",
            made=SAVED_AGAIN,
        ),
    ),
)
