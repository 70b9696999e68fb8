# SPDX-License-Identifier: LGPL-2.1-or-later
"""What monitor-streams serves: its page, pictures, events and metrics. All of it runs on one asyncio
loop; only Board.put() is for other threads."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import hashlib
import hmac
import re
import socket
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import prometheus_client
from aiohttp import web
from monitor_inputs import BOUNDARY, Input, Key
from own_packages import say
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

HEARTBEAT = 10.0  # s without news, after which a viewer is looked after
STALLED = 30.0  # s, after which a viewer who takes nothing is disconnected
SEND_BUFFER = 128 * 1024  # bytes that the system keeps for a viewer
LOCAL = ("localhost", "127.0.0.1", "::1")  # names of this machine that take no token
PAGE = Path(__file__).resolve().parent / "monitor-page.html"
HEADERS = {
    "Cache-Control": "no-store",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "Server": "monitor-streams",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
PICTURE_POLICY = ("default-src 'none'; img-src 'self'; style-src 'unsafe-inline'; base-uri 'none';"
                  " form-action 'none'; frame-ancestors 'none'")


class Viewer:
    """A connection: which snapshots it gets, and those that it has yet to be sent, at most one of each
    key."""

    def __init__(self, wants: Callable[[Key], bool], request: web.Request) -> None:
        self.wants = wants
        self.transport = request.transport
        self.pending: dict[Key, bytes] = {}
        self.is_closing = False
        self._wake = asyncio.Event()

    def offer(self, key: Key, snapshot: bytes) -> bool:
        """Returns whether it takes the place of one that has not been sent."""
        replaces = key in self.pending
        self.pending[key] = snapshot
        self._wake.set()
        return replaces

    def close(self) -> None:
        """Also where it is in the middle of a write that does not end."""
        self.is_closing = True
        if self.transport is not None:
            self.transport.abort()
        self._wake.set()

    async def snapshots(self) -> AsyncIterator[bytes]:
        """Those to send, in turn; empty after HEARTBEAT without any."""
        while not self.is_closing:
            with contextlib.suppress(asyncio.TimeoutError):
                async with asyncio.timeout(HEARTBEAT):
                    await self._wake.wait()
            self._wake.clear()
            if not self.pending:
                yield b""
            while self.pending:
                yield self.pending.pop(next(iter(self.pending)))


class Board:
    """The newest snapshot of each key, and the viewers of all."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.newest: dict[Key, bytes] = {}
        self.viewers: set[Viewer] = set()
        self.dropped: dict[int, int] = {}  # pictures, of each input
        self._loop = loop
        self._lock = threading.Lock()  # protects _incoming from the threads of inputs
        self._incoming: dict[Key, bytes] = {}

    def put(self, key: Key, snapshot: bytes) -> None:
        """On any thread. What the loop has not taken yet is replaced."""
        with self._lock:
            is_first = not self._incoming
            self._incoming[key] = snapshot
        if is_first:
            with contextlib.suppress(RuntimeError):  # the loop has ended
                self._loop.call_soon_threadsafe(self._take)

    def _take(self) -> None:
        with self._lock:
            incoming, self._incoming = self._incoming, {}
        for key, snapshot in incoming.items():
            self.newest[key] = snapshot
            for viewer in self.viewers:
                if viewer.wants(key) and viewer.offer(key, snapshot) and key[0] == "picture":
                    self.dropped[key[1]] = self.dropped.get(key[1], 0) + 1

    @contextlib.contextmanager
    def watched_by(self, viewer: Viewer) -> Iterator[None]:
        """The newest snapshots come first; those of pictures may be old."""
        for key, snapshot in self.newest.items():
            if viewer.wants(key) and key[0] != "picture":
                viewer.offer(key, snapshot)
        self.viewers.add(viewer)
        try:
            yield
        finally:
            self.viewers.discard(viewer)

    def close(self) -> None:
        for viewer in self.viewers:
            viewer.close()


class Metrics(Collector):
    """The inputs in numbers."""

    def __init__(self, inputs: list[Input], board: Board) -> None:
        self._inputs, self._board = inputs, board

    def collect(self) -> Iterator[Metric]:
        def counter(name: str, text: str, value: Callable[[Input], float]) -> Metric:
            return self._family(CounterMetricFamily, name, text, value)

        def gauge(name: str, text: str, value: Callable[[Input], float | None]) -> Metric:
            return self._family(GaugeMetricFamily, name, text, value)

        yield gauge("playing", "Whether frames come", lambda i: i.state == "playing")
        yield counter("frames", "Frames that cudahisto has counted or passed", lambda i: i.frames)
        yield gauge("frame_rate", "Frames a second", lambda i: i.rate)
        yield gauge("level", "Mean brightness: 0 is black, 1 is white", lambda i: i.level)
        yield counter("restarts", "Attempts after the first", lambda i: i.restarts)
        yield gauge("viewers", "Connections that take its pictures", lambda i: i.viewers)
        yield counter("pictures", "Pictures encoded", lambda i: i.pictures)
        yield counter("dropped_pictures", "Pictures that a viewer was too slow for",
                      lambda i: self._board.dropped.get(i.number, 0))
        alarm = GaugeMetricFamily("monitor_alarm", "Whether an alarm is on",
                                  labels=["input", "alarm"])
        alarms = CounterMetricFamily("monitor_alarms", "How often an alarm has gone on",
                                     labels=["input", "alarm"])
        for i in self._inputs:
            for name, raised in i.raised.items():
                alarm.add_metric([i.name, name], float(name in i.on))
                alarms.add_metric([i.name, name], raised)
        yield alarm
        yield alarms

    def _family(self, kind: type[Any], name: str, text: str,
                value: Callable[[Input], float | None]) -> Metric:
        family: Metric = kind(f"monitor_{name}", text, labels=["input"])
        for i in self._inputs:
            number = value(i)
            if number is not None:
                family.add_metric([i.name], float(number))  # type: ignore[attr-defined]
        return family


