# SPDX-License-Identifier: LGPL-2.1-or-later
"""Filters against OpenCV, whose results of 8 bits are rounded, too."""

import numpy as np
import pytest

import cudasepconv
import oracle

cv2 = pytest.importorskip("cv2", reason="there is no OpenCV")

BORDERS = {
    "replicate": cv2.BORDER_REPLICATE,
    "reflect": cv2.BORDER_REFLECT,
    "reflect-101": cv2.BORDER_REFLECT_101,
}


@pytest.mark.parametrize("border", BORDERS)
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
@pytest.mark.parametrize("channels", [1, 3])
def test_separable(place, border, dtype, channels):
    random = np.random.default_rng(21)
    shape = (33, 47) if channels == 1 else (33, 47, channels)
    picture = random.integers(0, oracle.full_code(dtype) + 1, shape).astype(dtype)
    x, y = random.uniform(-0.2, 0.4, 7), random.uniform(0, 0.3, 5)
    result = place.call(cudasepconv.filter, picture, x, y, border=border)
    theirs = cv2.sepFilter2D(picture, -1, x, y, borderType=BORDERS[border])
    assert np.abs(result.astype(int) - theirs).max() <= 1


def test_gaussian(place):
    picture = np.random.default_rng(22).integers(0, 256, (60, 50, 3)).astype(np.uint8)
    result = place.call(cudasepconv.gaussian, picture, 2.5, radius=8, border="reflect-101")
    theirs = cv2.GaussianBlur(picture, (17, 17), 2.5)
    assert np.abs(result.astype(int) - theirs).max() <= 1


def test_box(place):
    picture = np.random.default_rng(23).integers(0, 256, (40, 70)).astype(np.uint8)
    result = place.call(cudasepconv.box, picture, 4, border="reflect-101")
    assert np.abs(result.astype(int) - cv2.blur(picture, (9, 9))).max() <= 1


def test_sobel(place):
    picture = np.random.default_rng(24).integers(0, 256, (40, 30)).astype(np.uint8)
    result = place.call(cudasepconv.sobel, picture, scale=0.1, border="reflect-101")
    x, y = cv2.Sobel(picture, cv2.CV_64F, 1, 0), cv2.Sobel(picture, cv2.CV_64F, 0, 1)
    oracle.expect_close(result, 0.1 * np.hypot(x, y), np.uint8)
