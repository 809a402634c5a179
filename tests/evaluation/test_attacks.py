import importlib
import warnings
from collections.abc import Callable

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from torch import Tensor, nn

from sfumato.errors import DataError
from sfumato.evaluation.attacks import (
    ATTACKS,
    Attack,
    fgsm,
    pgd,
    run_attack,
)
from sfumato.evaluation.metrics import cross_entropy
from sfumato.labels.labelset import LabelSet, hard_labels

CLASSES = ("cat", "dog", "ship")
ROUNDING = 1e-6


class Linear(nn.Module):
    """Logits that are linear in the pixels, normalised inside."""

    def __init__(self, classes: int = 3, shape: tuple[int, int, int] = (4, 4, 3)) -> None:
        super().__init__()
        height, width, channels = shape
        self.head = nn.Linear(height * width * channels, classes)
        with torch.no_grad():
            drawn = np.random.default_rng(5).normal(size=tuple(self.head.weight.shape))
            self.head.weight.copy_(torch.from_numpy(drawn))

    def forward(self, images: Tensor) -> Tensor:
        return self.head(((images - 0.5) / 0.25).flatten(1))


def small_network() -> nn.Sequential:
    """Convolution, batch normalisation and dropout, with the same weights each time."""
    with torch.random.fork_rng():
        torch.manual_seed(3)
        network = nn.Sequential(
            nn.Conv2d(3, 8, 3, padding=1),
            nn.BatchNorm2d(8),
            nn.ReLU(),
            nn.Dropout(0.5),
            nn.Flatten(),
            nn.Linear(8 * 16, 3),
        )
        for parameter in network.parameters():
            nn.init.normal_(parameter, std=0.7)
    return network


def images_of(count: int, seed: int = 0) -> NDArray[np.uint8]:
    return np.random.default_rng(seed).integers(0, 256, (count, 4, 4, 3), dtype=np.uint8)


def soft_labels(count: int, seed: int = 1) -> LabelSet:
    probs = np.random.default_rng(seed).dirichlet(np.ones(3), size=count)
    return LabelSet(tuple(map(str, range(count))), CLASSES, probs)


def one_hot(count: int) -> LabelSet:
    return hard_labels(list(map(str, range(count))), CLASSES, np.arange(count) % 3)


def loss(network: nn.Module, images: NDArray[np.float32], labels: LabelSet) -> NDArray[np.float64]:
    network.eval()
    with torch.no_grad():
        logits = network(torch.from_numpy(images).permute(0, 3, 1, 2))
    log_probs = logits.double().log_softmax(1).numpy()
    return -(labels.probs * log_probs).sum(axis=1)


def on_unit(images: NDArray[np.uint8]) -> NDArray[np.float32]:
    return (images / 255).astype(np.float32)


PGD = Attack("pgd", 8, step_255=2, iterations=10)


@given(
    epsilon=st.floats(0, 64),
    step=st.floats(0.5, 30),
    iterations=st.integers(1, 4),
    random_start=st.booleans(),
    kind=st.sampled_from(["fgsm", "pgd"]),
)
def test_attacked_images_stay_in_the_bound_and_in_range(
    epsilon: float, step: float, iterations: int, random_start: bool, kind: str
) -> None:
    images = images_of(6)
    attack = (
        Attack("fgsm", epsilon)
        if kind == "fgsm"
        else Attack("pgd", epsilon, step, iterations, random_start, keep="last")
    )

    found = run_attack(small_network(), images, soft_labels(6), attack).images

    assert np.abs(found - on_unit(images)).max() <= epsilon / 255 + ROUNDING
    assert found.min() >= 0
    assert found.max() <= 1


def test_fgsm_reaches_the_bound_where_pixels_have_room() -> None:
    images = np.full((3, 4, 4, 3), 128, dtype=np.uint8)

    found = fgsm(Linear(), images, one_hot(3), epsilon_255=8)

    assert np.abs(np.abs(found - on_unit(images)) - 8 / 255).max() < ROUNDING


@pytest.mark.parametrize("kind", ["fgsm", "pgd"])
def test_linear_margin_falls_by_epsilon_times_the_l1_norm(kind: str) -> None:
    network = Linear(classes=2)
    images = np.random.default_rng(2).uniform(0.2, 0.8, (5, 4, 4, 3)).astype(np.float32)
    labels = hard_labels(list("abcde"), ["cat", "dog"], np.array([0, 1, 0, 1, 1]))
    weight = network.head.weight.detach().double().numpy()
    apart = np.abs(weight[0] - weight[1]).sum() / 0.25  # of a pixel: normalisation divides by 0.25

    attacked = run_attack(
        network,
        images,
        labels,
        Attack("fgsm", 4) if kind == "fgsm" else Attack("pgd", 4, step_255=1.5, iterations=4),
    )

    margins = [
        np.log(beliefs.probs[np.arange(5), [0, 1, 0, 1, 1]])
        - np.log(beliefs.probs[np.arange(5), [1, 0, 1, 0, 0]])
        for beliefs in (attacked.beliefs[0], attacked.beliefs[-1])
    ]
    assert np.allclose(margins[0] - margins[1], 4 / 255 * apart, rtol=1e-4)


