# SPDX-License-Identifier: LGPL-2.1-or-later
"""The inputs of monitor-streams: each plays on a thread of its own, and is begun anew when it is lost.

What viewers get of an input are snapshots, each of which takes the place of the one before. They are made
here, once for all viewers, and handed to a function that returns at once. No Python code runs on the
threads of a pipeline, so that nothing here can hold a frame up."""

from __future__ import annotations

import collections
import functools
import json
import os
import re
import threading
import time
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import gi

gi.require_version("Gst", "1.0")
from gi.repository import GLib, Gst  # noqa: E402
from own_packages import say  # noqa: E402

# For structure.get_array(), which gives a GObject.ValueArray.
warnings.simplefilter("ignore", DeprecationWarning)

ALARMS = ("too-dark", "too-bright", "flat", "scene-change")
LOST = "lost"  # stands among the alarms of the history
HISTORY = 100  # entries of an input
POLL = 0.1  # s, between looks for messages while there is no picture
RATE_SPAN = 5  # s, over which frames are counted for the frame rate
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 8.0  # s, between attempts
SETTLED = 10.0  # s: after an input has played so long, pauses begin with the shortest again
NO_VIDEO = "there is no video in it that can be decoded"
ENDED = "it has ended"
BOUNDARY = b"--picture\r\n"  # between the parts of a multipart stream

PATTERN = ("videotestsrc is-live=true pattern={} ! video/x-raw,format=I420,colorimetry=bt601"
           ",width=640,height=480,framerate=25/1")
# Frames pass to a sink that keeps their time. While somebody watches, some of them pass on to the encoder,
# by a queue that holds the newest alone. JPEG has codes of full range, which videoconvert makes of RGB alone:
# from I420 to I420 it leaves them as they are.
PIPELINE = (
    "{head} ! cudahisto {settings} name=histogram backend={backend} message-bins=bytes"
    " post-messages=true interval={interval} ! tee name=frames"
    " frames. ! fakesink sync=true enable-last-sample=false"
    " frames. ! videorate drop-only=true max-rate={rate}"
    " ! valve name=valve drop=true drop-mode=forward-sticky-events"
    " ! queue leaky=downstream max-size-buffers=1 max-size-bytes=0 max-size-time=0"
    " ! videoscale ! videoconvert ! video/x-raw,format=BGRx,width=[1,{width}],pixel-aspect-ratio=1/1"
    " ! videoconvert ! video/x-raw,format=I420,colorimetry=1:4:0:0 ! jpegenc"
    " ! appsink name=pictures sync=false async=false max-buffers=1 drop=true enable-last-sample=false")


class Failure(Exception):
    """A sentence for the user."""


class Settings(NamedTuple):
    interval: float  # s, between histograms
    picture_rate: int  # 1/s, at most
    picture_width: int  # pixels, at most
    timeout: float  # s without a frame, after which an input is lost
    backend: str
    histogram: str  # properties of cudahisto, as gst-launch-1.0 takes them


class Source(NamedTuple):
    name: str  # what viewers see
    head: str  # the elements that give its frames
    uri: str  # "" for a test picture
    is_file: bool


# Which key of a snapshot: its kind and the number of its input.
Key = tuple[str, int]
Publish = Callable[[Key, bytes], None]


def test_source(name: str, pattern: str) -> Source:
    try:
        if not re.fullmatch(r"[a-z0-9-]+", pattern):
            raise ValueError
        Gst.parse_launch(f"videotestsrc pattern={pattern}")
    except (GLib.Error, ValueError):
        raise Failure(f"there is no test picture {pattern}") from None
    return Source(name, PATTERN.format(pattern), "", False)


def without_secrets(uri: str) -> str:
    """An address for viewers: names, passwords and queries of URIs are nobody else's business."""
    return re.sub(r"[?#].*", "", re.sub(r"(?<=://)[^/]*@", "", uri))


def source_of(text: str) -> Source:
    """An input of the command line, [NAME=]INPUT. A name has no slash, colon or question mark, so that a
    file whose own name has an equals sign can be given as ./a=b.mkv."""
    named = re.fullmatch(r"([^/:?=]+)=(.+)", text, re.DOTALL)
    name, place = named.groups() if named else ("", text)
    kind, _, pattern = place.partition(":")
    if kind == "test" and not pattern.startswith("//"):
        return test_source(name or place, pattern or "smpte")
    head = "uridecodebin name=source ! videoconvert"
    if "://" in place:
        scheme = place.partition("://")[0]
        if not Gst.uri_is_valid(place) or not Gst.uri_protocol_is_supported(Gst.URIType.SRC, scheme):
            raise Failure(f"{without_secrets(place)}: GStreamer reads no such address here")
        return Source(name or without_secrets(place), head, place, scheme == "file")
    if place.startswith("/dev/video"):
        return Source(name or place, head, f"v4l2://{place}", False)
    uri = Gst.filename_to_uri(os.path.abspath(place))
    return Source(name or os.path.basename(place), head, uri, True)


