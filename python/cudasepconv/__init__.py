# SPDX-License-Identifier: LGPL-2.1-or-later
"""Separable filters and histograms of images, in the memory of the CPU and of CUDA GPUs.

    >>> import numpy as np, cudasepconv
    >>> image = np.random.default_rng(1).integers(0, 256, (480, 640, 3), np.uint8)
    >>> blurred = cudasepconv.gaussian(image, sigma=4)

Arrays of numpy, and of PyTorch on the CPU, are filtered on the CPU; those of CuPy and PyTorch in
a GPU's memory there, on the library's current stream. Every function may be called from any
number of threads at once, and releases the GIL while it works.
"""

import os
from typing import NamedTuple

from . import _engine
from ._arguments import Array, Backend, Border, Taps
from ._functions import (
    box,
    clahe,
    equalize,
    filter,
    gaussian,
    histogram,
    sobel,
    terms,
    unsharp,
)

__version__ = _engine.version
__all__ = [
    "Array",
    "Backend",
    "Border",
    "CacheInfo",
    "Method",
    "Taps",
    "box",
    "cache_clear",
    "cache_info",
    "cache_limit",
    "clahe",
    "cuda_devices",
    "equalize",
    "filter",
    "gaussian",
    "histogram",
    "histogram_methods",
    "methods",
    "sobel",
    "terms",
    "unsharp",
]


class Method(NamedTuple):
    """A way to compute something."""

    name: str
    backend: str  # "cpu" or "cuda"
    available: bool  # whether this build has it


class CacheInfo(NamedTuple):
    """Numbers of the cache of plans: how often it had one, how often not, and its plans."""

    hits: int
    misses: int
    limit: int
    size: int


def methods() -> tuple[Method, ...]:
    """The methods of filters, for their argument `method`."""
    return tuple(Method(*row) for row in _engine.methods()[0])


def histogram_methods() -> tuple[Method, ...]:
    """The methods of histograms, for their argument `method`."""
    return tuple(Method(*row) for row in _engine.methods()[1])


def cuda_devices() -> int:
    """The number of CUDA GPUs; 0 without one, a driver, or CUDA in this build."""
    return _engine.cuda_devices()


def cache_info() -> CacheInfo:
    """The state of the cache that keeps plans, with their threads and memory, between calls."""
    return CacheInfo(*_engine.cache_info())


def cache_limit(plans: int) -> None:
    """Keeps at most that many plans, those used last; 32 at first."""
    _engine.cache_limit(plans)


def cache_clear() -> None:
    """Frees all plans that no call uses. Waits for what they have queued on GPUs."""
    _engine.cache_clear()


os.register_at_fork(after_in_child=_engine.cache_abandon)
