#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# run.sh [--quick | --full] [--no-sanitizer] [--only NAME[,NAME]...]
#        [--jobs N] [--limit SECONDS] [OUTPUT-DIR]
#
# Runs the tests of the bundle that it lies in. OUTPUT-DIR takes logs, a filtered
# clip and a picture; without one, a new folder of /tmp does.
#
#   kerncheck   the engine against double precision
#   elements    the elements on every backend
#   clip        a clip filtered on the GPU and on the CPU: at most 1 code value
#               apart, since each is within 0.75 of the exact result
#   decode      frames that the GPU decodes, filtered and counted where they are: none
#               crosses the bus, and they are as those that do
#   element     the example of an element outside of this tree, on every backend and beside
#               elements of the plugin
#   memcheck, racecheck, initcheck, synccheck
#               the tools of compute-sanitizer, where it is installed, over all of
#               kerncheck that uses the GPU, and over the elements on it
#   stress      what deployments do to the elements, on every backend, 20 times as
#               long as among the elements: runs only if named, and with --full
#   bench       what docs/performance.md tells of, as JSON; runs only if named
#
# --quick takes fewer cases, --full all but bench, --only some of those above. The
# sanitizer's tools share their work among N jobs at once (default: as many as cores),
# each with a log of its own in a folder named after the tool; a job that takes longer
# than SECONDS (default: 1800) fails. Without a GPU, what needs one is named with "SKIP".
# The last line is "N passed, N failed, N skipped"; the exit status is 1 when something
# failed.
# shellcheck disable=SC2317 # check calls functions by name
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
if [[ ! -x $here/bin/kerncheck ]]; then
  echo "run.sh: this runs in the folder that tests/gpu/bundle.sh makes" >&2
  exit 2
fi
# shellcheck source=tests/tally.sh
. "$here/tally.sh"

sections=(kerncheck elements clip decode element memcheck racecheck initcheck synccheck stress bench)
tools=(memcheck racecheck initcheck synccheck)
quick=()
full=no
sanitizer=yes
only=
jobs=$(nproc)
limit=1800
output=
while [[ $# -gt 0 ]]; do
  case $1 in
    --quick) quick=(--quick) ;;
    --full) full=yes ;;
    --no-sanitizer) sanitizer=no ;;
    --only) only=${2:?--only takes names}; shift ;;
    --jobs) jobs=${2:?--jobs takes a number}; shift ;;
    --limit) limit=${2:?--limit takes seconds}; shift ;;
    -*) sed -n '4,30s/^#[ ]\{0,1\}//p' "$0"; exit 2 ;;
    *) output=$1 ;;
  esac
  shift
done
for number in "$jobs" "$limit"; do
  if [[ ! $number =~ ^[1-9][0-9]{0,5}$ ]]; then
    echo "run.sh: $number is not a number from 1 on" >&2
    exit 2
  fi
done
IFS=, read -ra wanted_sections <<<"$only"
for name in "${wanted_sections[@]}"; do
  if [[ " ${sections[*]} " != *" $name "* ]]; then
    echo "run.sh: there is no test named $name, but ${sections[*]}" >&2
    exit 2
  fi
done
[[ -n $output ]] || output=$(mktemp -d /tmp/gpu-tests.XXXXXX)
mkdir -p "$output"
output=$(cd "$output" && pwd)

scratch=$(mktemp -d)
clean_up() {
  local running
  running=$(jobs -pr)
  # shellcheck disable=SC2086 # one word a job
  [[ -z $running ]] || kill $running || true
  rm -rf "$scratch"
}
trap clean_up EXIT
unset "${!GST_@}"
export LD_LIBRARY_PATH=$here/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export GST_PLUGIN_SYSTEM_PATH=$here/gstreamer-1.0
export GST_PLUGIN_PATH=$here/plugin
export GST_PLUGIN_SCANNER=$here/bin/gst-plugin-scanner
export GST_REGISTRY=$scratch/registry
export CK_FORK=no
PATH=$here/bin:$PATH:/usr/local/cuda/bin

