# SPDX-License-Identifier: LGPL-2.1-or-later
"""Histograms and equalisation against numpy and OpenCV."""

import numpy as np
import pytest

import cudasepconv
import oracle

SHAPES = [(1, 1), (13, 1), (31, 47), (20, 33, 3), (9, 12, 4), (3, 8, 9, 2)]


def expected_counts(picture, bins, depth):
    if picture.ndim == 4:
        return np.stack([oracle.counts(each, bins, depth) for each in picture])
    return oracle.counts(picture, bins, depth)


@pytest.mark.needs("makes")
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
@pytest.mark.parametrize("bins", [2, 100, 256, 1024])
def test_histogram(place, bins, dtype):
    random = np.random.default_rng(31)
    for shape in SHAPES:
        picture = random.integers(0, oracle.full_code(dtype) + 1, shape).astype(dtype)
        counts = place.call(cudasepconv.histogram, picture, bins)
        assert counts.dtype == np.int64
        np.testing.assert_array_equal(
            counts, expected_counts(picture, bins, 8 * picture.itemsize))


def test_histogram_into(place):
    picture = np.random.default_rng(32).integers(0, 1024, (40, 30, 3)).astype(np.uint16)
    out = place.put(np.zeros((3, 64), np.int64))
    counts = cudasepconv.histogram(place.put(picture), 64, depth=10, out=out,
                                   backend=place.backend)
    assert counts is out
    np.testing.assert_array_equal(place.get(out), expected_counts(picture, 64, 10))


@pytest.mark.parametrize("strength", [1.0, 0.4, 0.0])
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_equalize_grey(place, dtype, strength):
    random = np.random.default_rng(33)
    full = oracle.full_code(dtype)
    for shape in [(37, 50), (1, 1), (20, 19, 1)]:
        picture = (random.beta(2, 5, shape) * full / 2 + full / 4).astype(dtype)
        result = place.call(cudasepconv.equalize, picture, strength=strength)
        codes = oracle.equalized_codes(picture.astype(np.int64), full)
        weight = round(strength * 2**16) / 2**16
        exact = picture + weight * (codes - picture.astype(np.int64))
        # Quotients are of single precision.
        assert np.abs(result - exact).max() < 0.53


@pytest.mark.parametrize("order", ["rgb", "bgr"])
def test_equalize_colours(place, order):
    random = np.random.default_rng(34)
    picture = random.integers(60, 180, (30, 41, 4)).astype(np.uint8)
    result = place.call(cudasepconv.equalize, picture, order=order, luma="bt601")
    rgb = picture[..., :3] if order == "rgb" else picture[..., 2::-1]
    luma = oracle.luma_of(rgb, 0.299, 0.114)
    moved = oracle.equalized_codes(luma, 255) - luma
    exact = np.clip(picture[..., :3].astype(int) + moved[..., None], 0, 255)
    assert np.abs(result[..., :3] - exact).max() <= 1
    assert (result[..., 3] == picture[..., 3]).all()


def test_equalize_pictures_apart(place):
    """Each picture of a series is equalised by itself."""
    random = np.random.default_rng(35)
    pictures = np.stack([random.integers(low, low + 60, (16, 20, 1)) for low in (0, 60, 150)])
    pictures = pictures.astype(np.uint8)
    result = place.call(cudasepconv.equalize, pictures)
    for one, equalized in zip(pictures, result):
        assert (place.call(cudasepconv.equalize, one) == equalized).all()


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
@pytest.mark.parametrize("tiles", [8, (3, 5)])
def test_clahe(place, tiles, dtype):
    cv2 = pytest.importorskip("cv2", reason="there is no OpenCV")
    random = np.random.default_rng(36)
    full = oracle.full_code(dtype)
    # Only where the tiles divide it: OpenCV extends others differently in some versions.
    picture = (random.beta(2, 5, (120, 240)) * full).astype(dtype)
    result = place.call(cudasepconv.clahe, picture, 4.0, tiles)
    across = (tiles, tiles) if isinstance(tiles, int) else tiles
    theirs = cv2.createCLAHE(4.0, across).apply(picture)
    assert np.abs(result.astype(int) - theirs).max() <= 1
    assert (result != picture).any()
