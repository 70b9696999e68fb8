# SPDX-License-Identifier: LGPL-2.1-or-later
"""Filters against scipy in double precision."""

import numpy as np
import pytest

import cudasepconv
import oracle

DTYPES = [np.uint8, np.uint16]
SHAPES = [(1, 1), (1, 7), (5, 1), (11, 13), (37, 64), (20, 31, 3), (9, 17, 4), (13, 12, 1),
          (16, 15, 2), (2, 8, 9, 3), (3, 5, 6, 1)]


def picture_of(random, shape, dtype, depth=None):
    full = oracle.full_code(dtype, depth)
    kind = random.integers(3)
    if kind == 0:  # the extremes alone overflow what is narrow
        return (random.integers(0, 2, shape) * full).astype(dtype)
    if kind == 1:
        return np.full(shape, full, dtype)
    return random.integers(0, full + 1, shape).astype(dtype)


def taps_of(random, n):
    """Positive and negative ones, of a norm that keeps results in range mostly."""
    taps = random.normal(size=n)
    return taps / np.abs(taps).sum() * random.uniform(0.5, 2.0)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("border", oracle.BORDERS)
def test_custom_taps(place, border, dtype):
    random = np.random.default_rng([dtype().itemsize, oracle.BORDERS.index(border)])
    for shape in SHAPES:
        picture = picture_of(random, shape, dtype)
        nx, ny = random.choice([1, 2, 3, 5, 8, 13, 33], 2)
        x, y = taps_of(random, nx), taps_of(random, ny)
        scale, bias = random.uniform(-2, 2), random.uniform(-1, 1)
        value = float(random.integers(0, oracle.full_code(dtype) + 1))
        result = place.call(cudasepconv.filter, picture, x, y, border=border,
                            border_value=value, scale=scale, bias=bias)
        exact = scale * oracle.correlate(picture, x, y, border, value)
        oracle.expect_close(result, exact + bias * oracle.full_code(dtype), dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("sigma", [0.0, 0.7, 2.0, 5.3, 21.0])
def test_gaussian(place, sigma, dtype):
    random = np.random.default_rng(5)
    radius = int(np.ceil(3 * sigma))
    taps = oracle.gaussian_taps(sigma, radius) if sigma > 0 else np.ones(1)
    for shape in [(40, 33), (21, 50, 3), (1, 1)]:
        picture = picture_of(random, shape, dtype)
        for border in ("reflect", "replicate"):
            result = place.call(cudasepconv.gaussian, picture, sigma, radius=radius, border=border)
            oracle.expect_close(result, oracle.correlate(picture, taps, taps, border), dtype)


def test_gaussian_of_two_widths(place):
    picture = np.random.default_rng(6).integers(0, 256, (30, 40, 3)).astype(np.uint8)
    result = place.call(cudasepconv.gaussian, picture, 1.0, 3.0, radius=4, radius_y=9)
    exact = oracle.correlate(picture, oracle.gaussian_taps(1.0, 4), oracle.gaussian_taps(3.0, 9),
                             "replicate")
    oracle.expect_close(result, exact, np.uint8)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("radii", [(0, None), (1, None), (3, 7), (40, 2)])
def test_box(place, radii, dtype):
    random = np.random.default_rng(7)
    x = radii[0]
    y = x if radii[1] is None else radii[1]
    for shape in [(23, 31), (12, 13, 4), (2, 7, 11, 3)]:
        picture = picture_of(random, shape, dtype)
        result = place.call(cudasepconv.box, picture, *radii, border="reflect-101")
        exact = oracle.correlate(picture, np.full(2 * x + 1, 1 / (2 * x + 1)),
                                 np.full(2 * y + 1, 1 / (2 * y + 1)), "reflect-101")
        oracle.expect_close(result, exact, dtype)


def derivatives(picture, border):
    difference, smooth = np.array([-1.0, 0, 1]), np.array([1.0, 2, 1])
    return (oracle.correlate(picture, difference, smooth, border),
            oracle.correlate(picture, smooth, difference, border))


@pytest.mark.parametrize("dtype", DTYPES)
def test_sobel_magnitude(place, dtype):
    random = np.random.default_rng(8)
    for shape in [(17, 23), (14, 9, 3)]:
        picture = random.integers(0, oracle.full_code(dtype) + 1, shape).astype(dtype)
        result = place.call(cudasepconv.sobel, picture, scale=0.2, border="reflect")
        oracle.expect_close(result, 0.2 * np.hypot(*derivatives(picture, "reflect")), dtype)


def test_sobel_direction(place):
    picture = np.random.default_rng(9).integers(0, 256, (31, 22)).astype(np.uint8)
    result = place.call(cudasepconv.sobel, picture, direction=True)
    x, y = derivatives(picture, "replicate")
    exact = np.arctan2(y, x) / (2 * np.pi) * 256
    # On a circle of 256 codes.
    off = np.abs((result - exact + 128) % 256 - 128)
    assert off[(x != 0) | (y != 0)].max() < 0.75
    flat = place.call(cudasepconv.sobel, np.full((5, 6), 77, np.uint8), direction=True)
    assert not flat.any()


@pytest.mark.parametrize("dtype", DTYPES)
def test_unsharp(place, dtype):
    random = np.random.default_rng(10)
    full = oracle.full_code(dtype)
    picture = random.integers(0, full + 1, (25, 33, 3)).astype(dtype)
    taps = oracle.gaussian_taps(1.5, 5)
    for amount, threshold in [(1.0, 0.0), (-0.5, 0.0), (2.0, 0.1)]:
        result = place.call(cudasepconv.unsharp, picture, 1.5, amount, threshold, radius=5)
        lost = picture - oracle.correlate(picture, taps, taps, "replicate")
        exact = picture + amount * np.where(np.abs(lost) > threshold * full, lost, 0)
        near = np.abs(np.abs(lost) - threshold * full) < oracle.promised(dtype)
        exact = np.where(near & (threshold > 0), result, exact)
        oracle.expect_close(result, exact, dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_terms(place, dtype):
    random = np.random.default_rng(11)
    picture = random.integers(0, oracle.full_code(dtype) + 1, (19, 27, 3)).astype(dtype)
    for n in (1, 2, 5, 8):
        terms = [(taps_of(random, random.integers(1, 10)), taps_of(random, random.integers(1, 10)))
                 for _ in range(n)]
        result = place.call(cudasepconv.terms, picture, terms, scale=0.5, bias=0.25, border="wrap")
        exact = sum(oracle.correlate(picture, x, y, "wrap") for x, y in terms)
        oracle.expect_close(result, 0.5 * exact + 0.25 * oracle.full_code(dtype), dtype)


def test_normalized_taps(place):
    picture = np.full((9, 9), 200, np.uint8)
    assert (place.call(cudasepconv.filter, picture, [1, 2, 3], normalize=True) == 200).all()
    terms = [([1, 2], [3]), ([4], [5, 6])]
    assert (place.call(cudasepconv.terms, picture, terms, normalize=True) == 200).all()


def test_taps_are_not_flipped(place):
    picture = np.zeros((5, 5), np.uint8)
    picture[2, 2] = 100
    result = place.call(cudasepconv.filter, picture, [0, 0, 1], [1])
    assert result[2, 1] == 100 and result.sum() == 100


@pytest.mark.parametrize("depth", [1, 5, 9, 10, 12])
def test_depth(place, depth):
    random = np.random.default_rng(12)
    dtype = np.uint8 if depth <= 8 else np.uint16
    picture = random.integers(0, 2**depth, (14, 21, 3)).astype(dtype)
    result = place.call(cudasepconv.filter, picture, [-0.3, 1.6, -0.3], depth=depth)
    exact = oracle.correlate(picture, [-0.3, 1.6, -0.3], [-0.3, 1.6, -0.3], "replicate")
    oracle.expect_close(result, exact, dtype, depth)
    assert result.max() < 2**depth


def test_selected_channels(place):
    random = np.random.default_rng(13)
    picture = random.integers(0, 256, (12, 17, 4)).astype(np.uint8)
    result = place.call(cudasepconv.gaussian, picture, 2.0, channels=(0, 2))
    everything = place.call(cudasepconv.gaussian, picture, 2.0)
    assert (result[..., [1, 3]] == picture[..., [1, 3]]).all()
    # Channels that stand apart may be summed in another order.
    apart = result[..., [0, 2]].astype(int) - everything[..., [0, 2]]
    assert np.abs(apart).max() <= 1
    assert (result[..., [1, 3]] != everything[..., [1, 3]]).any()


def test_border_value_for_each_channel(place):
    picture = np.full((3, 3, 3), 50, np.uint8)
    result = place.call(cudasepconv.filter, picture, [1, 0, 0], [1], border="constant",
                        border_value=(1, 2, 3))
    assert (result[:, 0] == [1, 2, 3]).all() and (result[:, 1:] == 50).all()


def test_every_method(place):
    """Each method that can do this does it; the others say so."""
    picture = np.random.default_rng(14).integers(0, 256, (30, 41)).astype(np.uint8)
    backend = "cuda" if place.on_gpu or place.backend == "cuda" else "cpu"
    taps = oracle.gaussian_taps(1.5, 5)
    exact = oracle.correlate(picture, taps, taps, "replicate")
    used = 0
    for method in cudasepconv.methods():
        if method.backend != backend:
            with pytest.raises((ValueError, NotImplementedError)):
                place.call(cudasepconv.filter, picture, taps, method=method.name)
            continue
        try:
            result = place.call(cudasepconv.filter, picture, taps, method=method.name)
        except NotImplementedError as error:
            assert method.name in str(error)
            continue
        oracle.expect_close(result, exact, np.uint8)
        used += 1
    assert used >= 2


def test_no_gaps_between_results(place):
    """A long series, of one plan, gives one result."""
    picture = np.random.default_rng(15).integers(0, 256, (64, 64, 3)).astype(np.uint8)
    first = place.call(cudasepconv.gaussian, picture, 3.0)
    for _ in range(10):
        assert (place.call(cudasepconv.gaussian, picture, 3.0) == first).all()
