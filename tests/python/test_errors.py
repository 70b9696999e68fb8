# SPDX-License-Identifier: LGPL-2.1-or-later
"""What is refused, by which exception, in which words."""

import numpy as np
import pytest

import cudasepconv
import places

PICTURE = np.zeros((8, 9, 3), np.uint8)


def refused(error, words, function, *args, **settings):
    with pytest.raises(error, match=words):
        function(*args, **settings)


@pytest.mark.parametrize("dtype", [bool, np.int8, np.int16, np.int32, np.int64, np.float32,
                                   np.float64, ">u2", np.complex64])
def test_types(dtype):
    picture = np.zeros((4, 4), dtype)
    for function in (cudasepconv.gaussian, cudasepconv.histogram, cudasepconv.equalize):
        refused(TypeError, "uint8 and uint16", function, picture)


@pytest.mark.parametrize("thing", [None, 3, "picture", object()])
def test_no_arrays(thing):
    refused((TypeError, ValueError), "image", cudasepconv.gaussian, thing)


@pytest.mark.parametrize("shape", [(), (5,), (1, 2, 3, 4, 1), (4, 4, 5), (0, 4), (4, 0, 3)])
def test_shapes(shape):
    for function in (cudasepconv.gaussian, cudasepconv.clahe):
        refused(ValueError, "image", function, np.zeros(shape, np.uint8))


@pytest.mark.parametrize("words,settings", [
    ("border", {"border": "mirror"}),
    ("backend", {"backend": "gpu"}),
    ("method", {"method": "fastest"}),
    ("threads", {"threads": -1}),
    ("depth", {"depth": 17}),
    ("depth", {"depth": 0}),
    ("depth", {"depth": 9}),
    ("channels", {"channels": (4,)}),
    ("others are selected", {"channels": (3,)}),
    ("border_value", {"border_value": ()}),
    ("another shape", {"out": np.zeros((8, 9), np.uint8)}),
    ("another type", {"out": np.zeros((8, 9, 3), np.uint16)}),
])
def test_settings(words, settings):
    refused(ValueError, words, cudasepconv.filter, PICTURE, [1.0], **settings)


def test_values():
    refused(ValueError, "finite", cudasepconv.filter, PICTURE, [np.nan])
    refused(ValueError, "one number or more", cudasepconv.filter, PICTURE, [])
    refused(ValueError, "one number or more", cudasepconv.filter, PICTURE, [[1, 2]])
    refused(ValueError, "taps", cudasepconv.filter, PICTURE, np.ones(5000))
    refused(ValueError, "sum", cudasepconv.filter, PICTURE, [1, -1], normalize=True)
    refused(ValueError, "amplify", cudasepconv.filter, PICTURE, [1e9])
    refused(ValueError, "igma", cudasepconv.gaussian, PICTURE, -1.0)
    refused(ValueError, "sigma_y", cudasepconv.gaussian, PICTURE, 1.0, -1.0)
    refused(ValueError, "radius", cudasepconv.gaussian, PICTURE, radius=-1)
    refused(ValueError, "adius", cudasepconv.box, PICTURE, 5000)
    refused(ValueError, "adius", cudasepconv.sobel, PICTURE, radius=99)
    refused(ValueError, "hreshold", cudasepconv.unsharp, PICTURE, threshold=2.0)
    refused(ValueError, "terms", cudasepconv.terms, PICTURE, [([1], [1])] * 9)
    refused(ValueError, "erm", cudasepconv.terms, PICTURE, [])
    refused(ValueError, "bins", cudasepconv.histogram, PICTURE, 1)
    refused(ValueError, "shape", cudasepconv.histogram, PICTURE, out=np.zeros((2, 256), np.int64))
    refused(ValueError, "gaps", cudasepconv.histogram, PICTURE,
            out=np.zeros((3, 512), np.int64)[:, ::2])
    refused(ValueError, "trength", cudasepconv.equalize, PICTURE, strength=2.0)
    refused(ValueError, "order", cudasepconv.equalize, PICTURE, order="hsv")
    refused(ValueError, "luma", cudasepconv.equalize, PICTURE, luma="bt470")
    refused(ValueError, "tiles", cudasepconv.clahe, PICTURE, tiles=65)
    refused(ValueError, "clip limit", cudasepconv.clahe, PICTURE, clip_limit=-1.0)


def test_read_only_out():
    out = np.zeros_like(PICTURE)
    out.flags.writeable = False
    refused(ValueError, "read-only", cudasepconv.gaussian, PICTURE, out=out)


def test_read_only_image(place):
    """Nothing is written to an image."""
    picture = np.random.default_rng(51).integers(0, 256, (20, 20)).astype(np.uint8)
    image = place.put(picture)
    if isinstance(image, np.ndarray):
        image.flags.writeable = False
    out = place.put(np.zeros_like(picture))
    cudasepconv.gaussian(image, out=out, backend=place.backend)
    assert (place.get(image) == picture).all()


def test_unsupported_method():
    with pytest.raises(NotImplementedError, match="box-running-simd"):
        cudasepconv.gaussian(PICTURE, method="box-running-simd")
    refused(RuntimeError, "box-running-simd", cudasepconv.gaussian, PICTURE,
            method="box-running-simd")


def test_a_failure_leaves_no_plan():
    cudasepconv.cache_clear()
    refused(ValueError, "finite", cudasepconv.filter, PICTURE, [np.inf])
    assert cudasepconv.cache_info().size == 0


def test_no_gpu():
    if cudasepconv.cuda_devices() > 0:
        pytest.skip("there is a GPU")
    refused(RuntimeError, "driver|GPU|CUDA", cudasepconv.gaussian, PICTURE, backend="cuda")


@pytest.mark.needs("on_gpu")
def test_cpu_on_gpu_memory(place):
    refused(ValueError, 'backend="cpu"', cudasepconv.gaussian, place.put(PICTURE),
            out=place.put(PICTURE), backend="cpu")


@pytest.mark.needs("on_gpu")
def test_two_libraries(place):
    refused(TypeError, "out is an array of", cudasepconv.gaussian, place.put(PICTURE),
            out=np.zeros_like(PICTURE))
    refused(TypeError, "out is an array of", cudasepconv.gaussian, PICTURE,
            out=place.put(PICTURE))


def test_interface_needs_out():
    place = next(p for p in places.all_places() if p.name == "interface")
    if place.missing:
        pytest.skip(place.missing)
    refused(TypeError, "give one as out", cudasepconv.gaussian, place.put(PICTURE))
    out = place.put(PICTURE)
    out.read_only = True
    refused(ValueError, "read-only", cudasepconv.gaussian, place.put(PICTURE), out=out)
    image = place.put(PICTURE)
    refused(ValueError, "overlap", cudasepconv.gaussian, image, out=image)
