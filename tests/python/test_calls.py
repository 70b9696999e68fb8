# SPDX-License-Identifier: LGPL-2.1-or-later
"""Plans between calls: the cache, threads, forks."""

import os
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import cudasepconv
import places


@pytest.fixture
def empty_cache():
    cudasepconv.cache_clear()
    yield
    cudasepconv.cache_limit(32)
    cudasepconv.cache_clear()


@pytest.mark.parametrize("name", [place.name for place in places.all_places()])
def test_place_is_there(name):
    """Names what this machine does not have."""
    place = next(place for place in places.all_places() if place.name == name)
    if place.missing is not None:
        pytest.skip(place.missing)


def test_cache(place, empty_cache):
    picture = np.zeros((20, 30), np.uint8)
    before = cudasepconv.cache_info()
    for _ in range(5):
        place.call(cudasepconv.gaussian, picture, 2.0)
    info = cudasepconv.cache_info()
    assert (info.misses - before.misses, info.hits - before.hits, info.size) == (1, 4, 1)
    # Another size, type, setting or number of threads is another plan.
    place.call(cudasepconv.gaussian, np.zeros((20, 31), np.uint8), 2.0)
    place.call(cudasepconv.gaussian, picture.astype(np.uint16), 2.0)
    place.call(cudasepconv.gaussian, picture, 3.0)
    place.call(cudasepconv.gaussian, picture, 2.0, threads=1)
    assert cudasepconv.cache_info().size == 5


def test_cache_is_bounded(place, empty_cache):
    cudasepconv.cache_limit(3)
    picture = np.random.default_rng(61).integers(0, 256, (9, 9)).astype(np.uint8)
    results = [place.call(cudasepconv.gaussian, picture, s) for s in (1.0, 2.0, 3.0, 4.0, 5.0)]
    assert cudasepconv.cache_info().size == 3
    before = cudasepconv.cache_info().misses
    place.call(cudasepconv.gaussian, picture, 3.0)
    assert cudasepconv.cache_info().misses == before
    # The first is gone, and comes again.
    assert (place.call(cudasepconv.gaussian, picture, 1.0) == results[0]).all()
    assert cudasepconv.cache_info().misses == before + 1
    cudasepconv.cache_limit(0)
    assert (place.call(cudasepconv.gaussian, picture, 2.0) == results[1]).all()
    assert cudasepconv.cache_info().size == 0
    with pytest.raises(ValueError):
        cudasepconv.cache_limit(-1)


def test_threads(place, empty_cache):
    """Calls of many threads, with the same plans and others, while the cache is too small."""
    random = np.random.default_rng(62)
    pictures = [random.integers(0, 256, (33, 40 + i, 3)).astype(np.uint8) for i in range(3)]
    jobs = [(picture, sigma) for picture in pictures for sigma in (1.0, 2.5)]
    expected = [place.call(cudasepconv.gaussian, *job) for job in jobs]
    cudasepconv.cache_limit(4)
    barrier = threading.Barrier(6)

    def work(thread):
        barrier.wait()
        for i in range(20):
            job = (thread + i) % len(jobs)
            if not (place.call(cudasepconv.gaussian, *jobs[job]) == expected[job]).all():
                return False
        return True

    with ThreadPoolExecutor(6) as pool:
        assert all(pool.map(work, range(6)))
    assert cudasepconv.cache_info().size <= 4


def test_gil_is_released():
    """Another thread of Python goes on while a picture is filtered."""
    picture = np.random.default_rng(63).integers(0, 2**16, (400, 1000)).astype(np.uint16)
    taps = np.ones(301) / 301
    running, turns = threading.Event(), 0
    ended = threading.Event()

    def filter_it():
        running.set()
        cudasepconv.filter(picture, taps, method="reference", threads=1)
        ended.set()

    thread = threading.Thread(target=filter_it)
    thread.start()
    running.wait()
    begin = time.perf_counter()
    while not ended.is_set():
        time.sleep(0.001)
        turns += 1
    took = time.perf_counter() - begin
    thread.join()
    # With the GIL held there would be one turn, at the end.
    assert turns > 10, f"{turns} turns in {took} s"


def test_number_of_threads():
    """No more of them than were asked for, and none for what one takes alone."""

    def count():
        return len(os.listdir("/proc/self/task"))

    def count_without_ended():
        """A thread that has been joined is listed for a moment yet."""
        counts = []
        for _ in range(20):
            counts.append(count())
            time.sleep(0.01)
        return min(counts)

    cudasepconv.cache_clear()
    before = count_without_ended()
    cudasepconv.gaussian(np.zeros((1000, 1000), np.uint8), threads=1)
    assert count() == before
    cudasepconv.gaussian(np.zeros((20, 20), np.uint8))
    assert count() == before
    cudasepconv.gaussian(np.zeros((1000, 1000), np.uint8))
    assert count() == before + min(64, len(os.sched_getaffinity(0))) - 1
    cudasepconv.cache_clear()
    assert count_without_ended() == before


def test_fork():
    """The child has none of the parent's threads, and makes its own."""
    picture = np.random.default_rng(64).integers(0, 256, (200, 200)).astype(np.uint8)
    expected = cudasepconv.gaussian(picture)
    child = os.fork()
    if child == 0:
        os._exit(0 if (cudasepconv.gaussian(picture) == expected).all() else 1)
    for _ in range(200):
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            break
        time.sleep(0.05)
    else:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        pytest.fail("the child hangs")
    assert status == 0
    assert (cudasepconv.gaussian(picture) == expected).all()
