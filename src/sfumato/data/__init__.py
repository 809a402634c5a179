"""Datasets by name: where they come from, what is here, their images, answers and labels."""

from sfumato.data.decode import (
    load,
    load_features,
    load_judgments,
    load_labels,
    load_set,
    load_split,
    load_texts,
    official_archive,
    parts,
)
from sfumato.data.images import FeatureSet, ImageSet, load_own, remap
from sfumato.data.registry import DATASETS, Download, check, data_folder, get, listing, locate, path
from sfumato.data.texts import TextSet

__all__ = [
    "DATASETS",
    "Download",
    "FeatureSet",
    "ImageSet",
    "TextSet",
    "check",
    "data_folder",
    "get",
    "listing",
    "load",
    "load_features",
    "load_judgments",
    "load_labels",
    "load_own",
    "load_set",
    "load_split",
    "load_texts",
    "locate",
    "official_archive",
    "parts",
    "path",
    "remap",
]
