#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Builds twice, side by side, and runs every test that this machine can run:
#
#   build/test          gcc (or $CC), with CUDA where nvcc is: where there is no GPU, kernels are not optimized
#   build/test-nocuda   clang, without CUDA
#
# both with warnings as errors. What can't run here is named with "SKIP".
# The last line is "N passed, N failed, N skipped" over everything; the exit
# status is 1 when something failed, and 2 with arguments, since there are none.
# shellcheck disable=SC2317 # check calls functions by name
# shellcheck disable=SC2030,SC2031 # the second build has a scratch of its own
set -euo pipefail
cd "$(dirname "$0")/.."

if (($# > 0)); then
  echo "usage: tests/run.sh (without arguments; a build's own tests: meson test -C BUILD NAME)" >&2
  exit 2
fi

# shellcheck source=pipelines/setup.sh
. pipelines/setup.sh
# shellcheck source=tests/tally.sh
. tests/tally.sh
# shellcheck source=tests/release.sh
. tests/release.sh

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM
export GST_REGISTRY=$scratch/registry

cuda=build/test
nocuda=build/test-nocuda

# build FOLDER [MESON-OPTION...]: without debugging symbols, which take compilers a sixth of their time.
build() {
  local folder=$1 mode=()
  shift
  [[ ! -f $folder/build.ninja ]] || mode=(--reconfigure)
  drop_stale_kernels "$folder"
  meson setup "${mode[@]}" "$folder" -Ddebug=false -Dwerror=true -Dtests=enabled -Dpython=auto "$@" \
    </dev/null \
    && ninja -k 0 -C "$folder" </dev/null
}

# Each test of a build in turn; what a test prints of its own tally is counted.
meson_tests() {
  local folder=$1 test log status
  while read -r test; do
    log=$folder/meson-logs/$test.txt
    rm -f "$log"
    status=0
    meson test -C "$folder" --no-rebuild --logbase "$test" "$test" \
      </dev/null >"$scratch/meson" 2>&1 || status=$?
    count_log "$folder: $test" "$status" "$log" || cat "$scratch/meson"
  done < <(meson test -C "$folder" --list --no-rebuild 2>/dev/null \
    | sed -E 's|^.* / ||')
}

only_system_libraries() {
  ldd "$1" >"$scratch/libraries"
  cat "$scratch/libraries"
  ! grep -E 'libcuda|libcudart|libnv|not found' "$scratch/libraries"
}

# Checked stack, checked copies and formats, and tables of addresses that are read-only.
is_hardened() {
  readelf --dynamic --program-headers --dyn-syms --wide "$1" >"$scratch/elf"
  grep -w BIND_NOW "$scratch/elf"
  grep -w GNU_RELRO "$scratch/elf"
  grep -w __stack_chk_fail "$scratch/elf"
  grep -E '__(memcpy|vsnprintf)_chk' "$scratch/elf"
  ! grep -E 'GNU_STACK.* RWE' "$scratch/elf"
}

# instructions_beyond LEVEL OBJECT: how many lines of its code a processor of that level does not have.
instructions_beyond() {
  local beyond='%zmm|%k[0-7]\>|%[xy]mm(1[6-9]|2[0-9]|3[01])'
  [[ $1 != baseline ]] || beyond="$beyond|\\sv[a-z0-9]+ .*%[xy]mm"
  objdump -d --no-show-raw-insn "$2" | grep -cE "$beyond" || true
}

# Only what is named after an instruction set is compiled for one: the rest of FOLDER runs on every
# x86-64. kerncheck --isa cannot tell, as long as this machine has the instructions.
keeps_instructions_apart() {
  local object
  find "$1"/{cuda,plugin} -name '*.o' >"$scratch/objects"
  while read -r object; do
    case $object in
      *-avx512*) ;;
      *-avx2*)
        [[ $(instructions_beyond baseline "$object") -gt 0 ]]
        [[ $(instructions_beyond avx2 "$object") = 0 ]] ;;
      *) [[ $(instructions_beyond baseline "$object") = 0 ]] ;;
    esac
  done <"$scratch/objects"
  grep -e -avx2 "$scratch/objects"
}

# shows_its_functions LIBRARY: what it exports is in the list of its Debian package. Some linkers
# add three symbols of their own.
shows_its_functions() {
  nm --dynamic --defined-only --format=posix "$1" | cut -d ' ' -f 1 \
    | grep -vxE '__bss_start|_edata|_end' \
    | diff - <(sed -nE 's/^ ([a-z_]+)@.*/\1/p' debian/libgstcudasepconv-filter-1.0-0.symbols)
}

holds_kernels() {
  readelf --sections --wide "$1" | grep nv_fatbin
}

# inspect COMMAND...: it describes the element and warns of nothing.
inspect() {
  "$@" cudasepconv >"$scratch/inspect" 2>"$scratch/warnings"
  cat "$scratch/warnings"
  [[ ! -s $scratch/warnings ]] && grep 'taps-x' "$scratch/inspect" \
    && ! grep -E 'WARNING|CRITICAL' "$scratch/inspect"
}

launch() {
  gst-launch-1.0 -q videotestsrc num-buffers=30 \
    ! cudasepconv kernel=custom taps-x="<0.25,0.5,0.25>" border=reflect-101 \
    ! video/x-raw,format=P010_10LE,width=321,height=241 ! fakesink
}

# refuses_instruction_set ELEMENT...: a name that CUDASEPCONV_ISA cannot be ends the pipeline with a sentence; a
# known one and none do not.
refuses_instruction_set() {
  local source=(gst-launch-1.0 -q videotestsrc num-buffers=2)
  ! CUDASEPCONV_ISA=fast timeout 30 "${source[@]}" ! "$@" ! fakesink 2>"$scratch/instructions" \
    && grep 'CUDASEPCONV_ISA is "fast", and may be baseline' "$scratch/instructions" \
    && CUDASEPCONV_ISA=baseline "${source[@]}" ! "$@" ! fakesink \
    && CUDASEPCONV_ISA='' "${source[@]}" ! "$@" ! fakesink
}

# leaves_nothing ELEMENT...: what GStreamer's own tracer finds alive at the end.
leaves_nothing() {
  G_DEBUG=fatal-criticals GST_TRACERS=leaks GST_DEBUG=GST_TRACER:7 \
    gst-launch-1.0 -q videotestsrc num-buffers=30 \
    ! video/x-raw,format=NV12,width=160,height=120 ! "$@" ! fakesink \
    >"$scratch/traced" 2>&1
  grep 'object-alive' "$scratch/traced"
  ! grep 'object-alive.*(gpointer)0x' "$scratch/traced"
}

# latency_of ELEMENT...: what GStreamer's own latency tracer says of these.
latency_of() {
  GST_DEBUG_NO_COLOR=1 GST_TRACERS="latency(flags=element+pipeline)" GST_DEBUG=GST_TRACER:7 \
    timeout 30 gst-launch-1.0 -q videotestsrc num-buffers=60 ! video/x-raw,format=NV12,width=640,height=480 \
    ! "$@" ! identity sleep-time=4000 ! fakesink 2>&1
}

# That of GStreamer 1.26.2 waits for itself.
has_tracer=false
tracer_works() {
  latency_of identity >/dev/null
}

# It finds each frame again behind the elements that hold it in flight.
latency_is_attributed() {
  latency_of cudasepconv name=blur sigma=5 ! cudahisto name=count mode=equalize | tests/latency.py 60
}

installs() {
  rm -rf "$scratch/root"
  DESTDIR=$scratch/root meson install -C "$1" --no-rebuild
  local file
  for file in gstreamer-1.0/libgstcudasepconv.so bin/filter-file bin/filter-archive \
    bin/hide-people gst-cudasepconv/archive_tasks.py gst-cudasepconv/people_finder.py \
    bin/monitor-streams gst-cudasepconv/monitor_inputs.py gst-cudasepconv/monitor-page.html \
    bash-completion/completions/hide-people man1/histogram-lines.1; do
    find "$scratch/root" -path "*/$file" | grep .
  done
}

# A clip of odd size with sound and a blank in its name goes in, a file that
# decodes to as many frames and a picture come out.
filter_file() {
  local clip="$scratch/odd clip.mkv"
  gst-launch-1.0 -q videotestsrc num-buffers=20 \
    ! video/x-raw,width=321,height=241 ! jpegenc ! matroskamux name=mux \
    ! filesink location="$clip" audiotestsrc num-buffers=20 ! vorbisenc ! mux.
  "$1/pipelines/filter-file" --picture "$scratch/picture.png" "$clip" \
    "$scratch/filtered.mp4"
  "$1/pipelines/filter-file" --filter identity "$scratch/filtered.mp4" \
    "$scratch/again.raw" | grep -E '^frames +20,'
  file_begins "$scratch/picture.png" 89504e47
  [[ $(stat -c %s "$scratch/again.raw") = $((20 * 320 * 240 * 3 / 2)) ]]
}

file_begins() {
  [[ $(head -c 4 "$1" | od -An -tx1 | tr -d ' ') = "$2" ]]
}

