# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the results of cpu-peers.sh say; cpu-peers.sh calls it.

cpu-peers-report.py JSON-FILE [DOCUMENT]

Prints the goals and what was measured. With a document, replaces the part of it between the
lines that hold BEGIN and END by tables, and draws the plot beside the JSON file.
"""

import json
import os
import sys

BEGIN = "<!-- tables of tests/bench/cpu-peers.sh -->"
END = "<!-- end of these tables -->"
FULL_HD = (1920, 1080)
SMALL_TAPS = 33
# Sharpening and edges: kernels and their taps.
EDGES = (("unsharp", 5), ("unsharp", 13), ("sobel", 3), ("laplacian", 3))
TABLE_TAPS = (3, 7, 13, 33, 65, 97, 161, 321, 641)
# Of the gaussians whose cost is to stay the same: σ 10.75 and more, to 80.
LONG_TAPS = (87, 641)
FORMATS = ("GRAY8", "I420", "RGB", "RGBA", "P010")
# From avx2 up.
WIDE = ("avx2", "avx512", "avx512-vnni")
COPIES = 4
COPY_TAPS = 7
# Okabe and Ito's colours, which most colour-blind people tell apart.
ISA_COLOURS = {"baseline": "#56b4e9", "avx2": "#0072b2", "avx512": "#009e73",
               "avx512-vnni": "#000000"}
PEER_COLOURS = {"GaussianBlur": "#d55e00", "GaussianBlur, approx.": "#f0a060",
                "sepFilter2D": "#e69f00", "stackBlur": "#cc79a7"}


def size_of(row):
    return row["width"], row["height"]


def chosen(report, kind="gaussian", formats=FORMATS, sizes=None, taps=None):
    """Rows of the grid; taps are a range's ends."""
    return [row for row in report["rows"] if row["kind"] == kind and row["format"] in formats
            and (sizes is None or size_of(row) in sizes)
            and (taps is None or taps[0] <= row["taps"] <= taps[1])]


def name_of(row):
    return "%s %d×%d, %d taps" % (row["format"], *size_of(row), row["taps"])


def least(rows, isas):
    """The least ratio, and the row and instruction set of it."""
    ratios = [(row["ratio"][isa], name_of(row), isa) for row in rows for isa in isas
              if isa in row["ratio"]]
    return min(ratios) if ratios else None


def dearest(rows, isa):
    """The most copies that a frame takes."""
    copies = [(row["us"][isa] / row["copy_us"], name_of(row), isa) for row in rows
              if isa in row["us"]]
    return max(copies) if copies else None


def goals(report):
    """Yields goal, what is wanted, what was measured, whether that does, and where."""
    for taps, wanted in ((13, (3, 2, .5)), (33, (3, 2, 1))):
        rows = chosen(report, formats=("GRAY8",), sizes=(FULL_HD,), taps=(taps, taps))
        for isa, limit in zip(("avx512-vnni", "avx2", "baseline"), wanted):
            yield f"1080p GRAY8, {taps} taps, {isa}", f"≥ {limit:g}", least(rows, (isa,)), limit
    for name in FORMATS[1:]:
        rows = chosen(report, formats=(name,), sizes=(FULL_HD,), taps=(3, SMALL_TAPS))
        for isa, limit in (("avx512-vnni", 3), ("avx2", 2)):
            yield (f"1080p {name}, 3 to {SMALL_TAPS} taps, {isa}", f"≥ {limit}",
                   least(rows, (isa,)), limit)
    for isa, limit in (("avx512-vnni", 3), ("avx2", 2)):
        rows = chosen(report, formats=("GRAY8",), sizes=(FULL_HD,), taps=LONG_TAPS)
        yield f"1080p GRAY8, σ 10.8 to 80, {isa}", f"≥ {limit}", least(rows, (isa,)), limit
        yield f"σ 80 ÷ σ 12, {isa}", "≤ 1.2", same_cost(report, isa), -1.2
        rows = chosen(report, "box", formats=("GRAY8",), sizes=(FULL_HD,))
        yield f"1080p GRAY8, boxes of every radius, {isa}", "≥ 2", least(rows, (isa,)), 2
    for kind, taps in EDGES[:3]:
        for isa in ("avx512-vnni", "avx2"):
            rows = chosen(report, kind, formats=("GRAY8",), taps=(taps, taps))
            yield f"1080p GRAY8, {kind} of {taps} taps, {isa}", "≥ 2", least(rows, (isa,)), 2
    for kind in ("gaussian", "box"):
        yield (f"{kind}, every format and size, 3 to {SMALL_TAPS} taps, from avx2 up", "≥ 1",
               least(chosen(report, kind, taps=(3, SMALL_TAPS)), WIDE), 1)
    for isa in ("avx512-vnni", "avx2"):
        yield (f"time over a copy's, up to {COPY_TAPS} taps, {isa}", f"≤ {COPIES}",
               dearest(chosen(report, taps=(3, COPY_TAPS)), isa), -COPIES)
        yield (f"the same at 1080p, {isa}", f"≤ {COPIES}",
               dearest(chosen(report, sizes=(FULL_HD,), taps=(3, COPY_TAPS)), isa), -COPIES)


