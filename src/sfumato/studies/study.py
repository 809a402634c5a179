"""What a study compares on what: one kind of record, read from a TOML file.

The studies that come with Sfumato are the files in ``specs/``; a study of one's own is a file of
the same kind and can do all that they do. A file may say ``extends = "NAME"`` (a shipped study or
base, or a file beside it; of a list the later ones come on top) and holds values only: whatever
needs an ``if`` is an arm (``arms``), a measure (``measures``) or a loader (``data``). The tables
``[cpu]``, ``[lab]`` and ``[paper]`` hold what differs by size; ``extends = "paper"`` in one of them
begins with another.
"""

import os
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from importlib.resources import files
from itertools import product
from pathlib import Path
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    ClassVar,
    Literal,
    get_args,
    get_origin,
    get_type_hints,
)

import tomli_w
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PositiveFloat,
    TypeAdapter,
    ValidationError,
    model_validator,
)

from sfumato.errors import DataError, UnknownName
from sfumato.evaluation.corruptions import CORRUPTIONS
from sfumato.judgments.formats import FORMATS
from sfumato.judgments.formats.reading import ReadOptions
from sfumato.judgments.quality import RULES
from sfumato.labels.build import RECIPES
from sfumato.labels.simulate import SIMULATORS
from sfumato.labels.simulate.top_two import HabitsName
from sfumato.learn.networks import NETWORKS
from sfumato.learn.recipe import ALPHAS, RATES, Optimizer, Recipe, Schedule, published_recipe
from sfumato.names import find
from sfumato.planning.grid import (
    CURVE_SIZES,
    DIMENSIONS,
    FLIPPED_AT,
    FLIPS,
    KEPT,
    MAP_SIZES,
    default_points,
)
from sfumato.planning.worlds import CODES, PCA
from sfumato.tabular import ShortRepr

if TYPE_CHECKING:
    from sfumato.evaluation.attacks import Attack

Size = Literal["cpu", "lab", "paper"]
SIZES: tuple[Size, ...] = get_args(Size)

Presentation = Literal["fixed", "sampled", "one annotator"]

Whole = Annotated[int, Field(strict=True)]
"""A whole number; ``true`` is none."""


class StudySettings(BaseModel):
    """Frozen settings in which an unknown key is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")


GRID_SIGNS = {"gamma": "γ", "beta": "β", "alpha": "α", "kappa": "κ"}
"""Numbers of an arm that grids are searched over, and their signs in its name."""


class Arm(StudySettings):
    """What networks learn from, as fields; its name is made from them.

    >>> Arm(labels="T2 clamp", people=2).name, Arm(labels="hard", items=250).name
    ('T2 clamp M=2', "hard N'=250")
    >>> Arm(labels="CIFAR-10H", people=6, majority=True).name
    'CIFAR-10H M=6 majority'
    >>> Arm(labels="soft", mix="mixup").name, Arm(labels="soft", temperature=0.5).name
    ('mixup, soft', 'soft T=0.5')
    >>> Arm(labels="T2 clamp", gamma=0.2).name, Arm(mix="Ent-WC", alpha=0.4, kappa=0.5).name
    ('T2 clamp γ=0.2', 'Ent-WC α=0.4 κ=0.5')
    """

    labels: str = "original"
    """A label set of the data, a recipe of ``labels.build`` where there are judgments, or a name of
    ``arms.LABELS``."""
    people: Whole | None = None
    """So many annotators per item, drawn anew each seed; None: all there are."""
    majority: bool = False
    """Their most frequent answer as a hard label."""
    shown: Presentation = "fixed"
    """The same distribution at each presentation, a label drawn from it, or one annotator's."""
    temperature: PositiveFloat | None = None
    """Each label raised to the power 1/T and renormalised (S0-13): sharper below 1, else softer."""
    items: Whole | None = None
    """So many elicited items and no others."""
    per_class: Whole | None = None
    """So many items of each class and no others."""
    mix: str = ""
    """How every batch is mixed: a name of ``learn.published.MIXINGS``."""
    added: str = ""
    """Mixed images that are added, by the labels they have: a name of ``arms.ADDED``."""
    curve: str = ""
    """How the labels of mixes are bent: a name of ``arms.CURVES``."""
    use: Literal["learnt", "as pretrained"] = "learnt"
    """Whether a network learns the labels, or is tested as pretraining left it."""
    gamma: float | None = None
    """What a recipe keeps back for classes that were not ruled out (S2-18); None: its own."""
    beta: float | None = Field(default=None, ge=0, le=1)
    """Label smoothing on top of the labels (S2-25, S2-26)."""
    alpha: float | None = None
    """Of Beta(α, α) that ``mix`` draws coefficients from; None: as published."""
    kappa: float | None = None
    """The least weight of the clamped loss of ``mix``; None: as published (S2-63)."""

    @model_validator(mode="after")
    def _fits(self) -> "Arm":
        for name in ("alpha", "kappa"):
            if getattr(self, name) is not None and not self.mix:
                raise ValueError(f"{name} says how batches are mixed; the arm needs a mix")
        made = self.added or self.curve or self.use == "as pretrained"
        for name in ("gamma", "beta"):
            if getattr(self, name) is not None and made:
                raise ValueError(f"{name} changes the labels of `labels`, which the arm lacks")
        return self

    @model_validator(mode="after")
    def _softens_labels(self) -> "Arm":
        if self.temperature is not None and (
            self.shown == "one annotator" or self.added or self.curve
        ):
            raise ValueError(
                'a temperature is for one distribution per item: not with shown = "one '
                'annotator", added or curve'
            )
        return self

    @property
    def name(self) -> str:
        """What the arm is called in tables, claims and figures."""
        return f"{self.family} {self.grid_values}".rstrip()

    @property
    def grid_values(self) -> str:
        """What it has of the numbers that grids are searched over, such as ``γ=0.2``."""
        stated = {sign: getattr(self, field) for field, sign in GRID_SIGNS.items()}
        return " ".join(f"{sign}={v:g}" for sign, v in stated.items() if v is not None)

    @property
    def family(self) -> str:
        """The name without what is searched over: arms of a family differ in that alone."""
        if self.use == "as pretrained":
            return "pretrained"
        if self.added:
            return self.added
        if self.curve:
            return self.curve if self.mix == "mixup" else f"{self.curve} + {self.mix}"
        warm = "" if self.temperature is None else f" T={self.temperature:g}"
        text = f"{self.labels}{warm}"
        if self.mix:
            return self.mix if text == "original" else f"{self.mix}, {text}"
        if self.per_class is not None:
            few = f"{self.per_class:,} a class"
            return few if text == "original" else f"{text}, {few}"
        if self.people is not None:
            text += f" M={self.people}"
        elif self.shown != "fixed" and self.items is None:
            text += " separate"
        if self.majority:
            text += " majority"
        return text if self.items is None else f"{text} N'={self.items}"


