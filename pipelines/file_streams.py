# SPDX-License-Identifier: LGPL-2.1-or-later
"""The streams of a video file on their way into another one."""

import time

import gi

gi.require_version("Gst", "1.0")
from gi.repository import Gst  # noqa: E402

# For Streams: the elements before the video's filter. Detectors want people upright.
INPUT = ("filesrc name=input ! parsebin name=parser multiqueue name=streams max-size-time=0"
         " decodebin name=decoder videoconvert name=head ! videoscale add-borders=true"
         " ! capsfilter name=size ! videocrop name=even"
         " ! videoflip video-direction=auto ! video/x-raw,format=I420")
# Ways of sound to a muxer that does not take it as it is.
ENCODE = "decodebin name=first ! audioconvert ! audioresample ! avenc_aac ! aacparse name=last"
REFRAME = "aacparse name=first ! identity name=last"
PROBED = Gst.PadProbeType.BUFFER | Gst.PadProbeType.EVENT_DOWNSTREAM


NO_VIDEO = "there is no video in it that can be decoded"
# Seconds that a file may take until its first data flows. parsebin may lose a demuxer's error, and a
# read may never return: no state can be changed then, and the pipeline is left to the end of the process.
LIMIT = 30


class Failure(Exception):
    """A sentence for the user."""


class Pipeline:
    """A pipeline around a file, which a `with` statement runs. `say` gets warnings."""

    def __init__(self, description, path, say):
        self.bin, self.path, self.say = Gst.parse_launch(description), path, say
        self.failure = None  # a sentence from another thread
        self.late = None     # when no data has come yet that should have
        self.at("input").props.location = path

    def at(self, name):
        return self.bin.get_by_name(name)

    def __enter__(self):
        self.bin.set_state(Gst.State.PLAYING)

    def __exit__(self, *_):
        if self.late is None:
            self.bin.set_state(Gst.State.NULL)

    def reaches_end(self, milliseconds):
        """Waits so long for one message; true for that at the end."""
        message = self.bin.get_bus().timed_pop(milliseconds * Gst.MSECOND)
        if self.failure:
            raise Failure(f"{self.path}: {self.failure}")
        if self.late is not None and time.monotonic() >= self.late:
            raise Failure(f"{self.path}: no data of it has come within {LIMIT} s")
        if message is None:
            return False
        if message.type == Gst.MessageType.ERROR:
            raise Failure(f"{self.path}: {message.parse_error()[0].message}")
        if message.type == Gst.MessageType.WARNING:
            warning = message.parse_warning()[0]
            if warning.matches(Gst.ParseError.quark(), Gst.ParseError.DELAYED_LINK):
                raise Failure(f"{self.path}: {NO_VIDEO}")
            self.say(f"{self.path}: {warning.message}")
        return message.type == Gst.MessageType.EOS


def structure_of(caps):
    """Of fixed caps. The overrides of GStreamer 1.26 for Python wrap it, for `with`."""
    found = caps.get_structure(0)
    return found.__enter__() if hasattr(found, "__enter__") else found


def frames_of(path, say):
    """The frames of the first video as buffers, and their caps."""
    reading = Pipeline("filesrc name=input ! decodebin ! videoconvert"
                       " ! videoflip video-direction=auto ! video/x-raw,format=I420"
                       " ! appsink name=output sync=false max-buffers=2", path, say)
    with reading:
        while True:
            sample = reading.at("output").emit("try-pull-sample", 100 * Gst.MSECOND)
            if sample is not None:
                yield sample.get_buffer(), sample.get_caps()
            elif reading.reaches_end(0):
                return


