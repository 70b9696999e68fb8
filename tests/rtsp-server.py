#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""A network camera: serves a live test picture with H.264 at rtsp://127.0.0.1:PORT/camera, on a free
port or on that of the command line. Prints the address, and serves until stdin ends, so that it does not
outlive a test."""

import sys

import gi

gi.require_version("Gst", "1.0")
gi.require_version("GstRtspServer", "1.0")
from gi.repository import GLib, Gst, GstRtspServer  # noqa: E402

Gst.init(None)
server = GstRtspServer.RTSPServer(address="127.0.0.1", service=(sys.argv[1:] or ["0"])[0])
camera = GstRtspServer.RTSPMediaFactory(
    launch="videotestsrc is-live=true pattern=white ! video/x-raw,width=320,height=240,framerate=30/1"
           " ! x264enc tune=zerolatency key-int-max=15 ! rtph264pay name=pay0")
server.get_mount_points().add_factory("/camera", camera)
server.attach(None)
print(f"rtsp://127.0.0.1:{server.get_bound_port()}/camera", flush=True)
loop = GLib.MainLoop()
GLib.io_add_watch(0, GLib.PRIORITY_DEFAULT, GLib.IO_IN | GLib.IO_HUP, lambda *_: loop.quit())
loop.run()
