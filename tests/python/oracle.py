# SPDX-License-Identifier: LGPL-2.1-or-later
"""The results in double precision, by scipy and numpy."""

import numpy as np
from scipy import ndimage

SCIPY_MODES = {
    "replicate": "nearest",
    "reflect": "reflect",
    "reflect-101": "mirror",
    "wrap": "wrap",
    "constant": "constant",
}
BORDERS = list(SCIPY_MODES)


def full_code(dtype, depth=None):
    return 2 ** (depth or 8 * np.dtype(dtype).itemsize) - 1


def promised(dtype, depth=None):
    """What results may be off by, in codes; they are less."""
    return 0.75 if full_code(dtype, depth) < 2**12 else 1.0


def axes(picture):
    """The axes of rows and of columns."""
    return (1, 2) if picture.ndim == 4 else (0, 1)


def correlate(picture, taps_x, taps_y, border, value=0.0):
    """Both passes over a picture, or pictures, of any number of channels. Unrounded."""
    rows, columns = axes(picture)
    mode = SCIPY_MODES[border]
    # Beyond the border of the first pass there are values, too: none, once they are taken off.
    levels = picture.astype(np.float64) - value
    levels = ndimage.correlate1d(levels, taps_x, columns, mode=mode, cval=0.0)
    levels = ndimage.correlate1d(levels, taps_y, rows, mode=mode, cval=0.0)
    return levels + value * np.sum(taps_x) * np.sum(taps_y)


def gaussian_taps(sigma, radius):
    taps = np.exp(-0.5 * (np.arange(-radius, radius + 1) / sigma) ** 2)
    return taps / taps.sum()


def expect_close(result, exact, dtype, depth=None):
    assert result.dtype == dtype
    assert result.shape == exact.shape
    exact = np.clip(exact, 0, full_code(dtype, depth))
    worst = np.abs(result - exact).max()
    assert worst < promised(dtype, depth), f"off by {worst} codes"


def counts(picture, bins, depth):
    """Of one picture: [channels][bins], or [bins] without channels."""
    places = (picture.astype(np.int64) * bins) >> depth
    if picture.ndim == 2:
        return np.bincount(places.ravel(), minlength=bins)
    return np.stack([np.bincount(places[..., c].ravel(), minlength=bins)
                     for c in range(picture.shape[-1])])


def equalized_codes(luma, white):
    """The new code of each pixel of a luma picture."""
    histogram = np.bincount(luma.ravel(), minlength=white + 1)
    sums = np.cumsum(histogram)
    lowest = np.flatnonzero(histogram)[0]
    total = luma.size
    if histogram[lowest] == total:
        return luma
    table = np.rint(white * np.maximum(sums - histogram[lowest], 0)
                    / (total - histogram[lowest]))
    return table[luma].astype(np.int64)


def luma_of(picture, kr, kb):
    """floor (kr R + kg G + kb B + 1/2), by weights in multiples of 2^-16."""
    one = 1 << 16
    red, blue = round(kr * one), round(kb * one)
    r, g, b = (picture[..., c].astype(np.int64) for c in range(3))
    return (red * r + (one - red - blue) * g + blue * b + one // 2) >> 16