class Head(StudySettings):
    """A network on the vectors of an encoder of texts or images, under a name of its own."""

    network: str = "linear"
    encoder: str = "tf-idf"
    """As ``sfumato.encode`` takes it."""
    learning_rate: float | None = None
    weight_decay: float | None = None
    epochs: Whole | None = None
    batch_size: Whole | None = None
    optimizer: Optimizer | None = None
    schedule: Schedule | None = None
    """What differs from the study's training; None: nothing."""


HEADS: dict[str, Head] = {
    "efficientnet linear": Head(
        network="linear", encoder="efficientnet-lite0", optimizer="adam", schedule="cosine",
        learning_rate=1e-2, weight_decay=0.0, epochs=30, batch_size=256,
    ),
    "efficientnet mlp": Head(
        network="mlp", encoder="efficientnet-lite0", optimizer="adam", schedule="cosine",
        learning_rate=3e-2, weight_decay=0.0, epochs=30, batch_size=256,
    ),
}  # fmt: skip
"""Heads on frozen features that every study of images may name among its networks; what its table
``[heads]`` says of them comes on top.

Rates were chosen by the hard arm of ``cifar10s-aggregate`` alone: the linear head knows 84 % of
6,900 images at the end and is about as sure as it is right, the other knows all of them and is far
too sure, as the papers' networks are; both are right about 77 % of those tested."""


class SimulatedPeople(StudySettings):
    """Simulated people, for data without real ones or about items that nobody judged."""

    kind: str = "top-two"
    """A name of ``labels.simulate.SIMULATORS``."""
    per_item: Whole = 6
    annotators: Whole = 60
    habits: HabitsName = "independent"
    """How they draw their numbers where they are fitted to real people (``mixing``)."""


class Own(StudySettings):
    """Files of one's own; paths are relative to the study's file."""

    images: str = ""
    """A folder or zip archive of PNG or JPEG pictures."""
    texts: str = ""
    """In place of images: a table, folder or archive of texts, as ``load_items`` reads them."""
    text: tuple[str, ...] = ()
    """The columns of a table that are the fields of a text; empty: those called as texts are."""
    table: str = ""
    """A CSV table with the columns ``item`` and ``label``, and ``split`` where parts are given."""
    judgments: str = ""
    """What people said about them."""
    format: str = "sfumato"
    """The format of the judgments."""
    question: str = ""
    """The question's file, where it does not lie beside the judgments."""
    classes: tuple[str, ...] = ()
    """The classes, where the judgments do not name them all."""
    size: tuple[int, ...] = ()
    """Height and width to resize the pictures to; empty leaves them."""
    original: str = ""
    """A file of label distributions that stand for the original labels."""
    exclude: tuple[str, ...] = ()
    """Rules of ``judgments.quality`` whose findings are left out."""
    people: Whole | None = Field(default=None, ge=1)
    """So many annotators per item at most, drawn once."""
    vectors: str = ""
    """A file of word vectors, for recipes that spread mass by similarity."""
    sets: Mapping[str, str] = {}
    """Label sets of any data's items by the names that arms and tests use: files of label
    distributions, or FORMAT=FILE of judgments."""
    ratings: str = ""
    """A file of rated pairs of items, which similarities are held against."""


class FurtherSets(StudySettings):
    """Which images further away are tested, and how many; for data that has such sets."""

    sets: tuple[str, ...] = ()
    """Which sets, by the names of their labels."""
    near: Whole = 0
    """So many of the near images, in an order that is always the same."""
    pretraining: Whole = 0
    """So many of the next ones are learnt before."""
    most: Whole | None = None
    """So many of each other set at most."""
    cinic10: tuple[Literal["train", "valid", "test"], ...] = ("test",)
    """The parts of CINIC-10 whose images from ImageNet are tested on; all are 210,000 (S0-42)."""


