# SPDX-License-Identifier: LGPL-2.1-or-later
"""Arrays of CuPy and PyTorch in a GPU's memory: current streams, and what they have queued."""

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import cudasepconv
import places

pytestmark = pytest.mark.needs("streams")

# Work for tens of milliseconds: passes over so many bytes.
BUSY_BYTES = 1 << 28
BUSY_PASSES = 300


class TorchStreams:
    """Streams of a library, by the same names for both."""

    def __init__(self):
        import torch

        self.torch = torch

    def new(self):
        return self.torch.cuda.Stream()

    def external(self):
        stream = self.torch.cuda.Stream()
        return stream, self.torch.cuda.ExternalStream(stream.cuda_stream)

    def current(self, stream):
        return self.torch.cuda.stream(stream)

    def busy(self):
        block = self.torch.zeros(BUSY_BYTES, dtype=self.torch.uint8, device="cuda")
        for _ in range(BUSY_PASSES):
            block.add_(1)

    def done(self, stream):
        return stream.query()

    def copy(self, target, source):
        target.copy_(source)


class CupyStreams:
    def __init__(self):
        import cupy

        self.cupy = cupy

    def new(self):
        return self.cupy.cuda.Stream(non_blocking=True)

    def external(self):
        stream = self.new()
        return stream, self.cupy.cuda.ExternalStream(stream.ptr)

    def current(self, stream):
        return stream

    def busy(self):
        block = self.cupy.zeros(BUSY_BYTES, np.uint8)
        for _ in range(BUSY_PASSES):
            block += 1

    def done(self, stream):
        return stream.done

    def copy(self, target, source):
        target[...] = source


def streams_of(place):
    return TorchStreams() if place.name == "torch" else CupyStreams()


def picture_of(seed, shape=(300, 400, 3)):
    return np.random.default_rng(seed).integers(0, 256, shape).astype(np.uint8)


@pytest.mark.parametrize("function", [cudasepconv.gaussian, cudasepconv.clahe,
                                      cudasepconv.histogram])
def test_queues_on_the_current_stream(place, function):
    """The call comes after what the stream has queued, and does not wait for it."""
    streams = streams_of(place)
    picture = picture_of(71)
    expected = place.call(function, picture)
    base, image = place.put(picture), place.put(np.zeros_like(picture))
    stream = streams.new()
    with streams.current(stream):
        function(image)  # makes the plan, which does wait
        stream.synchronize()
        streams.busy()
        streams.copy(image, base)
        result = function(image)
        went_on = not streams.done(stream)
    stream.synchronize()
    assert went_on, "the call waited for the stream"
    assert (place.get(result) == expected).all()


def test_memory_may_be_used_again(place):
    """An image that nobody holds any more is read before others write to its memory."""
    streams = streams_of(place)
    picture = picture_of(72, (1000, 1000))
    expected = place.call(cudasepconv.gaussian, picture, 3.0)
    stream = streams.new()
    with streams.current(stream):
        for _ in range(20):
            image = place.put(picture)
            result = cudasepconv.gaussian(image, 3.0)
            del image
            place.put(np.zeros_like(picture))
    stream.synchronize()
    assert (place.get(result) == expected).all()


def test_external_stream(place):
    streams = streams_of(place)
    picture = picture_of(73)
    expected = place.call(cudasepconv.gaussian, picture)
    base, image = place.put(picture), place.put(np.zeros_like(picture))
    owner, external = streams.external()
    for _ in range(2):
        with streams.current(external):
            streams.busy()
            streams.copy(image, base)
            result = cudasepconv.gaussian(image)
        assert streams.done(owner), "the work is not done"
        assert (place.get(result) == expected).all()
    del external, owner
    cudasepconv.cache_clear()


def test_streams_end_before_plans(place):
    """The cache keeps the streams that its plans have work on."""
    streams = streams_of(place)
    picture = picture_of(74)
    expected = place.call(cudasepconv.gaussian, picture)
    results = []
    for _ in range(8):
        stream = streams.new()
        with streams.current(stream):
            streams.busy()
            results.append(cudasepconv.gaussian(place.put(picture)))
        del stream
    cudasepconv.cache_clear()
    for result in results:
        assert (place.get(result) == expected).all()


