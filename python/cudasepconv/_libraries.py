# SPDX-License-Identifier: LGPL-2.1-or-later
"""What differs between libraries of arrays: how they show memory, make arrays, and name the
stream that they queue work on. A library is imported only by the programs that use it."""

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np

from . import _engine

# Handles of default streams, as CUDA, DLPack and __cuda_array_interface__ number them. That of
# the thread's own is the same on every thread, and the stream is not.
_LEGACY_STREAM = 1
_PER_THREAD_STREAM = 2


class Library(ABC):
    """The arrays of one library."""

    name: str

    def accept(self, array: Any) -> Any:
        """An argument as an array of the library."""
        return array

    @abstractmethod
    def run(
        self, spec: _engine.Spec, image: Any, out: Any, backend: str, threads: int
    ) -> bool:
        """_engine.run() on the library's arrays; False: they must be dense and apart."""

    @abstractmethod
    def new(self, like: Any) -> Any:
        """A new array of that shape, type and place, its elements in that order."""

    @abstractmethod
    def counters(self, shape: tuple[int, ...], like: Any) -> Any:
        """A new array of int64, where `like` is."""

    @abstractmethod
    def dense(self, array: Any) -> Any:
        """The array, or a copy, row by row without gaps."""

    @abstractmethod
    def copy(self, out: Any, result: Any) -> None:
        """Copies the elements of one array into another."""


class _Numpy(Library):
    name = "numpy"

    def accept(self, array: Any) -> Any:
        return np.asarray(array)

    def run(
        self, spec: _engine.Spec, image: Any, out: Any, backend: str, threads: int
    ) -> bool:
        return _engine.run(spec, image, out, backend, threads, None, None)

    def new(self, like: Any) -> Any:
        return np.empty_like(like)

    def counters(self, shape: tuple[int, ...], like: Any) -> Any:
        return np.empty(shape, np.int64)

    def dense(self, array: Any) -> Any:
        return np.ascontiguousarray(array)

    def copy(self, out: Any, result: Any) -> None:
        out[...] = result


class _Torch(Library):
    name = "torch"

    def __init__(self) -> None:
        import torch
        from torch.utils.dlpack import to_dlpack

        self._torch = torch
        self._show: Callable[[Any], Any] = to_dlpack
        # The handle alone, which the public function wraps in objects; other libraries rely on
        # it, too.
        self._handle: Callable[[int], int] = getattr(
            torch._C, "_cuda_getCurrentRawStream", self._public_handle
        )
        self._holders: dict[int, Callable[[], object]] = {}

    def _public_handle(self, device: int) -> int:
        return int(self._torch.cuda.current_stream(device).cuda_stream)

    def _holder(self, device: int) -> Callable[[], object]:
        holder = self._holders.get(device)
        if holder is None:
            holder = lambda: self._hold(device)
            self._holders[device] = holder
        return holder

    def _hold(self, device: int) -> object:
        stream = self._torch.cuda.current_stream(device)
        # An ExternalStream, known by its handle alone, ends when somebody else wants.
        if stream.stream_id != 0 and stream.stream_id == stream.cuda_stream:
            return None
        return stream

    def run(
        self, spec: _engine.Spec, image: Any, out: Any, backend: str, threads: int
    ) -> bool:
        show = self._show
        if not image.is_cuda:
            return _engine.run(
                spec, show(image), show(out), backend, threads, None, None
            )
        device = image.get_device()
        return _engine.run(
            spec,
            show(image),
            show(out),
            backend,
            threads,
            self._handle(device),
            self._holder(device),
        )

    def new(self, like: Any) -> Any:
        return self._torch.empty_like(like)

    def counters(self, shape: tuple[int, ...], like: Any) -> Any:
        return self._torch.empty(shape, dtype=self._torch.int64, device=like.device)

    def dense(self, array: Any) -> Any:
        return array.contiguous()

    def copy(self, out: Any, result: Any) -> None:
        out.copy_(result)


