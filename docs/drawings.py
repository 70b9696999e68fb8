#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""drawings.py FOLDER: the drawings of docs/methods.md, as SVG files into FOLDER.

Example:
  docs/drawings.py docs/pictures
"""
import math
import sys
from pathlib import Path
from xml.sax.saxutils import escape

INK, MUTED, PAPER = "#222222", "#6b6b6b", "#ffffff"
# Okabe and Ito's colours, lightened, which most colour-blind people tell apart.
BLUE, ORANGE, GREEN, YELLOW, GREY = "#a9d3ee", "#f6c9a0", "#a5dcc8", "#f5e6a3", "#e4e4e4"


class Drawing:
    """Shapes on white paper. Coordinates are pixels, y points down."""

    def __init__(self, width, height, title):
        self.parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}"'
            f' height="{height}" font-family="DejaVu Sans, Verdana, Arial, sans-serif">',
            f"<title>{escape(title)}</title>",
            '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7"'
            f' markerHeight="7" orient="auto"><path d="M0 0 L8 4 L0 8 z" fill="{INK}"/></marker>'
            '<pattern id="hatch" width="7" height="7" patternUnits="userSpaceOnUse"'
            f' patternTransform="rotate(45)"><rect width="7" height="7" fill="{ORANGE}"/>'
            '<path d="M0 0 V7" stroke="#d08040" stroke-width="1.5"/></pattern></defs>',
            f'<rect width="{width}" height="{height}" rx="6" fill="{PAPER}"/>']

    def box(self, x, y, width, height, fill="none", label="", stroke=INK, dash=""):
        dashed = f' stroke-dasharray="{dash}"' if dash else ""
        self.parts.append(f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}"'
                          f' fill="{fill}" stroke="{stroke}"{dashed}/>')
        if label:
            self.text(x + width / 2, y + height / 2 + 4.5, label, anchor="middle")

    def bar(self, x, y, width, height, fill):
        self.parts.append(f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}"'
                          f' height="{height:.1f}" fill="{fill}"/>')

    def text(self, x, y, text, anchor="start", size=13, fill=INK):
        self.parts.append(f'<text x="{x:g}" y="{y:g}" font-size="{size}" fill="{fill}"'
                          f' text-anchor="{anchor}">{escape(text)}</text>')

    def line(self, *points, arrow=False, dash="", stroke=INK, width=1.2):
        ends = ' marker-end="url(#tip)"' if arrow else ""
        dashed = f' stroke-dasharray="{dash}"' if dash else ""
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        self.parts.append(f'<polyline points="{path}" fill="none" stroke="{stroke}"'
                          f' stroke-width="{width}"{dashed}{ends}/>')

    def write(self, folder, name):
        path = Path(folder, name)
        path.write_text("\n".join([*self.parts, "</svg>"]) + "\n", encoding="utf-8")
        print(f"drawing  {path}")


def frames_overlap():
    """Three streams and the pusher over time; the colour of a frame is that of its slot."""
    drawing = Drawing(800, 310, "Frames on three streams at the same time")
    left, unit, high, kernel = 130, 84, 34, 0.45
    slots = (BLUE, ORANGE, GREEN, YELLOW)
    rows = {"copies up": 50, "kernels": 94, "copies down": 138, "pusher": 182}
    for name, y in rows.items():
        drawing.text(left - 12, y + high / 2 + 4.5, name, anchor="end")
        drawing.line((left, y + high), (780, y + high), stroke=GREY)
    for frame in range(6):
        colour = slots[frame % 4]
        begins = {"copies up": (frame, 1), "kernels": (frame + 1, kernel),
                  "copies down": (frame + 1 + kernel, 1), "pusher": (frame + 2 + kernel, 0.18)}
        for name, (begin, length) in begins.items():
            x, width = left + begin * unit, length * unit
            if x + width <= 780:
                drawing.box(x, rows[name], width, high, colour, str(frame))
    now = left + 3.38 * unit
    drawing.line((now, 38), (now, 218), dash="5 4", width=1.6)
    drawing.text(now, 28, "frame 3 goes up, 2 is computed, 1 comes down, 0 has been pushed", anchor="middle")
    y = 250
    drawing.line((left, y), (left + 80, y), arrow=True)
    drawing.text(left + 90, y + 4.5, "time")
    drawing.text(left + 190, y + 4.5, "the ring:")
    for slot, colour in enumerate(slots):
        x = left + 265 + slot * 72
        drawing.box(x, y - 12, 56, 24, colour, f"slot {slot}")
        if slot < 3:
            drawing.line((x + 56, y), (x + 71, y), arrow=True)
    drawing.line((left + 537, y), (left + 551, y), (left + 551, y + 26), (left + 293, y + 26),
                 (left + 293, y + 14), arrow=True)
    drawing.text(left + 422, y + 44, "frame 4 takes the slot of frame 0", anchor="middle", fill=MUTED)
    return drawing


def halo_and_strip():
    """A plane in strips; one of them, with the samples around it that its taps reach."""
    drawing = Drawing(800, 330, "A plane cut into strips, and one strip with its halo")
    drawing.text(40, 32, "a plane, cut into strips")
    x0, y0, width, height = 40, 46, 60, 130
    halo = 14
    for row in range(2):
        for column in range(5):
            drawing.box(x0 + column * width, y0 + row * height, width, height, "none", stroke="#aaaaaa")
    left, top = x0 + 2 * width, y0 + height
    drawing.box(left - halo, top - halo, width + 2 * halo, height + halo, "url(#hatch)")
    drawing.box(left, top, width, height, BLUE, "strip")
    drawing.box(x0, y0, 5 * width, 2 * height)
    drawing.line((left + width + halo, top + 20), (402, 84), stroke=MUTED, dash="3 3")

    x, y, wide, high, edge = 416, 62, 150, 240, 34
    drawing.text(x - edge, 32, "one strip")
    drawing.box(x - edge, y - 16, wide + 2 * edge, high + 16, "url(#hatch)")
    drawing.box(x, y + edge - 16, wide, high - edge + 16, BLUE)
    drawing.box(x, y + edge - 16, wide, 84, GREEN, "results written")
    drawing.box(x - edge, y + 102, wide + 2 * edge, 52, YELLOW, "rows held on the chip")
    drawing.line((x + wide / 2, y + 162), (x + wide / 2, y + 226), arrow=True, width=2)
    drawing.text(x + wide / 2 + 10, y + 200, "march")
    side = x + wide + edge + 14
    for line, text in enumerate(("halo: samples of the", "neighbours that the taps",
                                 "reach, read twice")):
        drawing.text(side, y + 16 + 18 * line, text)
    drawing.line((side - 4, y + 12), (x + wide + edge / 2, y + 12), arrow=True)
    for line, text in enumerate(("a row is read once:", "as many rows are held", "as there are taps")):
        drawing.text(side, y + 124 + 18 * line, text, fill=MUTED)
    return drawing


def march():
    """Five taps along y: each step takes one row and gives one row."""
    drawing = Drawing(800, 300, "Sums of rows move through registers")
    for step in range(3):
        x, first = 76 + 246 * step, 2 + step
        drawing.text(x + 45, 28, f"step {step + 1}", anchor="middle")
        drawing.text(x + 45, 52, f"row {first - 1} leaves", anchor="middle", fill=MUTED)
        for tap in range(5):
            y = 64 + 32 * tap
            drawing.box(x, y, 90, 26, ORANGE if tap == 4 else BLUE, f"row {first + tap}")
            drawing.text(x - 8, y + 18, f"× t{'₀₁₂₃₄'[tap]}", anchor="end", fill=MUTED)
            drawing.line((x + 90, y + 13), (x + 112, y + 13), stroke=MUTED)
        drawing.line((x + 112, 77), (x + 112, 205), stroke=MUTED)
        drawing.line((x + 112, 141), (x + 128, 141), arrow=True)
        drawing.text(x + 132, 137, "result", size=12)
        drawing.text(x + 132, 153, f"row {first + 2}", size=12)
        drawing.line((x + 45, 252), (x + 45, 226), arrow=True)
        drawing.text(x + 45, 270, f"row {first + 4}, summed along x", anchor="middle", size=12)
    return drawing


def spline(distance):
    """The cubic B-spline, whose samples are 1 apart."""
    d = abs(distance)
    if d < 1:
        return (4 - 6 * d * d + 3 * d ** 3) / 6
    return (2 - d) ** 3 / 6 if d < 2 else 0


def weighted(samples, weight):
    """The mean of (position, value) with weight(position)."""
    pairs = [(weight(position), value) for position, value in samples]
    return sum(w * v for w, v in pairs) / sum(w for w, _ in pairs)


def gaussian(sigma):
    return lambda distance: math.exp(-distance * distance / (2 * sigma * sigma))


def multirate():
    """A row of 128 samples, σ 8, factor 4. The splines' variance is 1/3 of a low sample each."""
    drawing = Drawing(800, 480, "A wide blur at a quarter of the sampling rate")
    count, factor, sigma, margin = 128, 4, 8.0, 40
    left, step, tall = 30, 5.75, 64

    def sample(i):
        i = min(max(i, 0), count - 1)
        return 0.25 + 0.6 * (30 <= i < 62) + 0.15 * (math.sin(i * 12.9898) * 43758.5453 % 1 - 0.5) + 0.3 * (88 <= i < 94)

    frame = [(i, sample(i)) for i in range(-margin, count + margin)]
    low = [(i, weighted(frame, lambda p, i=i: spline((p - i * factor) / factor)))
           for i in range(-margin // factor, (count + margin) // factor + 1)]
    narrow = math.sqrt((sigma / factor) ** 2 - 2 / 3)
    smooth = [(i, weighted(low, lambda p, i=i: gaussian(narrow)(p - i)))
              for i in range(-3, count // factor + 4)]
    result = [(i, weighted(smooth, lambda p, i=i: spline(p - i / factor))) for i in range(count)]
    wanted = [(i, weighted(frame, lambda p, i=i: gaussian(sigma)(p - i))) for i in range(count)]

    panels = (("a row of the frame", frame, 1, BLUE),
              ("D: averaged by a window, every 4th sample kept", low, factor, ORANGE),
              ("G: the gaussian, a quarter as wide, on a quarter of the samples", smooth, factor, ORANGE),
              ("U: interpolated; the line is the blur in full resolution", result, 1, GREEN))
    for number, (title, samples, spacing, colour) in enumerate(panels):
        base = 104 + 114 * number
        drawing.text(left, base - tall - 12, title)
        for i, value in samples:
            if 0 <= i * spacing < count:
                drawing.bar(left + i * spacing * step, base - value * tall, step * min(spacing, 3) - 1.2,
                            value * tall, colour)
        drawing.line((left, base), (left + count * step, base))
    centre = 72
    window = [(left + i / 4 * step + 2, 104 - 96 * spline((i / 4 - centre) / factor))
              for i in range(4 * (centre - 8), 4 * (centre + 8) + 1)]
    drawing.line(*window, width=1.8)
    drawing.text(left + (centre + 5) * step, 52, "window of one sample of D", size=12)
    drawing.line(*[(left + i * step + 2, 446 - value * tall) for i, value in wanted], width=1.8)
    return drawing


def main():
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    for draw in (frames_overlap, halo_and_strip, march, multirate):
        draw().write(sys.argv[1], draw.__name__.replace("_", "-") + ".svg")


if __name__ == "__main__":
    main()
