"""A far set keeps ids and pixels, and says what it left out."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from sfumato.data import ImageSet, remap
from sfumato.errors import DataError, UnknownName
from sfumato.provenance import Step, from_json, to_json

OLD = ("ibex", "gazelle", "zebra", "teapot")
NEW = ("deer", "horse")
FAR = {"ibex": "deer", "gazelle": "deer", "zebra": "horse"}


def pool(labels: list[int]) -> ImageSet:
    pixels = np.random.default_rng(3).integers(0, 256, (len(labels), 9, 12, 3), dtype=np.uint8)
    items = tuple(f"n{row}" for row in range(len(labels)))
    split = tuple(("train", "test")[row % 2] for row in range(len(labels)))
    return ImageSet(items, pixels, np.array(labels, np.int64), OLD, split, (Step("load pool"),))


def test_imagenet_far_is_deer_from_ibex_and_gazelle_and_horse_from_zebra() -> None:
    images = pool([0, 3, 1, 2, 3])

    far = remap(images, FAR, NEW)

    assert far.items == ("n0", "n2", "n3")
    assert [far.classes[label] for label in far.labels] == ["deer", "deer", "horse"]
    assert far.split == ("train", "train", "test")
    assert np.array_equal(far.images, images.images[[0, 2, 3]])


@given(
    st.lists(st.integers(0, 3), min_size=1, max_size=12),
    st.dictionaries(st.sampled_from(OLD), st.sampled_from([*NEW, None])),
)
def test_every_picture_is_kept_or_counted(
    labels: list[int], mapping: dict[str, str | None]
) -> None:
    images = pool(labels)
    wanted = {f"n{row}": mapping.get(OLD[label]) for row, label in enumerate(labels)}
    kept = {item: name for item, name in wanted.items() if name}
    if not kept:
        with pytest.raises(DataError, match="None of the"):
            remap(images, mapping, NEW)
        return

    far = remap(images, mapping, NEW)

    dropped = far.provenance[-1].settings["dropped"]
    assert isinstance(dropped, dict)
    assert dict(zip(far.items, (NEW[label] for label in far.labels), strict=True)) == kept
    assert len(far) + sum(int(str(count)) for count in dropped.values()) == len(images)


def test_provenance_goes_on_from_the_pools_and_can_be_written() -> None:
    far = remap(pool([0, 3, 3]), {**FAR, "teapot": None}, NEW, size=(4, 4))

    assert [step.name for step in far.provenance] == ["load pool", "remap classes"]
    assert far.provenance[-1].settings == {
        "mapping": {**FAR, "teapot": None},
        "size": [4, 4],
        "dropped": {"teapot": 2},
    }
    assert from_json(to_json(far.provenance)) == far.provenance  # type: ignore[arg-type]


def test_resizing_is_pillows_lanczos() -> None:
    images = pool([0, 2])

    far = remap(images, FAR, NEW, size=(5, 7))

    for ours, old in zip(far.images, images.images, strict=True):
        expected = Image.fromarray(old).resize((7, 5), Image.Resampling.LANCZOS)
        assert np.array_equal(ours, np.asarray(expected))


def test_unknown_names_on_either_side_get_the_nearest() -> None:
    with pytest.raises(UnknownName, match=r"No class of the pool is called 'zebras'.*'zebra'"):
        remap(pool([0]), {"zebras": "horse"}, NEW)
    with pytest.raises(UnknownName, match=r"No new class is called 'hors'.*'horse'"):
        remap(pool([0]), {"zebra": "hors"}, NEW)


def test_a_size_of_nothing_is_refused() -> None:
    with pytest.raises(DataError, match="cannot be made 0 × 4 pixels"):
        remap(pool([0]), FAR, NEW, size=(0, 4))
