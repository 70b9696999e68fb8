# SPDX-License-Identifier: LGPL-2.1-or-later
"""The engine's extension module. See python/extension/ for what its functions do."""

from collections.abc import Callable
from typing import Any, final

version: str

@final
class Spec: ...

def filter_spec(
    kernel: str,
    sigma_x: float,
    sigma_y: float,
    radius_x: int,
    radius_y: int,
    terms: tuple[tuple[bytes, bytes], ...],
    normalize: bool,
    direction: bool,
    amount: float,
    threshold: float,
    scale: float,
    bias: float,
    border: str,
    border_value: tuple[float, float, float, float],
    channels: int,
    depth: int,
    method: str,
    /,
) -> Spec: ...
def histogram_spec(bins: int, channels: int, depth: int, method: str, /) -> Spec: ...
def equalize_spec(
    by_tiles: bool,
    strength: float,
    tiles_x: int,
    tiles_y: int,
    clip_limit: float,
    blue_first: bool,
    kr: float,
    kb: float,
    depth: int,
    /,
) -> Spec: ...
def run(
    spec: Spec,
    source: Any,
    target: Any,
    backend: str,
    threads: int,
    stream: int | None,
    hold: Callable[[], object] | None,
    /,
) -> bool: ...
def methods() -> tuple[
    tuple[tuple[str, str, bool], ...], tuple[tuple[str, str, bool], ...]
]: ...
def cuda_devices() -> int: ...
def cache_limit(limit: int, /) -> None: ...
def cache_info() -> tuple[int, int, int, int]: ...
def cache_clear() -> None: ...
def cache_abandon() -> None: ...
