#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Reads GstCudaHistogramMeta and cudahisto's messages as a Python application does: through
the typelib, without the package python3-gst-1.0. Exit status 0: all frames carry counters
that add up to the samples of their component, and messages carry the same ones."""

import sys
import warnings

import gi

gi.require_version("Gst", "1.0")
gi.require_version("GstCudaSepconv", "1.0")
from gi.repository import Gst, GstCudaSepconv  # noqa: E402

FRAMES, WIDTH, HEIGHT, BINS = 3, 33, 21, 100
SAMPLES = {"Y": WIDTH * HEIGHT, "U": 17 * 11, "V": 17 * 11}

# For structure.get_array(), which gives a GObject.ValueArray.
warnings.simplefilter("ignore", DeprecationWarning)


def counters(data):
    return memoryview(data.get_data()).cast("Q").tolist()


def read_meta(buffer):
    meta = GstCudaSepconv.buffer_get_cuda_histogram_meta(buffer)
    assert meta is not None, "a frame has no meta"
    assert meta.bins == BINS and meta.get_component(meta.n_components) is None
    histograms = {}
    for i in range(meta.n_components):
        component = meta.get_component(i)
        assert component.depth == 8, component.depth
        histograms[component.name] = counters(meta.get_counts(i))
    return histograms


def read_message(structure):
    components = structure.get_array("components")[1]
    return {components.get_nth(i).get_value("name"):
            counters(components.get_nth(i).get_value("counts"))
            for i in range(components.n_values)}


def main():
    Gst.init(None)
    assert GstCudaSepconv.buffer_get_cuda_histogram_meta(Gst.Buffer()) is None
    pipeline = Gst.parse_launch(
        f"videotestsrc num-buffers={FRAMES} ! video/x-raw,format=NV12,width={WIDTH}"
        f",height={HEIGHT} ! cudahisto backend=cpu bins={BINS} interval=0"
        " attach-meta=true message-bins=bytes ! fakesink name=sink")
    metas, messages = [], []

    def on_buffer(_pad, info):
        metas.append(read_meta(info.get_buffer()))
        return Gst.PadProbeReturn.OK

    pipeline.get_by_name("sink").get_static_pad("sink").add_probe(
        Gst.PadProbeType.BUFFER, on_buffer)
    pipeline.set_state(Gst.State.PLAYING)
    bus = pipeline.get_bus()
    while True:
        message = bus.timed_pop_filtered(
            30 * Gst.SECOND, Gst.MessageType.EOS | Gst.MessageType.ERROR
            | Gst.MessageType.ELEMENT)
        assert message is not None and message.type != Gst.MessageType.ERROR
        if message.type == Gst.MessageType.EOS:
            break
        if message.has_name("cudahisto"):
            messages.append(read_message(message.get_structure()))
    pipeline.set_state(Gst.State.NULL)
    assert len(metas) == FRAMES and metas == messages, (metas, messages)
    for histograms in metas:
        sums = {name: sum(counts) for name, counts in histograms.items()}
        assert sums == SAMPLES, sums
    print(f"{FRAMES} frames carry counters that add up")


if __name__ == "__main__":
    sys.exit(main())
