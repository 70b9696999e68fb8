# SPDX-License-Identifier: LGPL-2.1-or-later
"""The functions of the package."""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, Literal, overload

from . import _engine
from ._arguments import (
    Array,
    ArrayT,
    Backend,
    Border,
    Taps,
    border_values,
    channel_mask,
    optional_depth,
    optional_radius,
    optional_size,
    taps_bytes,
)
from ._libraries import Library, library_of

# Weights of red and blue in luma.
_LUMA = {
    "bt601": (0.299, 0.114),
    "bt709": (0.2126, 0.0722),
    "bt2020": (0.2627, 0.0593),
}

_filter_spec = lru_cache(maxsize=256)(_engine.filter_spec)
_histogram_spec = lru_cache(maxsize=64)(_engine.histogram_spec)
_equalize_spec = lru_cache(maxsize=64)(_engine.equalize_spec)


def _filter_of(
    kernel: str,
    *,
    sigma: float = 0.0,
    sigma_y: float = -1.0,
    radius: int = -1,
    radius_y: int = -1,
    terms: tuple[tuple[bytes, bytes], ...] = (),
    normalize: bool = False,
    direction: bool = False,
    amount: float = 0.0,
    threshold: float = 0.0,
    scale: float = 1.0,
    bias: float = 0.0,
    border: Border,
    border_value: float | Sequence[float],
    channels: Iterable[int] | None,
    depth: int | None,
    method: str,
) -> _engine.Spec:
    """The engine's spec; what a kernel does not use is left out."""
    return _filter_spec(
        kernel,
        sigma,
        sigma_y,
        radius,
        radius_y,
        terms,
        normalize,
        direction,
        amount,
        threshold,
        scale,
        bias,
        border,
        border_values(border_value),
        channel_mask(channels),
        optional_depth(depth),
        method,
    )


def _apply(
    spec: _engine.Spec, image: ArrayT, out: ArrayT | None, backend: str, threads: int
) -> ArrayT:
    library = library_of(image)
    source = library.accept(image)
    target: Any
    if out is None:
        target = library.new(source)
        if library.run(spec, source, target, backend, threads):
            return target  # type: ignore[no-any-return]
        return _apply_dense(library, spec, source, backend, threads)  # type: ignore[no-any-return]
    if library_of(out) is not library:
        raise _two_libraries(library_of(out), library)
    if not library.run(spec, source, out, backend, threads):
        library.copy(out, _apply_dense(library, spec, source, backend, threads))
    return out


def _two_libraries(out: Library, image: Library) -> TypeError:
    return TypeError(f"out is an array of {out.name}, and the image of {image.name}.")


def _apply_dense(
    library: Library, spec: _engine.Spec, source: Any, backend: str, threads: int
) -> Any:
    """By copies, for arrays that overlap or whose samples lie in another order."""
    source = library.dense(source)
    target = library.new(source)
    _run_dense(library, spec, source, target, backend, threads)
    return target


def _run_dense(
    library: Library, spec: _engine.Spec, source: Any, target: Any, backend: str, threads: int
) -> None:
    if not library.run(spec, source, target, backend, threads):
        raise RuntimeError("The arrays cannot be filtered as they lie in memory.")