class Parts(StudySettings):
    """How items are divided into those to learn, to choose on and to report."""

    kind: Literal["stratified", "difficulty", "given", "folds", "held out"] = "stratified"
    shares: tuple[float, ...] = (0.7, 0.15, 0.15)
    """For training, choosing and reporting, with ``stratified`` and ``difficulty``."""
    seed: Whole | Literal["each"] = 0
    """Of the division; "each": every training seed has its own."""
    held_out: Whole = 0
    """Elicited items that are held out as a second test, with ``held out``."""
    learn_validation: bool = False
    """Whether the given part to choose on is learnt too, with ``given``: nothing is chosen then."""

    @model_validator(mode="after")
    def _three_shares(self) -> "Parts":
        if len(self.shares) != 3 or min(self.shares) <= 0 or abs(sum(self.shares) - 1) > 1e-9:
            raise ValueError(
                f"needs three shares above 0 that sum to 1 (training, choosing, reporting), not "
                f"{list(self.shares)}"
            )
        return self


def _listed(table: Mapping[str, tuple[float, ...]], what: str) -> BeforeValidator:
    """Values as they are, or those that a paper searched, by name."""
    return BeforeValidator(
        lambda value: find(table, value, what=what) if isinstance(value, str) else value
    )


Searched = Literal["rate", "alpha"]
"""A setting that a training chooses for itself: the learning rate, or the α of mixing."""


class Search(StudySettings):
    """What every training tries, to keep what is best on a validation part (S0-25, S0-29).

    Where the split has no such part, a tenth of the training items is set aside for it.
    """

    rates: Annotated[tuple[PositiveFloat, ...], _listed(RATES, "list of rates")] = ()
    """Learning rates, or a name of ``recipe.RATES``."""
    alphas: Annotated[tuple[PositiveFloat, ...], _listed(ALPHAS, "list of α")] = ()
    """Of Beta(α, α), for arms whose batches are mixed, or a name of ``recipe.ALPHAS``; searched
    with the rate that is best for the arm's own α."""

    def values(self, *, mixes: bool) -> dict[Searched, tuple[float, ...]]:
        """What a training tries of each setting, in turn; empty where nothing is searched."""
        alphas = self.alphas if mixes else ()
        found: dict[Searched, tuple[float, ...]] = {"rate": self.rates, "alpha": alphas}
        return {what: values for what, values in found.items() if values}


class TestSpec(StudySettings):
    """Items that every network is tested on, and the labels that it is held against."""

    __test__: ClassVar[bool] = False  # no test of ours, whatever pytest takes it for

    part: str = "test"
    items: str = "test"
    """"test", "second test", "trained on" (a sample of those learnt), "every item" (learnt, chosen
    on and held out together, as paper 1 attacks them), or a part of the data."""
    against: tuple[str, ...] = ("people", "original")
    """Label sets of the data; items without labels in the first are left out."""
    attacked: str = ""
    """Whose labels attacks drive the network away from; empty: neither attacked nor corrupted."""

    @model_validator(mode="after")
    def _attacked_are_held_against(self) -> "TestSpec":
        if self.attacked and self.attacked not in self.against:
            raise ValueError(
                f"attacks drive away from labels that are held against "
                f"({', '.join(self.against)}), not from {self.attacked!r}"
            )
        return self


class StudyCurve(StudySettings):
    """Arms drawn against what they have more or less of."""

    over: Literal["people", "items", "seconds"]
    title: str
    everybody: Mapping[str, int] = {}
    """How many people stand behind arms of all people, by their label set."""
    seconds: Mapping[str, float] = {}
    """What one answer takes, by label set; for ``seconds``."""


Subject = Literal["information", "sparsity", "costs"]
"""What is asked of worlds: what hard and soft labels recover (sections 3, 4 and 6 of paper 2), what
thinned labels do (6), what labels are worth their cost (5 and 6)."""


