#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Writes the reference tables of the elements' pages, from the elements themselves.

    docs/reference.py           rewrites what stands between the markers of the pages
    docs/reference.py --check   changes nothing; shows how pages differ, with status 1

The plugin is found by GST_PLUGIN_PATH, as everywhere. A part of a page that is generated stands
between "<!-- reference: NAME -->" and "<!-- end of reference -->". NAME is "formats", "caps" or
"properties". The tables are the same whatever backends the plugin was built with. Formats
that this version of GStreamer does not know cannot be checked with it."""

import argparse
import difflib
import os
import re
import sys

import gi

gi.require_version("Gst", "1.0")
gi.require_version("GstVideo", "1.0")
from gi.repository import GLib, GObject, Gst, GstVideo  # noqa: E402

PROGRAM = os.path.basename(__file__)
PAGES = {"cudasepconv": "cudasepconv.md", "cudahisto": "cudahisto.md"}
PART = re.compile(r"(<!-- reference: (\w+) -->\n).*?(<!-- end of reference -->)", re.DOTALL)

# Formats that the elements take with newer versions of GStreamer than they need at least.
NEWER = {
    (1, 24): ("A422", "A444", "RBGA", "A420_12LE", "A422_12LE", "A444_12LE", "A420_16LE", "A422_16LE",
              "A444_16LE", "GBR_16LE", "A420_12BE", "A422_12BE", "A444_12BE", "A420_16BE", "A422_16BE",
              "A444_16BE", "GBR_16BE"),
    (1, 26): ("GRAY10_LE16", "Y216_LE", "Y416_LE", "Y216_BE", "Y416_BE"),
}

FLAGS = GstVideo.VideoFormatFlags
COLUMNS = {"YUV": FLAGS.YUV, "RGB": FLAGS.RGB, "grey": FLAGS.GRAY}


def table(head, rows):
    lines = [head, ["---"] * len(head), *rows]
    return "".join("| " + " | ".join(cells) + " |\n" for cells in lines)


def code(text):
    return f"`{text}`"


# Caps

def caps_of(element):
    """The caps that the pads' templates document, which are the same for every build."""
    sink, src = (element.get_pad_template(name).get_documentation_caps()
                 for name in ("sink", "src"))
    if not sink.is_equal(src):
        sys.exit(f"{PROGRAM}: the pads of {element.get_factory().get_name()} differ")
    return sink


def fields_of(structure):
    """Fields and values as text. PyGObject reads neither ranges nor, without a warning, lists."""
    return dict(re.findall(r"([\w-]+)=\(\w+\)(\{.*?\}|\[.*?\]|[^,;]+)", structure.to_string()))


def formats_of(structure):
    return re.findall(r"\w+", fields_of(structure)["format"])


def structure_of(caps, i):
    """The overrides of GStreamer 1.26 for Python wrap it, for `with`."""
    found = caps.get_structure(i)
    return found.__enter__() if hasattr(found, "__enter__") else found


def all_formats(element):
    """The formats in system memory."""
    caps = caps_of(element)
    for i in range(caps.get_size()):
        if caps.get_features(i).contains("memory:SystemMemory"):
            return formats_of(structure_of(caps, i))
    sys.exit(f"{PROGRAM}: no caps of system memory")


def missing_formats(formats):
    return [name for version, names in NEWER.items() for name in names
            if Gst.version()[:2] >= version and name not in formats]


def formats_table(element):
    formats = all_formats(element)
    if missing := missing_formats(formats):
        sys.exit(f"{PROGRAM}: not taken, though GStreamer has them: {', '.join(missing)}")
    cells = {}
    for name in formats:
        info = GstVideo.VideoFormat.get_info(GstVideo.VideoFormat.from_string(name))
        column = next(column for column, flag in COLUMNS.items() if info.flags & flag)
        if not any(name in names for names in NEWER.values()):
            cells.setdefault(info.depth[0], {}).setdefault(column, []).append(name)
    newer = "".join(f"\nBuilt with GStreamer {major}.{minor} or later also: {', '.join(names)}.\n"
                    for (major, minor), names in NEWER.items())
    # The first component of RGB16 has 5 bits, the second one 6.
    return (table(["bits", *COLUMNS],
                  [["5 and 6" if bits == 5 else str(bits),
                    *(", ".join(row.get(column, [])) for column in COLUMNS)]
                   for bits, row in sorted(cells.items())])
            + newer)


def text_of(value):
    """A value as a user writes it, with the largest integer left open."""
    return re.sub(r"\[ (\S+), 2147483647(/1)? \]", r"from \1", value)


