"""Data sets: where they come from, what is here, and their images."""

from sfumato.data.class_map import remap
from sfumato.data.fetch import data_folder
from sfumato.data.images import FeatureSet, ImageSet
from sfumato.data.registry import DATASETS, Fetched, check, get, list_datasets, path_of

__all__ = [
    "DATASETS",
    "FeatureSet",
    "Fetched",
    "ImageSet",
    "check",
    "data_folder",
    "get",
    "list_datasets",
    "path_of",
    "remap",
]
