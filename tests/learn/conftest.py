"""What all tests of learning share: one thread, so that numbers and speed do not vary."""

import torch

torch.set_num_threads(1)