def test_pgd_with_room_equals_fgsm_on_a_linear_model() -> None:
    images = np.random.default_rng(2).uniform(0.2, 0.8, (5, 4, 4, 3)).astype(np.float32)
    labels = hard_labels(list("abcde"), ["cat", "dog"], np.array([0, 1, 0, 1, 1]))
    network = Linear(classes=2)

    once = fgsm(network, images, labels, epsilon_255=4)
    often = pgd(network, images, labels, epsilon_255=4, step_255=1, iterations=6)

    assert np.abs(once - often).max() < ROUNDING


def test_soft_labels_are_attacked_by_the_gradient_of_their_own_loss() -> None:
    network, images, labels = small_network().eval(), images_of(4), soft_labels(4)
    pixels = torch.from_numpy(on_unit(images)).permute(0, 3, 1, 2).requires_grad_()
    targets = torch.tensor(labels.probs.tolist())
    nn.functional.cross_entropy(network(pixels), targets).backward()
    assert pixels.grad is not None
    expected = (pixels.detach() + 4 / 255 * pixels.grad.sign()).clamp(0, 1).permute(0, 2, 3, 1)

    found = fgsm(network, images, labels, epsilon_255=4)

    assert np.abs(found - expected.numpy()).max() < ROUNDING


@pytest.mark.parametrize("random_start", [False, True])
@pytest.mark.parametrize("labels", [soft_labels(64), one_hot(64)], ids=["soft", "hard"])
def test_pgd_loss_never_falls_for_any_item(labels: LabelSet, random_start: bool) -> None:
    attack = Attack("pgd", 8, step_255=6, iterations=12, random_start=random_start)

    attacked = run_attack(small_network(), images_of(64), labels, attack)

    losses = np.stack([cross_entropy(labels, beliefs) for beliefs in attacked.beliefs])
    assert (np.diff(losses, axis=0) >= -1e-9).all()
    assert losses[-1].mean() > losses[0].mean()
    assert np.allclose(loss(small_network(), attacked.images, labels), losses[-1], atol=1e-4)


def test_last_image_may_lose_what_an_earlier_one_had_won() -> None:
    labels = soft_labels(64)
    attack = Attack("pgd", 8, step_255=6, iterations=12, keep="last")

    attacked = run_attack(small_network(), images_of(64), labels, attack)

    losses = np.stack([cross_entropy(labels, beliefs) for beliefs in attacked.beliefs])
    assert (np.diff(losses, axis=0) < 0).any()


def test_pgd_with_many_steps_is_at_least_as_strong_as_fgsm_on_average() -> None:
    network, images, labels = small_network(), images_of(64), one_hot(64)

    once = loss(network, fgsm(network, images, labels, epsilon_255=8), labels)
    often = loss(
        network, pgd(network, images, labels, epsilon_255=8, step_255=2, iterations=20), labels
    )

    assert often.mean() > once.mean()


def test_first_beliefs_are_about_the_clean_images() -> None:
    labels = soft_labels(5)
    for attack in (Attack("fgsm", 4), PGD, Attack("pgd", 4, 1, 2, random_start=True)):
        attacked = run_attack(small_network(), images_of(5), labels, attack)

        clean = cross_entropy(labels, attacked.beliefs[0])
        assert np.allclose(clean, loss(small_network(), on_unit(images_of(5)), labels), atol=1e-5)
        assert len(attacked.beliefs) == attack.iterations + 1


def test_network_and_generators_are_left_as_they_were() -> None:
    network = small_network()
    network.train()
    network[1].eval()  # frozen statistics inside a network in training
    frozen = network[0].bias
    assert isinstance(frozen, nn.Parameter)
    frozen.requires_grad_(False)
    before = {name: value.clone() for name, value in network.state_dict().items()}
    modes = [module.training for module in network.modules()]
    drawn = torch.get_rng_state()

    run_attack(network, images_of(5), soft_labels(5), Attack("pgd", 4, 1, 3, random_start=True))

    assert modes == [module.training for module in network.modules()]
    assert all(torch.equal(value, before[name]) for name, value in network.state_dict().items())
    assert [p.requires_grad for p in network.parameters()] == [True, False, *[True] * 4]
    assert all(parameter.grad is None for parameter in network.parameters())
    assert torch.equal(drawn, torch.get_rng_state())


def test_network_in_training_mode_is_attacked_as_in_evaluation() -> None:
    labels = soft_labels(5)
    training, evaluating = small_network().train(), small_network().eval()

    found = [fgsm(net, images_of(5), labels, epsilon_255=4) for net in (training, evaluating)]

    assert np.array_equal(found[0], found[1])


def test_attack_works_where_gradients_are_switched_off() -> None:
    with torch.no_grad():
        found = fgsm(Linear(), images_of(3), one_hot(3), epsilon_255=4)

    assert not np.array_equal(found, on_unit(images_of(3)))


