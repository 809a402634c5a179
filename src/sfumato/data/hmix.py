"""H-Mix: what people see in mixtures of two CIFAR-10 test images."""

from sfumato.data.fetch import Dataset, RemoteFile

__all__ = ["DATASET"]

# The mixed pictures are not stored: each is lambda * test[id1] + (1 - lambda) * test[id2] in
# pixels, with the ids and lambda in its name.
TABLES = "https://raw.githubusercontent.com/cambridge-mlg/hill-mixup/0231d4f010b65d9b614370f82accf825b38f94fd/h_mix"
PROCESSED = "https://raw.githubusercontent.com/cambridge-mlg/hill-mixup/82b679f5c7efd94dd9f0e9eb4296580c9e572861/h_mix"

DATASET = Dataset(
    name="hmix",
    about=(
        "mixing factors, midpoints and soft labels that people gave mixtures of two CIFAR-10 "
        "test images"
    ),
    source=(
        "github.com/cambridge-mlg/hill-mixup (commit 5a02273). Collins, Bhatt, Liu, Piratla, "
        'Sucholutsky, Love, Weller, "Human-in-the-Loop Mixup", UAI 2023.'
    ),
    licence="none stated",
    files=(
        RemoteFile(
            "hmix/processed_hmix_inferences.json",
            size=779_101,
            sha256="0cec610ca92a493a8551b923dec5fdfedfcca0fe199f55aa2447db16621bcea7",
            url=f"{PROCESSED}/processed_hmix_inferences.json",
        ),
        RemoteFile(
            "hmix/hmix_infer_mixing_factor.csv",
            size=1_268_629,
            sha256="9f8aa49c85e9879453a032ea43abf7764425fe1a452c8fdd5f3c9b7c9fd35eeb",
            url=f"{TABLES}/hmix_infer_mixing_factor.csv",
        ),
        RemoteFile(
            "hmix/hmix_construct_midpoint.csv",
            size=225_751,
            sha256="0b07e7acadf4b3c9f62b8a61e3f4a09114ec6cf4b515936410903f2e4085f452",
            url=f"{TABLES}/hmix_construct_midpoint.csv",
        ),
        RemoteFile(
            "hmix/hmix_select_shuffled_midpoint.csv",
            size=133_879,
            sha256="866a1b015aad28ef00a9811c23c4d5b8b042eb4a1b12d055a84d5a503eb8a89e",
            url=f"{TABLES}/hmix_select_shuffled_midpoint.csv",
        ),
        RemoteFile(
            "hmix/hmix_categorical_soft_labels.csv",
            size=117_228,
            sha256="c9dec5d338399b6152db3b8389a98e98dc264bb6e07e5b4e07746a046f020584",
            url=f"{TABLES}/hmix_categorical_soft_labels.csv",
        ),
        RemoteFile(
            "hmix/hmix_individ_soft_labels.json",
            size=23_785,
            sha256="1433a745204f798c5fc3c1c029b37a8a29e2e4c558320a9443a8d1dd93b0db6b",
            url=f"{PROCESSED}/hmix_individ_soft_labels.json",
        ),
    ),
)
