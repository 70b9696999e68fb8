#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Filters frames that numpy makes, and gives the results back to numpy.

    numpy-frames.py [FRAMES]

Arrays lie in the buffers themselves: nothing is copied in Python. Histograms come as arrays, too, from
the messages of cudahisto and, where the typelib GstCudaSepconv is, from the meta on the buffer. The
packages python3-gst-1.0 and gir1.2-gst-plugins-base-1.0 are needed; without the former, mapped buffers
are copies. Exit status: 0; 1 and a sentence on stderr."""

import contextlib
import os
import sys

try:
    import numpy
    import gi

    gi.require_version("Gst", "1.0")
    gi.require_version("GstApp", "1.0")
    gi.require_version("GstVideo", "1.0")
    from gi.repository import GLib, Gst, GstApp, GstVideo  # noqa: F401
except (ImportError, ValueError) as error:
    sys.exit(f"numpy-frames.py: {error}")

try:
    gi.require_version("GstCudaSepconv", "1.0")
    from gi.repository import GstCudaSepconv
except ValueError:
    GstCudaSepconv = None

WIDTH, HEIGHT = 640, 480
CAPS = f"video/x-raw,format=GRAY8,width={WIDTH},height={HEIGHT},framerate=30/1"
PIPELINE = (f"appsrc name=in format=time caps={CAPS} ! cudasepconv sigma=4"
            " ! cudahisto name=count interval=0 message-bins=bytes attach-meta=true"
            " ! appsink name=out sync=false max-buffers=2")


@contextlib.contextmanager
def pixels(buffer, flags):
    """The picture of a grey buffer as an array, in the buffer's own memory, while it is mapped."""
    meta = GstVideo.buffer_get_video_meta(buffer)
    stride, offset = (meta.stride[0], meta.offset[0]) if meta else (-(-WIDTH // 4) * 4, 0)
    with buffer.map(flags) as mapped:
        yield numpy.ndarray((HEIGHT, WIDTH), numpy.uint8, mapped.data, offset, (stride, 1))


def offered_pool(pad):
    """The pool that cudasepconv offers, of page-locked memory if there is a GPU; else a plain one."""
    caps = pad.get_current_caps()
    query = Gst.Query.new_allocation(caps, True)
    pool, size, least, most = None, WIDTH * HEIGHT, 0, 0
    if pad.peer_query(query) and query.get_n_allocation_pools():
        pool, size, least, most = query.parse_nth_allocation_pool(0)
    pool = pool or GstVideo.VideoBufferPool.new()
    config = pool.get_config()
    Gst.BufferPool.config_set_params(config, caps, size, least, most)
    Gst.BufferPool.config_add_option(config, "GstBufferPoolOptionVideoMeta")
    pool.set_config(config)
    pool.set_active(True)
    return pool


class Source:
    """Makes frames when appsrc asks for them, on its thread: a bar of 8 columns that moves."""

    def __init__(self, frames):
        self.frames, self.pushed, self.pool = frames, 0, None

    def on_need_data(self, source, _length):
        if self.pushed == self.frames:
            source.emit("end-of-stream")
            return
        self.pool = self.pool or offered_pool(source.get_static_pad("src"))
        _, buffer = self.pool.acquire_buffer(None)
        with pixels(buffer, Gst.MapFlags.WRITE) as picture:
            picture[:] = 0
            picture[:, numpy.arange(self.pushed, self.pushed + 8) % WIDTH] = 255
        buffer.pts = self.pushed * Gst.SECOND // 30
        self.pushed += 1
        source.emit("push-buffer", buffer)


def counts_of_message(message):
    """The counters of the first component, as cudahisto posts them."""
    component = message.get_structure().get_value("components")[0]
    return numpy.frombuffer(component.get_value("counts").get_data(), numpy.uint64)


def counts_of_meta(buffer):
    meta = GstCudaSepconv.buffer_get_cuda_histogram_meta(buffer)
    return numpy.frombuffer(meta.get_counts(0).get_data(), numpy.uint64)


def main(frames):
    Gst.init(None)
    pipeline = Gst.parse_launch(PIPELINE)
    source, sink, bus = Source(frames), pipeline.get_by_name("out"), pipeline.get_bus()
    pipeline.get_by_name("in").connect("need-data", source.on_need_data)
    pipeline.set_state(Gst.State.PLAYING)
    while (sample := sink.emit("pull-sample")) is not None:
        buffer = sample.get_buffer()
        with pixels(buffer, Gst.MapFlags.READ) as picture:
            row = picture[HEIGHT // 2]
            print(f"frame {buffer.pts * 30 / Gst.SECOND:.0f}: sample {row.argmax()} is the brightest: {row.max()}")
            counted = numpy.bincount(picture.ravel(), minlength=256)
        message = bus.timed_pop_filtered(Gst.SECOND, Gst.MessageType.ELEMENT)
        histograms = [counts_of_message(message)]
        if GstCudaSepconv:
            histograms.append(counts_of_meta(buffer))
        if not all((histogram == counted).all() for histogram in histograms):
            sys.exit("numpy-frames.py: numpy counts otherwise than cudahisto")
    failure = bus.pop_filtered(Gst.MessageType.ERROR)
    pipeline.set_state(Gst.State.NULL)
    if failure:
        sys.exit(f"numpy-frames.py: {failure.parse_error()[0].message}")


if __name__ == "__main__":
    try:
        main(int(sys.argv[1]) if len(sys.argv) > 1 else 30)
    except GLib.Error as error:
        sys.exit(f"numpy-frames.py: {error.message}")
