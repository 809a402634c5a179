"""CUB-S: how sure people are of 312 concepts in pictures of birds."""

from sfumato.data.fetch import Dataset, RemoteFile

__all__ = ["DATASET"]

UPSTREAM = (
    "https://raw.githubusercontent.com/collinskatie/cub-s/c3e0771a70498c180f36df09383131830abbd327"
)

DATASET = Dataset(
    name="cub-s",
    about="soft labels of 312 concepts that people gave 144 pictures of birds (labels only)",
    source=(
        "github.com/collinskatie/cub-s (commit c3e0771). Collins, Barker, Espinosa Zarlenga, "
        'Raman, Bhatt, Jamnik, Sucholutsky, Weller, Dvijotham, "Human Uncertainty in '
        'Concept-Based AI Systems", AIES 2023.'
    ),
    licence="MIT",
    files=(
        RemoteFile(
            "cub_s/cub-s_labels.json",
            size=285_328,
            sha256="0249806764f2aebd7f48a9b09d8af25fedce0564fbe4197c82ccce9e5043e053",
            url=f"{UPSTREAM}/cub-s_labels.json",
        ),
        RemoteFile(
            "cub_s/raw_cub-s_human_data.csv",
            size=944_975,
            sha256="c5c1b4874d2279fe61da420e1063deb46d9aae70e84bcdb75ee1a59ae8a7dee5",
            url=f"{UPSTREAM}/raw_cub-s_human_data.csv",
        ),
    ),
)