# Files that hold no video: sound, noise, subtitles that are none, whose stream ends without data, and
# pictures that cannot be decoded.
make_files_without_video() {
  gst-launch-1.0 -q audiotestsrc num-buffers=20 ! vorbisenc ! oggmux \
    ! filesink location="$scratch/sound.ogg"
  # In every few hundred of other noise GStreamer finds a video or subtitles.
  python3 -c 'import random, sys; sys.stdout.buffer.write(random.Random(1).randbytes(5000))' \
    >"$scratch/noise"
  printf 'WEBVTT\n\nNOTE subtitles to come\n' >"$scratch/titles.vtt"
  gst-launch-1.0 -q videotestsrc num-buffers=3 ! video/x-raw,format=GRAY8,width=32,height=24,framerate=25/1 \
    ! capssetter replace=true join=false caps=image/jpeg,width=32,height=24,framerate=25/1 \
    ! matroskamux ! filesink location="$scratch/broken.mkv"
}

# One sentence, a status that tells, and no result.
filter_file_refuses() {
  local input arguments status
  make_files_without_video
  for input in "$scratch"/{absent,sound.ogg,noise,titles.vtt,broken.mkv}; do
    for arguments in "$scratch/none.mp4" "--part 0: $scratch/none.mp4.gdp" "--list-parts 2"; do
      # Parts are looked for without decoding.
      [[ $input != *broken.mkv || $arguments != --list* ]] || continue
      status=0
      # shellcheck disable=SC2086 # words
      timeout 30 "$1/pipelines/filter-file" "$input" $arguments || status=$?
      [[ $status = 1 ]]
      [[ -z $(find "$scratch" -name 'none.mp4*') ]]
    done
  done
}

# Files that would be lost: the input under each of its names, and results that are
# there, unless they may be replaced.
filter_file_loses_nothing() {
  local program=$1/pipelines/filter-file folder=$scratch/kept output status
  rm -rf "$folder"
  mkdir -p "$folder/folder.mp4"
  cp "$scratch/odd clip.mkv" "$folder/clip.mkv"
  ln -s clip.mkv "$folder/link.mkv"
  ln "$folder/clip.mkv" "$folder/hard.mkv"
  ln "$folder/clip.mkv" "$folder/other.mkv.part"
  for output in clip.mkv ../kept/clip.mkv link.mkv hard.mkv other.mkv folder.mp4; do
    status=0
    "$program" --force "$folder/clip.mkv" "$folder/$output" >"$scratch/lines" \
      2>"$scratch/error" || status=$?
    cat "$scratch/error"
    [[ $status = 1 && ! -s $scratch/lines && $(wc -l <"$scratch/error") = 1 ]]
    cmp "$scratch/odd clip.mkv" "$folder/clip.mkv"
  done

  echo old >"$folder/old.mp4"
  echo old >"$folder/old.png"
  for output in old.mp4 new.mp4; do
    status=0
    "$program" --picture "$folder/old.png" "$folder/clip.mkv" "$folder/$output" \
      2>"$scratch/error" || status=$?
    cat "$scratch/error"
    [[ $status = 1 && $(wc -l <"$scratch/error") = 1 ]]
    [[ $(cat "$folder/old.mp4" "$folder/old.png") = $'old\nold' ]]
    [[ ! -e $folder/new.mp4 ]]
  done
  "$program" --force --picture "$folder/old.png" "$folder/clip.mkv" "$folder/old.mp4"
  file_begins "$folder/old.png" 89504e47
  [[ $(stat -c %s "$folder/old.mp4") -gt 1000 ]]
}

# stream_bytes FILE CAPS: what a file holds of a stream, before it is decoded.
stream_bytes() {
  rm -f "$scratch/bytes"
  gst-launch-1.0 -q filesrc location="$1" ! parsebin ! "$2" \
    ! filesink location="$scratch/bytes"
  [[ -s $scratch/bytes ]]
  md5sum <"$scratch/bytes"
}

# Sound and subtitles reach a file that can hold them byte for byte; other streams are
# named before the first frame, and a second video never passes unfiltered.
filter_file_keeps_streams() {
  local program=$1/pipelines/filter-file rich=$scratch/rich.mp4
  printf '1\n00:00:00,100 --> 00:00:00,500\nHello & you\n' >"$scratch/rich.srt"
  gst-launch-1.0 -q mp4mux name=mux ! filesink location="$rich" \
    videotestsrc num-buffers=60 ! video/x-raw,width=320,height=240 ! x264enc ! mux. \
    audiotestsrc num-buffers=80 ! lamemp3enc ! mpegaudioparse ! mux. \
    filesrc location="$scratch/rich.srt" ! subparse ! mux.
  "$program" "$rich" "$scratch/kept.mp4" 2>"$scratch/error" \
    | grep -E '^passed +MPEG[^,]*, '
  cat "$scratch/error"
  if grep 'left out' "$scratch/error"; then return 1; fi
  [[ $(stream_bytes "$rich" audio/mpeg) = $(stream_bytes "$scratch/kept.mp4" audio/mpeg) ]]
  [[ $(stream_bytes "$rich" text/x-raw) = $(stream_bytes "$scratch/kept.mp4" text/x-raw) ]]

  "$program" "$rich" "$scratch/kept.webm" 2>"$scratch/error"
  cat "$scratch/error"
  [[ $(grep -c 'left out: MPEG' "$scratch/error") = 1 ]]

  gst-launch-1.0 -q matroskamux name=mux ! filesink location="$scratch/two.mkv" \
    videotestsrc num-buffers=20 ! x264enc ! mux. videotestsrc num-buffers=20 ! x264enc ! mux.
  "$program" "$scratch/two.mkv" "$scratch/one.mkv" 2>"$scratch/error"
  cat "$scratch/error"
  [[ $(grep -c 'left out: H.264' "$scratch/error") = 1 ]]
  "$program" --filter identity "$scratch/one.mkv" "$scratch/one.raw" 2>"$scratch/error"
  if grep 'left out' "$scratch/error"; then return 1; fi

  # Sound much shorter than the video, which GStreamer's demuxer does not show.
  gst-launch-1.0 -q mp4mux name=mux ! filesink location="$scratch/brief.mp4" \
    videotestsrc num-buffers=15 ! video/x-raw,width=320,height=240 ! x264enc ! mux. \
    audiotestsrc num-buffers=1 ! lamemp3enc ! mpegaudioparse ! mux.
  "$program" --filter identity "$scratch/brief.mp4" "$scratch/silent.mp4" 2>"$scratch/error"
  cat "$scratch/error"
  [[ $(grep -c '1 of the 1 sound tracks of .* left out' "$scratch/error") = 1 ]]
}

# SubRip text, which matroskademux hands out as markup, is stored as it was.
filter_file_keeps_subrip() {
  local program=$1/pipelines/filter-file suffix
  gst-launch-1.0 -q matroskamux name=mux ! filesink location="$scratch/rich.mkv" \
    videotestsrc num-buffers=60 ! video/x-raw,width=320,height=240 ! x264enc ! mux. \
    filesrc location="$scratch/rich.srt" ! subparse ! text/x-raw,format=utf8 ! mux.
  for suffix in mkv mp4; do
    "$program" "$scratch/rich.mkv" "$scratch/subrip.$suffix" 2>"$scratch/error"
    cat "$scratch/error"
    if grep 'left out' "$scratch/error"; then return 1; fi
    grep -aqF 'Hello & you' "$scratch/subrip.$suffix"
  done
}

# starts_writing PROCESS FILE: waits until the file is there.
starts_writing() {
  until [[ -s $2 ]] || ! kill -0 "$1"; do
    sleep 0.05
  done
  [[ -s $2 ]]
}

# A recording whose frames change their size, shape and colours on the way, to odd sizes, too.
make_changing_clip() {
  local caps
  : >"$scratch/sizes.ts"
  for caps in width=322,height=242 width=160,height=120,pixel-aspect-ratio=4/3 \
    width=320,height=240,colorimetry=bt709; do
    gst-launch-1.0 -q videotestsrc num-buffers=20 ! "video/x-raw,format=I420,framerate=25/1,$caps" \
      ! x264enc ! mpegtsmux ! filesink location="$scratch/size.ts"
    cat "$scratch/size.ts" >>"$scratch/sizes.ts"
  done
}

# All frames are in the result, in the size of the first one, but for bare frames.
filter_file_changes_sizes() {
  local suffix sizes
  make_changing_clip
  for suffix in mp4 mkv webm raw; do
    rm -f "$scratch/sizes.$suffix"
    "$1/pipelines/filter-file" --filter "cudasepconv ! videocrop right=1" "$scratch/sizes.ts" \
      "$scratch/sizes.$suffix" | grep -E '^frames +60,'
    [[ $suffix != raw ]] || continue
    sizes=$(gst-launch-1.0 -v filesrc location="$scratch/sizes.$suffix" ! decodebin ! fakesink name=end \
      | sed -nE '/FakeSink:end/s/.*width=\(int\)([0-9]+).*/\1/p' | sort -u)
    [[ $sizes = $([[ $suffix = webm ]] && echo 321 || echo 320) ]]
  done
  # Rows are whole words.
  [[ $(stat -c %s "$scratch/sizes.raw") = \
    $((20 * (324 * 242 + 2 * 164 * 121 + 160 * 120 + 2 * 80 * 60 + 320 * 240 + 2 * 160 * 120))) ]]
}

