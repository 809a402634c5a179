"""Hand things from many threads to those that work on them, several at a time."""

import threading
from collections import deque
from typing import Generic, TypeVar

REMEMBERED = 16
"""Groups whose sizes tell how many things may be expected."""

T = TypeVar("T")


class Groups(Generic[T]):
    """What waits to be worked on.

    A group that has begun waits up to ``seconds`` for others, but not once it is as large as any of
    the last ones: one person alone, or a few who all wait for their replies, lose no time. Who
    works is woken by the first thing and by the last one expected, not by each: waking a thread
    is work too.
    """

    def __init__(self, *, most: int, seconds: float) -> None:
        self._most, self._seconds = most, seconds
        self._waiting: deque[T] = deque()
        self._sizes: deque[int] = deque([1], maxlen=REMEMBERED)
        self._closed = False
        self._changed = threading.Condition()

    def put(self, thing: T) -> bool:
        """Add something; False where nothing is taken any more."""
        with self._changed:
            if self._closed:
                return False
            self._waiting.append(thing)
            count = len(self._waiting)
            if count == 1 or count >= self._expected:
                self._changed.notify()
        return True

    def take(self) -> list[T]:
        """The next group, in the order in which things came; empty when there will be no more."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._closed)
            self._changed.wait_for(
                lambda: len(self._waiting) >= self._expected or self._closed, timeout=self._seconds
            )
            count = min(len(self._waiting), self._most)
            self._sizes.append(count)
            return [self._waiting.popleft() for _ in range(count)]

    def close(self) -> None:
        """Take nothing more; what waits is still handed out."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    @property
    def _expected(self) -> int:
        return min(max(self._sizes), self._most)