def filter(
    image: ArrayT,
    taps_x: Taps,
    taps_y: Taps | None = None,
    *,
    normalize: bool = False,
    scale: float = 1.0,
    bias: float = 0.0,
    border: Border = "replicate",
    border_value: float | Sequence[float] = 0.0,
    channels: Iterable[int] | None = None,
    depth: int | None = None,
    out: ArrayT | None = None,
    backend: Backend = "auto",
    method: str = "auto",
    threads: int = 0,
) -> ArrayT:
    """Filters with taps of your own: a correlation, the taps are not flipped.

    out(x, y) = bias * full + scale * sum_j sum_i ty[j] tx[i] in(x + i - nx // 2, y + j - ny // 2),
    with full = 2**depth - 1, rounded to nearest and clamped to [0, full].

    Parameters
    ----------
    image : uint8 or uint16, (H, W), (H, W, C) or (N, H, W, C) with C from 1 to 4
        Any strides. An array of numpy, CuPy or PyTorch; of another library with `out`.
    taps_x, taps_y : 1 to 4097 numbers
        Along rows and along columns; `taps_y` None: those of `taps_x`.
    normalize : divide the taps by their sum.
    scale, bias : a factor for the sum, and what is added to it, as a part of full.
    border : what lies outside of abcd
        "replicate" aaa|abcd|ddd, "reflect" cba|abcd|dcb, "reflect-101" dcb|abcd|cba,
        "wrap" bcd|abcd|abc, "constant" vvv|abcd|vvv with v = `border_value`.
    border_value : codes from 0 to full, one for all channels or one for each.
    channels : the channels to filter, from 0; others are copied. None: all.
    depth : significant bits of a sample, the lowest ones: 1 to 8 of uint8, 9 to 16 of uint16.
        None: all of them.
    out : where the result goes, of the image's shape, type and place; `image` itself is allowed.
        None: a new array of the image's library.
    backend : "cpu", "cuda", or "auto": where the image lies
        With "cuda" arrays of the host's memory go up to a GPU and down again.
    method : how to compute it, a name of `methods()`.
    threads : of the CPU, at most; 0: one a core.

    Returns
    -------
    `out`, or the new array. For arrays of CuPy and PyTorch in a GPU's memory the work is queued
    on the current stream, as those libraries queue theirs; all other results are there.

    Raises
    ------
    ValueError : taps, sizes or settings out of range, `out` that does not fit.
    TypeError : not an array of uint8 or uint16, or arrays of two libraries.
    NotImplementedError (a RuntimeError) : `method` cannot do this.
    RuntimeError : there is no such GPU, or CUDA reported an error.
    MemoryError : no more memory on the host or the GPU.
    """
    y = b"" if taps_y is None else taps_bytes(taps_y, "taps_y")
    spec = _filter_of(
        "custom",
        terms=((taps_bytes(taps_x, "taps_x"), y),),
        normalize=normalize,
        scale=scale,
        bias=bias,
        border=border,
        border_value=border_value,
        channels=channels,
        depth=depth,
        method=method,
    )
    return _apply(spec, image, out, backend, threads)


def gaussian(
    image: ArrayT,
    sigma: float = 2.0,
    sigma_y: float | None = None,
    *,
    radius: int | None = None,
    radius_y: int | None = None,
    border: Border = "replicate",
    border_value: float | Sequence[float] = 0.0,
    channels: Iterable[int] | None = None,
    depth: int | None = None,
    out: ArrayT | None = None,
    backend: Backend = "auto",
    method: str = "auto",
    threads: int = 0,
) -> ArrayT:
    """Blurs by a gaussian, exp(-i**2 / (2 sigma**2)) for |i| <= radius, normalised.

    Parameters
    ----------
    sigma, sigma_y : 0 or more, in pixels; `sigma_y` None: `sigma`.
    radius, radius_y : 0 to 2048 pixels; None: from sigma, 3 sigma rounded up and more for large
        ones. `radius_y` None: `radius`.

    For the other parameters, results and errors see `filter`.
    """
    spec = _filter_of(
        "gaussian",
        sigma=sigma,
        sigma_y=optional_size(sigma_y, "sigma_y"),
        radius=optional_radius(radius, "radius"),
        radius_y=optional_radius(radius_y, "radius_y"),
        border=border,
        border_value=border_value,
        channels=channels,
        depth=depth,
        method=method,
    )
    return _apply(spec, image, out, backend, threads)


def box(
    image: ArrayT,
    radius: int,
    radius_y: int | None = None,
    *,
    border: Border = "replicate",
    border_value: float | Sequence[float] = 0.0,
    channels: Iterable[int] | None = None,
    depth: int | None = None,
    out: ArrayT | None = None,
    backend: Backend = "auto",
    method: str = "auto",
    threads: int = 0,
) -> ArrayT:
    """Averages over boxes of 2 radius + 1 by 2 radius_y + 1 pixels.

    Parameters
    ----------
    radius, radius_y : 0 to 2048 pixels; `radius_y` None: `radius`.

    For the other parameters, results and errors see `filter`.
    """
    x = optional_radius(radius, "radius")
    spec = _filter_of(
        "box",
        radius=x,
        radius_y=x if radius_y is None else optional_radius(radius_y, "radius_y"),
        border=border,
        border_value=border_value,
        channels=channels,
        depth=depth,
        method=method,
    )
    return _apply(spec, image, out, backend, threads)


