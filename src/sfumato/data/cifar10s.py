"""CIFAR-10S: soft labels that single people gave 1,000 CIFAR-10 test images, and the split."""

from pathlib import Path

from sfumato.data.fetch import Dataset, RemoteFile, locate
from sfumato.judgments.formats.tables import load_array

__all__ = ["DATASET", "paper_split"]

UPSTREAM = "https://raw.githubusercontent.com/cambridge-mlg/cifar-10s/99e571606d4ddb4f1e818d1b7432f047daa72b1e/cifar10s_data"
SPLITS = "https://raw.githubusercontent.com/cambridge-mlg/cifar-10s/71ebccfed1fc4fb2109da977aabc7b3362a76230/other_data"
REDACTED = (
    "cifar10s_data/raw_human_data.csv with one platform id, which a participant had typed into a "
    "comment, replaced by `[id redacted]`."
)

DATASET = Dataset(
    name="cifar10s",
    about=(
        "soft labels that single people gave 1,000 CIFAR-10 test images, every page of every "
        "session"
    ),
    source=(
        "github.com/cambridge-mlg/cifar-10s (commit 86b114f). Collins, Bhatt, Weller, "
        '"Eliciting and Learning with Soft Labels from Every Annotator", HCOMP 2022.'
    ),
    licence="none stated",
    files=(
        RemoteFile(
            "cifar10s/raw_human_data.csv",
            size=3_471_740,
            sha256="935a0d1356ced0bf6c00bfddf1f50d314437bec6f0c4bb098f2accb15b0b9b8b",
            made=REDACTED,
        ),
        RemoteFile(
            "cifar10s/human_soft_labels_data.json",
            size=1_618_452,
            sha256="95149462b12839e192a1389d1f91189496b621b9391831eef5461dff9cae5ca6",
            url=f"{UPSTREAM}/human_soft_labels_data.json",
        ),
        RemoteFile(
            "cifar10s/cifar10s_t2clamp_redist10.json",
            size=476_394,
            sha256="ec27ee6f4cce01fcfdb511095821d0f00e2238b1f5b7074aa054c89b83b5cfb7",
            url=f"{UPSTREAM}/cifar10s_t2clamp_redist10.json",
        ),
        RemoteFile(
            "cifar10s/train_indices.npy",
            size=56_128,
            sha256="af80134e896dda7f42c7acc9386243d53b4bf54c996b219452fa6ac600c8883a",
            url=f"{SPLITS}/train_indices.npy",
        ),
        RemoteFile(
            "cifar10s/test_indices.npy",
            size=24_128,
            sha256="2cda098d4cc19137cde538b37f26759e8c0fbc20c470aa89a9574f4edba2bcbb",
            url=f"{SPLITS}/test_indices.npy",
        ),
    ),
)


def paper_split(folder: Path | None = None) -> dict[str, str]:
    """CIFAR-10 test image to "train" (7,000) or "test" (3,000), as in the paper.

    All 1,000 images with soft labels are among the 7,000. ``ImageSet.with_splits`` takes it.
    """
    return {
        str(index): split
        for split in ("train", "test")
        for index in load_array(locate(DATASET, f"{split}_indices.npy", folder), dimensions=1)
    }