class Worlds(StudySettings):
    """Simulated worlds of items, classes and dimensions, and what is asked of them (paper 2)."""

    subjects: tuple[Subject, ...] = get_args(Subject)
    """Nothing is simulated, claimed or drawn that none of them needs."""
    map_sizes: tuple[int, ...] = MAP_SIZES
    """Numbers of items and of classes for hard and soft labels."""
    curve_sizes: tuple[int, ...] = CURVE_SIZES
    """Numbers of items and of classes for all forms over k̂."""
    dimensions: tuple[int, ...] = DIMENSIONS
    kept: tuple[int, ...] = KEPT
    codes: tuple[str, ...] = (PCA,)
    """Codes of k̂ numbers that stand beside thinned labels: names of ``worlds.CODES`` (S1-62)."""
    flips: tuple[float, ...] = FLIPS
    flipped_at: tuple[int, int] = FLIPPED_AT
    """Items and classes, and dimensions, of the task in which answers are flipped."""
    betas: tuple[float, ...] = (1e-4, 1e-3, 1e-2)
    """What a hard label's cost is worth, in maps of soft against hard."""
    loss_betas: tuple[float, ...] = (1e-4, 3e-4, 1e-3)
    """The same in curves over k̂, around where k̂ matters."""
    utilities: tuple[str, ...] = ("linear", "sigmoid", "inverse-sigmoid")

    @model_validator(mode="after")
    def _can_be_simulated(self) -> "Worlds":
        for name in type(self).model_fields:
            if not getattr(self, name):
                raise ValueError(f"needs one of its {name} at least")
        for name in self.codes:
            find(dict.fromkeys(CODES), name, what="kind of code")
        default_points(
            1, map_sizes=self.map_sizes, curve_sizes=self.curve_sizes, dimensions=self.dimensions,
            kept=self.kept, flips=self.flips, flipped_at=self.flipped_at, codes=self.codes,
        )  # fmt: skip
        return self

    @property
    def middle(self) -> int:
        """The number of dimensions for figures that have room for one."""
        return sorted(self.dimensions)[len(self.dimensions) // 2]


class MixAnswers(StudySettings):
    """How answers about mixed images are cut (thesis, chapters 4 and 5)."""

    high: float = 0.5
    """Entropy (nats) from which on both endpoints are ambiguous (S2-68)."""
    low: float = 0.1
    """Entropy up to which both endpoints are clear."""
    example: tuple[str, str] = ("airplane", "deer")
    """The class pair that is drawn large, as in figure 4.4."""

    @model_validator(mode="after")
    def _low_is_below_high(self) -> "MixAnswers":
        if not 0 <= self.low < self.high:
            raise ValueError(
                f"needs low < high, both at least 0, not {self.low:g} and {self.high:g}"
            )
        return self


def _arm(value: Any) -> Any:
    return {"labels": value} if isinstance(value, str) else value


def _test(value: Any) -> Any:
    """A plain name is a part of the data that is held against its own labels."""
    if not isinstance(value, str):
        return value
    return {"part": value, "items": value, "against": [value]}


def _parts(value: Any) -> Any:
    return {"shares": value} if isinstance(value, list | tuple) else value


class Study(ShortRepr, StudySettings):
    """What is compared on what, in one size."""

    name: str
    title: str
    about: str = ""
    """A sentence or two for the head of the report."""
    beside: str | None = None
    """The study whose claims it is held against too; its verdicts stand beside those of that one,
    never instead."""
    size: Size | Literal["own"] = "own"
    data: str = "own"
    """A name of ``sources.SOURCES``."""
    own: Own = Own()
    simulated: SimulatedPeople = SimulatedPeople()
    similar_by: Literal["confusions", "word vectors"] = "confusions"
    """What says which classes are similar, where a recipe or simulated people have to know: what
    people confuse, or the file ``vectors`` of [own], else the dataset ``glove``."""
    collection: FurtherSets = FurtherSets()
    recipe: str = "votes"
    """How judgments become the labels ``people``."""
    arms: tuple[Annotated[Arm, BeforeValidator(_arm)], ...] = ()
    further: Mapping[str, tuple[Annotated[Arm, BeforeValidator(_arm)], ...]] = {}
    """Arms that join where ``own.sets`` gives the file of the label set they stand under."""
    controls: tuple[str, ...] = ()
    """Names of arms that the report compares all others with."""
    pairs: Literal["all", "controls"] = "controls"
    """Whether differences are told between all arms, or to the controls only."""
    networks: tuple[str, ...] = ()
    """Names of ``NETWORKS``, ``HEADS`` or of ``heads``."""
    heads: Mapping[str, Head] = {}
    """Networks on vectors of an encoder, by name; others learn images as they are, and texts by
    tf-idf. Heads are neither attacked nor shown corrupted items: those are pixels."""
    training: Annotated[Recipe, BeforeValidator(lambda value: _recipe(value))] = Recipe("lenet")
    """Everything about a training but its network and seed, the same for all arms."""
    learning_rates: Mapping[str, float] = {}
    """Of networks that have one of their own."""
    training_of: Mapping[str, Mapping[str, Any]] = {}
    """What else differs from ``training`` for single networks, by network."""
    search: Search = Search()
    pretraining: Annotated[Recipe | None, BeforeValidator(lambda value: _recipe(value))] = None
    """How networks learn before, on images that the data has for it; "" takes a base's back."""
    pretraining_of: Mapping[str, Mapping[str, Any]] = {}
    """What differs from ``pretraining`` for single networks, by network (S0-27)."""
    seeds: Whole = Field(default=1, ge=1)
    seeds_kept: Literal["all", "best"] = "all"
    """Which seeds are measured; "best": of every network the one that does best on the first test,
    over all arms, as papers do that keep their best seed (S1-41). It is chosen on what it reports.
    """
    folds: Whole = Field(default=1, ge=1)
    """Folds of every seed, with parts of the kind ``folds``; scores are averaged over them."""
    split: Annotated[Parts, BeforeValidator(_parts)] = Parts()
    tests: tuple[Annotated[TestSpec, BeforeValidator(_test)], ...] = (TestSpec(attacked="people"),)
    watch: bool = False
    """Whether beliefs about the training items are kept after every epoch, for data maps."""
    dynamics: Annotated[Recipe | None, BeforeValidator(lambda value: _recipe(value))] = None
    """How every network is trained a second time to be watched, so that all are watched for as
    many epochs; scores are those of ``training`` (S4-22). None: the scored training is watched."""
    keep_models: bool = True
    fgsm: tuple[float, ...] = ()
    """Bounds of FGSM, in units of 1/255."""
    pgd: tuple[float, ...] = ()
    """Bounds of PGD, in units of 1/255: steps of a quarter of the bound."""
    pgd_iterations: Whole = 10
    pgd_keeps: Literal["best", "last"] = "best"
    """What PGD has reached after a step: each item's image of the highest loss so far, or the last
    image, as papers do. FGSM's is always the attacked image."""
    attacked_items: Whole = 100
    """How many items of a test are attacked and corrupted."""
    corruptions: tuple[str, ...] = ()
    strength: Whole = Field(default=3, ge=1, le=5)
    metrics: tuple[str, ...] = ()
    """Of untouched items; empty: all there are."""
    interval: Literal["seeds", "seeds and items"] = "seeds and items"
    """What intervals are over, where a metric is a mean over items; all others are over seeds.
    Differences between arms are paired by both."""
    strata: tuple[str, ...] = ()
    """Strata that are scored besides all items; empty: all that the labels have."""
    ladders: tuple[tuple[str, ...], ...] = ()
    """Label sets held against, from near to far (S0-44)."""
    curves: tuple[StudyCurve, ...] = ()
    levels: tuple[float, ...] = ()
    """Accuracies that every arm is held against, as if they were another arm's (S4-15)."""
    crossed: tuple[str, ...] = ()
    """Arms whose labels are tested against too: learnt by tested (S1-43)."""
    gains: tuple[tuple[tuple[str, str], tuple[str, str]], ...] = ()
    """Two pairs of arms whose differences are compared."""
    worlds: Worlds | None = None
    mixes: MixAnswers = MixAnswers()
    measures: tuple[str, ...] = ("scores",)
    """Names of ``measures.MEASURES``, in the order in which they are taken."""
    sections: tuple[str, ...] = ()
    """Names of ``pages.SECTIONS`` that the report has; empty: all that there is something for."""
    draws: Whole = Field(default=1000, ge=100)
    """Resamples behind each bootstrap interval."""
    seed: Whole = 0
    """Of everything random that is not a training."""
    near_duplicates: bool = True

    @model_validator(mode="before")
    @classmethod
    def _with_heads(cls, stated: Any) -> Any:
        """What is known of the heads that the study names, under what it says of them itself."""
        networks, own = stated.get("networks"), stated.get("heads", {})
        if not isinstance(networks, list | tuple) or not isinstance(own, Mapping):
            return stated  # told with all that does not fit
        named = [name for name in networks if isinstance(name, str) and name in HEADS]
        heads = {name: HEADS[name].model_dump(exclude_none=True) for name in named}
        return {**stated, "heads": _merged(heads, own)} if heads else stated

    @model_validator(mode="after")
    def _fits(self) -> "Study":
        if not self.name or any(sign in self.name for sign in "/\\ "):
            raise ValueError(f"a study's name has no spaces or slashes, as {self.name!r} does")
        known = {**NETWORKS, **HEADS, **self.heads}
        for_vectors = {name: kind for name, kind in NETWORKS.items() if kind.takes_vectors}
        for names, table, what in (
            (self.networks, known, "network"),
            ([head.network for head in self.heads.values()], for_vectors, "network for vectors"),
            (self.corruptions, CORRUPTIONS, "corruption"),
            (self.learning_rates, known, "network"),
            (self.training_of, known, "network"),
            (self.pretraining_of, known, "network"),
            ((self.recipe,), RECIPES, "recipe"),
            ((self.simulated.kind,), SIMULATORS, "simulator"),
            ((self.own.format,), FORMATS, "format"),
            (self.own.exclude, RULES, "quality rule"),
            (self.controls, dict.fromkeys(self.arm_names), "arm of the study"),
            (self.crossed, dict.fromkeys(self.arm_names), "arm of the study"),
        ):
            for name in names:
                find(table, name, what=what)
        for kept, what in ((self.arm_names, "an arm"), (self.networks, "a network")):
            if len(set(kept)) < len(kept):
                raise ValueError(f"the study names {what} twice: {', '.join(kept)}")
        if bool(self.arms) != bool(self.networks):
            raise ValueError("a study that trains needs an arm and a network at least")
        if self.dynamics is not None and not self.watch:
            raise ValueError("[dynamics] is a training that is watched; set watch = true")
        if self.pretraining_of and self.pretraining is None:
            raise ValueError("[pretraining_of] differs from [pretraining], which is missing")
        for network in self.training_of:
            self.recipe_of(network, 0)  # whatever is wrong with it is told now
        for network in self.pretraining_of:
            self.pretraining_recipe(network)
        return self

    def _summary(self) -> str:
        seeds = f", {self.seeds} seeds" if self.networks or self.worlds else ""
        return (
            f"Study {self.name} ({self.size}): {len(self.arms)} arms, {len(self.networks)} "
            f"networks{seeds}"
        )

    @property
    def arm_names(self) -> tuple[str, ...]:
        """The arms' names, in their order."""
        return tuple(arm.name for arm in self.arms)

    def arm(self, name: str) -> Arm:
        """The arm of that name."""
        return find({arm.name: arm for arm in self.arms}, name, what="arm of the study")

    @property
    def label_names(self) -> frozenset[str]:
        """Label sets and recipes that arms learn and tests hold against."""
        tested = (name for test in self.tests for name in test.against)
        return frozenset((*(arm.labels for arm in self.arms), *tested))

    @property
    def attacks(self) -> "list[Attack]":
        """FGSM at every bound, then PGD at every bound, in steps of a quarter of it."""
        from sfumato.evaluation.attacks import Attack

        return [
            *(Attack("fgsm", bound) for bound in self.fgsm),
            *(
                Attack(
                    "pgd",
                    bound,
                    step_255=bound / 4,
                    iterations=self.pgd_iterations,
                    keep=self.pgd_keeps,
                )
                for bound in self.pgd
            ),
        ]

    def recipe_of(self, network: str, seed: int, training: Recipe | None = None) -> Recipe:
        """How one network is trained: as ``training`` says, by default the study's."""
        training = training or _recipe(self.training_of.get(network, {}), self.training)
        rate = self.learning_rates.get(network, training.learning_rate)
        return self._recipe_for(network, replace(training, seed=seed, learning_rate=rate))

    def pretraining_recipe(self, network: str) -> Recipe | None:
        """How one network learns before; None where none does."""
        if self.pretraining is None:
            return None
        recipe = _recipe(self.pretraining_of.get(network, {}), self.pretraining)
        return self._recipe_for(network, recipe)

    def _recipe_for(self, network: str, recipe: Recipe) -> Recipe:
        if network not in self.heads:
            return replace(recipe, network=network)
        stated = self.heads[network].model_dump(exclude={"encoder"}, exclude_none=True)
        return replace(recipe, augment=(), **stated)  # vectors are neither cropped nor mirrored


def own_options(given: Own) -> ReadOptions:
    """How judgments of one's own are read."""
    return ReadOptions(
        classes=given.classes or None,
        question_file=Path(given.question) if given.question else None,
    )


def shipped_names() -> list[str]:
    """The studies that come with Sfumato."""
    return sorted(
        path.name.removesuffix(".toml")
        for path in files("sfumato.studies").joinpath("specs").iterdir()
        if path.name.endswith(".toml") and not path.name.startswith("_")
    )


def bases_of(name: str) -> list[str]:
    """The shipped files that a shipped study is made of: what it extends first, itself last.

    >>> bases_of("cifar10h-shift")
    ['_comparison', '_cifar', '_cifar10h', 'cifar10h-shift']
    """
    path = files("sfumato.studies").joinpath("specs", f"{name}.toml")
    bases = tomllib.loads(path.read_text(encoding="utf-8")).get("extends", [])
    known = [bases] if isinstance(bases, str) else bases
    return [*dict.fromkeys(found for base in known for found in bases_of(base)), name]


def read_study(
    name: str | Path, size: Size = "cpu", *, changes: Mapping[str, Any] | None = None
) -> Study:
    """A shipped study by name, or one's own from a TOML file, in the given size.

    A file of one's own that extends nothing has what ``_own.toml`` says besides. ``changes`` are
    settings that differ, by dotted name, such as ``{"training.epochs": 5}``.
    """
    text = str(name)
    if text.endswith(".toml"):
        stated, where = _of_this_version(_stated(Path(text)), text), text
    else:
        find(dict.fromkeys(shipped_names()), text, what="study")
        stated, where = _stated(text), f"The study {text!r}"
    sizes: dict[str, Any] = {each: stated.pop(each) for each in SIZES if each in stated}
    if stated.get("beside") and "cpu" in sizes:
        sizes = {"cpu": _of_size(sizes, "cpu")}  # others are protocols of the study beside it
    if sizes or not text.endswith(".toml"):
        known = sizes or {"cpu": {}}
        if size not in known:
            raise DataError(f"{where} has no size {size!r}; it has {' and '.join(known)} only.")
        stated = {**_merged(stated, _of_size(known, size)), "size": size}
    changed: dict[str, Any] = {}
    for key, value in (changes or {}).items():
        changed = _merged(changed, _nested(key, value))
    for table in TRAININGS:
        if "published" in (changed.get(table) or {}):
            stated.pop(table, None)  # a published training is meant, not that of the file in part
    stated = _with_further(_with_arms_of(_merged(stated, changed), changed))
    _refuse_hidden(stated, where)
    study = study_from(stated, where)
    return _beside(study, Path(text).parent) if text.endswith(".toml") else study


def _of_size(sizes: Mapping[str, Mapping[str, Any]], size: str) -> dict[str, Any]:
    """What differs at a size, on top of the size that it extends."""
    stated = dict(sizes[size])
    base = stated.pop("extends", "")
    if not base:
        return stated
    others = {name: table for name, table in sizes.items() if name != size}
    find(others, base, what=f"size to extend in [{size}]")
    return _merged(_of_size(others, base), stated)


def study_from(stated: Mapping[str, Any], where: str = "The study") -> Study:
    """A study from plain values; what does not fit is an error that names the key."""
    values = dict(stated)
    values["arms"] = _expanded(values.get("arms", []))
    if isinstance(values.get("further"), Mapping):
        values["further"] = {name: _expanded(arms) for name, arms in values["further"].items()}
    try:
        return Study(**values)
    except ValidationError as error:
        raise DataError(_sentence(error, where)) from error


def with_arms(study: Study, names: Sequence[str]) -> Study:
    """The study with other arms: its own by name, or label sets and recipes to learn from."""
    known = {arm.name: arm for arm in study.arms}
    arms = [known.get(name) or Arm(labels=name) for name in names]
    chosen = {arm.name for arm in arms}
    stated = study.model_dump()
    stated["arms"] = [arm.model_dump() for arm in arms]
    for name in ("controls", "crossed"):
        stated[name] = [each for each in stated[name] if each in chosen]
    return study_from(stated, f"The study {study.name!r}")


def study_settings(study: Study) -> dict[str, Any]:
    """The resolved study as plain values; what is None is left out."""
    stated = _without_none(study.model_dump(mode="json"))
    for table in TRAININGS:
        for name in CHOSEN_BY_CELLS:
            stated.get(table, {}).pop(name, None)
    return stated


def study_text(study: Study, folder: Path) -> str:
    """The resolved study as a file in ``folder`` that can be run again; it extends nothing."""
    moved = _moved(study, lambda value: os.path.relpath(value, folder))
    return tomli_w.dumps({"extends": "", **study_settings(moved)})


def _stated(source: str | Path) -> dict[str, Any]:
    """What a file says, on top of what it extends."""
    if isinstance(source, Path):
        if not source.is_file():
            raise DataError(f"There is no study file {source}.")
        text, where = source.read_text(encoding="utf-8"), str(source)
    else:
        path = files("sfumato.studies").joinpath("specs", f"{source}.toml")
        text, where = path.read_text(encoding="utf-8"), f"{source}.toml"
    try:
        stated = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise DataError(f"{where} is not TOML: {error}.") from error
    whole = "size" in stated  # as a run wrote it, with nothing left out
    bases = stated.pop("extends", "_own" if isinstance(source, Path) and not whole else [])
    merged: dict[str, Any] = {}
    for base in filter(None, [bases] if isinstance(bases, str) else bases):
        merged = _extended(merged, _base(base, source))
    return _extended(merged, stated)


def _base(name: str, source: str | Path) -> dict[str, Any]:
    """What a study says that another one extends: a file beside it, or one that is shipped."""
    if isinstance(source, Path) and name.endswith(".toml"):
        return _stated(source.parent / name)
    known = [path.name for path in files("sfumato.studies").joinpath("specs").iterdir()]
    find({each.removesuffix(".toml"): None for each in known}, name, what="study to extend")
    return _stated(name)


def _extended(base: Mapping[str, Any], stated: Mapping[str, Any]) -> dict[str, Any]:
    """What a file says on top of what it extends, also on top of what that has for one size.

    Other arms keep those controls of the base that are among them.
    """
    plain = {key: value for key, value in stated.items() if key not in SIZES}
    merged = _with_arms_of(_merged(base, plain), plain)
    for size in SIZES:
        if size in base:
            again = {key: value for key, value in plain.items() if key in base[size]}
            merged[size] = _with_arms_of(_merged(base[size], again), plain)
        if size in stated:
            merged[size] = _merged(merged.get(size, {}), stated[size])
    return merged


def _with_arms_of(merged: dict[str, Any], stated: Mapping[str, Any]) -> dict[str, Any]:
    try:
        arms = [Arm(**_arm(arm)).name for arm in _expanded(stated.get("arms", []))]
    except (ValidationError, TypeError):
        return merged  # whoever makes the study says what is wrong with them
    for key in ("controls", "crossed"):
        if arms and key in merged and key not in stated:
            merged[key] = [name for name in merged[key] if name in arms]
    if arms and "further" not in stated:
        merged.pop("further", None)  # whoever names the arms has named them all
    return merged


def _with_further(stated: dict[str, Any]) -> dict[str, Any]:
    """What is stated, with the arms that join because the files of their labels are given.

    Where arms are crossed, what they learn is tested against too.
    """
    given, further = stated.get("own", {}), stated.get("further", {})
    sets = given.get("sets", {}) if isinstance(given, Mapping) else {}
    if not sets or not further:
        return stated
    try:
        named = {Arm(**_arm(arm)).name for arm in _expanded(stated.get("arms", []))}
        every = [_arm(arm) for name in further if name in sets for arm in _expanded(further[name])]
        joined = {Arm(**arm).name: arm for arm in every}
    except (ValidationError, TypeError):
        return stated  # whoever makes the study says what is wrong with them
    new = {name: arm for name, arm in joined.items() if name not in named}
    crossed = stated.get("crossed", [])
    return {
        **stated,
        "arms": [*stated.get("arms", []), *new.values()],
        "crossed": [*crossed, *new] if crossed else [],
    }


def _of_this_version(stated: dict[str, Any], where: str) -> dict[str, Any]:
    """What a file says, with the key ``split_seed`` of version 0.1 as the two that it became."""
    if "split_seed" not in stated:
        return stated
    seed = stated.pop("split_seed")
    parts = _parts(stated.get("split", {}))
    if not isinstance(parts, Mapping) or "seed" in parts:
        raise DataError(f"{where}: give the seed of the split once, as `seed` in a table [split].")
    return {"seed": seed, **stated, "split": {**parts, "seed": seed}}


def _refuse_hidden(stated: Mapping[str, Any], where: str) -> None:
    """A training has the network and seed of its cell, whatever its recipe says."""
    several = [
        (f"{table}.{network}", keys)
        for table in ("training_of", "pretraining_of")
        for network, keys in dict(stated.get(table) or {}).items()
    ]
    for table, keys in [*((table, stated.get(table)) for table in TRAININGS), *several]:
        for name in CHOSEN_BY_CELLS:
            if isinstance(keys, Mapping) and name in keys:
                raise DataError(f"{where}: [{table}] cannot set {name!r}; the study has {name}s.")


def _merged(base: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """``other`` on top of ``base``; tables are merged, everything else is replaced."""
    merged = dict(base)
    for key, value in other.items():
        both = isinstance(value, Mapping) and isinstance(merged.get(key), Mapping)
        merged[key] = _merged(merged[key], value) if both else value
    return merged


def _nested(key: str, value: Any) -> dict[str, Any]:
    first, _, rest = key.partition(".")
    find(Study.model_fields, first, what="setting of a study")
    return {first: _nested_rest(rest, value) if rest else value}


def _nested_rest(key: str, value: Any) -> dict[str, Any]:
    first, _, rest = key.partition(".")
    return {first: _nested_rest(rest, value) if rest else value}


TRAININGS = ("training", "pretraining", "dynamics")
"""Tables of a study that are recipes."""
CHOSEN_BY_CELLS = ("network", "seed")
"""What a recipe of a study leaves open: every training has its own."""
OWN_FILES = (
    *("images", "texts", "table", "judgments", "question", "original", "vectors", "ratings"),
)
"""Keys of [own] that are paths."""
LISTED = (
    *("labels", "people", "temperature", "items", "per_class", "mix", "added", "curve"),
    *GRID_SIGNS,
)
"""Fields of an arm that may be a list in a file: one arm for each value."""


def _expanded(arms: Iterable[Any]) -> list[Any]:
    found: list[Any] = []
    for arm in arms:
        if not isinstance(arm, Mapping):
            found.append(arm)
            continue
        many = [name for name in LISTED if isinstance(arm.get(name), list)]
        for values in product(*(arm[name] for name in many)):
            found.append({**arm, **dict(zip(many, values, strict=True))})
    return found


def _recipe(value: Any, base: Recipe | None = None) -> Any:
    """A recipe from a table that changes another one: that which it names as ``published``, or
    ``base``."""
    if not isinstance(value, Mapping):
        return value or None
    stated = dict(value)
    published = stated.pop("published", "")
    base = published_recipe(published) if published else base or Recipe("lenet")
    hints = get_type_hints(Recipe)
    for key, given in stated.items():
        wanted = find(hints, key, what="key of a training")
        several = get_origin(wanted) is tuple
        choices = get_args(get_args(wanted)[0] if several else wanted)
        if choices and all(isinstance(choice, str) for choice in choices):
            for one in given if several and isinstance(given, list | tuple) else [given]:
                find(dict.fromkeys(choices), one, what=key)
    left_open = {name: getattr(Recipe("lenet"), name) for name in CHOSEN_BY_CELLS}
    return TypeAdapter(Recipe).validate_python({**vars(base), **stated, **left_open})


def _beside(study: Study, folder: Path) -> Study:
    """The study with paths of its own files as seen from here."""
    return _moved(study, lambda value: os.path.normpath(folder / value))


def _moved(study: Study, place: Callable[[str], str]) -> Study:
    """The study with other paths of its own files."""
    own = study.own
    paths: dict[str, Any] = {
        name: place(value) for name in OWN_FILES if (value := getattr(own, name))
    }
    paths["sets"] = {}
    for name, given in own.sets.items():
        format_name, sign, file = given.rpartition("=")
        paths["sets"][name] = f"{format_name}{sign}{place(file)}"
    return study.model_copy(update={"own": own.model_copy(update=paths)})


WORDS = {
    "tuple_type": "must be a list",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "float_type": "must be a number",
    "float_parsing": "must be a number",
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
    "string_type": "must be a text",
    "model_type": "must be a table",
    "dataclass_type": "must be a table",
    "mapping_type": "must be a table",
}
"""What pydantic finds wrong with a value, for people who write TOML."""


def _sentence(error: ValidationError, where: str) -> str:
    """What is wrong with the first setting that does not fit."""
    first = error.errors()[0]
    *tables, key = first["loc"] or ("",)
    place = ".".join(str(part) for part in first["loc"])
    if first["type"] == "extra_forbidden":
        owner = f"key of [{tables[0]}]" if tables else "key of a study"
        try:
            find(_keys_at(first["loc"]), str(key), what=owner)
        except UnknownName as unknown:
            return f"{where}: {unknown}"
    if first["type"] == "missing":
        return f"{where}: the key {place!r} is missing."
    if first["type"] in WORDS:
        return f"{where}: {place} {WORDS[first['type']]}, not {first['input']!r}."
    told = first["msg"].removeprefix("Value error, ")
    given = "" if first["type"] == "value_error" else f", not {first['input']!r}"
    return f"{where}: {f'{place}: ' if place else ''}{told}{given}."


def _keys_at(place: tuple[int | str, ...]) -> dict[str, Any]:
    """The keys that a table has, by the place of one of them."""
    owners: dict[str, type[StudySettings]] = {
        "arms": Arm,
        "own": Own,
        "simulated": SimulatedPeople,
        "collection": FurtherSets,
        "heads": Head,
        "search": Search,
        "split": Parts,
        "tests": TestSpec,
        "curves": StudyCurve,
        "worlds": Worlds,
        "mixes": MixAnswers,
    }
    owner = owners.get(str(place[0]), Study) if len(place) > 1 else Study
    return dict(owner.model_fields)


def _without_none(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _without_none(each) for key, each in value.items() if each is not None}
    return [_without_none(each) for each in value] if isinstance(value, list | tuple) else value
