# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the Python programs of this folder run with. In a checkout setup.sh makes it available; installed
programs name what is missing."""

import importlib
import importlib.util
import os
import shutil
import subprocess
import sys
from typing import NoReturn

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
IN_CHECKOUT = os.path.exists(os.path.join(ROOT, "pipelines/setup.sh"))


def say(text: object) -> None:
    print(f"{os.path.basename(sys.argv[0])}: {text}", file=sys.stderr, flush=True)


def fail(text: str) -> NoReturn:
    sys.exit(f"{os.path.basename(sys.argv[0])}: {text}")


def run_setup(commands: str, *arguments: str) -> None:
    """Shell commands that use setup.sh; what they print goes to stderr."""
    script = f"set -euo pipefail\n. pipelines/setup.sh\n{commands}"
    done = subprocess.run(["bash", "-c", script, sys.argv[0], *arguments], cwd=ROOT,
                          stdin=subprocess.DEVNULL, stdout=sys.stderr, check=False)
    if done.returncode:
        sys.exit(1)


def need(modules: dict[str, str]) -> None:
    """Installs, in a checkout, the Debian packages of Python modules that are missing:
    {module: package}."""
    missing = {package for module, package in modules.items()
               if importlib.util.find_spec(module) is None}
    if missing and not IN_CHECKOUT:
        fail(f"install {' '.join(sorted(missing))}")
    if missing:
        run_setup('command -v apt-get >/dev/null || die "install $*"\ninstall_packages "$@"',
                  *sorted(missing))
        importlib.invalidate_caches()


def need_plugin(packages: list[str]) -> None:
    """Lets GStreamer find cudasepconv: where it does not, in a checkout, as demo.sh builds it, with
    `packages` and what building takes."""
    def found() -> bool:
        return subprocess.run(["gst-inspect-1.0", "cudasepconv"], stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL, check=False).returncode == 0

    if not IN_CHECKOUT and not found():
        fail("GStreamer does not find cudasepconv; set GST_PLUGIN_PATH to its folder")
    if not IN_CHECKOUT:
        return
    run_setup('set_up "$@"', *packages)
    if found():
        return
    run_setup("mapfile -t options < <(this_machine_only)\n"
              'build_release build/demo "${options[@]}"')
    paths = [os.path.join(ROOT, "build/demo/plugin"), os.environ.get("GST_PLUGIN_PATH")]
    os.environ["GST_PLUGIN_PATH"] = ":".join(path for path in paths if path)
    if not found():
        fail(f"GStreamer does not find cudasepconv in {paths[0]}")


def default_clip() -> str:
    """Returns the path of OpenCV's street scene, which it installs in a checkout."""
    if not IN_CHECKOUT:
        fail("name an INPUT; the clip that is its default comes with a checkout")
    script = ("set -euo pipefail\n. pipelines/setup.sh\nset_up opencv-doc >&2\n"
              "default_clip output")
    done = subprocess.run(["bash", "-c", script, sys.argv[0]], cwd=ROOT, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, check=False, encoding="utf-8")
    if done.returncode:
        sys.exit(1)
    return os.path.join(ROOT, done.stdout.strip())


def need_program(name: str) -> str:
    """The path of a program of this project in C: of PATH, or, in a checkout, as demo.sh builds it."""
    path = shutil.which(name)
    if path is None and not IN_CHECKOUT:
        fail(f"{name} is not on PATH")
    if path is None:
        run_setup("set_up\nmapfile -t options < <(this_machine_only)\n"
                  'build_release build/demo "${options[@]}"')
        path = os.path.join(ROOT, "build/demo/pipelines", name)
    return path