class Streams:
    """Links a pipeline of INPUT, a filter, an encoder and an element "muxer".

    The first video goes to the filter, upright. Sound goes to the muxer as it is, or as AAC.
    Other streams are left out, and so are tags: titles, places, preview pictures."""

    def __init__(self, pipeline):
        self.pipeline, self.at = pipeline, pipeline.at
        pipeline.late = time.monotonic() + LIMIT
        self.end = None  # time after which no sound is taken
        self.at("parser").connect("pad-added", self.on_stream)
        self.at("decoder").connect("pad-added", self.on_decoded)
        self.at("head").get_static_pad("sink").add_probe(Gst.PadProbeType.EVENT_DOWNSTREAM, self.on_video)
        self.at("muxer").sinkpads[0].add_probe(Gst.PadProbeType.EVENT_DOWNSTREAM, self.on_muxed)

    def on_stream(self, _parser, pad):
        pad.add_probe(Gst.PadProbeType.DATA_DOWNSTREAM, self.on_begin)
        stream = pad.get_stream()
        caps = pad.get_current_caps() or stream and stream.get_caps() or pad.query_caps(None)
        name = structure_of(caps).get_name()
        decoder = self.at("decoder").get_static_pad("sink")
        is_sound = name.startswith("audio/")
        if not is_sound and (decoder.is_linked() or not name.startswith(("video/", "image/"))):
            self.pipeline.say(f"{self.pipeline.path}: {name} is left out")
            return
        # All wait for each other in one queue.
        queue = self.at("streams").request_pad_simple("sink_%u")
        pad.link(queue)
        source = self.at("streams").get_static_pad(queue.get_name().replace("sink", "src"))
        if is_sound:
            self.link_sound(source, caps)
        else:
            source.link(decoder)

    def on_begin(self, _pad, info):
        """The parser adds all pads of a file before data flows through any, or ends without any."""
        if (info.type & Gst.PadProbeType.EVENT_DOWNSTREAM
                and info.get_event().type != Gst.EventType.EOS):
            return Gst.PadProbeReturn.OK
        self.pipeline.late = None
        if not self.at("decoder").get_static_pad("sink").is_linked():
            self.pipeline.failure = NO_VIDEO
        return Gst.PadProbeReturn.REMOVE

    def link_sound(self, source, caps):
        sink = self.at("muxer").get_compatible_pad(source, caps)
        if sink is None:
            # AAC with other framing needs no more than a parser.
            is_aac = caps.is_subset(Gst.Caps.from_string("audio/mpeg,mpegversion={2,4}"))
            sound = Gst.parse_bin_from_description(REFRAME if is_aac else ENCODE, False)
            for name, end in (("sink", "first"), ("src", "last")):
                pad = sound.get_by_name(end).get_static_pad(name)
                sound.add_pad(Gst.GhostPad.new(name, pad))
            self.pipeline.bin.add(sound)
            source.link(sound.get_static_pad("sink"))
            source = sound.get_static_pad("src")
            sink = self.at("muxer").request_pad_simple("audio_%u")
            sound.sync_state_with_parent()
        source.link(sink)
        sink.add_probe(PROBED, self.on_muxed)

    def on_decoded(self, _decoder, pad):
        pad.link(self.at("head").get_static_pad("sink"))

    def on_video(self, _pad, info):
        """Muxers take one size and shape of pixels: frames behind the first get those of that one.
        4:2:0 H.264 has even sizes: an odd one loses a column or row."""
        if info.get_event().type != Gst.EventType.CAPS:
            return Gst.PadProbeReturn.OK
        size = structure_of(info.get_event().parse_caps())
        shape = size.get_fraction("pixel-aspect-ratio")
        colors = size.get_string("colorimetry")
        self.at("size").props.caps = Gst.Caps.from_string(
            f"video/x-raw,width={size.get_int('width').value},height={size.get_int('height').value}"
            + f",pixel-aspect-ratio={shape.value_numerator}/{shape.value_denominator}" * shape[0]
            + f",colorimetry={colors}" * bool(colors))
        for side, length in (("right", "width"), ("bottom", "height")):
            self.at("even").set_property(side, size.get_int(length).value & 1)
        return Gst.PadProbeReturn.REMOVE

    def on_muxed(self, _pad, info):
        if info.type & Gst.PadProbeType.BUFFER:
            dropped = self.end is not None and info.get_buffer().pts >= self.end
        else:
            dropped = info.get_event().type in (Gst.EventType.TAG, Gst.EventType.TOC)
        return Gst.PadProbeReturn.DROP if dropped else Gst.PadProbeReturn.OK