def test_cache_waits_for_the_gpu(place):
    """Plans are not freed under work that has not begun."""
    streams = streams_of(place)
    picture = picture_of(75)
    expected = place.call(cudasepconv.equalize, picture)
    stream = streams.new()
    image = place.put(picture)
    with streams.current(stream):
        streams.busy()
        result = cudasepconv.equalize(image)
        cudasepconv.cache_clear()
        assert streams.done(stream)
    assert (place.get(result) == expected).all()


def test_threads_with_streams(place):
    """Threads with a stream each, and all on the default one."""
    streams = streams_of(place)
    pictures = [picture_of(76 + i, (120, 100 + i, 3)) for i in range(4)]
    expected = [place.call(cudasepconv.gaussian, picture, 2.0) for picture in pictures]
    barrier = threading.Barrier(8)

    def work(thread):
        stream = streams.new()
        image = place.put(pictures[thread % 4])
        barrier.wait()
        good = True
        for _ in range(30):
            if thread < 4:
                with streams.current(stream):
                    result = cudasepconv.gaussian(image, 2.0)
                stream.synchronize()
            else:
                result = cudasepconv.gaussian(image, 2.0)
            good = good and bool((place.get(result) == expected[thread % 4]).all())
        return good

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(8)))


def test_per_thread_stream():
    place = next(place for place in places.all_places() if place.name == "cupy")
    if place.missing:
        pytest.skip(place.missing)
    import cupy

    picture = picture_of(80)
    expected = place.call(cudasepconv.gaussian, picture)
    image = place.put(picture)

    def work(_):
        with cupy.cuda.Stream.ptds:
            return bool((place.get(cudasepconv.gaussian(image)) == expected).all())

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, range(20)))


class Foreign:
    """Shows an array by DLPack alone."""

    def __init__(self, array):
        self.array = array
        self.shape, self.dtype = array.shape, array.dtype

    def __dlpack__(self, **settings):
        return self.array.__dlpack__(**settings)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def test_stream_handshake(place):
    """DLPack's own: a library's queued work is waited for, whatever its current stream."""
    streams = streams_of(place)
    picture = picture_of(81)
    expected = place.call(cudasepconv.gaussian, picture)
    base, image = place.put(picture), place.put(np.zeros_like(picture))
    out = place.put(np.zeros_like(picture))
    stream = streams.new()
    with streams.current(stream):
        streams.busy()
        streams.copy(image, base)
        foreign = Foreign(out)
        assert cudasepconv.gaussian(Foreign(image), out=foreign) is foreign
    assert (place.get(out) == expected).all()
    with pytest.raises(TypeError, match="give one as out"):
        cudasepconv.gaussian(Foreign(image))


def test_graph_capture_is_refused(place):
    if place.name != "torch":
        pytest.skip("PyTorch's graphs alone")
    import torch

    picture = picture_of(82)
    image = place.put(picture)
    for warm in (False, True):
        graph = torch.cuda.CUDAGraph()
        stream = torch.cuda.Stream()
        out = torch.empty_like(image)
        with torch.cuda.stream(stream):
            if warm:
                cudasepconv.gaussian(image, 4.5, out=out)
            stream.synchronize()
            graph.capture_begin()
            with pytest.raises(NotImplementedError, match="graph"):
                cudasepconv.gaussian(image, 4.5, out=out)
            graph.capture_end()
    assert (place.get(cudasepconv.gaussian(image, 4.5))
            == place.call(cudasepconv.gaussian, picture, 4.5)).all()


def test_another_device(place):
    if cudasepconv.cuda_devices() < 2:
        pytest.skip("there is one GPU")
    picture = picture_of(83)
    expected = place.call(cudasepconv.gaussian, picture)
    if place.name == "torch":
        image = place.put(picture).to("cuda:1")
        result = cudasepconv.gaussian(image)
        assert result.device == image.device
    else:
        import cupy

        with cupy.cuda.Device(1):
            image = cupy.asarray(picture)
        result = cudasepconv.gaussian(image)
        assert result.device.id == 1
    assert (place.get(result) == expected).all()


def test_result_keeps_the_type_of_memory(place):
    """New arrays lie as the image does, planar ones too."""
    planar = place.put(picture_of(84, (3, 50, 60)))
    image = planar.swapaxes(0, 1).swapaxes(1, 2)
    result = cudasepconv.gaussian(image)
    assert result.shape == image.shape
    if place.name == "torch":
        assert result.stride() == image.stride()
    else:
        assert result.strides == image.strides