def sources_of(texts: list[str]) -> list[Source]:
    """No two have the same name."""
    sources: list[Source] = []
    for source in map(source_of, texts):
        same = [other.name for other in sources]
        number, name = 2, source.name
        while name in same:
            number, name = number + 1, f"{source.name} ({number})"
        sources.append(source._replace(name=name))
    return sources


def check_settings(settings: Settings) -> None:
    """That cudahisto takes the properties."""
    try:
        element = Gst.parse_launch(f"cudahisto backend={settings.backend} {settings.histogram}")
    except GLib.Error as error:
        raise Failure(f"cudahisto does not take this: {error.message}") from None
    if element.get_factory() is None or element.get_factory().get_name() != "cudahisto":
        raise Failure("--settings takes properties of cudahisto alone")


def part_of(number: int, picture: bytes) -> bytes:
    """A part of a multipart stream. The boundary ends it, so that a browser shows it at once."""
    head = f"Content-Type: image/jpeg\r\nContent-Length: {len(picture)}\r\nX-Input: {number}\r\n\r\n"
    return head.encode() + picture + b"\r\n" + BOUNDARY


def event_of(kind: str, values: dict[str, Any]) -> bytes:
    """A server-sent event. JSON has no line breaks of its own."""
    return f"event: {kind}\ndata: {json.dumps(values, separators=(',', ':'))}\n\n".encode()


@functools.lru_cache(maxsize=100)
def say_once(text: str) -> None:
    say(text)


class Entry:
    """One alarm, from its beginning to its end, in seconds since 1970."""

    def __init__(self, alarm: str, text: str) -> None:
        self.alarm, self.text = alarm, text
        self.began = time.time()
        self.ended: float | None = None