# encoding_seconds COMMAND...: CPU time that a file of VP8 takes, in whole seconds.
encoding_seconds() {
  local times
  times=$("$@" --force --filter identity "$scratch/large.mkv" "$scratch/large.webm" >/dev/null && times) \
    || return
  [[ $times =~ $'\n'([0-9]+)m([0-9]+) ]] && echo $((BASH_REMATCH[1] * 60 + BASH_REMATCH[2]))
}

# An encoder's threads that share a core would take 14 times as long.
filter_file_on_one_core() {
  local all one
  gst-launch-1.0 -q videotestsrc num-buffers=30 ! video/x-raw,width=1280,height=720 \
    ! jpegenc ! matroskamux ! filesink location="$scratch/large.mkv"
  all=$(encoding_seconds "$1/pipelines/filter-file")
  one=$(encoding_seconds taskset -c "$(taskset -cp $$ | grep -oE '[0-9]+' | tail -n 1)" \
    "$1/pipelines/filter-file")
  echo "all cores: $all s, one: $one s"
  ((one <= 2 * all + 2))
}

# waits_beside COMMAND...: one of `processes`, with status 1 in time.
waits_beside() {
  {
    local status=0
    timeout 80 "$@" || status=$?
    [[ $status = 1 ]]
  } >"$scratch/late-${#processes[@]}" 2>&1 &
  processes+=($!)
}

# A file whose reads do not return, as on a network that is gone: all programs wait for it at once.
files_that_never_come() {
  local never=$scratch/never.mkv processes=() process reader
  mkfifo "$never"
  sleep 100 >"$never" &
  reader=$!
  waits_beside "$1/pipelines/filter-file" "$never" "$scratch/none.mkv"
  waits_beside "$1/pipelines/filter-file" --part 0: "$never" "$scratch/none.mkv.gdp"
  waits_beside "$1/pipelines/filter-file" --list-parts 2 "$never"
  waits_beside "$1/pipelines/histogram-lines" "$never"
  if have_gi; then
    waits_beside pipelines/hide-people "$never" "$scratch/none.mp4"
    waits_beside pipelines/histogram-lines.py "$never"
    waits_beside pipelines/histogram-view "$never"
    waits_beside pipelines/launch-line sharpen "$never" "$scratch/none.more.mp4"
  fi
  for process in "${processes[@]}"; do
    wait "$process"
  done
  kill "$reader"
  cat "$scratch"/late-*
  [[ $(cat "$scratch"/late-* | grep -c 'no data of it has come within 30 s') = "${#processes[@]}" ]]
  [[ -z $(find "$scratch" -name 'none.m*') ]]
}

# filter_file_ends_with SIGNAL PROGRAM: while it writes.
filter_file_ends_with() {
  local status=0 program
  "$2" --filter 'identity sleep-time=200000' "$scratch/odd clip.mkv" \
    "$scratch/ended.mp4" &
  program=$!
  until [[ -e $scratch/ended.mp4.part ]] || ! kill -0 "$program"; do
    sleep 0.05
  done
  kill "-$1" "$program"
  wait "$program" || status=$?
  [[ $status = 1 && -z $(find "$scratch" -name 'ended.mp4*') ]]
}

# Ended from without it leaves nothing behind; without a reader it goes on.
filter_file_signals() {
  local program=$1/pipelines/filter-file
  filter_file_ends_with TERM "$program"
  filter_file_ends_with HUP "$program"
  # timeout(1) sends two signals at once.
  for _ in {1..5}; do
    timeout 0.5 "$program" --filter 'identity sleep-time=200000' "$scratch/odd clip.mkv" \
      "$scratch/ended.mp4" || true
    [[ -z $(find "$scratch" -name 'ended.mp4*') ]]
  done
  "$program" "$scratch/odd clip.mkv" "$scratch/unread.mp4" | true
  [[ -s $scratch/unread.mp4 && ! -e $scratch/unread.mp4.part ]]
}

# A clip that takes a while, with sound.
make_long_clip() {
  [[ -f $scratch/long.mkv ]] || gst-launch-1.0 -q videotestsrc num-buffers=500 \
    ! video/x-raw,width=320,height=240 ! jpegenc ! matroskamux name=mux \
    ! filesink location="$scratch/long.mkv" audiotestsrc num-buffers=700 \
    ! vorbisenc ! mux.
}

# interrupted FILE COMMAND...: Ctrl-C as a terminal sends it, once the file has begun.
# Status 130 and one sentence, with no result named. A shell that was started in the
# background ignores the signal, and so would its children.
interrupted() {
  local status=0 group file=$1
  shift
  set -m
  env --default-signal=INT "$@" >"$scratch/lines" 2>"$scratch/error" &
  group=$!
  set +m
  starts_writing "$group" "$file"
  kill -INT -- "-$group"
  wait "$group" || status=$?
  cat "$scratch/lines" "$scratch/error"
  [[ $status = 130 ]]
  [[ $(grep -c interrupted "$scratch/error") = 1 ]]
  ! grep '^result' "$scratch/lines"
}

# What was filtered before Ctrl-C plays; a file that was complete stays.
filter_file_interrupted() {
  local slow=("$1/pipelines/filter-file" --filter 'identity sleep-time=20000')
  local clip=$scratch/long.mkv result=$scratch/cut.mkv frames
  make_long_clip
  rm -f "$result"
  interrupted "$result.part" "${slow[@]}" "$clip" "$result"
  frames=$(sed -nE 's/.* holds the first ([0-9]+) frames .*/\1/p' "$scratch/error")
  [[ $frames -lt 500 && ! -e $result.part ]]
  "$1/pipelines/filter-file" --filter identity "$result" "$scratch/cut.raw" \
    | grep -E "^frames +$frames,"
  rm "$scratch/cut.raw"

  cp "$clip" "$result"
  interrupted "$result.part" "${slow[@]}" --force "$clip" "$result"
  cmp "$clip" "$result"
  [[ ! -e $result.part ]]
}

# The demo passes on how filter-file ended; before that it says so itself.
demo_interrupted() {
  local result=$scratch/demo/long-filtered.mp4
  make_long_clip
  rm -rf "$scratch/demo"
  mkdir -p "$scratch/slow"
  printf '#!/bin/sh\necho begun >"%s"\nsleep 60\n' "$scratch/slow/begun" \
    >"$scratch/slow/ninja"
  chmod +x "$scratch/slow/ninja"
  pipelines/demo.sh --filter identity "$scratch/long.mkv" "$scratch/demo"
  rm "$result"
  PATH=$scratch/slow:$PATH interrupted "$scratch/slow/begun" \
    pipelines/demo.sh "$scratch/long.mkv" "$scratch/demo"
  [[ $(wc -l <"$scratch/error") = 1 ]]
  interrupted "$result.part" pipelines/demo.sh --force \
    --filter 'identity sleep-time=20000' "$scratch/long.mkv" "$scratch/demo"
  [[ -s $result && ! -e $result.part ]]
}

# People find the elements by the words for what they do.
found_by_task() {
  local task
  gst-inspect-1.0 >"$scratch/inspect"
  for task in blur sharpen edge; do
    grep -i "$task" "$scratch/inspect" | grep ' cudasepconv:'
  done
  for task in histogram equalize clahe; do
    grep -i "$task" "$scratch/inspect" | grep ' cudahisto:'
  done
  gst-inspect-1.0 cudasepconv | grep -A1 'border-color' | grep 0xff000000
}

# The default build has no tests, and goes with --prefix=/usr to the folder where the distribution's
# GStreamer looks. demo.sh has built the same for another prefix, which no object file depends on.
builds_by_hand() {
  local folder=$scratch/by-hand prefix plugins status=0
  prefix=$(pkg-config --variable=prefix gstreamer-1.0)
  plugins=$(pkg-config --variable=pluginsdir gstreamer-1.0)
  rm -rf "$folder" "$scratch/hand-root"
  meson setup "$folder" --prefix="$prefix" --buildtype=release -Dcuda=disabled >"$scratch/setup"
  if grep 'set GST_PLUGIN_PATH' "$scratch/setup"; then return 1; fi
  [[ ! -e $folder/tests ]]
  meson configure build/demo --prefix="$prefix"
  DESTDIR=$scratch/hand-root meson install -C build/demo || status=$?
  meson configure build/demo --prefix=/usr/local
  [[ $status = 0 ]]
  GST_PLUGIN_PATH=$scratch/hand-root$plugins inspect gst-inspect-1.0
  meson setup "$scratch/by-hand-local" --prefix=/usr/local -Dcuda=disabled \
    | grep 'set GST_PLUGIN_PATH'
}

builds_for_this_machine() {
  mkdir -p "$scratch/gpu"
  printf '#!/bin/sh\nprintf "9.0\\n8.0\\n9.0\\n"\n' >"$scratch/gpu/nvidia-smi"
  chmod +x "$scratch/gpu/nvidia-smi"
  [[ $(PATH=$scratch/gpu:$PATH cuda/native-archs.sh) = $'80\n90' ]]
  PATH=$scratch/gpu:$PATH meson setup "$scratch/native" | grep 'yes, for 80, 90$'
  printf '#!/bin/sh\necho 1.0\n' >"$scratch/gpu/nvidia-smi"
  [[ -z $(PATH=$scratch/gpu:$PATH cuda/native-archs.sh) ]]
}

