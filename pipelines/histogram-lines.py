#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Prints the histograms of a video as JSON, one object a line.

An example of reading cudahisto's messages from Python; histogram-lines is the
same in C. It needs the packages python3-gi and gir1.2-gstreamer-1.0.
Exit status: 0 when INPUT has ended, else 1 and one sentence on stderr."""

import argparse
import json
import math
import os
import signal
import sys
import time
import warnings

PROGRAM = os.path.basename(__file__)
# Seconds that a file may take until its first frame: decodebin may lose a demuxer's error, and a read
# may never return.
FILE_LIMIT = 30
EXAMPLE = """Example:
  histogram-lines.py --every-frame in.mp4 >lines.json
"""

try:
    import gi

    gi.require_version("Gst", "1.0")
    from gi.repository import GLib, Gst
except (ImportError, ValueError):
    sys.exit(f"{PROGRAM}: install python3-gi and gir1.2-gstreamer-1.0")


def fail(text):
    sys.exit(f"{PROGRAM}: {text}")


# The bins of a component come as one block, which is much faster to read than an array
# of values; the lines call them as histogram-lines does.
KEYS = {"counts": "bins"}

# get_value() knows arrays only where python3-gst-1.0 is installed. get_array()
# knows them everywhere, but as GObject.ValueArray, which is deprecated.
warnings.simplefilter("ignore", DeprecationWarning)


def field(structure, name):
    if structure.get_field_type(name).name == "GstValueArray":
        array = structure.get_array(name)[1]
        return [plain(array.get_nth(i)) for i in range(array.n_values)]
    return plain(structure.get_value(name))


def plain(value):
    """A value as json has it: structures are dictionaries, unknown times None."""
    if isinstance(value, Gst.Structure):
        names = map(value.nth_field_name, range(value.n_fields()))
        return {KEYS.get(name, name): field(value, name) for name in names}
    if isinstance(value, GLib.Bytes):  # a block of native uint64
        return memoryview(value.get_data()).cast("Q").tolist()
    return None if value == Gst.CLOCK_TIME_NONE else value


def on_element_message(_bus, message):
    if not message.has_name("cudahisto"):
        return
    try:
        print(json.dumps(plain(message.get_structure())), flush=True)
    except OSError as error:
        print(f"{PROGRAM}: the lines cannot be written: {error.strerror}",
              file=sys.stderr)
        os._exit(1)  # sys.exit() would end no more than this call


def read_arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, epilog=EXAMPLE, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.error = fail
    parser.add_argument("input", metavar="INPUT", nargs="?",
                        help="a file, a URI or a camera such as /dev/video0; "
                        "without one a test picture, without end")
    parser.add_argument("--bins", metavar="N", type=int, default=256,
                        help="counters a component (default: 256)")
    parser.add_argument("--interval", metavar="SECONDS", type=float, default=0.1,
                        help="time between counted frames (default: 0.1)")
    parser.add_argument("--every-frame", action="store_const", const=0.0,
                        dest="interval", help="count all frames")
    parser.add_argument("--planes", default="color",
                        help="color (default), luma, chroma, alpha or all")
    parser.add_argument("--backend", default="auto",
                        help="auto (default), cuda or cpu")
    arguments = parser.parse_args()
    if not 0 <= arguments.interval < 1e9:
        fail("--interval takes seconds from 0 on")
    if not 2 <= arguments.bins <= 65536:
        fail("--bins takes 2 to 65536")
    return arguments


def to_uri(name):
    if Gst.uri_is_valid(name):
        return name
    if not os.path.exists(name):
        fail(f"{name}: there is no such file")
    if name.startswith("/dev/video"):
        return "v4l2://" + name
    return Gst.filename_to_uri(name)


def build_pipeline(arguments):
    source = "videotestsrc ! video/x-raw,format=I420"
    if arguments.input is not None:
        source = "uridecodebin name=source ! videoconvert"
    pipeline = Gst.parse_launch(
        f"{source} ! cudahisto bins={arguments.bins} message-bins=bytes"
        f" interval={int(arguments.interval * Gst.SECOND)}"
        f" planes={arguments.planes} backend={arguments.backend} ! fakesink")
    if arguments.input is not None:
        pipeline.get_by_name("source").props.uri = to_uri(arguments.input)
    return pipeline


def run(pipeline, name, limit):
    """`limit`: seconds until the first frame."""
    bus = pipeline.get_bus()
    late = time.monotonic() + limit
    # Messages are printed on the thread that posts them: whoever reads the lines
    # slowly slows the pipeline, and nothing piles up.
    bus.enable_sync_message_emission()
    bus.connect("sync-message::element", on_element_message)
    pipeline.set_state(Gst.State.PLAYING)
    while True:
        message = bus.timed_pop(Gst.SECOND)
        if message is not None and message.type == Gst.MessageType.ASYNC_DONE:
            late = math.inf
        if time.monotonic() >= late:
            print(f"{PROGRAM}: {name}: no data of it has come within {limit} s",
                  file=sys.stderr, flush=True)
            os._exit(1)  # nobody can change a state while a read does not return
        if message is None:
            continue
        if message.type == Gst.MessageType.EOS:
            return
        if message.type == Gst.MessageType.ERROR:
            fail(f"{name}: {message.parse_error()[0].message}")
        if message.type == Gst.MessageType.WARNING:
            warning = message.parse_warning()[0]
            if warning.matches(Gst.ParseError.quark(),
                               Gst.ParseError.DELAYED_LINK):
                fail(f"{name}: there is no video in it that can be decoded")
            print(f"{message.src.get_name()}: {warning.message}", file=sys.stderr)


def main():
    # End quietly when whoever reads the lines ends, and on Ctrl-C.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    Gst.init(None)
    arguments = read_arguments()
    if sys.stdout is None:
        fail("there is nothing to write to")
    try:
        pipeline = build_pipeline(arguments)
    except GLib.Error as error:
        fail(error.message)
    try:
        is_file = arguments.input and pipeline.get_by_name("source").props.uri.startswith("file:")
        run(pipeline, arguments.input or "videotestsrc", FILE_LIMIT if is_file else math.inf)
    finally:
        pipeline.set_state(Gst.State.NULL)


if __name__ == "__main__":
    main()
