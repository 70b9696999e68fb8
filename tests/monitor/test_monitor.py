# SPDX-License-Identifier: LGPL-2.1-or-later
"""monitor-streams, as its viewers see it."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import re
import signal
import socket
import subprocess
import time
from pathlib import Path

import aiohttp
import numpy
import pytest
from conftest import (
    PATIENCE,
    PROGRAM,
    Camera,
    Monitor,
    first_frame,
    make_clip,
    resident,
    run_program,
    wait_for,
)

TEST = ("videotestsrc pattern={} ! video/x-raw,format=I420,colorimetry=bt601,width=640,height=480"
        ",framerate=25/1")


def color_of(pipeline: str, width: int, height: int) -> list[float]:
    """The mean of R, G and B, of a picture of that size."""
    frame = first_frame(f"{pipeline} ! videoconvert"
                        f" ! video/x-raw,format=RGB,width={width},height={height}")
    return [float(mean) for mean in frame.reshape(-1, 3).mean(axis=0)]


def test_pictures_are_those_of_their_inputs(tmp_path: Path) -> None:
    """Each with its number, no wider than it may be, in the shape of the frame, and no more than asked
    for."""
    with Monitor("--picture-width", 320, "--picture-rate", 5, "test:red", "test:blue") as monitor:
        pictures = monitor.pictures()
        newest = dict(itertools.islice(pictures, 4))
        assert set(newest) == {1, 2}
        for number, color in ((1, "red"), (2, "blue")):
            (tmp_path / "picture.jpg").write_bytes(newest[number])
            found = color_of(f"filesrc location={tmp_path / 'picture.jpg'} ! jpegdec", 320, 240)
            assert found == pytest.approx(color_of(TEST.format(color), 640, 480), abs=8)
        began, count = time.monotonic(), 0
        while time.monotonic() - began < 3:
            next(pictures)
            count += 1
        assert 2 <= count <= 2 * 5 * (time.monotonic() - began) + 6
        alone = {number for number, _ in itertools.islice(monitor.pictures("/pictures/2"), 3)}
        assert alone == {2}
        assert monitor.get("/pictures/3")[0] == 404


def test_nothing_is_encoded_while_nobody_watches() -> None:
    with Monitor("test") as monitor:
        monitor.state("playing")
        wait_for(lambda: monitor.frames("test") > 25)
        assert monitor.metrics()["monitor_pictures_total", "test"] == 0
        for _ in itertools.islice(monitor.pictures(), 3):
            assert monitor.metrics()["monitor_viewers", "test"] == 1
        assert monitor.metrics()["monitor_pictures_total", "test"] >= 3
        wait_for(lambda: monitor.metrics()["monitor_viewers", "test"] == 0)
        time.sleep(0.5)
        encoded = monitor.metrics()["monitor_pictures_total", "test"]
        time.sleep(1)
        assert monitor.metrics()["monitor_pictures_total", "test"] == encoded


def test_histogram_is_what_numpy_counts() -> None:
    with Monitor("test:colors") as monitor:
        report = monitor.event("histogram", lambda _: True)
    frame, luma = first_frame(TEST.format("colors")), 640 * 480
    expected = [frame[:luma], frame[luma:luma * 5 // 4], frame[luma * 5 // 4:]]
    assert [component["name"] for component in report["components"]] == ["Y", "U", "V"]
    for component, plane in zip(report["components"], expected):
        assert component["bins"] == numpy.bincount(plane, minlength=256).tolist()
    level = (expected[0].mean() - 16) / 219
    assert abs(report["level"] - level) < 0.001


def test_alarms_stay_in_the_history(tmp_path: Path) -> None:
    """A lens is covered for two seconds, which its file shows over and over."""
    clip = make_clip(tmp_path / "covered.mkv", "pattern=smpte75", "pattern=black", "pattern=smpte75")
    began = time.time()
    with Monitor(f"door={clip}") as monitor:
        assert monitor.event("alarms", lambda data: "too-dark" in data["on"])["input"] == 1
        assert monitor.metrics()["monitor_alarms_total", "door", "too-dark"] == 1
        report = monitor.event("alarms", lambda data: "too-dark" not in data["on"] and any(
            entry["alarm"] == "too-dark" for entry in data["history"]))
        dark = next(entry for entry in report["history"] if entry["alarm"] == "too-dark")
        assert began < dark["began"] < dark["ended"] < time.time() and dark["text"] == "level 0.000"
        assert 0.5 < dark["ended"] - dark["began"] < 20
        assert {"flat", "scene-change"} <= {entry["alarm"] for entry in report["history"]}
        # Another viewer, later, sees the same.
        assert dark in monitor.event("alarms", lambda _: True)["history"]
        # The file plays again, which is no loss.
        report = monitor.event("alarms", lambda data: sum(
            entry["alarm"] == "too-dark" for entry in data["history"]) == 2)
        assert not any(entry["alarm"] == "lost" for entry in report["history"])
        assert monitor.metrics()["monitor_restarts_total", "door"] >= 1


def test_settings_are_those_of_cudahisto() -> None:
    with Monitor("--settings", "alarm-bright=0.2 planes=luma", "test:smpte75") as monitor:
        assert monitor.event("alarms", lambda data: data["on"])["on"] == ["too-bright"]
        report = monitor.event("histogram", lambda _: True)
        assert [component["name"] for component in report["components"]] == ["Y"]


def test_a_file_that_is_gone_is_lost_until_it_is_back(tmp_path: Path) -> None:
    clip = make_clip(tmp_path / "clip.mkv", "pattern=ball", frames=30)
    with Monitor(clip, "test") as monitor:
        monitor.state("playing")
        clip.rename(tmp_path / "away.mkv")
        assert monitor.state("lost")["reason"]
        on = monitor.event("alarms", lambda data: "lost" in data["on"])
        assert on["history"][0]["alarm"] == "lost" and on["history"][0]["ended"] is None
        # Pauses grow, and the other input does not mind.
        assert monitor.event("input", lambda data: data.get("pause", 0) >= 2)["lost"]
        monitor.state("trying again")
        frames = monitor.frames("test")
        wait_for(lambda: monitor.frames("test") > frames)
        (tmp_path / "away.mkv").rename(clip)
        assert not monitor.state("playing")["lost"]
        back = monitor.event("alarms", lambda data: "lost" not in data["on"])
        lost = next(entry for entry in back["history"] if entry["alarm"] == "lost")
        assert lost["began"] < lost["ended"]
        assert monitor.metrics()["monitor_restarts_total", "clip.mkv"] >= 3
        status, _, errors = monitor.end(signal.SIGINT)
    # A sentence when it goes, one when it comes, however often is tried between them.
    assert errors.count("clip.mkv: lost: ") == 1 and errors.count("clip.mkv: plays again") == 1


def test_a_camera_that_dies_comes_back(camera: Camera) -> None:
    with Monitor("--timeout", 3, f"door={camera.address}") as monitor:
        monitor.state("playing")
        next(monitor.pictures())
        camera.kill()
        monitor.state("lost")
        camera.come_back()
        monitor.state("playing")
        next(monitor.pictures())


def test_a_camera_that_freezes_is_lost(camera: Camera) -> None:
    """It says nothing, not even that it ends."""
    with Monitor("--timeout", 3, f"door={camera.address}") as monitor:
        monitor.state("playing")
        assert camera.process is not None
        camera.process.send_signal(signal.SIGSTOP)
        assert monitor.state("lost")["reason"] == "no frame has come for 3 s"
        camera.process.send_signal(signal.SIGCONT)
        monitor.state("playing")


def rate_of(monitor: Monitor, name: str, seconds: float) -> float:
    """Frames a second, over so long."""
    began, frames = time.monotonic(), monitor.frames(name)
    time.sleep(seconds)
    return (monitor.frames(name) - frames) / (time.monotonic() - began)


def test_stalled_viewers_hold_nobody_up() -> None:
    """Twenty who ask for all and never read."""
    with Monitor("test:snow") as monitor, contextlib.ExitStack() as stack:
        monitor.state("playing")
        before = rate_of(monitor, "test:snow", 5)
        for _ in range(20):
            stalled = stack.enter_context(socket.socket())
            stalled.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            stalled.connect(("127.0.0.1", monitor.port))
            stalled.sendall(b"GET /pictures HTTP/1.1\r\nHost: localhost\r\n\r\n")
        dropped = ("monitor_dropped_pictures_total", "test:snow")
        wait_for(lambda: monitor.metrics()[dropped] > 100)
        assert monitor.metrics()["monitor_viewers", "test:snow"] == 20
        memory = resident(monitor.process)
        assert rate_of(monitor, "test:snow", 5) > 0.7 * before
        began = time.monotonic()
        assert len(list(itertools.islice(monitor.pictures(), 10))) == 10
        assert time.monotonic() - began < 20
        # Pictures of snow have some 200 kB; ten a second for each would have been 400 MB by now.
        wait_for(lambda: monitor.metrics()[dropped] > 1000)
        assert resident(monitor.process) - memory < 50e6


def test_a_hundred_viewers_get_the_same_pictures() -> None:
    async def watch(address: str, seconds: float) -> list[int]:
        """How many pictures each of them gets."""
        async def one(session: aiohttp.ClientSession) -> int:
            count, end = 0, time.monotonic() + seconds
            async with session.get(f"{address}pictures") as response:
                while time.monotonic() < end:
                    count += (await response.content.readuntil(b"--picture\r\n")).count(b"\xff\xd8\xff")
            return count

        connector = aiohttp.TCPConnector(limit=0)
        async with aiohttp.ClientSession(connector=connector, read_bufsize=2**20) as session:
            return await asyncio.gather(*(one(session) for _ in range(100)))

    with Monitor("--picture-rate", 5, "--picture-width", 160, "test:ball") as monitor:
        monitor.state("playing")
        before = rate_of(monitor, "test:ball", 5)
        frames, encoded = monitor.frames("test:ball"), monitor.metrics()["monitor_pictures_total", "test:ball"]
        began = time.monotonic()
        counts = asyncio.run(watch(monitor.address, 8))
        elapsed = time.monotonic() - began
        assert (monitor.frames("test:ball") - frames) / elapsed > 0.7 * before
        # Each picture is encoded once for all of them.
        encoded = monitor.metrics()["monitor_pictures_total", "test:ball"] - encoded
        assert encoded <= 5 * elapsed + 5
        assert len(counts) == 100 and min(counts) > 5
        wait_for(lambda: monitor.metrics()["monitor_viewers", "test:ball"] == 0)


@pytest.mark.parametrize("host", ["127.0.0.2", "0.0.0.0"])
def test_other_addresses_take_a_token(host: str) -> None:
    with Monitor("--host", host, "test") as monitor:
        token = monitor.query.removeprefix("token=")
        assert monitor.host == host and len(token) >= 32
        # The connection goes to the address that is served.
        monitor_address = "127.0.0.2" if host == "127.0.0.2" else "127.0.0.1"

        def ask(path: str, **headers: str) -> tuple[int, dict[str, str], str]:
            import http.client

            connection = http.client.HTTPConnection(monitor_address, monitor.port, timeout=60)
            connection.request("GET", path, headers=headers)
            response = connection.getresponse()
            body = "" if response.status == 200 and path != "/" else response.read().decode()
            connection.close()
            return response.status, dict(response.getheaders()), body

        wrong = token[:-1] + ("a" if token[-1] != "a" else "b")
        for path in ("/", "/events", "/pictures", "/pictures/1", "/metrics", "/absent",
                     f"/?token={wrong}", "/?token=", "/?token=%ff", f"/metrics?token={token}"):
            for headers in ({}, {"Authorization": f"Bearer {wrong}"}, {"Authorization": f"Basic {token}"},
                            {"Authorization": "Bearer "}):
                status, _, body = ask(path, **headers)
                assert status == 401 and token not in body and "<" not in body, path
        for path in ("/", "/events", "/pictures", "/pictures/1", "/metrics"):
            assert ask(path, Authorization=f"Bearer {token}")[0] == 200
        status, headers, _ = ask(f"/?token={token}")
        assert status == 303 and token not in headers["Location"]
        cookie = headers["Set-Cookie"]
        assert "HttpOnly" in cookie and "SameSite=Lax" in cookie
        assert ask("/", Cookie=cookie.split(";")[0])[0] == 200
        assert ask("/", Cookie=f"monitor-streams-{monitor.port}={wrong}")[0] == 401
        # A request that is none says nothing of itself, either.
        with socket.create_connection((monitor_address, monitor.port)) as connection:
            connection.sendall(f"GET /?token={token} NONSENSE\r\n\r\n".encode())
            assert connection.recv(100).startswith(b"HTTP/1.")
        _, out, errors = monitor.end(signal.SIGINT)
        assert token not in out + errors


def test_a_token_of_a_file(tmp_path: Path) -> None:
    """It is not printed, and holds for this machine, too."""
    token = "a.token~of-some_length"
    (tmp_path / "token").write_text(token + "\n")
    with Monitor("--token-file", tmp_path / "token", "test") as monitor:
        assert monitor.query == ""
        assert monitor.get("/metrics")[0] == 401
        assert monitor.get("/metrics", {"Authorization": f"Bearer {token}"})[0] == 200
    for text in ("short", "with a blank in it, but long", "ÄÖÜäöüßÄÖÜäöüßÄÖÜ"):
        (tmp_path / "token").write_text(text)
        done = run_program("--token-file", tmp_path / "token", "test")
        assert done.returncode == 2 and text not in done.stderr


def test_headers_keep_strangers_out(tmp_path: Path) -> None:
    with Monitor("test") as monitor:
        status, headers, page = monitor.get("/")
        assert status == 200 and headers["Content-Type"] == "text/html; charset=utf-8"
        for path in ("/", "/metrics", "/absent", "/pictures/99"):
            headers = monitor.get(path)[1]
            policy = headers["Content-Security-Policy"]
            assert policy.startswith("default-src 'none'; script-src 'sha256-")
            assert "unsafe" not in policy and "frame-ancestors 'none'" in policy
            assert headers["X-Content-Type-Options"] == "nosniff"
            assert headers["Cross-Origin-Resource-Policy"] == "same-origin"
            assert headers["Referrer-Policy"] == "no-referrer" and headers["Cache-Control"] == "no-store"
            assert "ython" not in headers["Server"]
        assert not re.search(r"(src|href)=\"?(https?:)?//|@import|url\(", page)
        # A page of a name that a stranger has given to this machine.
        for name in ("evil.example", f"evil.example:{monitor.port}", "127.0.0.1.evil.example", ""):
            assert monitor.get("/", {"Host": name})[0] in (400, 403)
        for name in ("localhost", f"LOCALHOST:{monitor.port}", "127.0.0.1", f"[::1]:{monitor.port}"):
            assert monitor.get("/", {"Host": name})[0] == 200
        assert monitor.get("/../own_packages.py")[0] == 404


def test_names_are_no_markup_and_passwords_stay_here() -> None:
    names = ['<script>alert(1)<', 'a "b" \\', "line\nbreak", "{braces}"]
    secret = "rtsp://me:secret@127.0.0.1:9/camera?key=secret"
    with Monitor(*(f"{name}=test" for name in names), "test", "test", secret) as monitor:
        wanted = [*names, "test", "test (2)", "rtsp://127.0.0.1:9/camera"]
        assert "alert" not in monitor.get("/")[2]
        seen = {}
        for kind, data in monitor.events():
            assert "secret" not in str(data)
            if kind == "input":
                seen[data["input"]] = data["name"], data["state"]
                if len(seen) == len(wanted) and seen[len(wanted)][1] == "lost":
                    break
        assert [name for _, (name, _) in sorted(seen.items())] == wanted

        def counted() -> set[str]:
            return {labels[1] for labels in monitor.metrics() if labels[0] == "monitor_level"}

        wait_for(lambda: len(counted()) >= len(wanted) - 1)
        assert counted() == set(wanted[:-1])
        assert "secret" not in monitor.get("/metrics")[2]
        _, _, errors = monitor.end(signal.SIGINT)
        assert "secret" not in errors


def test_metrics() -> None:
    with Monitor("test:white") as monitor:
        monitor.state("playing")
        wait_for(lambda: monitor.frames("test:white") > 50)
        found = monitor.metrics()
        assert 15 < found["monitor_frame_rate", "test:white"] < 35
        assert found["monitor_level", "test:white"] == 1
        assert found["monitor_playing", "test:white"] == 1
        assert found["monitor_alarm", "test:white", "too-bright"] == 1
        assert found["monitor_alarm", "test:white", "too-dark"] == 0
        assert found["monitor_restarts_total", "test:white"] == 0
        assert found["process_resident_memory_bytes",] > 1e6


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143),
                                               (signal.SIGHUP, 129)])
def test_signals_end_it_with_viewers(tmp_path: Path, number: signal.Signals, status: int) -> None:
    """Those who read, those who do not, and an input that is lost."""
    clip = make_clip(tmp_path / "clip.mkv", "pattern=ball")
    with Monitor("test:snow", clip, "rtsp://127.0.0.1:9/x") as monitor, socket.socket() as stalled:
        stalled.connect(("127.0.0.1", monitor.port))
        stalled.sendall(b"GET /pictures HTTP/1.1\r\nHost: localhost\r\n\r\n")
        events, pictures = monitor.events(), monitor.pictures()
        next(events), next(pictures)
        time.sleep(1)
        began = time.monotonic()
        ended, _, errors = monitor.end(number)
        assert ended == status and time.monotonic() - began < 20
        assert "Traceback" not in errors and errors.splitlines()[-1] in (
            "monitor-streams: interrupted", "monitor-streams: ended by a signal")


def test_refusals(tmp_path: Path) -> None:
    """One sentence, and a status that tells."""
    for arguments, status, reason in [
            ((), 2, "required: INPUT"),
            ((tmp_path / "absent.mp4",), 2, "there is no file"),
            ((tmp_path,), 2, "cannot be read"),
            (("/dev/video99",), 2, "there is no camera /dev/video99"),
            (("test:nothing",), 2, "there is no test picture nothing"),
            (("test:ball ! filesink",), 2, "there is no test picture"),
            (("gopher://host/x",), 2, "GStreamer reads no such address"),
            (("--picture-rate", 0, "test"), 2, "--picture-rate takes 1 to 100"),
            (("--interval", "nan", "test"), 2, "--interval takes"),
            (("--port", 99999, "test"), 2, "--port takes"),
            (("--colour", "test"), 2, "--colour"),
            (("--host", "host.invalid", "test"), 2, "there is no such address"),
            (("--settings", "colour=1", "test"), 2, "colour"),
            (("--settings", "bins=16 ! identity", "test"), 2, "properties of cudahisto alone"),
            (("--token-file", tmp_path / "absent", "test"), 2, "cannot be read"),
    ]:
        done = run_program(*arguments)
        assert done.returncode == status and not done.stdout, arguments
        assert len(done.stderr.splitlines()) == 1 and reason in done.stderr, done.stderr
    with socket.create_server(("127.0.0.1", 0)) as taken:
        done = run_program("--port", taken.getsockname()[1], "test")
    assert done.returncode == 1 and "Address already in use" in done.stderr
    with open("/dev/full", "w", encoding="utf-8") as full:
        written = subprocess.run([PROGRAM, "--port", "0", "test"], stdout=full, stderr=subprocess.PIPE,
                                 text=True, timeout=PATIENCE, check=False)
    assert written.returncode == 1 and len(written.stderr.splitlines()) == 1
    (tmp_path / "noise.mp4").write_bytes(b"\0" * 5000)
    with Monitor(tmp_path / "noise.mp4") as monitor:
        assert monitor.state("lost")["reason"]
    done = run_program("--help")
    assert done.returncode == 0 and "Example:" in done.stdout