def caps_table(element):
    caps, system, rows = caps_of(element), all_formats(element), []
    for i in range(caps.get_size()):
        structure = structure_of(caps, i)
        formats = formats_of(structure)
        others = [f"{name} {text_of(value)}" for name, value in fields_of(structure).items()
                  if name != "format"]
        rows.append([code(f"video/x-raw({caps.get_features(i).to_string()})"),
                     "all" if formats == system else ", ".join(formats), ", ".join(others)])
    return table(["both pads", "formats", "fields"], rows)


# Properties

def is_ours(spec):
    return spec.owner_type.name.startswith(("GstGpu", "GstCuda"))


def number(value):
    if isinstance(value, int) and value > 100_000_000 and value % 1_000_000:
        return hex(value)
    return f"{value:.10g}" if isinstance(value, float) else str(value)


def values_of(element, spec):
    """The values of an enumeration or of flags, by their numbers, however PyGObject has them."""
    kind = type(element.get_property(spec.name))
    for name in "__enum_values__", "__flags_values__":
        if hasattr(kind, name):
            return getattr(kind, name)
    return {int(value): value for value in kind}


def enum_nicks(element, spec):
    values = values_of(element, spec)
    return [values[i].value_nick for i in sorted(values)]


def flags_nicks(element, spec):
    """A value of several bits has the nicks of its parts beside its own; all bits have all."""
    values = values_of(element, spec)
    return values[max(values)].value_nicks


def type_and_range(element, spec):
    kind = spec.value_type
    if kind.is_a(GObject.TYPE_ENUM):
        return "enum: " + ", ".join(enum_nicks(element, spec))
    if kind.is_a(GObject.TYPE_FLAGS):
        return "flags: " + ", ".join(flags_nicks(element, spec))
    name = {"gboolean": "bool", "gchararray": "string"}.get(kind.name, kind.name.removeprefix("g"))
    if not hasattr(spec, "minimum"):
        return name
    limits = {"gint": GLib.MAXINT32, "guint": GLib.MAXUINT32, "guint64": GLib.MAXUINT64}
    if spec.maximum == limits.get(kind.name):
        return f"{name}, from {number(spec.minimum)}"
    return f"{name}, {number(spec.minimum)} to {number(spec.maximum)}"


def flags_default(element, spec):
    for nick in flags_nicks(element, spec):
        Gst.util_set_object_arg(element, spec.name, nick)
        if int(element.get_property(spec.name)) == int(spec.default_value):
            return nick
    sys.exit(f"{PROGRAM}: the default of {spec.name} has no name")


def default(element, spec):
    if not spec.flags & GObject.ParamFlags.WRITABLE:
        return "read-only"
    kind = spec.value_type
    if kind.is_a(GObject.TYPE_ENUM):
        return code(values_of(element, spec)[int(spec.default_value)].value_nick)
    if kind.is_a(GObject.TYPE_FLAGS):
        return code(flags_default(element, spec))
    if kind.name == "gboolean":
        return code("true" if spec.default_value else "false")
    if hasattr(spec, "minimum"):
        return code(number(spec.default_value))
    return "empty"


def meaning(spec):
    return spec.blurb.replace("|", r"\|").replace("<", "&lt;")


def properties_table(element):
    """Those of the element itself first, then those of the base class; each in the order in
    which the code has them."""
    specs = [spec for spec in element.list_properties() if is_ours(spec)]
    specs.sort(key=lambda spec: spec.owner_type != element.__gtype__)
    controllable = 1 << 9  # GST_PARAM_CONTROLLABLE
    return table(["property", "type and range", "default", "meaning"],
                 [[code(spec.name) + (" ~" if int(spec.flags) & controllable else ""),
                   type_and_range(element, spec), default(element, spec), meaning(spec)]
                  for spec in specs]) + "\n~ can be driven by a GstController.\n"


PARTS = {"formats": formats_table, "caps": caps_table, "properties": properties_table}


def generated(page, element):
    def part(match):
        return match[1] + PARTS[match[2]](element) + match[3]

    text, count = PART.subn(part, page)
    if count == 0 or count != page.count("<!-- reference:"):
        sys.exit(f"{PROGRAM}: {PAGES[element.get_factory().get_name()]} lacks markers")
    return text


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="change nothing")
    check = parser.parse_args().check
    Gst.init(None)
    differ = False
    for name, file_name in PAGES.items():
        element = Gst.ElementFactory.make(name)
        if element is None:
            sys.exit(f"{PROGRAM}: there is no {name}; set GST_PLUGIN_PATH to the plugin's folder")
        path = os.path.join(os.path.dirname(os.path.abspath(__file__)), file_name)
        with open(path, encoding="utf-8") as file:
            before = file.read()
        after = generated(before, element)
        if check and after != before:
            differ = True
            sys.stdout.writelines(difflib.unified_diff(
                before.splitlines(True), after.splitlines(True), f"docs/{file_name}", name))
        elif after != before:
            with open(path, "w", encoding="utf-8") as file:
                file.write(after)
    return int(differ)


if __name__ == "__main__":
    sys.exit(main())