def sobel(
    image: ArrayT,
    *,
    radius: int = 1,
    direction: bool = False,
    scale: float = 1.0,
    border: Border = "replicate",
    border_value: float | Sequence[float] = 0.0,
    channels: Iterable[int] | None = None,
    depth: int | None = None,
    out: ArrayT | None = None,
    backend: Backend = "auto",
    method: str = "auto",
    threads: int = 0,
) -> ArrayT:
    """The gradient by Sobel's derivatives along x and along y, of each channel.

    Parameters
    ----------
    radius : 1 to 15 pixels; 1: [-1, 0, 1] along one axis and [1, 2, 1] along the other.
    direction : False: the gradient's magnitude, sqrt(dx**2 + dy**2), times `scale`, clamped.
        True: its angle atan2(dy, dx), from 0 on, with 2**depth codes to a turn and y downwards;
        0 where there is no gradient.

    For the other parameters, results and errors see `filter`.
    """
    spec = _filter_of(
        "sobel",
        radius=optional_radius(radius, "radius"),
        direction=direction,
        scale=scale,
        border=border,
        border_value=border_value,
        channels=channels,
        depth=depth,
        method=method,
    )
    return _apply(spec, image, out, backend, threads)


def unsharp(
    image: ArrayT,
    sigma: float = 2.0,
    amount: float = 1.0,
    threshold: float = 0.0,
    *,
    radius: int | None = None,
    border: Border = "replicate",
    border_value: float | Sequence[float] = 0.0,
    channels: Iterable[int] | None = None,
    depth: int | None = None,
    out: ArrayT | None = None,
    backend: Backend = "auto",
    method: str = "auto",
    threads: int = 0,
) -> ArrayT:
    """Sharpens: in + amount * (in - blurred), where these differ by more than the threshold.

    Parameters
    ----------
    sigma, radius : of the gaussian that blurs, as in `gaussian`.
    amount : a factor; negative ones blur.
    threshold : 0 to 1, a part of full = 2**depth - 1.

    For the other parameters, results and errors see `filter`.
    """
    spec = _filter_of(
        "unsharp",
        sigma=sigma,
        radius=optional_radius(radius, "radius"),
        amount=amount,
        threshold=threshold,
        border=border,
        border_value=border_value,
        channels=channels,
        depth=depth,
        method=method,
    )
    return _apply(spec, image, out, backend, threads)


def terms(
    image: ArrayT,
    terms: Sequence[tuple[Taps, Taps]],
    *,
    normalize: bool = False,
    scale: float = 1.0,
    bias: float = 0.0,
    border: Border = "replicate",
    border_value: float | Sequence[float] = 0.0,
    channels: Iterable[int] | None = None,
    depth: int | None = None,
    out: ArrayT | None = None,
    backend: Backend = "auto",
    method: str = "auto",
    threads: int = 0,
) -> ArrayT:
    """Filters with a sum of separable kernels: any kernel of low rank.

    Parameters
    ----------
    terms : 1 to 8 pairs (taps along x, taps along y).
    normalize : divide by the sum of the taps over all terms.

    For the other parameters, results and errors see `filter`.
    """
    pairs = tuple(
        (taps_bytes(x, "taps along x"), taps_bytes(y, "taps along y")) for x, y in terms
    )
    spec = _filter_of(
        "terms",
        terms=pairs,
        normalize=normalize,
        scale=scale,
        bias=bias,
        border=border,
        border_value=border_value,
        channels=channels,
        depth=depth,
        method=method,
    )
    return _apply(spec, image, out, backend, threads)