def test_random_start_follows_its_seed() -> None:
    def start(seed: int) -> NDArray[np.float32]:
        attack = Attack("pgd", 8, 1, 1, random_start=True, seed=seed, keep="last")
        return run_attack(small_network(), images_of(5), soft_labels(5), attack).images

    assert np.array_equal(start(1), start(1))
    assert not np.array_equal(start(1), start(2))


def test_an_image_is_attacked_the_same_alone_and_in_a_large_batch() -> None:
    images, labels = images_of(300), soft_labels(300)

    together = pgd(small_network(), images, labels, epsilon_255=8, step_255=2, iterations=3)
    alone = pgd(
        small_network(), images[290:291], labels.take(("290",)), epsilon_255=8, step_255=2,
        iterations=3,
    )  # fmt: skip

    assert np.abs(together[290] - alone[0]).max() < ROUNDING


def test_floats_and_bytes_of_the_same_picture_agree_and_stay_as_they_were() -> None:
    images = images_of(4)
    floats = images / 255
    floats.flags.writeable = False

    found = [fgsm(Linear(), each, one_hot(4), epsilon_255=4) for each in (images, floats)]

    assert np.array_equal(found[0], found[1])
    assert np.array_equal(images, images_of(4))


def test_attack_counts_the_items_that_were_trained_on() -> None:
    attacked = run_attack(
        Linear(), images_of(4), one_hot(4), Attack("fgsm", 4), trained_items={"1", "3", "elsewhere"}
    )

    assert attacked.trained_on == 2


def test_published_attacks_have_their_bounds() -> None:
    assert {name: each.attack.epsilon_255 for name, each in ATTACKS.items()} == {
        "paper-1-fgsm": 4,
        "paper-1-fgsm-stored": 8,
        "paper-1-pgd": 4,
        "paper-3-fgsm": 4,
        "paper-3-pgd": 4,
    }
    assert ATTACKS["paper-1-pgd"].most_items == 100
    assert ATTACKS["paper-3-fgsm"].labels == "people"


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: Attack("fgsm", -1), "-1/255"),
        (lambda: Attack("fgsm", 4, iterations=3), "FGSM is one step"),
        (lambda: Attack("pgd", 4), r"a step of 0.0/255"),
        (lambda: Attack("pgd", 4, step_255=1, iterations=0), "0 iterations"),
        (lambda: fgsm(Linear(), images_of(2), one_hot(3), epsilon_255=4), r"\(3, height"),
        (lambda: fgsm(Linear(), images_of(2) / 2, one_hot(2), epsilon_255=4), "item '0'"),
        (lambda: fgsm(Linear(classes=4), images_of(2), one_hot(2), epsilon_255=4), "3 classes"),
    ],
)
def test_wrong_request_is_refused(make: Callable[[], object], sentence: str) -> None:
    with pytest.raises(DataError, match=sentence):
        make()


@pytest.mark.parametrize("kind", ["fgsm", "pgd"])
def test_agrees_with_torchattacks(kind: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        library = pytest.importorskip(
            "torchattacks", reason="torchattacks, an independent library of attacks, is not here"
        )
    network, images, labels = small_network().eval(), images_of(32), one_hot(32)
    attack = Attack("pgd", 4, step_255=1, iterations=9, keep="last")
    theirs = (
        library.FGSM(network, eps=4 / 255)
        if kind == "fgsm"
        else library.PGD(network, eps=4 / 255, alpha=1 / 255, steps=9, random_start=False)
    )

    expected = theirs(
        torch.from_numpy(on_unit(images)).permute(0, 3, 1, 2),
        torch.from_numpy(labels.probs.argmax(axis=1)),
    )
    ours = run_attack(network, images, labels, Attack("fgsm", 4) if kind == "fgsm" else attack)

    assert np.abs(ours.images - expected.permute(0, 2, 3, 1).numpy()).max() < ROUNDING


@pytest.mark.parametrize("kind", ["fgsm", "pgd"])
def test_agrees_with_foolbox(kind: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        library = importlib.import_module("foolbox")
        wrapped = library.PyTorchModel(small_network().eval(), bounds=(0, 1))
    images, labels = images_of(32), one_hot(32)
    theirs = (
        library.attacks.LinfFastGradientAttack(random_start=False)
        if kind == "fgsm"
        else library.attacks.LinfPGD(abs_stepsize=1 / 255, steps=9, random_start=False)
    )
    attack = Attack("pgd", 4, step_255=1, iterations=9, keep="last")

    expected, _, _ = theirs(
        wrapped,
        torch.from_numpy(on_unit(images)).permute(0, 3, 1, 2),
        torch.from_numpy(labels.probs.argmax(axis=1)),
        epsilons=4 / 255,
    )
    ours = run_attack(
        small_network(), images, labels, Attack("fgsm", 4) if kind == "fgsm" else attack
    )

    assert np.abs(ours.images - expected.permute(0, 2, 3, 1).numpy()).max() < ROUNDING
