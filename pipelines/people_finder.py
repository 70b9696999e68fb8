# SPDX-License-Identifier: LGPL-2.1-or-later
"""Finds people or faces in video frames with the classic detectors of OpenCV, on the CPU."""

import os

import cv2
import gi
import numpy

gi.require_version("Gst", "1.0")
gi.require_version("GstVideo", "1.0")
from gi.repository import Gst, GstVideo  # noqa: E402

CASCADES = "/usr/share/opencv4/haarcascades"  # Debian's opencv-data


class Finder:
    """Rectangles (x, y, width, height) in pixels of the frame. The picture is scaled so that
    the smallest person or face that is looked for has the detector's own size: the time for
    a frame depends on `smallest`, a part of the frame's height, and not on its size."""

    LARGEST_SCALE = 2.5

    def __init__(self, smallest):
        self.smallest = smallest

    def find(self, grey):
        height, width = grey.shape
        scale = min(self.OWN_SIZE / (self.smallest * height), self.LARGEST_SCALE)
        method = cv2.INTER_AREA if scale < 1 else cv2.INTER_LINEAR
        grey = cv2.resize(grey, None, fx=scale, fy=scale, interpolation=method)
        found = (numpy.array(self.find_scaled(grey)).reshape(-1, 4) / scale).round().astype(int)
        return [clip(rectangle, width, height) for rectangle in found]


class People(Finder):
    """Upright people, from head to feet. The rectangles have a margin of their own."""

    LABEL, SHAPE, OWN_SIZE, SMALLEST = "person", "rectangle", 96, 0.085

    def __init__(self, smallest):
        super().__init__(smallest)
        self.hog = cv2.HOGDescriptor()
        self.hog.setSVMDetector(cv2.HOGDescriptor_getDefaultPeopleDetector())

    def find_scaled(self, grey):
        width, height = self.hog.winSize
        if grey.shape[0] < height or grey.shape[1] < width:
            return []
        found, weights = self.hog.detectMultiScale(grey, winStride=(8, 8), padding=(16, 16),
                                                   scale=1.05)
        finds = list(zip(found, numpy.ravel(weights)))
        return [a for a, weight in finds
                if not any(better > weight and is_scene_around(a, b) for b, better in finds)]


class Faces(Finder):
    """Faces from the front and from both sides."""

    LABEL, SHAPE, OWN_SIZE, SMALLEST = "face", "ellipse", 24, 0.06

    def __init__(self, smallest):
        super().__init__(smallest)
        self.front, self.side = (cv2.CascadeClassifier(os.path.join(CASCADES, name + ".xml"))
                                 for name in ("haarcascade_frontalface_default",
                                              "haarcascade_profileface"))
        if self.front.empty() or self.side.empty():
            raise RuntimeError(f"the package opencv-data is missing: no cascades in {CASCADES}")

    def find_scaled(self, grey):
        def find(cascade, picture):
            return list(cascade.detectMultiScale(picture, 1.1, 4,
                                                 minSize=(self.OWN_SIZE, self.OWN_SIZE)))

        width = grey.shape[1]
        mirrored = [(width - x - w, y, w, h) for x, y, w, h in find(self.side, grey[:, ::-1])]
        return find(self.front, grey) + find(self.side, grey) + mirrored


FINDERS = {"people": People, "faces": Faces}


def clip(rectangle, width, height):
    x, y, w, h = (int(n) for n in rectangle)
    left, top = max(x, 0), max(y, 0)
    return left, top, min(x + w, width) - left, min(y + h, height) - top


def is_scene_around(a, b):
    """Seen from afar, a street with a person in it may look like a larger person."""
    inside = all(a[i] <= b[i] + b[i + 2] / 2 <= a[i] + a[i + 2] for i in (0, 1))
    return inside and a[2] >= 2 * b[2]


def same(a, b):
    """Whether two finds are of one person: at least half of their union is in both."""
    width = min(a[0] + a[2], b[0] + b[2]) - max(a[0], b[0])
    height = min(a[1] + a[3], b[1] + b[3]) - max(a[1], b[1])
    common = max(width, 0) * max(height, 0)
    return 2 * common >= a[2] * a[3] + b[2] * b[3] - common


def luma(buffer, caps):
    """The luma of an I420 frame."""
    info = GstVideo.VideoInfo.new_from_caps(caps)
    meta = GstVideo.buffer_get_video_meta(buffer)
    stride, offset = (meta or info).stride[0], (meta or info).offset[0]
    size = stride * (info.height - 1) + info.width
    pixels = numpy.frombuffer(buffer.extract_dup(offset, size), numpy.uint8)
    return numpy.lib.stride_tricks.as_strided(pixels, (info.height, info.width), (stride, 1))


def writable_copy(buffer):
    """The same frame in the same memory. Python holds a reference to the frame itself, so that
    no meta can be added to that one."""
    flags = Gst.BufferCopyFlags
    return buffer.copy_region(flags.FLAGS | flags.TIMESTAMPS | flags.META | flags.MEMORY, 0,
                              buffer.get_size())


def add_regions(buffer, label, rectangles):
    for x, y, width, height in rectangles:
        GstVideo.buffer_add_video_region_of_interest_meta(buffer, label, x, y, width, height)