have_gpu=no
if [[ -e /dev/nvidiactl ]] || nvidia-smi -L >/dev/null 2>&1; then
  have_gpu=yes
fi

# wanted SECTION
wanted() {
  if [[ ${#wanted_sections[@]} = 0 ]]; then
    [[ $1 != bench && ($1 != stress || $full = yes) ]]
  else
    [[ " ${wanted_sections[*]} " = *" $1 "* ]]
  fi
}

# add_row NAME PASSED FAILED SKIPPED SECONDS: of the table at the end.
table=()
add_row() {
  table+=("$(printf '%-10s %7d %7d %8d %6d s' "$@")")
}

# section NAME FUNCTION: runs it if it is wanted.
section() {
  local before=("$passed" "$failed" "$skipped") start=$SECONDS
  wanted "$1" || return 0
  echo "== $1"
  "$2"
  add_row "$1" $((passed - before[0])) $((failed - before[1])) \
    $((skipped - before[2])) $((SECONDS - start))
}

# needs_gpu NAME: whether to go on.
needs_gpu() {
  [[ $have_gpu = no ]] || return 0
  skip "$1" "there is no GPU here"
  return 1
}

# binary LOG COMMAND...: a test binary with a tally of its own.
binary() {
  local log=$output/$1.log status=0
  shift
  timeout 1200 "$@" </dev/null >"$log" 2>&1 || status=$?
  count_log "$*" "$status" "$log" || true
}

run_kerncheck() {
  binary kerncheck kerncheck "${quick[@]}"
}

run_elements() {
  binary elements elements
}

run_stress() {
  STRESS_FACTOR=20 CK_DEFAULT_TIMEOUT=1000 binary stress elements stress-
}

# What the sanitizer goes over, one a line: the number of checks, and the command.
# A check that a process without a device skips is one that uses the GPU.
sanitized() {
  local tests
  CUDA_VISIBLE_DEVICES=-1 kerncheck --quick 2>/dev/null \
    | sed -nE 's#^SKIP ([^/:]+/[^/:]+/|[^/:]+/)[^:]*:.*#\1#p' | LC_ALL=C sort | uniq -c \
    | awk '{ print $1, "kerncheck --quick --check", $2 }' || true
  tests=$(elements --backend cuda --list | grep -c '^elements/cuda/') || return 0
  echo "$tests elements --backend cuda"
}

# Element tests that racecheck makes fail or hang, and why.
declare -A racecheck_spoils=(
  [stress-frames]="what racecheck keeps for itself looks like a leak"
  [gpu-memory-pipelines]="racecheck hangs where several threads start kernels")

# add_jobs TOOL CHECKS COMMAND...: to the queue, of which each line is a rank, the tool
# and a command. What takes longest has the lowest rank and the fewest checks a job:
# racecheck follows every access to shared memory, and dozens of element tests take minutes
# with it.
queue=()
add_jobs() {
  local tool=$1 checks=$2 command="${*:3}" rank=4 share=20 name parts part
  case "$tool ${command##* }" in
    "racecheck sepconv/tile-l2/" | "racecheck sepconv/shared/" \
      | "racecheck sepconv/shared-padded/" | "racecheck sepconv/transposed/")
      rank=1 share=4 ;;
    "racecheck cuda") # elements
      rank=2 share=1 checks=$((checks - ${#racecheck_spoils[@]}))
      for name in "${!racecheck_spoils[@]}"; do
        command+=" --skip $name"
      done ;;
    *" cuda") rank=2 share=12 ;;
    "racecheck "*) rank=3 share=10 ;;
  esac
  parts=$(((checks + share - 1) / share))
  for ((part = 1; part <= parts; part++)); do
    queue+=("$rank $tool $command --part $part/$parts")
  done
}

# start_job INDEX: of the queue.
job_pid=()
job_start=()
start_job() {
  local rank tool command options test_limit=$(((limit + 1) / 2))
  read -r rank tool command <<<"${queue[$1]}"
  # By default, all sanitizers of a machine share the same ten ports.
  options=(--tool "$tool" --error-exitcode 99 --port $((49152 + $1 % 1000 * 16)))
  # Calls that fail on purpose, such as one for too much memory, are no findings: the
  # code checks every result, and the tests check what it makes of them.
  [[ $tool != memcheck ]] || options+=(--report-api-errors=no)
  # GStreamer copies all that it has allocated for a frame, also what no row takes.
  [[ "$tool $command" != "initcheck elements "* ]] || options+=(--check-api-memory-access=no)
  mkdir -p "$output/$tool"
  # An element test that hangs leaves time for those behind it. With racecheck each is alone.
  [[ $tool != racecheck ]] || test_limit=$limit
  # shellcheck disable=SC2086 # words of a command
  CK_DEFAULT_TIMEOUT=$test_limit timeout -k 10 "$limit" \
    compute-sanitizer "${options[@]}" $command \
    </dev/null >"$(job_log "$tool" "$command")" 2>&1 &
  job_pid[$1]=$!
  job_start[$1]=$SECONDS
}

# job_log TOOL COMMAND: the path. It says what of COMMAND differs from job to job.
job_log() {
  local name
  name=$(sed -E 's/ --(backend|skip) [^ ]+//g' <<<"${2#kerncheck --quick --check }")
  name=${name/ --part /.}
  name=${name//[ \/]/-}
  echo "$output/$1/${name/-./.}.log"
}

# What the test binary counted: passed, failed, skipped; nothing if it did not get so
# far.
job_tally() {
  sed -nE 's/^(kerncheck|elements): ([0-9]+) passed, ([0-9]+) failed, ([0-9]+) skipped$/\2 \3 \4/p' \
    "$1" | tail -n 1
}

# judge_job STATUS LOG: the sanitizer may return 0 for a program that it could not
# follow: then its summary is missing, or the program's tally.
judge_job() {
  local status=$1 report
  if [[ $status = 124 ]]; then
    echo "stopped: it took longer than $limit s"
  elif [[ $status = 137 ]]; then
    echo "killed: it went on after $limit s, or memory ran out"
  elif [[ $status = 0 ]]; then
    if grep -qE '^=+ [A-Z ]*SUMMARY: ' "$2" && [[ -n $(job_tally "$2") ]]; then
      return 0
    fi
    echo "the sanitizer's summary or the program's tally is missing"
    status=1
  fi
  # Failures of the tests, and the beginning of the report. The calls of the host that
  # led there are in the log.
  report=$(awk '/^(FAIL|not ok) / && tests++ < 10
    /SUMMARY: / { print; next }
    /^==+ +[^ ]/ && !/COMPUTE-SANITIZER|Host Frame|host backtrace/ && lines++ < 30' "$2")
  echo "${report:-$(tail -n 10 "$2")}"
  echo "all of it: $2"
  return "$status"
}

# report_job INDEX STATUS SECONDS
declare -A job_row=()
report_job() {
  local before=("$passed" "$failed" "$skipped") rank tool command name log row
  read -r rank tool command <<<"${queue[$1]}"
  name="$tool: ${command/% --part 1\/1/}"
  log=$(job_log "$tool" "$command")
  if [[ $2 = 0 && $(job_tally "$log") = "0 0 "* ]]; then
    skip "$name" "$(sed -nE '/^SKIP [^:]*: /{s///p;q}' "$log")"
  else
    check "$name" judge_job "$2" "$log"
  fi
  read -ra row <<<"${job_row[$tool]:-0 0 0 0}"
  job_row[$tool]="$((row[0] + passed - before[0])) $((row[1] + failed - before[1])) \
    $((row[2] + skipped - before[2])) $((row[3] + $3))"
}

# Starts the jobs in the queue's order, and reports them in that order: each once it
# and all before it have ended.
run_jobs() {
  local next=0 reported=0 i status
  local -A ended=()
  while ((reported < ${#queue[@]})); do
    while ((next < ${#queue[@]} && ${#job_pid[@]} < jobs)); do
      start_job $((next++))
    done
    for i in "${!job_pid[@]}"; do
      kill -0 "${job_pid[i]}" 2>/dev/null && continue
      status=0
      wait "${job_pid[i]}" || status=$?
      ended[$i]="$status $((SECONDS - job_start[i]))"
      unset "job_pid[i]"
    done
    while [[ -n ${ended[$reported]-} ]]; do
      # shellcheck disable=SC2086 # two words
      report_job $reported ${ended[$reported]}
      reported=$((reported + 1))
    done
    sleep 0.1
  done
}

# skip_jobs TOOL REASON: each part once.
skip_jobs() {
  local checks command count=0
  while read -r checks command; do
    skip "$1: $command" "$2"
    count=$((count + 1))
  done
  job_row[$1]="0 0 $count 0"
}

# Prints why the sanitizer does not run; nothing if it does.
no_sanitizer() {
  if [[ $sanitizer = no ]]; then
    echo "not wanted"
  elif ! command -v compute-sanitizer >/dev/null; then
    echo "compute-sanitizer is not installed"
  elif [[ $have_gpu = no ]]; then
    echo "there is no GPU here"
  fi
}

run_sanitizer() {
  local tool program reason chosen=() checks command name
  for tool in "${tools[@]}"; do
    if wanted "$tool"; then
      chosen+=("$tool")
    fi
  done
  [[ ${#chosen[@]} != 0 ]] || return 0
  echo "== ${chosen[*]}"
  sanitized >"$scratch/sanitized"
  for program in kerncheck elements; do
    grep -q " $program " "$scratch/sanitized" \
      || check "$program: something in it uses the GPU" false
  done
  reason=$(no_sanitizer)
  for tool in "${chosen[@]}"; do
    if [[ -n $reason ]]; then
      skip_jobs "$tool" "$reason" <"$scratch/sanitized"
      continue
    fi
    while read -r checks command; do
      add_jobs "$tool" "$checks" "$command"
    done <"$scratch/sanitized"
    [[ $tool = racecheck ]] || continue
    job_row[racecheck]="0 0 ${#racecheck_spoils[@]} 0"
    for name in "${!racecheck_spoils[@]}"; do
      skip "racecheck: elements $name" "${racecheck_spoils[$name]}"
    done
  done
  if [[ -z $reason ]]; then
    mapfile -t queue < <(printf '%s\n' "${queue[@]}" | sort -s -n -k 1,1)
    # Not by several at once, and not under the sanitizer.
    gst-inspect-1.0 >/dev/null 2>&1 </dev/null || true
    run_jobs
  fi
  for tool in "${chosen[@]}"; do
    # shellcheck disable=SC2086 # four numbers
    add_row "$tool" ${job_row[$tool]:-0 0 0 0}
  done
}

# on_backend BACKEND FORMAT KERNEL: the clip, as raw frames of that format.
on_backend() {
  filter-file --force --filter \
    "videoconvert ! video/x-raw,format=$2 ! cudasepconv backend=$1 $3" \
    "$here/clip.webm" "$scratch/$1.raw"
}

compare_backends() {
  on_backend cuda "$1" "$2"
  on_backend cpu "$1" "$2"
  compare-raw "$scratch/cuda.raw" "$scratch/cpu.raw" "$3" "$4"
}

# compare FORMAT KERNEL SAMPLE-BYTES STEP
compare() {
  local name="clip: $1 $2"
  needs_gpu "$name" || return 0
  check "$name" compare_backends "$@"
  if $check_passed; then
    sed 's/^/  /' "$check_log"
  fi
  { echo "$name"; cat "$check_log"; } >>"$output/clip.log"
  rm -f "$scratch"/*.raw
}

filter_clip() {
  filter-file --force --filter "cudasepconv sigma=6 backend=$1" --picture \
    "$output/before-after-$1.png" "$here/clip.webm" "$output/filtered-$1.mp4"
}

run_clip() {
  local backend
  : >"$output/clip.log"
  for backend in cuda cpu; do
    [[ $backend = cpu ]] || needs_gpu "clip: filter-file on cuda" || continue
    check "clip: filter-file on $backend" filter_clip "$backend"
    grep -E '^(backend|a frame|frames) ' "$check_log" | sed 's/^/  /' || true
    cat "$check_log" >>"$output/clip.log"
  done
  compare I420 "sigma=6" 1 1
  compare P010_10LE "sigma=6" 2 64
  [[ ${#quick[@]} = 0 ]] || return 0
  compare I420 "sigma=0.8" 1 1
  compare I420 "kernel=sobel-x bias=0.5" 1 1
  compare I420 "kernel=custom taps-x=<-0.25,1.5,-0.25> border=reflect-101" 1 1
  compare NV12 "sigma=20 border=wrap" 1 1
  compare RGBA "kernel=box radius=7 planes=all" 1 1
  compare GRAY16_LE "sigma=3" 2 1
}

# decoded NAME PIPELINE-PART: the coded clip, decoded on the GPU, as raw frames; and
# what the elements counted.
decoded() {
  timeout 300 launch-stats filesrc location="$here/clip.h264" ! h264parse \
    ! nvh264dec ! "${@:2}" ! filesink location="$scratch/$1.raw" \
    | tee "$scratch/$1.stats"
}

# expect_counts NAME ELEMENT FIELD=PATTERN...
expect_counts() {
  local field
  for field in "${@:3}"; do
    grep -E "^$2: .* ${field%=*}=\(guint64\)${field#*=}[,;]" "$scratch/$1.stats" \
      || { echo "$2: $field does not hold"; return 1; }
  done
}

decode_on_gpu() {
  decoded gpu cudasepconv name=filter sigma=2 ! cudahisto name=histo interval=0 \
    ! "video/x-raw(memory:CUDAMemory)" ! cudadownload ! video/x-raw,format=NV12
  expect_counts gpu filter "frames-out=[1-9][0-9]*" bytes-up=0 bytes-down=0
  expect_counts gpu histo "frames-out=[1-9][0-9]*" bytes-up=0 bytes-down=0
}

# decode_beside BACKEND: the same with frames that come down first.
decode_beside() {
  decoded "$1" cudadownload ! video/x-raw ! cudasepconv sigma=2 backend="$1"
  compare-raw "$scratch/gpu.raw" "$scratch/$1.raw" 1 1
}

run_decode() {
  local backend name="decode: frames stay on the GPU"
  needs_gpu "$name" || return 0
  if ! gst-inspect-1.0 --exists nvh264dec; then
    skip "$name" "there is no nvh264dec: the GPU or its driver does not decode"
    return 0
  fi
  check "$name" decode_on_gpu
  cp "$check_log" "$output/decode.log"
  $check_passed || return 0
  for backend in cuda cpu; do
    check "decode: as in system memory, backend=$backend" decode_beside "$backend"
    cat "$check_log" >>"$output/decode.log"
    if $check_passed; then
      tail -n 1 "$check_log" | sed 's/^/  /'
    fi
  done
}

# posterized FILE ELEMENT...: some frames, through these elements.
posterized() {
  local file=$scratch/$1
  shift
  timeout 300 launch-stats videotestsrc pattern=smpte num-buffers=60 \
    ! video/x-raw,format=NV12,width=1922,height=1082 ! "$@" ! filesink location="$file" | tee "$file.stats"
}

# The frames of each backend are the same.
posterizes_alike() {
  posterized cpu cudaposterize backend=cpu levels=5
  posterized cuda cudaposterize backend=cuda levels=5
  cmp "$scratch/cpu" "$scratch/cuda"
}

# Between two elements of the plugin, frames cross the bus once in each direction.
posterizes_on_gpu() {
  posterized chain cudasepconv name=filter sigma=2 ! cudaposterize name=between levels=5 \
    ! cudahisto name=histo interval=0
  expect_counts chain filter "frames-out=60" bytes-down=0
  expect_counts chain between "frames-out=60" bytes-up=0 bytes-down=0
  expect_counts chain histo "frames-out=60" bytes-up=0
}

run_element() {
  local name="element: the same on both backends"
  needs_gpu "$name" || return 0
  check "$name" posterizes_alike
  check "element: beside others in the GPU's memory" posterizes_on_gpu
  rm -f "$scratch"/{cpu,cuda,chain}
}

# bench_part NAME FILE OPTION...: of kerncheck --bench.
bench_part() {
  local name=$1 file=$2
  shift 2
  check "kerncheck: bench of $name" kerncheck --bench "${quick[@]}" \
    --backend cuda "$@" --json "$output/$file.json"
  cat "$check_log"
}

run_bench() {
  local link=$output/transfer.json sustained kernel
  local frames=(--format GRAY8 --format RGBA --format NV12 --size 3840x2160)
  needs_gpu bench || return 0
  bench_part filters filter
  sustained=()
  [[ ${#quick[@]} = 0 ]] || sustained=(--taps 15)
  bench_part "long streams, 8K" sustained-8k --method tensor --format GRAY8 \
    --size 7680x4320 "${sustained[@]}" --sustained 2
  bench_part "long streams, 4K" sustained-4k --method tensor --format RGBA \
    --format NV12 --size 3840x2160 "${sustained[@]}" --sustained 2
  bench_part "long gaussians" long --method tensor --method multirate \
    --taps 65 --taps 129 --taps 341 --taps 1361 "${frames[@]}"
  bench_part boxes box --kernel box --method tensor --method box-running \
    --taps 15 --taps 61 --taps 241 --taps 501 "${frames[@]}"
  bench_part "RGB and YUY2" split --format RGB --format YUY2 \
    --size 3840x2160 --taps 13 --taps 33 --taps 129 --taps 341
  bench_part "boxes of RGB and YUY2" split-box --kernel box --format RGB \
    --format YUY2 --size 3840x2160 --taps 33 --taps 241
  for kernel in unsharp dog; do
    bench_part "$kernel" "$kernel" --kernel "$kernel" --taps 3 --taps 13 \
      --taps 33 "${frames[@]}"
  done
  for kernel in sobel direction laplacian; do
    bench_part "$kernel" "$kernel" --kernel "$kernel" --taps 3 "${frames[@]}"
  done
  bench_part regions regions --regions
  bench_part modes modes --modes
  bench_part histograms histo --histo
  check bench-transfer bench-transfer "${quick[@]}" --json "$link"
  cat "$check_log"
  check bench-pipeline bench-pipeline "${quick[@]}" --backend cuda \
    --link "$link" --json "$output/pipeline.json"
  cat "$check_log"
  check "bench-pipeline: streams" bench-pipeline "${quick[@]}" --backend cuda \
    --only streams --json "$output/streams.json"
  cat "$check_log"
  check "bench-pipeline: soak" bench-pipeline --backend cuda --soak 100000
  cat "$check_log"
}

uname -srm
if command -v nvidia-smi >/dev/null; then
  nvidia-smi --query-gpu=name,driver_version,memory.total,compute_cap \
    --format=csv,noheader || true
fi
section kerncheck run_kerncheck
section elements run_elements
section clip run_clip
section decode run_decode
section element run_element
run_sanitizer
section stress run_stress
section bench run_bench

echo "Results in $output"
printf '%-10s %7s %7s %8s %8s\n' '' passed failed skipped time
printf '%s\n' "${table[@]}"
finish
