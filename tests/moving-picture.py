#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Makes a clip of a picture, for programs that look for faces: moving-picture.py PICTURE CLIP.avi

The camera circles over the picture, comes closer and leans: 100 frames, 640 x 480, 25 a second."""

import math
import sys

import cv2

WIDTH, HEIGHT, FRAMES = 640, 480, 100


def main(picture, clip):
    image = cv2.imread(picture)
    if image is None:
        sys.exit(f"{picture}: no picture")
    out = cv2.VideoWriter(clip, cv2.VideoWriter_fourcc(*"MJPG"), 25, (WIDTH, HEIGHT))
    scale = max(WIDTH / image.shape[1], HEIGHT / image.shape[0])
    for n in range(FRAMES):
        turn = 2 * math.pi * n / FRAMES
        centre = (image.shape[1] * (0.5 + 0.1 * math.cos(turn)),
                  image.shape[0] * (0.35 + 0.1 * math.sin(turn)))
        move = cv2.getRotationMatrix2D(centre, 6 * math.sin(turn), scale * (1.1 + n / FRAMES / 2))
        move[:, 2] += WIDTH / 2 - centre[0], HEIGHT / 2 - centre[1]
        out.write(cv2.warpAffine(image, move, (WIDTH, HEIGHT), borderMode=cv2.BORDER_REFLECT))
    out.release()


if __name__ == "__main__":
    main(*sys.argv[1:3])