class Pages:
    """The handlers. Without a token this machine alone is served."""

    def __init__(self, inputs: list[Input], board: Board, token: str, port: int) -> None:
        self.inputs, self.board, self.token = inputs, board, token
        self.cookie = f"monitor-streams-{port}"  # cookies are a machine's, whatever the port
        self.registry = prometheus_client.CollectorRegistry(auto_describe=False)
        self.registry.register(Metrics(inputs, board))
        prometheus_client.ProcessCollector(registry=self.registry)
        self.page = PAGE.read_text(encoding="utf-8")
        hashes = {tag: base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
                  for tag, text in re.findall(r"<(script|style)>(.*?)</\1>", self.page, re.DOTALL)}
        self.policy = (
            f"default-src 'none'; script-src 'sha256-{hashes['script']}';"
            f" style-src 'sha256-{hashes['style']}'; connect-src 'self'; img-src 'self' data:;"
            " base-uri 'none'; form-action 'none'; frame-ancestors 'none'")

    def application(self) -> web.Application:
        @web.middleware
        async def guarded(request: web.Request, handler: Callable[
                [web.Request], Awaitable[web.StreamResponse]]) -> web.StreamResponse:
            refusal = self.refusal(request)
            if refusal is not None:  # as a mapping it is false
                return refusal
            try:
                return await handler(request)
            except web.HTTPException:
                raise
            except Exception as error:
                say(f"{request.path}: {type(error).__name__}: {error}")
                return web.Response(status=500, text="This is a fault of monitor-streams.\n")

        async def add_headers(_request: web.Request, response: web.StreamResponse) -> None:
            # Pictures alone are in a page that the browser makes, with a style of its own.
            is_picture = response.content_type.startswith("multipart/")
            response.headers.update(
                HEADERS, **{"Content-Security-Policy": PICTURE_POLICY if is_picture else self.policy})

        application = web.Application(middlewares=[guarded])
        application.on_response_prepare.append(add_headers)
        application.add_routes([
            web.get("/", self.get_page),
            web.get("/events", self.get_events, allow_head=False),
            web.get("/pictures", self.get_pictures, allow_head=False),
            web.get(r"/pictures/{number:\d{1,4}}", self.get_pictures, allow_head=False),
            web.get("/metrics", self.get_metrics)])
        return application

    def refusal(self, request: web.Request) -> web.Response | None:
        """Without a token only this machine is served, and under its own name alone: another name for it
        is that of a page that wants to read this one."""
        if not self.token:
            name = re.sub(r":\d*$", "", request.host).strip("[]").lower()
            return None if name in LOCAL else web.Response(
                status=403, text="This page is for http://localhost alone.\n")
        if request.path == "/" and "token" in request.query:
            if not self.is_token(request.query["token"]):
                return self.asks_for_token()
            # The address without the token is what the browser shows and keeps.
            response = web.Response(status=303, headers={"Location": "./"})
            response.set_cookie(self.cookie, self.token, httponly=True, samesite="Lax", path="/")
            return response
        scheme, _, given = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() != "bearer":
            given = request.cookies.get(self.cookie, "")
        return None if self.is_token(given) else self.asks_for_token()

    def is_token(self, given: str) -> bool:
        return hmac.compare_digest(given.encode(errors="replace"), self.token.encode())

    @staticmethod
    def asks_for_token() -> web.Response:
        return web.Response(status=401, headers={"WWW-Authenticate": "Bearer"},
                            text="This takes the token: open the address that ends with ?token=…\n")

    async def get_page(self, _request: web.Request) -> web.Response:
        return web.Response(text=self.page, content_type="text/html")

    async def get_metrics(self, _request: web.Request) -> web.Response:
        return web.Response(body=prometheus_client.generate_latest(self.registry),
                            headers={"Content-Type": prometheus_client.CONTENT_TYPE_LATEST})

    async def get_events(self, request: web.Request) -> web.StreamResponse:
        return await self.stream(request, "text/event-stream", b": monitor-streams\n\n", b":\n\n",
                                 lambda key: key[0] != "picture")

    async def get_pictures(self, request: web.Request) -> web.StreamResponse:
        """Of all inputs, or of one."""
        number = int(request.match_info.get("number", 0))
        inputs = [i for i in self.inputs if number in (0, i.number)]
        if not inputs:
            raise web.HTTPNotFound
        for i in inputs:
            i.viewers += 1
        try:
            return await self.stream(
                request, "multipart/x-mixed-replace; boundary=picture", BOUNDARY, b"",
                lambda key: key[0] == "picture" and number in (0, key[1]))
        finally:
            for i in inputs:
                i.viewers -= 1

    async def stream(self, request: web.Request, content_type: str, opening: bytes, heartbeat: bytes,
                     wants: Callable[[Key], bool]) -> web.StreamResponse:
        """Sends snapshots until the viewer goes, or takes nothing for STALLED seconds."""
        response = web.StreamResponse(headers={"Content-Type": content_type})
        await response.prepare(request)
        viewer = Viewer(wants, request)
        if viewer.transport is not None:
            viewer.transport.get_extra_info("socket").setsockopt(
                socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER)
        with self.board.watched_by(viewer), contextlib.suppress(ConnectionError):
            await response.write(opening)
            async for snapshot in viewer.snapshots():
                if request.transport is None:
                    break
                try:
                    async with asyncio.timeout(STALLED):
                        await response.write(snapshot or heartbeat)
                except TimeoutError:
                    viewer.close()
        return response