@overload
def histogram(
    image: Array,
    bins: int = 256,
    *,
    depth: int | None = None,
    out: ArrayT,
    backend: Backend = "auto",
    method: str = "auto",
    threads: int = 0,
) -> ArrayT: ...
@overload
def histogram(
    image: Array,
    bins: int = 256,
    *,
    depth: int | None = None,
    out: None = None,
    backend: Backend = "auto",
    method: str = "auto",
    threads: int = 0,
) -> Any: ...
def histogram(
    image: Array,
    bins: int = 256,
    *,
    depth: int | None = None,
    out: Any = None,
    backend: Backend = "auto",
    method: str = "auto",
    threads: int = 0,
) -> Any:
    """Counts how often codes occur, exactly: code v counts in bin (v * bins) >> depth.

    Parameters
    ----------
    image : as in `filter`.
    bins : 2 to 65536.
    out : int64, the result's shape, row by row without gaps, where the image lies.

    Returns
    -------
    int64, (bins,) for an image (H, W), (C, bins) for (H, W, C), (N, C, bins) for (N, H, W, C):
    `out`, or a new array of the image's library. When it is there: see `filter`.

    For the other parameters and errors see `filter`.
    """
    library = library_of(image)
    source = library.accept(image)
    spec = _histogram_spec(bins, channel_mask(None), optional_depth(depth), method)
    shape = _counters_shape(tuple(source.shape), bins)
    counters = out
    if counters is None:
        counters = library.counters(shape, source)
    elif tuple(counters.shape) != shape:
        raise ValueError(f"out has shape {tuple(counters.shape)} instead of {shape}.")
    elif library_of(counters) is not library:
        raise _two_libraries(library_of(counters), library)
    if not library.run(spec, source, counters, backend, threads):
        _run_dense(library, spec, library.dense(source), counters, backend, threads)
    return counters


def _counters_shape(shape: tuple[int, ...], bins: int) -> tuple[int, ...]:
    if len(shape) == 4:
        return (shape[0], shape[3], bins)
    if len(shape) == 3:
        return (shape[2], bins)
    return (bins,)


def equalize(
    image: ArrayT,
    *,
    strength: float = 1.0,
    order: Literal["rgb", "bgr"] = "rgb",
    luma: Literal["bt601", "bt709", "bt2020"] = "bt709",
    depth: int | None = None,
    out: ArrayT | None = None,
    backend: Backend = "auto",
    threads: int = 0,
) -> ArrayT:
    """Spreads the histogram of the luma over all codes, by one table for each picture.

    Parameters
    ----------
    image : as in `filter`
        One channel is grey, two are grey and alpha, three are colours, four are colours and
        alpha. Alpha is copied. Colours keep the differences between them.
    strength : 0, the image stays as it is, to 1.
    order : of three or four channels.
    luma : the standard that gives the weights of red, green and blue.

    For the other parameters, results and errors see `filter`.
    """
    kr, kb = _luma_weights(luma)
    spec = _equalize_spec(
        False, strength, 1, 1, 0.0, _blue_first(order), kr, kb, optional_depth(depth)
    )
    return _apply(spec, image, out, backend, threads)


def clahe(
    image: ArrayT,
    clip_limit: float = 3.0,
    tiles: int | tuple[int, int] = 8,
    *,
    strength: float = 1.0,
    order: Literal["rgb", "bgr"] = "rgb",
    luma: Literal["bt601", "bt709", "bt2020"] = "bt709",
    depth: int | None = None,
    out: ArrayT | None = None,
    backend: Backend = "auto",
    threads: int = 0,
) -> ArrayT:
    """Contrast-limited adaptive histogram equalisation: a table for each tile, interpolated.

    Parameters
    ----------
    clip_limit : 0, no limit, to 1e6: the most that a bin counts, in mean counts of a bin.
    tiles : 1 to 64, along both axes or (along x, along y).

    For the other parameters see `equalize`, for results and errors `filter`.
    """
    tiles_x, tiles_y = (tiles, tiles) if isinstance(tiles, int) else tiles
    kr, kb = _luma_weights(luma)
    spec = _equalize_spec(
        True,
        strength,
        tiles_x,
        tiles_y,
        clip_limit,
        _blue_first(order),
        kr,
        kb,
        optional_depth(depth),
    )
    return _apply(spec, image, out, backend, threads)


def _luma_weights(luma: str) -> tuple[float, float]:
    weights = _LUMA.get(luma)
    if weights is None:
        raise ValueError(f'luma is "bt601", "bt709" or "bt2020", not "{luma}".')
    return weights


def _blue_first(order: str) -> bool:
    if order not in ("rgb", "bgr"):
        raise ValueError(f'order is "rgb" or "bgr", not "{order}".')
    return order == "bgr"