def same_cost(report, isa):
    """How much longer σ 80 takes than σ 12."""
    times = {row["taps"]: row["us"][isa] for row in chosen(
        report, formats=("GRAY8",), sizes=(FULL_HD,)) if isa in row["us"]}
    return (times[641] / times[97], "1080p GRAY8", isa) if {97, 641} <= set(times) else None


def met(found, limit):
    """A limit below zero is the most that is allowed."""
    return found[0] >= limit if limit > 0 else found[0] <= -limit


def table(head, rows):
    lines = [head, ["---"] * len(head)] + rows
    return ["| " + " | ".join(line) + " |" for line in lines] + [""]


def thousands(us):
    return f"{us:,.0f}".replace(",", " ")


def with_ratio(row, isa):
    if isa not in row["us"]:
        return "–"
    return "%s (%.2f)" % (thousands(row["us"][isa]), row["ratio"][isa])


def isas_of(report):
    return [isa for isa in ISA_COLOURS if any(isa in row["us"] for row in report["rows"])]


def full_hd_table(report):
    isas = isas_of(report)
    rows = []
    for name in FORMATS:
        for row in chosen(report, formats=(name,), sizes=(FULL_HD,)):
            if row["taps"] in TABLE_TAPS:
                rows.append([name, str(row["taps"]), row["fastest"],
                             thousands(row["peer_us"][row["fastest"]]),
                             *(with_ratio(row, isa) for isa in isas),
                             "%.1f" % (row["us"][isas[-1]] / row["copy_us"])])
    return table(["1080p", "taps", "fastest peer", "its µs", *(f"`{isa}`" for isa in isas),
                  "÷ copy"], rows)


def edge_table(report):
    isas = isas_of(report)
    return table(["1080p", "kernel", "fastest peer", "its µs", *(f"`{isa}`" for isa in isas)], [
        [name, "%s, %d taps" % (kind, taps), row["fastest"],
         thousands(row["peer_us"][row["fastest"]]), *(with_ratio(row, isa) for isa in isas)]
        for name in FORMATS for kind, taps in EDGES
        for row in chosen(report, kind, formats=(name,), taps=(taps, taps))])


def least_table(report):
    isas = isas_of(report)
    rows = []
    for kind in ("gaussian", "box"):
        for size in sorted({size_of(row) for row in chosen(report, kind)}):
            line = [kind, "%d×%d" % size]
            for isa in isas:
                found = least(chosen(report, kind, sizes=(size,), taps=(3, SMALL_TAPS)), (isa,))
                where = found[1].split(" ")
                line.append("%.2f (%s, %s)" % (found[0], where[0], where[2]))
            rows.append(line)
    return table(["filter", "frames", *(f"`{isa}`" for isa in isas)], rows)


def pipeline_table(report):
    rows = [row for row in report["rows"] if row["kind"] == "pipeline"]
    isas = [isa for isa in isas_of(report) if any(isa in row["us"] for row in rows)]
    return table(["frames", "σ", "filter", "its µs", *(f"`{isa}`" for isa in isas)], [
        ["%s %d×%d" % (row["format"], *size_of(row)), "%g" % row["sigma"], row["fastest"],
         thousands(row["peer_us"][row["fastest"]]), *(with_ratio(row, isa) for isa in isas)]
        for row in rows])


