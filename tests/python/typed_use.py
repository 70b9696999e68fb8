# SPDX-License-Identifier: LGPL-2.1-or-later
"""A program that uses the package: checked by mypy --strict, and run."""

from typing import Any, assert_type

import numpy as np
from numpy.typing import NDArray

import cudasepconv

image: NDArray[np.uint8] = np.full((12, 16, 3), 80, np.uint8)
out = np.empty_like(image)
taps: list[float] = [1, 2, 1]
bins: NDArray[np.int64] = np.empty((3, 256), np.int64)

assert_type(cudasepconv.gaussian(image, 2), NDArray[np.uint8])
assert_type(cudasepconv.filter(image, taps, np.array(taps), normalize=True, out=out),
            NDArray[np.uint8])
assert_type(cudasepconv.terms(image, [(taps, taps)], border="reflect-101"), NDArray[np.uint8])
assert_type(cudasepconv.clahe(image, tiles=(2, 3), threads=1), NDArray[np.uint8])
counts = assert_type(cudasepconv.histogram(image), Any)
assert_type(cudasepconv.histogram(image, out=bins), NDArray[np.int64])
assert (out == image).all() and counts.shape == (3, 256)
print(f"{cudasepconv.__version__}: {cudasepconv.cache_info()}")
