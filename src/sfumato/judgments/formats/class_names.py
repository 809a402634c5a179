"""The classes of well-known data sets, in the order of their label numbers."""

__all__ = ["CIFAR10", "FASHION_MNIST", "LABELME"]

CIFAR10 = (
    "airplane",
    "automobile",
    "bird",
    "cat",
    "deer",
    "dog",
    "frog",
    "horse",
    "ship",
    "truck",
)

FASHION_MNIST = (
    "T-shirt/top",
    "Trouser",
    "Pullover",
    "Dress",
    "Coat",
    "Sandal",
    "Shirt",
    "Sneaker",
    "Bag",
    "Ankle boot",
)

LABELME = (
    "highway",
    "insidecity",
    "tallbuilding",
    "street",
    "forest",
    "coast",
    "mountain",
    "opencountry",
)
