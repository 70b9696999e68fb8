# SPDX-License-Identifier: LGPL-2.1-or-later
"""Arguments as the engine takes them."""

from collections.abc import Iterable, Sequence
from typing import Any, Literal, Protocol, TypeAlias, TypeVar

import numpy as np

Border: TypeAlias = Literal["replicate", "reflect", "reflect-101", "wrap", "constant"]
Backend: TypeAlias = Literal["auto", "cuda", "cpu"]
Taps: TypeAlias = Sequence[float] | np.ndarray[Any, Any]


class Array(Protocol):
    """An array of numpy, CuPy or PyTorch, or another one in a GPU's memory."""

    @property
    def shape(self) -> Any: ...

    @property
    def dtype(self) -> Any: ...


ArrayT = TypeVar("ArrayT", bound=Array)

ALL_CHANNELS = 0xFFFFFFFF
_MOST_CHANNELS = 4


def taps_bytes(taps: Taps, name: str) -> bytes:
    """The taps of one axis as doubles."""
    values = np.asarray(taps, np.float64)
    if values.ndim != 1 or values.size == 0:
        raise ValueError(f"{name} is a sequence of one number or more.")
    return values.tobytes()


def channel_mask(channels: Iterable[int] | None) -> int:
    """Bits of the channels named; None names all."""
    if channels is None:
        return ALL_CHANNELS
    mask = 0
    for channel in channels:
        if not 0 <= channel < _MOST_CHANNELS:
            raise ValueError(f"channels are 0 to {_MOST_CHANNELS - 1}, not {channel}.")
        mask |= 1 << channel
    return mask


def border_values(value: float | Sequence[float]) -> tuple[float, float, float, float]:
    """A value for each channel, in codes."""
    if isinstance(value, (int, float)):
        return (value, value, value, value)
    values = [float(each) for each in value]
    if not 1 <= len(values) <= _MOST_CHANNELS:
        raise ValueError("border_value is a number, or one for each of 1 to 4 channels.")
    values += [0.0] * (_MOST_CHANNELS - len(values))
    return (values[0], values[1], values[2], values[3])


def optional_size(value: float | None, name: str) -> float:
    """A length in pixels; None becomes -1, which stands for the default."""
    if value is None:
        return -1.0
    if value < 0:
        raise ValueError(f"{name} is 0 or more, not {value}.")
    return value


def optional_radius(value: int | None, name: str) -> int:
    """A half length in pixels; None becomes -1, which stands for the default."""
    if value is None:
        return -1
    if value < 0:
        raise ValueError(f"{name} is 0 or more, not {value}.")
    return value


def optional_depth(value: int | None) -> int:
    """Bits of a sample; None becomes 0, which stands for all."""
    if value is None:
        return 0
    if not 1 <= value <= 16:
        raise ValueError(f"depth is 1 to 16 bits, not {value}.")
    return value
