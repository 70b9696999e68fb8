#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Draws what `kerncheck --bench --json FILE` measured: time over taps.

One panel a frame, both axes logarithmic: every method with its spread, the
copy that none can be faster than, the multiply-adds at the GPU's full rate in
single precision, NPP, and rings around what method=auto takes.
"""
import argparse
import json
import sys

try:
    import matplotlib
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    from matplotlib.lines import Line2D
except ImportError as error:
    sys.exit(f"plot-ladder.py: {error}; on Debian: apt-get install python3-matplotlib")

PANELS = ["GRAY8:7680x4320", "RGBA:3840x2160", "NV12:3840x2160"]
# Okabe and Ito's colours, which most colour-blind people tell apart.
COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"]
MARKERS = "osD^vP*X"
MUTED = "#777777"
PEER = "#000000"


def panel_of(text):
    """FORMAT:WIDTHxHEIGHT as (format, width, height)."""
    try:
        name, size = text.split(":")
        width, height = size.split("x")
        return name, int(width), int(height)
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"{text} is not FORMAT:WIDTHxHEIGHT") from None


def read_rows(path):
    try:
        with open(path, encoding="utf-8") as file:
            results = json.load(file)
        return results["header"], results["rows"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        sys.exit(f"plot-ladder.py: {path} holds no results of"
                 f" kerncheck --bench: {error!r}")


def line(rows, key):
    """Taps and values of the rows that have this key, by taps."""
    points = sorted({row["taps"]: row[key] for row in rows if key in row}.items())
    return [taps for taps, _ in points], [value for _, value in points]


def with_fastest_copy(rows):
    """Methods are drawn as they are in series: so may copies be."""
    return [{**row, "copy_us": min(row["copy_us"],
                                   row.get("copy_overlapping_us", row["copy_us"]))}
            for row in rows]


def draw_method(axes, rows, style):
    rows = sorted(rows, key=lambda row: row["taps"])
    taps = [row["taps"] for row in rows]
    median, low, high = zip(*(row["us"] for row in rows))
    axes.fill_between(taps, low, high, color=style["color"], alpha=0.2, linewidth=0)
    axes.plot(taps, median, markersize=4, linewidth=1.6, **style)


def draw_panel(axes, rows, panel, styles):
    name, width, height = panel
    rows = [row for row in rows
            if (row["format"], row["width"], row["height"]) == panel]
    axes.set_title(f"{name} {width}×{height}", fontsize=10)
    axes.set_xlabel("taps an axis")
    if not rows:
        axes.text(0.5, 0.5, "not measured", ha="center", va="center",
                  color=MUTED, transform=axes.transAxes)
        axes.set_xticks([])
        axes.set_yticks([])
        return
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.plot(*line(with_fastest_copy(rows), "copy_us"), color=MUTED,
              linestyle="--", linewidth=1.4)
    axes.plot(*line(rows, "arithmetic_us"), color=MUTED, linestyle=":", linewidth=1.2)
    axes.plot(*line(rows, "npp_us"), color=PEER, linestyle="-.", marker="x",
              markersize=5, linewidth=1.2)
    for method, style in styles.items():
        mine = [row for row in rows if row["method"] == method]
        if mine:
            draw_method(axes, mine, style)
    chosen = [(row["taps"], row["us"][0]) for row in rows if row["method"] == "auto"]
    if chosen:
        axes.plot(*zip(*chosen), linestyle="none", marker="o", markersize=10,
                  markerfacecolor="none", markeredgecolor=PEER, markeredgewidth=0.8)
    taps = sorted({row["taps"] for row in rows})
    axes.set_xticks(taps, [str(n) for n in taps], fontsize=8)
    axes.minorticks_off()
    axes.grid(True, color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)


def draw_legend(figure, rows, styles):
    entries = [(method, Line2D([], [], markersize=4, **style))
               for method, style in styles.items()]
    entries.append(("copy of the same bytes",
                    Line2D([], [], color=MUTED, linestyle="--")))
    if any("arithmetic_us" in row for row in rows):
        entries.append(("fp32 arithmetic at full rate",
                        Line2D([], [], color=MUTED, linestyle=":")))
    if any("npp_us" in row for row in rows):
        entries.append(("NPP", Line2D([], [], color=PEER, linestyle="-.",
                                      marker="x", markersize=5)))
    entries.append(("auto", Line2D([], [], linestyle="none", marker="o",
                                   markersize=9, markerfacecolor="none",
                                   markeredgecolor=PEER, markeredgewidth=0.8)))
    names, handles = zip(*entries)
    figure.legend(handles, names, loc="lower center", ncol=min(len(names), 6),
                  frameon=False, fontsize=9)


def method_styles(rows):
    """A colour and a marker for each method, in the order of the table."""
    methods = [name for name in dict.fromkeys(row["method"] for row in rows)
               if name != "auto"]
    return {method: {"color": COLOURS[i % len(COLOURS)],
                     "marker": MARKERS[i % len(MARKERS)]}
            for i, method in enumerate(methods)}


def draw(header, rows, panels, path):
    styles = method_styles(rows)
    figure, all_axes = plt.subplots(1, len(panels), squeeze=False,
                                    figsize=(4.2 * len(panels), 4.4))
    for axes, panel in zip(all_axes[0], panels):
        draw_panel(axes, rows, panel, styles)
    all_axes[0][0].set_ylabel("µs a frame")
    figure.suptitle("Separable filter in "
                    + (header.get("gpu") or "host") + " memory, "
                    + header.get("date", "")[:10], fontsize=11)
    draw_legend(figure, rows, styles)
    figure.tight_layout(rect=(0, 0.12, 1, 1))
    # The same results make the same file.
    plt.rcParams["svg.hashsalt"] = "plot-ladder"
    figure.savefig(path, bbox_inches="tight",
                   metadata={"Date": None} if path.endswith(".svg") else None)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results", help="JSON of kerncheck --bench")
    parser.add_argument("picture", help="SVG to write")
    parser.add_argument("--panel", type=panel_of, action="append",
                        metavar="FORMAT:WIDTHxHEIGHT",
                        help="may be repeated; default: " + ", ".join(PANELS))
    options = parser.parse_args()
    panels = options.panel or [panel_of(text) for text in PANELS]
    header, rows = read_rows(options.results)
    try:
        draw(header, rows, panels, options.picture)
    except OSError as error:
        sys.exit(f"plot-ladder.py: {error}")


if __name__ == "__main__":
    main()
