# SPDX-License-Identifier: LGPL-2.1-or-later
"""Arrays whose samples do not follow each other, results in place, and what is refused."""

import numpy as np
import pytest

import cudasepconv

# Views of a block, by name; torch has no steps backwards.
VIEWS = {
    "rows apart": lambda a: a[:, 3:20],
    "every other row": lambda a: a[1::2],
    "every other column": lambda a: a[:, ::2],
    "transposed": lambda a: a.swapaxes(0, 1),
    "some channels": lambda a: a[..., :3],
    "channels from the second on": lambda a: a[..., 1:],
    "one channel": lambda a: a[..., 2],
    "one channel of several": lambda a: a[..., 2:3],
    "every other channel": lambda a: a[..., ::2],
    "one column": lambda a: a[:, 5:6],
    "one row": lambda a: a[7:8],
    "one pixel": lambda a: a[3:4, 4:5, :3],
}
BACKWARDS = {
    "upside down": lambda a: a[::-1],
    "mirrored": lambda a: a[:, ::-1],
    "channels backwards": lambda a: a[..., ::-1],
}


def block_of(dtype, shape=(24, 31, 4)):
    return np.random.default_rng(41).integers(0, np.iinfo(dtype).max + 1, shape).astype(dtype)


def views_for(place):
    return {**VIEWS, **BACKWARDS} if place.name.startswith(("numpy", "cupy")) else VIEWS


@pytest.mark.needs("slices")
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_views(place, dtype):
    block = block_of(dtype)
    for name, view in views_for(place).items():
        expected = cudasepconv.gaussian(np.ascontiguousarray(view(block)), 1.5)
        array = view(place.put(block))
        result = cudasepconv.gaussian(array, 1.5, backend=place.backend)
        assert (np.abs(place.get(result).astype(int) - expected) <= 1).all(), name
        assert tuple(result.shape) == expected.shape, name


@pytest.mark.needs("slices")
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_out_views(place, dtype):
    """Elements of the block beside the view stay as they are."""
    block = block_of(dtype)
    for name, view in views_for(place).items():
        expected = block.copy()
        view(expected)[...] = cudasepconv.gaussian(np.ascontiguousarray(view(block)), 1.5)
        source, target = place.put(block), place.put(block)
        out = view(target)
        result = cudasepconv.gaussian(view(source), 1.5, out=out, backend=place.backend)
        assert result is out, name
        written = place.get(target).astype(int)
        assert (np.abs(written - expected) <= 1).all(), name
        beside = np.ones(block.shape, bool)
        view(beside)[...] = False
        assert (written[beside] == block[beside]).all(), name


@pytest.mark.needs("slices")
def test_planar(place):
    """Channels in rows of their own, as PyTorch has them."""
    planar = block_of(np.uint8, (3, 26, 35))
    expected = cudasepconv.gaussian(np.ascontiguousarray(planar.transpose(1, 2, 0)), 2.0)
    array = place.put(planar)
    array = array.swapaxes(0, 1).swapaxes(1, 2)
    result = cudasepconv.gaussian(array, 2.0, backend=place.backend)
    assert (np.abs(place.get(result).astype(int) - expected) <= 1).all()
    series = place.put(np.stack([planar, planar[::-1]])).swapaxes(1, 2).swapaxes(2, 3)
    result = place.get(cudasepconv.gaussian(series, 2.0, backend=place.backend))
    assert (np.abs(result[0].astype(int) - expected) <= 1).all()
    assert (np.abs(result[1].astype(int) - expected[..., ::-1]) <= 1).all()


def test_mixed_orders():
    """A result may lie in another order than the image."""
    block = block_of(np.uint8)
    out = np.empty((4, 24, 31), np.uint8).transpose(1, 2, 0)
    cudasepconv.gaussian(block, 2.0, out=out)
    assert (out == cudasepconv.gaussian(block, 2.0)).all()


@pytest.mark.needs("slices")
@pytest.mark.parametrize("function", [cudasepconv.gaussian, cudasepconv.equalize])
def test_in_place(place, function):
    block = block_of(np.uint8)
    expected = place.get(function(place.put(block), backend=place.backend))
    array = place.put(block)
    assert function(array, out=array, backend=place.backend) is array
    assert (place.get(array) == expected).all()
    # Half a picture further on.
    array = place.put(block)
    function(array[:16], out=array[8:], backend=place.backend)
    first = place.get(function(place.put(block[:16]), backend=place.backend))
    assert (place.get(array)[8:] == first).all()
    assert (place.get(array)[:8] == block[:8]).all()


def test_broadcast_source():
    row = np.arange(40, dtype=np.uint8)
    picture = np.broadcast_to(row, (12, 40))
    assert (cudasepconv.gaussian(picture) == cudasepconv.gaussian(picture.copy())).all()
    assert cudasepconv.histogram(picture).sum() == 480


@pytest.mark.needs("slices", "makes")
def test_histogram_of_views(place):
    block = block_of(np.uint8)
    for name, view in views_for(place).items():
        if view(block).ndim < 2:
            continue
        counts = cudasepconv.histogram(view(place.put(block)), backend=place.backend)
        expected = cudasepconv.histogram(np.ascontiguousarray(view(block)))
        assert (place.get(counts) == expected).all(), name


def test_other_buffers():
    """Whatever numpy can show without a copy."""
    block = block_of(np.uint8, (10, 12))
    result = cudasepconv.gaussian(memoryview(block))
    assert (result == cudasepconv.gaussian(block)).all()