# The staged tree is found as if it had been moved there: GStreamer's own folders stay where
# they are. Prints the folder for PKG_CONFIG_PATH.
staged_pkgconfig() {
  local file
  mkdir -p "$scratch/pkgconfig"
  while read -r file; do
    sed "s|^prefix=|&$scratch/root|" "$file" >"$scratch/pkgconfig/${file##*/}"
  done < <(find "$scratch/root" -name 'gst-cudasepconv-*.pc')
  echo "$scratch/pkgconfig"
}

# The installed header is all that an application needs.
installed_meta_reads() {
  local -x PKG_CONFIG_PATH GST_PLUGIN_PATH
  PKG_CONFIG_PATH=$(staged_pkgconfig)
  GST_PLUGIN_PATH=$(pkg-config --variable=pluginsdir gst-cudasepconv-1.0)
  read -ra flags < <(pkg-config --cflags --libs gst-cudasepconv-1.0)
  "${CC:-cc}" -Wall -Wextra -Wpedantic -Werror tests/installed-meta.c \
    -o "$scratch/installed-meta" "${flags[@]}"
  "$scratch/installed-meta"
}

# A plugin outside of this build reads the installed header by pkg-config; of frames that are
# black and white by turns its element drops the black ones, and with level=0 none.
outside_element_runs() {
  local folder=$scratch/darkdrop level
  local -x PKG_CONFIG_PATH GST_PLUGIN_PATH
  PKG_CONFIG_PATH=$(staged_pkgconfig)
  GST_PLUGIN_PATH=$(pkg-config --variable=pluginsdir gst-cudasepconv-1.0):$folder/build
  cp -r examples/plugin "$folder"
  meson setup "$folder/build" "$folder" -Dwerror=true
  ninja -C "$folder/build"
  for level in 0 0.5; do
    gst-launch-1.0 -q videotestsrc pattern=blink num-buffers=10 \
      ! video/x-raw,format=GRAY8,width=33,height=21 ! cudahisto attach-meta=true interval=0 \
      ! darkdrop level="$level" ! videoconvert ! video/x-raw,format=RGB ! filesink location="$folder/$level"
  done
  [[ $(stat -c %s "$folder/0") = $((10 * 100 * 21)) ]]
  [[ $(stat -c %s "$folder/0.5") = $((5 * 100 * 21)) ]]
}

# A plugin outside of this build has an element on the installed base class, between two elements
# of this one, too. Two levels are left of grey: black below the middle, white above.
outside_filter_runs() {
  local folder=$scratch/cudaposterize levels
  local -x PKG_CONFIG_PATH GST_PLUGIN_PATH LD_LIBRARY_PATH
  local source=(videotestsrc pattern=gradient num-buffers=20 ! "video/x-raw,format=GRAY8,width=36,height=301")
  PKG_CONFIG_PATH=$(staged_pkgconfig)
  GST_PLUGIN_PATH=$(pkg-config --variable=pluginsdir gst-cudasepconv-filter-1.0):$folder/build
  LD_LIBRARY_PATH=$(pkg-config --variable=libdir gst-cudasepconv-filter-1.0)
  cp -r examples/element "$folder"
  meson setup "$folder/build" "$folder" -Dwerror=true -Dgpu-architecture=sm_80
  ninja -C "$folder/build"
  for levels in 256 2; do
    gst-launch-1.0 -q "${source[@]}" ! cudasepconv ! cudaposterize backend=cpu levels="$levels" \
      ! cudahisto ! filesink location="$folder/$levels"
  done
  [[ $(stat -c %s "$folder/256") = $((20 * 36 * 301)) ]]
  LC_ALL=C tr '\000-\177\200-\377' '[\000*128][\377*]' <"$folder/256" | cmp - "$folder/2"
  if cmp "$folder/256" "$folder/2"; then return 1; fi
}

# A project that has this one as a subproject, by the wrap file of docs/cudahisto.md, finds
# the headers; the plugin of BUILD is the one that its program runs with.
subproject_meta_reads() {
  local project=$scratch/application wrap=subprojects/gst-cudasepconv.wrap
  mkdir -p "$project/subprojects"
  sed -n '/^    \[wrap-git\]/,/^    dependency_names/s/^ *//p' docs/cudahisto.md \
    | sed "s|^url = .*|url = $PWD|; /^depth/d" >"$project/$wrap"
  cp tests/installed-meta.c examples/element/{gstcudaposterize.c,posterize.h} "$project"
  printf '%s\n' "project('application', 'c')" \
    "executable('application', 'installed-meta.c', dependencies: dependency('gst-cudasepconv-1.0'))" \
    "shared_module('gstcudaposterize', 'gstcudaposterize.c', dependencies: dependency('gst-cudasepconv-filter-1.0'))" \
    >"$project/meson.build"
  meson setup "$project/build" "$project" --force-fallback-for=gst-cudasepconv-1.0,gst-cudasepconv-filter-1.0 \
    -Dgst-cudasepconv:cuda=disabled
  # An object of the module: the library would take the whole engine to build.
  ninja -C "$project/build" application libgstcudaposterize.so.p/gstcudaposterize.c.o
  GST_PLUGIN_PATH=$PWD/$1/plugin "$project/build/application"
}

# From Python, by the typelib as it lies in the build folder.
introspected_meta_reads() {
  GI_TYPELIB_PATH=$PWD/$1/plugin LD_LIBRARY_PATH=$PWD/$1/plugin \
    tests/introspected-meta.py
}

# counted_clip COMMAND...: a clip of 20 frames gives 20 lines of JSON, with
# components whose bins add up to their samples.
counted_clip() {
  local clip="$scratch/counted clip.mkv"
  [[ -f $clip ]] || gst-launch-1.0 -q videotestsrc num-buffers=20 \
    ! video/x-raw,width=321,height=241 ! jpegenc ! matroskamux name=mux \
    ! filesink location="$clip" audiotestsrc num-buffers=20 ! vorbisenc ! mux.
  "$@" --every-frame --bins 100 "$clip" >"$scratch/lines"
  [[ $(wc -l <"$scratch/lines") = 20 ]]
  python3 - "$scratch/lines" <<'END'
import json, sys
for line in open(sys.argv[1]):
    message = json.loads(line)
    assert [c["name"] for c in message["components"]] == ["Y", "U", "V"], message
    for c in message["components"]:
        assert len(c["bins"]) == 100 and sum(c["bins"]) == c["samples"] > 0, c
END
}

# refuses_inputs COMMAND...: one sentence that names the input and the command, no
# line, and a status that tells.
refuses_inputs() {
  local input status
  make_files_without_video
  for input in "" "$scratch"/{absent,sound.ogg,noise,titles.vtt}; do
    status=0
    timeout 30 "$@" --backend cpu "$input" >"$scratch/lines" 2>"$scratch/error" || status=$?
    cat "$scratch/error"
    [[ $status = 1 && ! -s $scratch/lines && $(wc -l <"$scratch/error") = 1 ]]
    grep -F "${1##*/}: " "$scratch/error" | grep -F "${input##*/}"
  done
}

refuses_settings() {
  local setting status
  for setting in --bins=1 --planes=red --interval=-1 --backend=abacus --colour; do
    status=0
    "$@" "$setting" "$scratch/counted clip.mkv" 2>"$scratch/error" || status=$?
    cat "$scratch/error"
    [[ $status = 1 && $(wc -l <"$scratch/error") = 1 ]]
  done
}

# A new GPU runs the code of a build for old ones: kernels that are empty there are not
# taken.
knows_old_code() {
  EMULATED_GPU_CODE=75 "$1/tests/emulation/kerncheck-emulated" --quick \
    --check sepconv/tensor/beside >"$scratch/old-code"
  cat "$scratch/old-code"
  grep '^SKIP .*newer GPU' "$scratch/old-code"
}

# Where there is no terminal: one picture that fits 80 columns.
histogram_view() {
  local picture=$scratch/picture.txt
  COLUMNS=80 LINES=24 pipelines/histogram-view --backend cpu \
    "$scratch/counted clip.mkv" >"$picture"
  cat "$picture"
  [[ $(wc -l <"$picture") = 24 ]]
  [[ $(LC_ALL=C.UTF-8 wc -L <"$picture") -le 80 ]]
  grep '█' "$picture"
  grep 'too-dark' "$picture"
}

# cannot_write COMMAND...: one sentence, and a status that tells.
cannot_write() {
  local clip="$scratch/counted clip.mkv" status=0
  "$@" --backend cpu "$clip" >/dev/full 2>"$scratch/error" || status=$?
  cat "$scratch/error"
  [[ $status = 1 && $(wc -l <"$scratch/error") = 1 ]]
  status=0
  "$@" --backend cpu "$clip" >&- 2>"$scratch/error" || status=$?
  cat "$scratch/error"
  [[ $status = 1 && $(wc -l <"$scratch/error") = 1 ]]
}

