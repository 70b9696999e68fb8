# SPDX-License-Identifier: LGPL-2.1-or-later
"""The places where arrays can lie, and how to bring pictures there and back."""

import ctypes
from functools import lru_cache

import numpy as np

import cudasepconv


class Place:
    """A library's arrays on a device. `missing` says why there are none here, or is None."""

    backend = "auto"
    on_gpu = False
    slices = True  # arrays can be sliced and transposed
    makes = True  # results are made without `out`
    streams = False  # has current streams

    def __init__(self, name, missing):
        self.name = name
        self.missing = missing

    def put(self, picture):
        """The elements in an array of this place, row by row."""
        raise NotImplementedError

    def get(self, array):
        """The elements as a numpy array."""
        raise NotImplementedError

    def call(self, function, picture, *args, **settings):
        """function(picture) there, and its result back here."""
        image = self.put(picture)
        if not self.makes and "out" not in settings:
            settings["out"] = self.put(np.zeros_like(picture))
        return self.get(function(image, *args, backend=self.backend, **settings))


class NumpyPlace(Place):
    def put(self, picture):
        return np.array(picture, order="C")

    def get(self, array):
        assert type(array) is np.ndarray
        return array


class StagedPlace(NumpyPlace):
    """Pictures in the host's memory that go up to a GPU and down again."""

    backend = "cuda"


class TorchPlace(Place):
    def __init__(self, name, missing, device):
        super().__init__(name, missing)
        self.device = device
        self.on_gpu = self.streams = device == "cuda"

    def put(self, picture):
        import torch

        return torch.from_numpy(np.array(picture, order="C")).to(self.device)

    def get(self, array):
        import torch

        assert type(array) is torch.Tensor
        assert array.device.type == self.device
        return array.cpu().numpy()


class CupyPlace(Place):
    on_gpu = streams = True

    def put(self, picture):
        import cupy

        return cupy.array(picture, order="C")

    def get(self, array):
        import cupy

        assert type(array) is cupy.ndarray
        return cupy.asnumpy(array)


class InterfaceArray:
    """Memory of the driver, shown by __cuda_array_interface__ alone."""

    def __init__(self, picture):
        picture = np.ascontiguousarray(picture)
        self.shape, self.dtype, self.nbytes = picture.shape, picture.dtype, picture.nbytes
        self.address = ctypes.c_uint64()
        self.read_only = False
        call_driver("cuMemAlloc_v2", ctypes.byref(self.address), ctypes.c_size_t(self.nbytes))
        call_driver("cuMemcpyHtoD_v2", self.address, picture.ctypes.data_as(ctypes.c_void_p),
                    ctypes.c_size_t(self.nbytes))

    @property
    def __cuda_array_interface__(self):
        return {
            "shape": self.shape,
            "typestr": self.dtype.str,
            "data": (self.address.value, self.read_only),
            "version": 3,
            "strides": None,
            "stream": None,
        }

    def numpy(self):
        picture = np.empty(self.shape, self.dtype)
        call_driver("cuMemcpyDtoH_v2", picture.ctypes.data_as(ctypes.c_void_p), self.address,
                    ctypes.c_size_t(self.nbytes))
        return picture

    def __del__(self):
        call_driver("cuMemFree_v2", self.address)


@lru_cache
def load_driver():
    """The driver, with its first device's primary context."""
    driver = ctypes.CDLL("libcuda.so.1")
    device, context = ctypes.c_int(), ctypes.c_void_p()
    assert driver.cuInit(0) == 0
    assert driver.cuDeviceGet(ctypes.byref(device), 0) == 0
    assert driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), device) == 0
    return driver, context


def call_driver(name, *args):
    driver, context = load_driver()
    assert driver.cuCtxPushCurrent_v2(context) == 0
    status = getattr(driver, name)(*args)
    popped = ctypes.c_void_p()
    assert driver.cuCtxPopCurrent_v2(ctypes.byref(popped)) == 0
    assert status == 0, f"{name}: CUresult {status}"


class InterfacePlace(Place):
    on_gpu = True
    slices = makes = False

    def put(self, picture):
        return InterfaceArray(picture)

    def get(self, array):
        return array.numpy()


def _missing_torch(device):
    try:
        import torch
    except ImportError:
        return "there is no PyTorch"
    if not hasattr(torch, "uint16"):
        return "this PyTorch has no uint16"
    if device == "cuda" and not torch.cuda.is_available():
        return "PyTorch has no GPU"
    return None


def _missing_cupy():
    try:
        import cupy
    except ImportError:
        return "there is no CuPy"
    try:
        cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError:
        return "CuPy has no GPU"
    return None


@lru_cache
def all_places():
    gpu = None if cudasepconv.cuda_devices() > 0 else "there is no GPU, or no CUDA in this build"
    return [
        NumpyPlace("numpy", None),
        StagedPlace("numpy-on-gpu", gpu),
        InterfacePlace("interface", gpu),
        TorchPlace("torch-cpu", _missing_torch("cpu"), "cpu"),
        TorchPlace("torch", gpu or _missing_torch("cuda"), "cuda"),
        CupyPlace("cupy", gpu or _missing_cupy()),
    ]