def goal_table(report):
    rows = [[goal, wanted, "%.2f" % found[0], "yes" if met(found, limit) else "no", found[1]]
            for goal, wanted, found, limit in goals(report) if found is not None]
    return table(["goal", "wanted", "measured, at worst", "met", "where"], rows)


def section(report, path, plot):
    versions = report["versions"]
    ffmpeg = versions.get("ffmpeg", "FFmpeg: none").replace("ffmpeg version", "FFmpeg")
    lines = [
        f"{report['cpu']}, {report['cores']} cores; OpenCV {versions['opencv']}; {ffmpeg}; "
        f"{report['date'][:10]} ([raw](performance/{path})).", "",
        "µs a frame of our filter, and in brackets the fastest peer's time ÷ ours:", ""]
    lines += full_hd_table(report)
    lines += [f"![Time over taps at 1080p](performance/{plot})", "",
              f"The least of these ratios by size, over all formats and 3 to {SMALL_TAPS} taps:",
              ""]
    lines += least_table(report)
    if chosen(report, "sobel"):
        lines += ["Sharpening and edges:", ""] + edge_table(report)
    lines += ["What is wanted of them:", ""] + goal_table(report)
    if any(row["kind"] == "pipeline" for row in report["rows"]):
        lines += ["Through pipelines, beyond the time of the pipeline without a filter:", ""]
        lines += pipeline_table(report)
    return lines


def replace_section(document, lines):
    with open(document, encoding="utf-8") as file:
        text = file.read()
    if text.count(BEGIN) != 1 or text.count(END) != 1:
        sys.exit(f"cpu-peers-report.py: {document} has no place for the tables")
    before, rest = text.split(BEGIN)
    after = rest.split(END)[1]
    with open(document, "w", encoding="utf-8") as file:
        file.write(before + BEGIN + "\n\n" + "\n".join(lines) + "\n" + END + after)


def draw_panel(axes, rows, name):
    axes.set_title(name, fontsize=10)
    axes.set_xscale("log")
    axes.set_yscale("log")
    taps = [row["taps"] for row in rows]
    axes.plot(taps, [row["copy_us"] for row in rows], color="#777777", linestyle=":",
              label="copy")
    for key, colours, style in (("us", ISA_COLOURS, "-"), ("peer_us", PEER_COLOURS, "--")):
        for who, colour in colours.items():
            points = [(row["taps"], row[key][who]) for row in rows if who in row[key]]
            if points:
                axes.plot(*zip(*points), color=colour, linestyle=style, marker="o",
                          markersize=2.5, linewidth=1.4,
                          label=f"cudasepconv, {who}" if key == "us" else f"OpenCV's {who}")
    axes.set_xticks(taps, [str(n) for n in taps], fontsize=6)
    axes.minorticks_off()
    axes.grid(True, color="#dddddd", linewidth=0.6)


def draw(report, path):
    import matplotlib  # pylint: disable=import-outside-toplevel
    matplotlib.use("Agg")
    from matplotlib import pyplot  # pylint: disable=import-outside-toplevel
    # The same results make the same file, and its letters stay letters.
    pyplot.rcParams.update({"svg.hashsalt": "cpu-peers", "svg.fonttype": "none"})
    figure, panels = pyplot.subplots(2, 3, figsize=(12, 7))
    panels = panels.flatten()
    for axes, name in zip(panels, FORMATS):
        draw_panel(axes, chosen(report, formats=(name,), sizes=(FULL_HD,)), f"{name}, 1080p")
    for axes in panels[[0, 3]]:
        axes.set_ylabel("µs a frame")
    for axes in panels[2:5]:
        axes.set_xlabel("taps")
    panels[5].axis("off")
    panels[5].legend(*panels[0].get_legend_handles_labels(), loc="center", frameon=False)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    path = sys.argv[1]
    with open(path, encoding="utf-8") as file:
        report = json.load(file)
    print("\nthe fastest peer's time over ours, at worst")
    for goal, wanted, found, limit in goals(report):
        if found is not None:
            print("%-62s %-6s %6.2f  %-3s %s" % (
                goal, wanted, found[0], "yes" if met(found, limit) else "no", found[1]))
    if len(sys.argv) == 3:
        plot = os.path.splitext(path)[0] + ".svg"
        draw(report, plot)
        replace_section(sys.argv[2], section(
            report, os.path.basename(path), os.path.basename(plot)))


if __name__ == "__main__":
    main()
