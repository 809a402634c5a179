"""Datasets by name: where they come from, what is here, their images, answers and labels."""

from sfumato.data.decode import (
    load,
    load_features,
    load_judgments,
    load_labels,
    load_split,
    official_archive,
    parts,
)
from sfumato.data.fetch import Download, check, get
from sfumato.data.images import FeatureSet, ImageSet, remap
from sfumato.data.own import load_own
from sfumato.data.registry import DATASETS, data_folder, listing, locate, path

__all__ = [
    "DATASETS",
    "Download",
    "FeatureSet",
    "ImageSet",
    "check",
    "data_folder",
    "get",
    "listing",
    "load",
    "load_features",
    "load_judgments",
    "load_labels",
    "load_own",
    "load_split",
    "locate",
    "official_archive",
    "parts",
    "path",
    "remap",
]