class Input:
    """Attributes without an underscore may be read on any thread. `viewers` is the caller's: pictures are
    made while it is not 0."""

    def __init__(self, number: int, source: Source, settings: Settings, publish: Publish) -> None:
        self.number, self.name = number, source.name
        self.frames = self.pictures = self.restarts = self.viewers = 0
        self.state = "starting"
        self.rate = 0.0  # frames/s
        self.level: float | None = None
        self.raised = dict.fromkeys((*ALARMS, LOST), 0)  # how often
        self.on: dict[str, Entry] = {}  # alarms that have not ended
        self._source, self._settings, self._publish = source, settings, publish
        self._history: collections.deque[Entry] = collections.deque(maxlen=HISTORY)
        self._video = ""  # such as "I420 640×480"
        self._shown: dict[str, Any] = {}
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name=source.name, daemon=True)
        self._show()
        self._show_alarms()

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()

    def join(self, seconds: float) -> bool:
        """Whether it has ended in that time."""
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def _run(self) -> None:
        pause = FIRST_PAUSE / 2
        while True:
            began = time.monotonic()
            reason = self._play()
            if self._stopping.is_set():
                return
            ended = reason == ENDED and self._source.is_file
            settled = self.state == "playing" and (ended or time.monotonic() - began >= SETTLED)
            pause = FIRST_PAUSE if settled else min(2 * pause, LONGEST_PAUSE)
            self._lose(reason, ended, pause)
            if self._stopping.wait(pause):
                return
            self.restarts += 1
            self._show(state="starting" if ended else "trying again")

    def _play(self) -> str:
        """One attempt. Returns the reason of its end."""
        begun_with = self.frames
        try:
            playing = Playing(self._source, self._settings)
        except GLib.Error as error:
            return self._for_viewers(error.message)
        try:
            return self._follow(playing)
        finally:
            self.frames = begun_with + playing.frames()
            playing.close()

    def _follow(self, playing: Playing) -> str:
        begun_with, seen, counted = self.frames, 0, time.monotonic()
        last_frame = counted
        times = collections.deque([(counted, 0)], maxlen=RATE_SPAN + 1)
        while not self._stopping.is_set():
            playing.let_pictures_pass(self.viewers > 0)
            began = time.monotonic()
            picture = playing.next_picture()
            if picture is not None:
                self.pictures += 1
                self._publish(("picture", self.number), part_of(self.number, picture))
            elif (left := began + POLL - time.monotonic()) > 0:  # nothing is to come
                self._stopping.wait(left)
            for message in playing.messages():
                if reason := self._look_at(message):
                    return reason
            now = time.monotonic()
            if now - counted < 1:
                continue
            counted, frames = now, playing.frames()
            if frames > seen:
                last_frame = now
            elif now - last_frame > self._settings.timeout:
                return f"no frame has come for {self._settings.timeout:g} s"
            seen, self.frames = frames, begun_with + frames
            times.append((now, frames))
            self.rate = (frames - times[0][1]) / (now - times[0][0])
            self._show()
        return ""

    def _look_at(self, message: Any) -> str:
        """Returns the reason if the message is the end of this attempt."""
        if message.type == Gst.MessageType.EOS:
            return ENDED
        if message.type == Gst.MessageType.ERROR:
            return self._for_viewers(message.parse_error()[0].message)
        if message.type == Gst.MessageType.WARNING:
            warning = message.parse_warning()[0]
            if warning.matches(Gst.ParseError.quark(), Gst.ParseError.DELAYED_LINK):
                return NO_VIDEO
            say_once(self._for_viewers(warning.message))
        elif message.has_name("cudahisto"):
            self._count(message.get_structure())
        return ""

    def _for_viewers(self, text: str) -> str:
        """What GStreamer says, without the address, in which a password may stand."""
        text = text.replace(self._source.uri, self.name) if self._source.uri else text
        return text.strip().rstrip(".")

    def _count(self, report: Any) -> None:
        value = report.get_value
        self.level = value("level")
        self._video = f"{value('format')} {value('width')}×{value('height')}"
        changed = self._set_alarm(LOST, False)
        if self.state != "playing":
            if self._shown.get("lost"):
                say(f"{self.name}: plays again")
            self._show(state="playing", lost=False)
        for alarm in ALARMS:
            changed |= self._set_alarm(alarm, value(alarm), f"level {self.level:.3f}")
        if changed:
            self._show_alarms()
        components = report.get_array("components")[1]
        self._publish(("histogram", self.number), event_of("histogram", {
            "input": self.number, "level": round(value("level"), 4),
            "spread": round(value("spread"), 4),
            "components": [self._component(components.get_nth(i))
                           for i in range(components.n_values)]}))

    @staticmethod
    def _component(component: Any) -> dict[str, Any]:
        counts = component.get_value("counts").get_data()
        return {"name": component.get_value("name"), "depth": component.get_value("depth"),
                "bins": memoryview(counts).cast("Q").tolist()}

    def _set_alarm(self, alarm: str, is_on: bool, text: str = "") -> bool:
        """Returns whether that is a change."""
        if is_on == (alarm in self.on):
            return False
        if is_on:
            entry = self.on[alarm] = Entry(alarm, text)
            self._history.append(entry)
            self.raised[alarm] += 1
        else:
            self.on.pop(alarm).ended = time.time()
        return True

    def _lose(self, reason: str, file_has_ended: bool, pause: float) -> None:
        """The end of a file is in the nature of it, and no alarm."""
        for alarm in ALARMS:
            self._set_alarm(alarm, False)
        if not file_has_ended:
            self._set_alarm(LOST, True, reason)
            if not self._shown.get("lost"):
                say(f"{self.name}: lost: {reason}; trying again until it comes back")
        self.rate, self.level = 0.0, None
        self._show(state="ended" if file_has_ended else LOST, reason=reason, pause=pause,
                   lost=not file_has_ended or self._shown.get("lost"))
        self._show_alarms()

    def _show(self, **changes: Any) -> None:
        self.state = changes.get("state", self.state)
        shown = {**self._shown, **changes, "input": self.number, "name": self.name,
                 "state": self.state, "rate": round(self.rate, 1), "video": self._video}
        if shown != self._shown:
            self._shown = shown
            self._publish(("input", self.number), event_of("input", shown))

    def _show_alarms(self) -> None:
        self._publish(("alarms", self.number), event_of("alarms", {
            "input": self.number, "on": list(self.on),
            "history": [{"alarm": entry.alarm, "text": entry.text, "began": round(entry.began, 3),
                         "ended": entry.ended and round(entry.ended, 3)}
                        for entry in reversed(self._history)]}))


class Playing:
    """The pipeline of one attempt. All of its methods are for one thread."""

    def __init__(self, source: Source, settings: Settings) -> None:
        self._pipeline = Gst.parse_launch(PIPELINE.format(
            head=source.head, settings=settings.histogram, backend=settings.backend,
            interval=round(settings.interval * Gst.SECOND), rate=settings.picture_rate,
            width=settings.picture_width))
        self._histogram, self._valve, self._pictures = (
            self._pipeline.get_by_name(name) for name in ("histogram", "valve", "pictures"))
        if source.uri:
            self._pipeline.get_by_name("source").props.uri = source.uri
        self._bus = self._pipeline.get_bus()
        self._pipeline.set_state(Gst.State.PLAYING)

    def close(self) -> None:
        self._pipeline.set_state(Gst.State.NULL)

    def let_pictures_pass(self, passes: bool) -> None:
        self._valve.props.drop = not passes

    def next_picture(self) -> bytes | None:
        """Waits for a while."""
        sample = self._pictures.emit("try-pull-sample", round(POLL * Gst.SECOND))
        if sample is None:
            return None
        buffer = sample.get_buffer()
        picture: bytes = buffer.extract_dup(0, buffer.get_size())
        return picture

    def messages(self) -> list[Any]:
        """Those that have come."""
        return list(iter(self._bus.pop, None))

    def frames(self) -> int:
        """Since the beginning of the attempt."""
        frames: int = self._histogram.get_property("stats").get_value("frames-out")
        return frames