# A clip of people as hide-people finds them, 30 frames of a street scene with a tone.
make_street_clip() {
  [[ -f $scratch/street.mkv ]] || gst-launch-1.0 -q \
    filesrc location="$(default_clip "$scratch")" ! decodebin ! videoconvert \
    ! identity eos-after=30 ! jpegenc ! matroskamux name=mux \
    ! filesink location="$scratch/street.mkv" audiotestsrc num-buffers=130 \
    ! vorbisenc ! mux.
}

# All that the detector finds is hidden from it, in a file that decodes to as many frames,
# with its sound as it was.
hide_people() {
  local clip=$scratch/street.mkv result=$scratch/hidden.mkv program=pipelines/hide-people
  local frames
  make_street_clip
  # Versions of GStreamer differ by one in how many there are.
  frames=$("$1/pipelines/filter-file" --filter identity "$clip" "$scratch/street.raw" \
    | sed -nE 's/^frames +(29|30),.*/\1/p')
  rm "$scratch/street.raw"
  "$program" --every 5 "$clip" "$result" | grep -E "^frames +$frames, [1-9][0-9] times person"
  [[ ! -e $result.part ]]
  "$program" --every 5 --verify "$result" "$clip" >"$scratch/lines"
  cat "$scratch/lines"
  grep -E '^found +[1-9][0-9] in' "$scratch/lines"
  grep -E '^again +0 of' "$scratch/lines"
  [[ $(stream_bytes "$result" audio/x-vorbis) = $(stream_bytes "$clip" audio/x-vorbis) ]]
  "$1/pipelines/filter-file" --filter identity "$result" "$scratch/hidden.raw" \
    | grep -E "^frames +$frames,"
  rm "$scratch/hidden.raw"

  # A clip in which nothing is hidden does not pass.
  if "$program" --every 30 --verify "$clip" "$clip" 2>"$scratch/error"; then return 1; fi
  grep 'are not hidden' "$scratch/error"
}

# Sound that MP4 does not hold becomes AAC and ends with the video; tags are left out.
hide_people_sound() {
  local program=pipelines/hide-people result=$scratch/hidden.mp4
  make_street_clip
  gst-launch-1.0 -q matroskamux name=mux ! filesink location="$scratch/named.mkv" \
    filesrc location="$scratch/street.mkv" ! matroskademux name=demux \
    demux.video_0 ! queue ! taginject tags='title="A\ name"' ! mux.video_0 \
    demux.audio_0 ! queue ! mux.audio_0
  grep -aq 'A name' "$scratch/named.mkv"
  "$program" --every 30 --frames 10 --fill solid "$scratch/named.mkv" "$result"
  if grep -aq 'A name' "$result"; then return 1; fi
  "$1/pipelines/filter-file" --filter identity "$result" "$scratch/hidden.raw" \
    | grep -E '^frames +10,'
  rm "$scratch/hidden.raw"
  gst-launch-1.0 -q filesrc location="$result" ! qtdemux name=demux demux.audio_0 ! decodebin \
    ! audioconvert ! audio/x-raw,format=S16LE,rate=44100,channels=1 \
    ! filesink location="$scratch/tone"
  # A second, but for the blocks of 1024 samples that it is coded in.
  [[ $(stat -c %s "$scratch/tone") -gt 84000 && $(stat -c %s "$scratch/tone") -lt 96000 ]]
}

# The same of hide-people.
hide_people_changes_sizes() {
  make_changing_clip
  rm -f "$scratch/sizes.mkv"
  pipelines/hide-people --every 10 "$scratch/sizes.ts" "$scratch/sizes.mkv" | grep -E '^frames +60,'
}

hide_people_refuses() {
  local program=pipelines/hide-people clip=$scratch/street.mkv arguments status
  make_street_clip
  make_files_without_video
  echo old >"$scratch/old.mp4"
  for arguments in "absent none.mp4" "noise none.mp4" "sound.ogg none.mp4" \
    "titles.vtt none.mp4" "broken.mkv none.mp4" \
    "street.mkv street.mkv --force" "street.mkv old.mp4" "street.mkv none.avi" \
    "street.mkv no-folder/none.mp4" "street.mkv none.mp4 --strength=0" \
    "street.mkv none.mp4 --detect=cats"; do
    status=0
    # shellcheck disable=SC2086 # words
    (cd "$scratch" && "$OLDPWD/$program" --every 30 $arguments) >"$scratch/lines" \
      2>"$scratch/error" || status=$?
    cat "$scratch/error"
    # That the CPU stands in for a GPU, or that there are subtitles, may be said before.
    [[ $status = 1 && ! -s $scratch/lines ]]
    [[ $(grep -vcE 'computing on the CPU|is left out' "$scratch/error") = 1 ]]
    [[ -z $(find "$scratch" -maxdepth 1 \( -name 'none.*' -o -name '*.part' \)) ]]
  done
  [[ $(<"$scratch/old.mp4") = old ]]
}

# Ctrl-C leaves nothing behind, and a result that --force was to replace as it was.
hide_people_interrupted() {
  local result=$scratch/cut.mp4
  make_long_clip
  echo old >"$result"
  interrupted "$result.part" pipelines/hide-people --force --every 5 "$scratch/long.mkv" \
    "$result"
  [[ $(<"$result") = old && ! -e $result.part ]]
}

# The clip in.mp4 that examples name, unless it is there.
make_example_clip() {
  mkdir -p "$scratch/examples"
  [[ -f $scratch/examples/in.mp4 ]] || gst-launch-1.0 -q videotestsrc num-buffers=20 ! video/x-raw,width=320,height=240 ! x264enc \
    ! mp4mux ! filesink location="$scratch/examples/in.mp4"
}

# examples_work PROGRAM: its --help has examples; they do their work in a folder with a clip.
examples_work() {
  local folder=$scratch/examples example
  make_example_clip
  "$1" --help >"$scratch/help"
  sed -n '/^Example:$/,$s/^  //p' "$scratch/help" >"$scratch/commands"
  cat "$scratch/commands"
  [[ -s $scratch/commands ]]
  while read -r example; do
    grep -F "${1##*/} " <<<"$example"
    (cd "$folder" && PATH=$OLDPWD/$cuda/pipelines:$OLDPWD/pipelines:$PATH \
      bash -ec "${example/#pipelines\//}" </dev/null)
  done <"$scratch/commands"
}

# page_works PAGE: its commands for a terminal work, as they stand there; with a clip in.mp4, without
# windows, and with pictures that end. The demo itself has a check of its own.
page_works() {
  local folder=$scratch/examples left_out='^pipelines/demo.sh$'
  make_example_clip
  $has_tracer || left_out+='|^GST_TRACERS='
  sed -nE 's/^ {4,}((GST_[A-Z_]+=("[^"]*"|[^ ]+) )*(gst-[a-z]+-1\.0 |pipelines\/|build\/demo\/|export ).*)/\1/p' "$1" \
    | grep -vE "$left_out" \
    | sed -E "s#in\\.mp4#$folder/in.mp4#g; s# (results|out\\.[a-z0-9]+)\$# $scratch/\\1#
      s#autovideosink#fakesink#; s#videotestsrc !#videotestsrc num-buffers=30 !#" >"$scratch/commands"
  cat "$scratch/commands"
  rm -rf "$scratch/results" "$scratch"/out.*
  [[ $(wc -l <"$scratch/commands") -ge 5 ]]
  env -u GST_PLUGIN_PATH bash -ex <<<"export GST_PLUGIN_PATH=$PWD/build/demo/plugin
$(<"$scratch/commands")"
}

