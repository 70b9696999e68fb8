#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""pictures.py CLIP HIDDEN SCAN FOLDER: the pictures of docs/pictures.sh, into FOLDER.

CLIP is a street scene; HIDDEN is what pipelines/hide-people has made of it; SCAN is a page out of focus.
GST_PLUGIN_PATH names the folder of the plugin.
"""
import subprocess
import sys
import tempfile
from pathlib import Path

import cv2
import numpy as np

FRAMES = (20, 80, 110)
STILL = 70
GAP = 6  # pixels between pictures


def read_frame(path, number):
    """A frame of a clip. They are read in turn, since positions are not exact in all files."""
    video = cv2.VideoCapture(str(path))
    for _ in range(number + 1):
        found, frame = video.read()
        if not found:
            raise SystemExit(f"pictures.py: {path} has no frame {number}")
    return frame


def side_by_side(pictures, axis=1):
    """Joins pictures with white gaps."""
    shape = list(pictures[0].shape)
    shape[axis] = GAP
    gap = np.full(shape, 255, np.uint8)
    parts = [gap] * (2 * len(pictures) - 1)
    parts[::2] = pictures
    return np.concatenate(parts, axis)


def filtered(picture, settings, caps="format=I420"):
    """A picture after cudasepconv."""
    with tempfile.TemporaryDirectory() as folder:
        before, after = Path(folder, "before.png"), Path(folder, "after.png")
        cv2.imwrite(str(before), picture)
        subprocess.run(
            ["gst-launch-1.0", "-q", "filesrc", f"location={before}", "!", "pngdec", "!",
             "videoconvert", "!", f"video/x-raw,{caps}", "!", "cudasepconv", *settings.split(), "!",
             "videoconvert", "!", "pngenc", "!", "filesink", f"location={after}"],
            check=True)
        return cv2.imread(str(after))


def lights():
    """Lamps in the dark: small, bright and coloured."""
    picture = np.zeros((240, 320, 3), np.uint8)
    colours = ((255, 255, 255), (60, 200, 255), (80, 80, 255), (255, 180, 90))
    for i in range(12):
        place = (30 + 85 * (i % 4) + 20 * (i // 4 % 2), 45 + 75 * (i // 4))
        cv2.circle(picture, place, 3 + i % 3, colours[i % 4], -1, cv2.LINE_AA)
    return picture


def scan_pictures(scan):
    """The steps of docs/tutorials/sharpen-a-scan.md."""
    smooth = filtered(scan, "planes=luma sigma=1")
    steps = [scan, filtered(scan, "kernel=unsharp sigma=1 amount=4"),
             filtered(smooth, "planes=luma kernel=unsharp sigma=5 amount=6 scale=1.3")]
    return side_by_side([step[160:380, 100:400] for step in steps])


def half(picture):
    return cv2.resize(picture, None, fx=0.5, fy=0.5, interpolation=cv2.INTER_AREA)


def write(folder, name, picture):
    path = Path(folder, name)
    cv2.imwrite(str(path), picture, [cv2.IMWRITE_JPEG_QUALITY, 80])
    print(f"picture  {path}")


def main():
    if len(sys.argv) != 5:
        raise SystemExit(__doc__)
    clip, hidden, scan, folder = sys.argv[1:]
    rows = [side_by_side([half(read_frame(path, n)) for n in FRAMES]) for path in (clip, hidden)]
    write(folder, "hidden-people.jpg", side_by_side(rows, axis=0))

    still = read_frame(clip, STILL)[170:410, 150:470]
    write(folder, "kernels.jpg", side_by_side([
        side_by_side([still, filtered(still, "sigma=5"),
                      filtered(still, "kernel=unsharp sigma=2 amount=1.5")]),
        side_by_side([filtered(still, "kernel=sobel scale=0.25"),
                      filtered(still, "kernel=log sigma=2 scale=6 bias=0.5"),
                      filtered(still, "roi-mode=inside roi-fill=pixelate sigma=12 zones=<<0.4,0.0,0.5,0.4>>")]),
    ], axis=0))

    write(folder, "scan.jpg", scan_pictures(cv2.imread(scan)))

    lamps = lights()
    write(folder, "linear-light.jpg", side_by_side(
        [lamps, filtered(lamps, "sigma=4", "format=RGB"),
         filtered(lamps, "sigma=4 gamma=linear", "format=RGB")]))


if __name__ == "__main__":
    main()
