"""Turn an encoder and a head into one network, and that network, once trained, into both again."""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from sfumato.errors import DataError
from sfumato.items.items import Items
from sfumato.learn.encoders import FineTuned, TorchEncoder
from sfumato.learn.examples import Examples, NormalisedNetwork, VectorExamples
from sfumato.learn.train import weights_of


class TunedNetwork(NormalisedNetwork):
    """Takes the places of items among ``inputs``, which need not be numbers, and gives logits.

    So whatever trains a network on vectors trains it, too.
    """

    network: "_EncoderAndHead"

    def __init__(self, network: "_EncoderAndHead", rate: float) -> None:
        super().__init__(network, torch.zeros(1), torch.ones(1))
        self.rate = rate

    @property
    def head(self) -> NormalisedNetwork:
        """The network that takes vectors."""
        return self.network.head

    def parameter_groups(self) -> list[dict[str, object]]:
        """The head by the recipe's learning rate, the encoder by its own."""
        encoder = {"params": list(self.network.module.parameters()), "lr": self.rate}
        return [{"params": list(self.head.parameters())}, encoder]

    def encoder(self) -> FineTuned:
        """The encoder as it is now."""
        return FineTuned(self.network.encoder, weights_of(self.network.module), self.rate)


class _EncoderAndHead(nn.Module):
    def __init__(
        self,
        encoder: TorchEncoder,
        module: nn.Module,
        inputs: NDArray[Any],
        head: NormalisedNetwork,
    ) -> None:
        super().__init__()
        self.encoder, self.inputs = encoder, inputs
        self.module, self.head = module.requires_grad_(True), head

    def forward(self, places: Tensor) -> Tensor:
        """Logits, shape (items, classes)."""
        rows = places.reshape(-1).long().cpu().numpy()
        size = len(rows) if self.training else self.encoder.batch
        parts = [self.inputs[rows[start : start + size]] for start in range(0, len(rows), size)]
        vectors = torch.cat([self.encoder.features(self.module, part) for part in parts])
        return self.head(vectors[:, :, None, None])


def join_network(
    encoder: object,
    items: Items,
    head: NormalisedNetwork,
    rate: float,
) -> tuple[TunedNetwork, Examples]:
    """The encoder's network with a head on it, and the items as it takes them.

    ``items`` are the texts or images themselves; the head takes their vectors.
    """
    if not rate > 0:
        raise DataError(f"The learning rate of the encoder must be above 0, not {rate}.")
    assert isinstance(encoder, TorchEncoder | FineTuned)
    base = encoder.base if isinstance(encoder, FineTuned) else encoder  # which is tuned further
    places = np.arange(len(items), dtype=np.float32).reshape(-1, 1, 1, 1)  # exact to 16 million
    network = _EncoderAndHead(base, encoder.module(), base.inputs(items), head)
    return TunedNetwork(network, rate), VectorExamples(items.ids, places)