class _Cupy(Library):
    name = "cupy"

    def __init__(self) -> None:
        import cupy

        self._cupy = cupy
        self._external = cupy.cuda.ExternalStream
        self._current_stream: Callable[[], Any] = cupy.cuda.get_current_stream
        self._current_device: Callable[[], int] = cupy.cuda.runtime.getDevice

    def _hold(self) -> object:
        stream = self._current_stream()
        if isinstance(stream, self._external) or stream.ptr == _PER_THREAD_STREAM:
            return None
        return stream

    def run(
        self, spec: _engine.Spec, image: Any, out: Any, backend: str, threads: int
    ) -> bool:
        if image.device.id != self._current_device():
            with image.device:
                return self.run(spec, image, out, backend, threads)
        return _engine.run(
            spec,
            image.__dlpack__(stream=-1),
            out.__dlpack__(stream=-1),
            backend,
            threads,
            self._current_stream().ptr,
            self._hold,
        )

    def new(self, like: Any) -> Any:
        if like.device.id != self._current_device():
            with like.device:
                return self.new(like)
        if like.flags.c_contiguous:
            return self._cupy.ndarray(like.shape, like.dtype)
        return self._cupy.empty_like(like)

    def counters(self, shape: tuple[int, ...], like: Any) -> Any:
        with like.device:
            return self._cupy.empty(shape, self._cupy.int64)

    def dense(self, array: Any) -> Any:
        with array.device:
            return self._cupy.ascontiguousarray(array)

    def copy(self, out: Any, result: Any) -> None:
        out[...] = result


class _Foreign(Library):
    """Any other library's arrays in a GPU's memory. The work is done when a call returns."""

    name = "another library"

    def run(
        self, spec: _engine.Spec, image: Any, out: Any, backend: str, threads: int
    ) -> bool:
        source, stream = _show_foreign(image)
        target, _ = _show_foreign(out)
        return _engine.run(spec, source, target, backend, threads, stream, None)

    def new(self, like: Any) -> Any:
        raise _needs_out(like)

    def counters(self, shape: tuple[int, ...], like: Any) -> Any:
        raise _needs_out(like)

    def dense(self, array: Any) -> Any:
        raise ValueError(
            "The arrays overlap, or their samples do not lie as they must: columns upwards, "
            "channels within pixels or in rows of their own, both arrays alike."
        )

    def copy(self, out: Any, result: Any) -> None:
        raise _needs_out(out)


def _needs_out(array: Any) -> TypeError:
    return TypeError(
        f"Arrays of type {type(array).__module__}.{type(array).__qualname__} cannot be made "
        "here; give one as out, or convert the image to one of CuPy or PyTorch."
    )


def _show_foreign(array: Any) -> tuple[Any, int | None]:
    interface = getattr(array, "__cuda_array_interface__", None)
    if interface is not None:
        return interface, interface.get("stream")
    return array.__dlpack__(stream=_LEGACY_STREAM), _LEGACY_STREAM


_libraries: dict[type, Library] = {}
_numpy: Library = _Numpy()
_foreign: Library = _Foreign()


def library_of(array: Any) -> Library:
    """The library that an argument belongs to; numpy's for what numpy can show."""
    library = _libraries.get(type(array))
    if library is None:
        library = _libraries[type(array)] = _find(array)
    return library


def _find(array: Any) -> Library:
    if isinstance(array, np.ndarray):
        return _numpy
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(array, torch.Tensor):
        return _known(_Torch)
    cupy = sys.modules.get("cupy")
    if cupy is not None and isinstance(array, cupy.ndarray):
        return _known(_Cupy)
    if hasattr(array, "__cuda_array_interface__"):
        return _foreign
    if hasattr(array, "__dlpack__") and not hasattr(array, "__array_interface__"):
        return _foreign
    return _numpy


def _known(kind: type[Library]) -> Library:
    for library in _libraries.values():
        if isinstance(library, kind):
            return library
    return kind()