# All launch lines that need no window run; each makes another picture of the same clip.
launch_lines() {
  local folder=$scratch/launch-lines line=pipelines/launch-line name
  mkdir -p "$folder"
  make_example_clip
  for name in $("$line" | awk '$1 != "exposure" && $1 != "transcode" { print $1 }'); do
    "$line" "$name" "$scratch/examples/in.mp4" "$folder/$name.png" 2>&1
  done
  [[ $(find "$folder" -name '*.png' | wc -l) = 12 ]]
  [[ $(md5sum "$folder"/*.png | cut -d ' ' -f 1 | sort -u | wc -l) = 12 ]]
  # The first frame of a focus pull has the sigma that the pull begins with.
  gst-launch-1.0 -q filesrc location="$scratch/examples/in.mp4" ! decodebin ! videoconvert \
    ! cudasepconv sigma=12 ! videoconvert ! pngenc snapshot=true ! filesink location="$folder/twelve"
  cmp "$folder/twelve" "$folder/focus-pull.png"
  # Names with blanks, quotes and backslashes are files, too.
  cp "$scratch/examples/in.mp4" "$folder/a \"b\" \\c.mp4"
  "$line" blur "$folder/a \"b\" \\c.mp4" "$folder/a \"b\" \\c.png"
  cmp "$folder/blur.png" "$folder/a \"b\" \\c.png"
  "$line" exposure "$scratch/examples/in.mp4" | grep -E '^ +0\.00 s  level 0\.[0-9]{3}  spread 0\.'
}

# Where the GPU's decoder is missing, the line says so.
launch_line_transcodes() {
  local result=$scratch/launch-lines/gpu.mp4
  make_example_clip
  rm -f "$result"
  if gst-inspect-1.0 --exists nvh264dec && gst-inspect-1.0 --exists nvh264enc; then
    pipelines/launch-line transcode "$scratch/examples/in.mp4" "$result"
    [[ -s $result ]]
  else
    launch_line_says 'there is no element nvh264' transcode "$scratch/examples/in.mp4" "$result"
  fi
}

# launch_line_says SENTENCE ARGUMENT...: status 1, the sentence, and no result.
launch_line_says() {
  local status=0 sentence=$1
  shift
  env -u DISPLAY -u WAYLAND_DISPLAY pipelines/launch-line "$@" >"$scratch/lines" \
    2>"$scratch/error" || status=$?
  cat "$scratch/error"
  [[ $status = 1 && ! -s $scratch/lines && ! -e $scratch/none.mp4 ]]
  grep -F "launch-line: $sentence" "$scratch/error"
}

launch_line_refuses() {
  local clip=$scratch/examples/in.mp4 before
  make_example_clip
  before=$(md5sum "$clip")
  launch_line_says 'there is no line colour' colour
  launch_line_says 'there is no display' blur "$clip"
  launch_line_says 'there is no file' blur "$scratch/absent" "$scratch/none.mp4"
  launch_line_says 'there is no camera /dev/video99' camera /dev/video99 "$scratch/none.mp4"
  launch_line_says 'record needs an INPUT' record
  launch_line_says 'transcode needs an OUTPUT' transcode "$clip"
  launch_line_says 'exposure takes no OUTPUT' exposure "$clip" "$scratch/none.mp4"
  launch_line_says "$clip exists" blur "$clip" "$clip"
  launch_line_says "$scratch/none.avi: the name" blur "$clip" "$scratch/none.avi"
  launch_line_says 'rtsp://127.0.0.1:9/x: ' record rtsp://127.0.0.1:9/x "$scratch/none.mp4"
  launch_line_says "$0: " blur "$0" "$scratch/none.mp4"
  [[ $(md5sum "$clip") = "$before" ]]
}

# A network camera on this machine, of a white picture, is recorded until Ctrl-C; what the
# line hides is black, so that the picture has a spread.
launch_line_records() {
  local result=$scratch/recorded.mkv address recorder
  coproc tests/rtsp-server.py
  read -rt 20 address <&"${COPROC[0]}"
  env --default-signal=INT pipelines/launch-line record "$address" "$result" &
  recorder=$!
  starts_writing "$recorder" "$result"
  sleep 3
  kill -INT "$recorder"
  wait "$recorder"
  pipelines/launch-line exposure "$result" | grep -E '^ +1\.[0-9]+ s .*spread 0\.[1-9]'
}

# example_filters_frames COMMAND...: of 20 frames, the last one's bar of 8 columns begins at column 19, and
# has lost as much as a blur takes.
example_filters_frames() {
  "$@" 20 >"$scratch/lines"
  cat "$scratch/lines"
  grep -E 'sample 22 is the brightest: 17[45]$' "$scratch/lines"
}

# own_frames BUILD: memory is used again and again.
own_frames() {
  example_filters_frames "$1/examples/own-frames"
  [[ $("$1/examples/own-frames" | sed -nE 's/^memory   of ([0-9]+) inputs and ([0-9]+) outputs$/\1+\2/p') -le 20 ]]
}

# example_copies_nothing BUILD COMMAND...: on the emulated GPU, input and result lie in the memory that its
# copy engines use.
example_copies_nothing() {
  local build=$1
  shift
  GST_PLUGIN_PATH=$PWD/$build/tests/emulation/plugin GST_REGISTRY=$scratch/emulated-registry \
    LD_LIBRARY_PATH=$PWD/$build/tests/emulation/driver GST_DEBUG_NO_COLOR=1 \
    GST_DEBUG=cudasepconv-flight:6 "$@" 4 >"$scratch/lines" 2>"$scratch/log"
  grep 'slot 0: ' "$scratch/log"
  grep -c 'input in pinned memory, result in pinned memory' "$scratch/log" | grep -x 4
}

# The player takes a number while it plays, and complains of what is none.
player_is_controlled() {
  make_example_clip
  { sleep 0.2; echo 8; echo loud; echo 5; } \
    | "$1/examples/play" "$scratch/examples/in.mp4" 'fakesink sync=true' >"$scratch/lines" 2>"$scratch/error"
  cat "$scratch/lines" "$scratch/error"
  grep -E '^frames   20, method [a-z-]+, sigma 5 at the end$' "$scratch/lines"
  grep '^play: sigma is a number' "$scratch/error"
  if "$1/examples/play" "$scratch/absent" fakesink 2>"$scratch/error"; then return 1; fi
  [[ $(wc -l <"$scratch/error") = 1 ]]
}

# example_window BUILD: on a display of its own.
example_window() {
  make_example_clip
  xvfb-run -a -s "-screen 0 1024x640x24" tests/window.sh "$1/examples/window" "$scratch/examples/in.mp4"
}

have_display() {
  command -v xvfb-run >/dev/null && command -v xdotool >/dev/null && command -v import >/dev/null \
    && gst-inspect-1.0 --exists gtksink
}

# tutorial_works PAGE: its commands print what it says. Its samples come with opencv-doc.
tutorial_works() {
  env -u GST_PLUGIN_PATH tests/tutorial.py "$1"
}

# manual_pages BUILD: man has nothing to complain of.
manual_pages() {
  local page
  [[ $(find "$1/pipelines" -name '*.1' | wc -l) = 8 ]]
  for page in "$1"/pipelines/*.1; do
    LC_ALL=C.UTF-8 MANWIDTH=80 man --warnings -l "$page" >"$scratch/page" 2>"$scratch/warnings"
    cat "$scratch/warnings"
    [[ ! -s $scratch/warnings ]]
    [[ $(grep -cE '^(NAME|SYNOPSIS|DESCRIPTION|OPTIONS|EXAMPLES)$' "$scratch/page") = 5 ]]
  done
}

# completes EXPECTED WORD...: what bash offers in place of the last word, separated by blanks.
completes() {
  local expected=$1
  shift
  COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
  _gst_cudasepconv
  echo "$*: ${COMPREPLY[*]}"
  [[ ${COMPREPLY[*]} = "$expected" ]]
}

completions() {
  # shellcheck source=pipelines/completion.bash
  . pipelines/completion.bash
  complete -p filter-file filter-archive histogram-lines factor-kernel hide-people histogram-view \
    launch-line monitor-streams
  completes 'people faces' pipelines/hide-people --detect ''
  completes 'pixelate' pipelines/hide-people --fill = pi
  completes '--hold' pipelines/hide-people in.mp4 --ho
  completes '.mkv' pipelines/filter-archive --suffix .mk
  completes '--scheduler' pipelines/filter-archive --sc
  completes '--filter --force' "$1/pipelines/filter-file" --f
  completes '--every-frame' "$1/pipelines/histogram-lines" --ev
  completes 'pipelines/factor-kernel' pipelines/factor-kernel pipelines/fac
  completes 'side-by-side' pipelines/launch-line side
  completes '--picture-rate --picture-width' pipelines/monitor-streams test --pic
  completes 'auto cuda cpu' pipelines/monitor-streams --backend ''
}

# Who waits for a build sees how far it is.
build_shows_progress() {
  mkdir -p "$scratch/steps"
  # shellcheck disable=SC2016 # for the script
  printf '#!/bin/sh\necho "[3/4] compiling"\nexit $FAILS\n' >"$scratch/steps/ninja"
  chmod +x "$scratch/steps/ninja"
  export PATH=$scratch/steps:$PATH FAILS=0
  local build='bash -c "set -o pipefail; . pipelines/setup.sh; build_with_progress folder"'
  script -qec "$build" /dev/null | tee "$scratch/shown"
  grep '3 of 4 steps' "$scratch/shown"
  [[ -z $(bash -c "$build" 2>&1) ]]
  if FAILS=1 bash -c "$build" 2>"$scratch/shown"; then return 1; fi
  grep compiling "$scratch/shown"
}

# The Python that Debian's python3-gi belongs to.
have_gi() {
  /usr/bin/python3 -c 'import gi; gi.require_version("Gst", "1.0")' 2>/dev/null
}

# With Debian's python3-gst-1.0, mapped buffers are no copies.
have_gst_overrides() {
  /usr/bin/python3 -c 'import gi.overrides._gi_gst, numpy' 2>/dev/null
}

have_rtsp_server() {
  /usr/bin/python3 -c 'import gi; gi.require_version("GstRtspServer", "1.0")' 2>/dev/null
}

# Debian's Dask, with psutil, which it depends on.
have_dask() {
  /usr/bin/python3 -c 'import dask, distributed, psutil' 2>/dev/null
}

# filter_archive FOLDER: on clips of a few seconds, beside the build's filter-file.
filter_archive() {
  PATH=$PWD/$1/pipelines:$PATH PYTHONDONTWRITEBYTECODE=1 \
    /usr/bin/python3 -m pytest -q -p no:cacheprovider tests/archive
}

# Debian's aiohttp and client of Prometheus.
have_aiohttp() {
  /usr/bin/python3 -c 'import aiohttp, prometheus_client' 2>/dev/null
}

# Debian's Chromium with what drives it, which are large: tests/monitor/screenshot.sh installs them.
have_chromium() {
  command -v chromium >/dev/null && command -v chromedriver >/dev/null \
    && /usr/bin/python3 -c 'import selenium' 2>/dev/null
}

# monitor_tests FILE: of tests/monitor.
monitor_tests() {
  PYTHONDONTWRITEBYTECODE=1 /usr/bin/python3 -m pytest -q -p no:cacheprovider "tests/monitor/$1"
}

# Its examples serve until they are ended.
monitor_examples() {
  local example address program pages status
  make_example_clip
  pipelines/monitor-streams --help | sed -n '/^Example:$/,$s/^  //p' >"$scratch/commands"
  [[ $(wc -l <"$scratch/commands") -ge 2 ]]
  while read -r example; do
    echo "$example"
    coproc {
      cd "$scratch/examples"
      PATH=$OLDPWD/pipelines:$PATH exec env --default-signal=INT \
        bash -c "exec ${example/monitor-streams/monitor-streams --port 0}"
    }
    program=$COPROC_PID pages=${COPROC[0]}
    read -rt 60 _ address <&"$pages"
    until [[ $(curl -s "${address}metrics" | grep -c '^monitor_playing.* 1.0$') = 2 ]]; do
      sleep 0.2
    done
    kill -INT "$program"
    status=0
    wait "$program" || status=$?
    [[ $status = 130 ]]
  done <"$scratch/commands"
}

# has_python FOLDER: the build made the Python package.
has_python() {
  [[ -f $1/python/cudasepconv/_engine.abi3.so ]]
}

# python_tests FOLDER: says where a build's tests lack those of the package.
python_tests() {
  meson test -C "$1" --list --no-rebuild 2>/dev/null | grep -E '(^|/ )python$' >/dev/null \
    || skip "$1: python" "there is no Python 3.11 with its headers, numpy, scipy and pytest"
}

# trace_tests FOLDER NAME: says where a build's tests lack this one of what profilers see.
trace_tests() {
  meson test -C "$1" --list --no-rebuild 2>/dev/null | grep -E "(^|/ )$2\$" >/dev/null \
    || skip "$1: $2" "there is no header nvtx3/nvToolsExt.h, or no nvcc"
}

# Of the package, and of a program that uses it, by Debian's mypy.
python_types() {
  MYPYPATH=python mypy --strict --cache-dir "$scratch/mypy" -p cudasepconv
  MYPYPATH=python mypy --strict --cache-dir "$scratch/mypy" tests/python/typed_use.py
  mypy --strict --cache-dir "$scratch/mypy" tests/trace/trace.py
  mypy --strict --cache-dir "$scratch/mypy" tests/damaged-files.py
  # Of Dask's functions only some have types.
  ! have_dask || MYPYPATH=pipelines mypy --strict --allow-untyped-calls --cache-dir "$scratch/mypy" \
    pipelines/filter-archive pipelines/archive_{files,tasks}.py
  ! have_aiohttp || MYPYPATH=pipelines mypy --strict --allow-untyped-calls --cache-dir "$scratch/mypy" \
    pipelines/monitor-streams pipelines/monitor_{inputs,pages}.py
}

# The package as it was installed, on another Python's path.
installed_python_runs() {
  local extension
  extension=$(find "$scratch/root" -name '_engine.abi3.so')
  PYTHONPATH=${extension%/cudasepconv/*} PYTHONDONTWRITEBYTECODE=1 \
    /usr/bin/python3 tests/python/typed_use.py
  only_system_libraries "$extension"
}

# For the package alone, where nothing of GStreamer is found.
configures_without_gstreamer() {
  PKG_CONFIG_LIBDIR=$scratch/none meson setup "$scratch/no-gstreamer" -Dcuda=disabled \
    -Dplugin=disabled -Dpython=enabled
}

# From the seeds on; tests/fuzz.sh takes longer, with sanitizers in the engine, too.
fuzz_briefly() {
  mkdir -p "$scratch/corpus-$2"
  ASAN_OPTIONS=detect_leaks=0 "$1/tests/fuzz/fuzz-$2" -max_total_time=10 -max_len=1024 \
    -len_control=0 -timeout=20 -detect_leaks=0 -artifact_prefix="$scratch/found-" \
    "$scratch/corpus-$2" "tests/fuzz/seeds/$2"
}

# The drawings of the pages are what their script makes.
drawings_are_made() {
  local drawing
  mkdir -p "$scratch/drawings"
  for drawing in $(docs/drawings.py "$scratch/drawings" | sed 's|.*/||'); do
    diff "docs/pictures/$drawing" "$scratch/drawings/$drawing"
  done
  [[ $(find docs/pictures -name '*.svg' | wc -l) = $(find "$scratch/drawings" -name '*.svg' | wc -l) ]]
}

# An argument is refused before anything is built.
refuses_arguments() {
  local status=0
  tests/run.sh --quick >"$scratch/lines" 2>"$scratch/error" || status=$?
  [[ $status = 2 && ! -s $scratch/lines && $(grep -c '^usage: ' "$scratch/error") = 1 ]]
}

# nvcc_options: for meson. Optimizing kernels that no GPU is here to run takes 7 minutes of a core.
nvcc_options() {
  if ! command -v nvcc >/dev/null || [[ $(nvcc --help) != *--Ofast-compile* ]]; then
    return 0
  elif [[ -e /dev/nvidiactl ]] || nvidia-smi -L >/dev/null 2>&1; then
    echo "-Dcuda_args="
  else
    echo "-Dcuda_args=--Ofast-compile=max"
  fi
}

# Everything of one build, and what it installs.
check_cuda_build() {
  local plugin file lines programs program page name options
  mapfile -t options < <(nvcc_options)
  check "$cuda builds without warnings" build $cuda -Dcuda-archs=75,90 "${options[@]}"
  $check_passed || return 0
  plugin=$cuda/plugin/libgstcudasepconv.so
  if command -v nvcc >/dev/null; then
    check "$cuda: GPU kernels are in the plugin" holds_kernels $plugin
  else
    skip "$cuda: GPU kernels are in the plugin" "there is no nvcc"
  fi
  for file in $plugin $cuda/plugin/libgstcudasepconv-filter-1.0.so.0; do
    check "$cuda: no driver or CUDA library is linked with ${file##*/}" only_system_libraries "$file"
    check "$cuda: ${file##*/} is hardened" is_hardened "$file"
  done
  check "$cuda: ${file##*/} shows its own functions alone" shows_its_functions "$file"
  export GST_PLUGIN_PATH=$PWD/$cuda/plugin
  check "$cuda: gst-inspect-1.0" inspect gst-inspect-1.0
  check "$cuda: gst-launch-1.0" launch
  check "$cuda: cudasepconv refuses unknown instruction sets" refuses_instruction_set cudasepconv backend=cpu
  check "$cuda: cudahisto refuses unknown instruction sets" refuses_instruction_set \
    cudahisto backend=cpu mode=equalize
  check "$cuda: gst-launch-1.0 and Ctrl-C at any moment" tests/stress.sh interrupts $cuda 12
  check "$cuda: cudasepconv leaves nothing" leaves_nothing \
    cudasepconv sigma=3 histogram=true
  check "$cuda: cudahisto leaves nothing" leaves_nothing \
    cudahisto attach-meta=true ! cudahisto mode=equalize ! cudahisto mode=overlay
  if tracer_works; then
    has_tracer=true
    check "$cuda: the latency tracer" latency_is_attributed
  else
    skip "$cuda: the latency tracer" "that of this GStreamer hangs"
  fi
  check "$cuda: filter-file" filter_file $cuda
  check "$cuda: own-frames" own_frames $cuda
  check "$cuda: play" player_is_controlled $cuda
  if [[ ! -x $cuda/examples/window ]]; then
    skip "$cuda: window" "there is no gtk+-3.0"
  elif ! have_display; then
    skip "$cuda: window" "there is no xvfb-run, xdotool, ImageMagick or gtksink"
  else
    check "$cuda: window" example_window $cuda
  fi
  check "$cuda: filter-file refuses" filter_file_refuses $cuda
  check "$cuda: filter-file loses nothing" filter_file_loses_nothing $cuda
  check "$cuda: filter-file keeps sound and subtitles" filter_file_keeps_streams $cuda
  check "$cuda: filter-file keeps SubRip subtitles" filter_file_keeps_subrip $cuda
  check "$cuda: filter-file and sizes that change" filter_file_changes_sizes $cuda
  check "$cuda: filter-file on one core" filter_file_on_one_core $cuda
  check "$cuda: filter-file and signals" filter_file_signals $cuda
  check "$cuda: filter-file and Ctrl-C" filter_file_interrupted $cuda
  check "$cuda: gst-inspect-1.0 by task" found_by_task
  check "$cuda: manual pages" manual_pages $cuda
  check "$cuda: bash completion" completions $cuda
  programs=("$PWD/$cuda/pipelines/"{filter-file,histogram-lines})
  lines=$cuda/pipelines/histogram-lines
  check "$cuda: histogram-lines" counted_clip $lines
  check "$cuda: histogram-lines refuses inputs" refuses_inputs $lines
  check "$cuda: histogram-lines refuses settings" refuses_settings $lines
  check "$cuda: histogram-lines without a place to write" cannot_write $lines
  if have_gi; then
    lines=pipelines/histogram-lines.py
    check "$cuda: histogram-lines.py" counted_clip $lines
    check "$cuda: histogram-lines.py refuses inputs" refuses_inputs $lines
    check "$cuda: histogram-lines.py refuses settings" refuses_settings $lines
    check "$cuda: histogram-lines.py without a place to write" \
      cannot_write $lines
    check "$cuda: Python reads the meta" introspected_meta_reads $cuda
    check "$cuda: the elements' pages are theirs" docs/reference.py --check
    check "$cuda: factor-kernel" tests/factored-kernel.py
    programs+=("$PWD/pipelines/"{histogram-lines.py,factor-kernel,hide-people,histogram-view,launch-line})
    check "$cuda: hide-people" hide_people $cuda
    check "$cuda: hide-people and sound" hide_people_sound $cuda
    check "$cuda: hide-people and sizes that change" hide_people_changes_sizes
    check "$cuda: hide-people refuses" hide_people_refuses
    check "$cuda: hide-people and Ctrl-C" hide_people_interrupted
    check "$cuda: damaged files" tests/damaged-files.py --count 60 $cuda
    if have_gst_overrides; then
      check "$cuda: numpy-frames.py" example_filters_frames examples/numpy-frames.py
    else
      skip "$cuda: numpy-frames.py" "there is no python3-gst-1.0 with numpy"
    fi
    check "$cuda: launch-line" launch_lines
    check "$cuda: launch-line transcode" launch_line_transcodes
    check "$cuda: launch-line refuses" launch_line_refuses
    if have_rtsp_server; then
      check "$cuda: launch-line record" launch_line_records
    else
      skip "$cuda: launch-line record" "there is no gir1.2-gst-rtsp-server-1.0"
    fi
    check "$cuda: histogram-view" histogram_view
    check "$cuda: histogram-view without a place to write" \
      cannot_write pipelines/histogram-view
    check "$cuda: histogram-view refuses inputs" \
      refuses_inputs pipelines/histogram-view
  else
    for program in histogram-lines.py introspected-meta.py docs/reference.py histogram-view \
      factor-kernel hide-people launch-line numpy-frames.py; do
      skip "$cuda: $program" "there is no python3-gi with gir1.2-gstreamer-1.0"
    done
  fi
  if have_gi && have_dask; then
    programs+=("$PWD/pipelines/filter-archive")
    check "$cuda: filter-archive" filter_archive $cuda
  else
    skip "$cuda: filter-archive" "there is no python3-distributed, or no python3-gi"
  fi
  if have_gi && have_aiohttp; then
    check "$cuda: examples of monitor-streams" monitor_examples
    check "$cuda: monitor-streams" monitor_tests test_monitor.py
    if have_chromium; then
      check "$cuda: monitor-streams' page" monitor_tests test_page.py
    else
      skip "$cuda: monitor-streams' page" "there is no chromium, chromium-driver or python3-selenium"
    fi
  else
    skip "$cuda: monitor-streams" "there is no python3-aiohttp, python3-prometheus-client or python3-gi"
  fi
  programs+=("$PWD/pipelines/demo.sh")
  for program in "${programs[@]}"; do
    check "$cuda: examples of ${program##*/}" examples_work "$program"
  done
  unset GST_PLUGIN_PATH
  check "demo.sh and Ctrl-C" demo_interrupted
  if have_gi; then
    check "commands of docs/start.md" page_works docs/start.md
  else
    skip "commands of docs/start.md" "there is no python3-gi with gir1.2-gstreamer-1.0"
  fi
  check "commands of docs/faq.md" page_works docs/faq.md
  for page in docs/tutorials/*.md; do
    if ! have_gi; then
      skip "$page" "there is no python3-gi with gir1.2-gstreamer-1.0"
    elif [[ ! -f $(dpkg -L opencv-doc 2>/dev/null | grep '/text_defocus.jpg$') ]]; then
      skip "$page" "documentation of packages is left out here"
    else
      check "$page" tutorial_works "$page"
    fi
  done
  check "build by hand" builds_by_hand
  if has_python $cuda; then
    check "meson setup without GStreamer" configures_without_gstreamer
  else
    skip "meson setup without GStreamer" "there is no Python 3.11 with its headers"
  fi
  if command -v nvcc >/dev/null; then
    check "build for this machine's GPUs" builds_for_this_machine
  else
    skip "build for this machine's GPUs" "there is no nvcc"
  fi
  check "$cuda: meson devenv" inspect meson devenv -C $cuda gst-inspect-1.0
  if git rev-parse --verify HEAD >/dev/null 2>&1; then
    check "$cuda: meson dist" dist_is_whole $cuda "$scratch/dist"
    check "$cuda: the subproject's header reads the meta" subproject_meta_reads $cuda
  else
    for name in "meson dist" "the subproject's header reads the meta"; do
      skip "$cuda: $name" "this is no git checkout"
    done
  fi
  check "$cuda: meson install" installs $cuda
  if $check_passed; then
    check "$cuda: the installed header reads the meta" installed_meta_reads
    check "$cuda: an element outside of the build reads the meta" outside_element_runs
    check "$cuda: an element outside of the build computes frames" outside_filter_runs
    if has_python $cuda; then
      check "$cuda: the installed Python package runs" installed_python_runs
    else
      skip "$cuda: the installed Python package runs" "there is no Python 3.11 with its headers"
    fi
  fi
  python_tests $cuda
  trace_tests $cuda trace
  meson_tests $cuda
}

check_clang_build() {
  local target
  if command -v mypy >/dev/null; then
    check "python: mypy --strict" python_types
  else
    skip "python: mypy --strict" "there is no mypy"
  fi
  CC=clang check "$nocuda builds without warnings" build $nocuda -Dcuda=disabled \
    -Dfuzz=auto
  $check_passed || return 0
  check "$nocuda: no driver or CUDA library is linked" \
    only_system_libraries $nocuda/plugin/libgstcudasepconv.so
  check "$nocuda: the plugin is hardened" is_hardened $nocuda/plugin/libgstcudasepconv.so
  if [[ $(uname -m) = x86_64 ]]; then
    check "$nocuda: instruction sets are kept apart" keeps_instructions_apart $nocuda
  else
    skip "$nocuda: instruction sets are kept apart" "this is no x86-64"
  fi
  export GST_PLUGIN_PATH=$PWD/$nocuda/plugin
  check "$nocuda: gst-inspect-1.0" inspect gst-inspect-1.0
  check "$nocuda: gst-launch-1.0" launch
  check "$nocuda: files that never come" files_that_never_come $nocuda
  unset GST_PLUGIN_PATH
  check "$nocuda: own-frames copies nothing" example_copies_nothing $nocuda $nocuda/examples/own-frames
  if have_gst_overrides; then
    check "$nocuda: numpy-frames.py copies nothing" example_copies_nothing $nocuda examples/numpy-frames.py
  else
    skip "$nocuda: numpy-frames.py copies nothing" "there is no python3-gst-1.0 with numpy"
  fi
  check "$nocuda: code for older GPUs" knows_old_code $nocuda
  python_tests $nocuda
  trace_tests $nocuda trace-emulated
  for target in engine properties buffers; do
    if [[ -x $nocuda/tests/fuzz/fuzz-$target ]]; then
      check "$nocuda: fuzz-$target" fuzz_briefly $nocuda $target
    else
      skip "$nocuda: fuzz-$target" "there is no clang with libFuzzer"
    fi
  done
  meson_tests $nocuda
}

set_up clang shellcheck man-db git python3-gi gir1.2-gstreamer-1.0 gir1.2-gst-plugins-base-1.0 \
  gir1.2-gst-rtsp-server-1.0 python3-gst-1.0 python3-numpy python3-opencv opencv-data opencv-doc \
  python3-dev python3-pytest python3-scipy mypy python3-dask python3-distributed \
  python3-aiohttp python3-prometheus-client curl \
  libgtk-3-dev gstreamer1.0-gtk3 xvfb xauth xdotool imagemagick

check "run.sh refuses arguments" refuses_arguments
check "the changelogs have the project's version" same_versions
if git rev-parse --verify HEAD >/dev/null 2>&1; then
  check "links between the pages" tests/links.py
else
  skip "links between the pages" "this is no git checkout"
fi
check "the drawings of the pages" drawings_are_made
check "the table of the matrix" docs/matrix.py --check
check "setup.sh shows how far a build is" build_shows_progress
check "scripts: shellcheck" shellcheck \
  -x .ci/run cuda/*.sh docs/*.sh pipelines/{*.sh,completion.bash} debian/tests/{header,launch,tools,typelib} \
  tests/*.sh tests/{elements,gpu,monitor}/*.sh

# One build's programs seldom keep all cores busy, so both are checked at once: the second with
# files of its own, and its results follow those of the first.
(
  scratch=$(mktemp -d)
  trap 'rm -rf "$scratch"' EXIT
  export GST_REGISTRY=$scratch/registry
  check_log=$(mktemp)
  passed=0 failed=0 skipped=0
  check_clang_build
  finish
) >"$scratch/clang" 2>&1 &
beside=$!
trap 'end_processes "$beside"; rm -rf "$scratch"' EXIT
check_cuda_build
wait "$beside" || true
count_script "$nocuda" "$scratch/clang"
finish
