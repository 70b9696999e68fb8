/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Frames filtered in the ring, by every way over the bus, in every number of slices, at
 * every depth: all results must equal those of a plain run. */
#include "kerncheck.h"

#include "cases.h"
#include "kerncheck-device.h"
#include "ring.h"
#include "verdict.h"

#include <stdlib.h>
#include <string.h>

#define MAX_DEPTH 8
#define N_SOURCES 3
#define N_TRANSFERS (RING_PAGEABLE + 1)
/* Combinations of transfer, pinned or pageable source, pinned or pageable result. */
#define N_WAYS (4 * N_TRANSFERS)
#define N_ROUTES (N_WAYS * RING_MAX_SLICES)
#define ATTEMPTS 100

/* Odd chroma; one row; memories of one row beside others; samples that share rows. Rows
 * of 64 bytes have no padding on the device; rows of 63 bytes only seem to have
 * none. */
static const struct
{
  const char *layout;
  int width, height;
} sizes[] = {
  { "nv12", 63, 23 },
  { "planar3", 41, 27 },
  { "yuy2", 33, 19 },
  { "planar3", 128, 34 },
  { "gray16", 29, 50 },
  { "nv12", 128, 2 },
  { "rgba64", 13, 1 },
  { "odd-bits", 9, 31 },
};

#define N_SIZES ((int) (sizeof sizes / sizeof sizes[0]))

typedef struct
{
  RingTransfer transfer;
  bool src_pinned, dst_pinned;
  int slices;
} Route;

/* Sources of frames, and their expected results. */
typedef struct
{
  Check *check;
  const Device *device;
  const SepconvMethod *method;
  Image layout;
  Case *c[N_BORDERS];
  Picture source[N_SOURCES];
  Picture expected[N_BORDERS][N_SOURCES];
  SepconvPlan *plan; /* for the ring's frames: a plan has one stream */
} Plant;

/* A place for a frame in flight, with pinned and pageable pictures; and its current
 * frame. */
typedef struct
{
  Plant *plant;
  Picture src[2], dst[2]; /* [pinned] */
  uint8_t *src_before;
  uint8_t *dst_before[2]; /* as they were made */

  RingSlot *slot;
  RingFrame frame;
  Route route;
  int border, source;
  bool spoilt; /* the source was overwritten after the submit */
  int done[IMAGE_MAX_MEMORIES];
  int parts; /* computed so far */
  int ready[IMAGE_MAX_MEMORIES];
} Berth;

static Route
nth_route (int n)
{
  const int way = n % N_WAYS;
  const Route route = { (RingTransfer) (way / 4), way & 1, way & 2,
    n / N_WAYS + 1 };

  return route;
}

static void
fill_rows (const Image *image, int value)
{
  for (int m = 0; m < image->n_memories; m++)
    for (int y = 0; y < image->memory[m].height; y++)
      memset (image->memory[m].data + y * image->memory[m].stride, value,
          image->memory[m].row_bytes);
}

/* Chooses the taps along y, which matter for frames in parts: few, more than there are
 * rows, an even number; or leaves them random. */
static void
choose_taps (Case *c, int kind, Random *random)
{
  switch (kind) {
    case 0:
      case_set_rows (c, random_int (random, 1, 9), random);
      break;
    case 1:
      case_set_rows (
          c, c->height * 2 + random_int (random, 0, c->height * 2), random);
      break;
    case 2:
      case_set_rows (c, 2 * random_int (random, 1, 4), random);
      break;
    default:
      break;
  }
}

static bool
make_case (Plant *plant, Case *c, int border, int kind, Random *random)
{
  static const Effort effort = { 128, 64, 1e6 };

  for (int i = 0; i < ATTEMPTS; i++) {
    case_make_spec (c, (SepconvBorder) border, &effort, random);
    choose_taps (c, kind, random);
    if (sepconv_method_supports (
            plant->method, &c->spec, &c->layout, NULL, NULL))
      return true;
  }
  return false;
}

/* Method number n of a backend in this build, modulo their number. */
static const SepconvMethod *
nth_method (Backend backend, int n)
{
  const SepconvMethod *found[32];
  int count = 0;

  for (int i = 0; i < sepconv_n_methods () && count < 32; i++)
    if (sepconv_method (i)->backend == backend
        && sepconv_method (i)->ops != NULL)
      found[count++] = sepconv_method (i);
  return found[n % count];
}

/* Makes a case of each border for a method; few methods support all layouts. */
static bool
make_cases (Plant *plant, const Case *base, int index, Random *random)
{
  const int first = random_int (random, 0, 1000);

  for (int i = 0; i < sepconv_n_methods (); i++) {
    int made = 0;

    plant->method = nth_method (
        plant->device->gpu == NULL ? BACKEND_CPU : BACKEND_CUDA, first + i);
    while (made < N_BORDERS
        && make_case (plant, plant->c[made], made, (made + index) % 4, random))
      made++;
    if (made == N_BORDERS)
      return true;
    for (int b = 0; b < N_BORDERS; b++) {
      case_free (plant->c[b]);
      plant->c[b] = case_copy (base);
    }
  }
  return EXPECT (plant->check, false, "no method supports this");
}

/* Computes whole frames with a plain run, which must be correct by sepconv.h. */
static bool
compute_expected (Plant *plant, int border, SepconvPlan *plan)
{
  Check *check = plant->check;
  Verdict verdict;
  bool changed;
  Fault fault;

  fault_clear (&fault);
  if (!EXPECT (check,
          sepconv_plan_update (plan, &plant->c[border]->spec, &fault), "%s",
          fault.message))
    return false;
  for (int i = 0; i < N_SOURCES; i++) {
    Picture *expected = &plant->expected[border][i];

    if (!EXPECT (check,
            device_run (plant->device, device_sepconv, plan, &plant->source[i],
                expected, &changed, &fault),
            "a plain run: %s (%s)", fault.message, fault.detail))
      return false;
    verdict_by_oracle (&verdict, &plant->c[border]->spec,
        &plant->source[i].image, &expected->image);
    if (!EXPECT (check, verdict.ok, "a plain run: %s", verdict.text))
      return false;
  }
  return true;
}

static SepconvPlan *
new_plan (const Plant *plant)
{
  Fault fault;
  SepconvPlan *plan = sepconv_plan_new (&plant->c[0]->spec, &plant->layout,
      plant->method->backend, plant->method, plant->device->gpu, &fault);

  EXPECT (plant->check, plan != NULL, "no plan: %s", fault.message);
  return plan;
}

static int
depth_of (int index)
{
  return index % MAX_DEPTH + 1;
}

static bool
plant_begin (Plant *plant, int size, int index, Random *random)
{
  SepconvPlan *plain;
  Case *base = case_new ();
  bool ok;

  case_set_layout (base, layout_kind_by_name (sizes[size].layout),
      sizes[size].width, sizes[size].height);
  plant->layout = base->layout;
  for (int i = 0; i < N_SOURCES; i++) {
    picture_new (&plant->source[i], &plant->layout, false, random);
    picture_paint (
        &plant->source[i], i == 0 ? CONTENT_EXTREMES : CONTENT_NOISE, random);
  }
  for (int b = 0; b < N_BORDERS; b++) {
    plant->c[b] = case_copy (base);
    for (int i = 0; i < N_SOURCES; i++)
      picture_new (&plant->expected[b][i], &plant->layout, false, random);
  }
  ok = make_cases (plant, base, index, random);
  check_describe (plant->check, "%s, depth %d of %s %dx%d", plant->method->name,
      depth_of (index), sizes[size].layout, base->width, base->height);
  case_free (base);
  plain = ok ? new_plan (plant) : NULL;
  ok = plain != NULL;
  for (int b = 0; b < N_BORDERS && ok; b++)
    ok = compute_expected (plant, b, plain);
  sepconv_plan_free (plain);
  plant->plan = ok ? new_plan (plant) : NULL;
  return plant->plan != NULL;
}

static void
plant_end (Plant *plant)
{
  sepconv_plan_free (plant->plan);
  for (int i = 0; i < N_SOURCES; i++)
    picture_clear (&plant->source[i]);
  for (int b = 0; b < N_BORDERS; b++) {
    case_free (plant->c[b]);
    for (int i = 0; i < N_SOURCES; i++)
      picture_clear (&plant->expected[b][i]);
  }
}

static void
new_picture (const Plant *plant, Picture *picture, Random *random)
{
  if (random_chance (random, 50))
    picture_new_packed (picture, &plant->layout, random);
  else
    picture_new (picture, &plant->layout, true, random);
}

static bool
berth_begin (Berth *berth, Plant *plant, Random *random)
{
  Fault fault;

  fault_clear (&fault);
  berth->plant = plant;
  for (int pinned = 0; pinned < 2; pinned++) {
    new_picture (plant, &berth->src[pinned], random);
    new_picture (plant, &berth->dst[pinned], random);
    berth->dst_before[pinned] = picture_block_copy (&berth->dst[pinned]);
  }
  return EXPECT (plant->check,
      device_pin_picture (plant->device, &berth->src[1], &fault)
          && device_pin_picture (plant->device, &berth->dst[1], &fault),
      "%s (%s)", fault.message, fault.detail);
}

static void
berth_end (Berth *berth)
{
  for (int pinned = 0; pinned < 2; pinned++) {
    picture_clear (&berth->src[pinned]);
    picture_clear (&berth->dst[pinned]);
    free (berth->dst_before[pinned]);
  }
}

/* Parts arrive in order, memory by memory, and each gets the progress of the parts
 * before it. */
static void
expect_part (const Berth *berth, const RingPart *part)
{
  const Plant *plant = berth->plant;
  const bool gpu = plant->device->gpu != NULL;
  const bool cut = gpu && berth->route.transfer != RING_MAPPED;
  const int n = cut ? berth->route.slices : 1;
  bool all = true, some = false;

  EXPECT (plant->check, (part->stream != NULL) == gpu, "a wrong stream");
  EXPECT (plant->check,
      image_same_layout (part->src, &plant->layout)
          && image_same_layout (part->dst, &plant->layout),
      "a part of other images");
  for (int m = 0; m < plant->layout.n_memories; m++) {
    const int height = plant->layout.memory[m].height;

    EXPECT (plant->check,
        part->fresh[m].first == berth->ready[m]
            && part->fresh[m].last >= berth->ready[m]
            && part->fresh[m].last <= height
            && (all || part->fresh[m].last == 0),
        "memory %d: rows %d to %d of %d after %d%s", m, part->fresh[m].first,
        part->fresh[m].last, height, berth->ready[m],
        all ? "" : ", while more of another are to come");
    EXPECT (plant->check, part->done[m] == berth->done[m],
        "memory %d: done is %d, and was left at %d", m, part->done[m],
        berth->done[m]);
    all = all && part->fresh[m].last == height;
    some = some || part->fresh[m].last > part->fresh[m].first;
  }
  EXPECT (plant->check, some && berth->parts < n,
      "part %d, of a frame in %d slices, brings %s row", berth->parts, n,
      some ? "a" : "no");
  EXPECT (plant->check, part->first == (berth->parts == 0) && part->last == all,
      "part %d of a frame in %d slices, with %s, is called%s%s", berth->parts,
      n, all ? "all rows" : "more to come", part->first ? " first" : "",
      part->last ? " last" : "");
}

static bool
compute_part (void *user, const RingPart *part, Fault *fault)
{
  Berth *berth = user;

  expect_part (berth, part);
  berth->parts++;
  for (int m = 0; m < part->src->n_memories; m++)
    berth->ready[m] = part->fresh[m].last;
  if (!sepconv_plan_advance (berth->plant->plan, part->src, part->dst,
          part->fresh, part->done, part->stream, part->order, fault))
    return false;
  memcpy (berth->done, part->done, sizeof berth->done);
  return true;
}

static bool
submit (Ring *ring, Berth *berth, const Route *route, Random *random)
{
  Plant *plant = berth->plant;
  Picture *src = &berth->src[route->src_pinned];
  Picture *dst = &berth->dst[route->dst_pinned];
  Fault fault;

  fault_clear (&fault);
  berth->route = *route;
  berth->border = random_int (random, 0, N_BORDERS - 1);
  berth->source = random_int (random, 0, N_SOURCES - 1);
  berth->parts = 0;
  memset (berth->done, 0, sizeof berth->done);
  memset (berth->ready, 0, sizeof berth->ready);
  image_copy (&src->image, &plant->source[berth->source].image);
  berth->src_before = picture_block_copy (src);
  fill_rows (&dst->image, random_int (random, 0, 255));
  berth->frame = (RingFrame){
    .src = src->image,
    .dst = dst->image,
    .src_place = route->src_pinned ? RING_HOST_PINNED : RING_HOST,
    .dst_place = route->dst_pinned ? RING_HOST_PINNED : RING_HOST,
    .transfer = route->transfer,
    .slices = route->slices,
    .compute = compute_part,
    .user = berth,
  };
  berth->slot = ring_acquire (ring);
  if (!EXPECT (plant->check,
          sepconv_plan_update (
              plant->plan, &plant->c[berth->border]->spec, &fault)
              && ring_submit (ring, berth->slot, &berth->frame, &fault),
          "%s (%s)", fault.message, fault.detail)) {
    ring_release (ring, berth->slot);
    free (berth->src_before);
    return false;
  }
  /* By ring.h, the source has been copied by now. */
  berth->spoilt = route->transfer == RING_PINNED && !route->src_pinned;
  if (berth->spoilt)
    fill_rows (&src->image, random_int (random, 0, 255));
  /* The frame's description need not be kept either. */
  memset (&berth->frame, 0x7f, sizeof berth->frame);
  return true;
}

static void
describe (Check *check, const Berth *berth, int depth)
{
  static const char *const names[N_TRANSFERS] = { "pinned", "mapped",
    "pageable" };
  const Plant *plant = berth->plant;
  const Case *c = plant->c[berth->border];

  check_describe (check,
      "%s, %s %dx%d, depth %d, %s from %s to %s memory, %d slices, %s, taps "
      "%dx%d",
      plant->method->name, c->kind->name, c->width, c->height, depth,
      names[berth->route.transfer],
      berth->route.src_pinned ? "pinned" : "other",
      berth->route.dst_pinned ? "pinned" : "other", berth->route.slices,
      border_name (c->spec.border), c->x[0].n, c->y[0].n);
}

/* Waits for a frame and judges it; its place is free afterwards. */
static void
finish (Ring *ring, Berth *berth, int depth)
{
  Plant *plant = berth->plant;
  Check *check = plant->check;
  const Picture *src = &berth->src[berth->route.src_pinned];
  const Picture *dst = &berth->dst[berth->route.dst_pinned];
  Verdict verdict;
  Fault fault;

  describe (check, berth, depth);
  fault_clear (&fault);
  if (EXPECT (check, ring_wait (ring, berth->slot, &fault), "%s (%s)",
          fault.message, fault.detail)) {
    verdict_same (&verdict, &dst->image,
        &plant->expected[berth->border][berth->source].image);
    EXPECT (check, verdict.ok, "not as by a plain run: %s", verdict.text);
    verdict_outside_rows (
        &verdict, dst, berth->dst_before[berth->route.dst_pinned]);
    EXPECT (check, verdict.ok, "%s", verdict.text);
    if (!berth->spoilt)
      EXPECT (check, memcmp (berth->src_before, src->block, src->bytes) == 0,
          "the source was written to");
  }
  free (berth->src_before);
  ring_release (ring, berth->slot);
}

typedef struct
{
  int submitted, finished, copied; /* frames; frames that went up and down */
  int peak;
} Count;

static void
expect_counts (Check *check, Ring *ring, const Plant *plant, const Count *count)
{
  const bool gpu = plant->device->gpu != NULL;
  const uint64_t n = (uint64_t) count->submitted;
  const uint64_t bytes = gpu ? n * image_bytes (&plant->layout) : 0;
  RingStats stats;

  ring_stats (ring, &stats);
  EXPECT (check,
      stats.frames_in == n && stats.frames_out == (uint64_t) count->finished,
      "%llu frames in, %llu out instead of %d, %d",
      (unsigned long long) stats.frames_in,
      (unsigned long long) stats.frames_out, count->submitted, count->finished);
  EXPECT (check, stats.bytes_up == bytes && stats.bytes_down == bytes,
      "%llu bytes up, %llu down instead of %llu",
      (unsigned long long) stats.bytes_up,
      (unsigned long long) stats.bytes_down, (unsigned long long) bytes);
  EXPECT (check, stats.in_flight_peak == (unsigned) count->peak,
      "a peak of %u instead of %d", stats.in_flight_peak, count->peak);
  EXPECT (check,
      (stats.compute_ns > 0.0) == (count->finished > 0)
          && (stats.up_ns > 0.0) == (gpu && count->copied > 0)
          && (stats.down_ns > 0.0) == (gpu && count->copied > 0),
      "times of %g, %g and %g ns for %d frames, %d of them copied", stats.up_ns,
      stats.compute_ns, stats.down_ns, count->finished, count->copied);
}

static void
shuffle (int *numbers, int n, Random *random)
{
  for (int i = 0; i < n; i++)
    numbers[i] = i;
  for (int i = n - 1; i > 0; i--) {
    const int k = random_int (random, 0, i), number = numbers[i];

    numbers[i] = numbers[k];
    numbers[k] = number;
  }
}

/* All routes through one ring, mixed; the ring is kept full most of the time. */
static void
pass_routes (Check *check, Ring *ring, Plant *plant, Berth *berths, int depth,
    Random *random)
{
  /* Quick: every way once, with a random number of slices. */
  const int n = check->quick ? N_WAYS : N_ROUTES;
  Count count = { 0, 0, 0, 0 };
  int order[N_ROUTES];

  shuffle (order, n, random);
  for (int i = 0; i < n && !check->case_failed; i++) {
    Route route = nth_route (order[i]);
    Berth *berth = &berths[i % depth];

    if (check->quick)
      route.slices = random_int (random, 1, RING_MAX_SLICES);
    while (count.submitted - count.finished == depth
        || (count.submitted > count.finished && random_chance (random, 15))) {
      Berth *oldest = &berths[count.finished % depth];

      finish (ring, oldest, depth);
      count.copied += oldest->route.transfer != RING_MAPPED;
      count.finished++;
    }
    EXPECT (check, ring_in_flight (ring) == count.submitted - count.finished,
        "%d in flight instead of %d", ring_in_flight (ring),
        count.submitted - count.finished);
    if (!submit (ring, berth, &route, random))
      break;
    count.submitted++;
    if (count.peak < count.submitted - count.finished)
      count.peak = count.submitted - count.finished;
  }
  while (count.finished < count.submitted) {
    Berth *oldest = &berths[count.finished % depth];

    finish (ring, oldest, depth);
    count.copied += oldest->route.transfer != RING_MAPPED;
    count.finished++;
  }
  EXPECT (check, ring_in_flight (ring) == 0, "%d in flight of an empty ring",
      ring_in_flight (ring));
  expect_counts (check, ring, plant, &count);
}

static void
transfer_case (Check *check, Random *random, int index, const void *data)
{
  const int depth = depth_of (index);
  /* Over all cases, every depth is combined with every size. */
  const int size = (index + index / MAX_DEPTH) % N_SIZES;
  Plant *plant = kerncheck_alloc (sizeof *plant);
  Berth *berths = kerncheck_alloc (sizeof *berths * MAX_DEPTH);
  Ring *ring = NULL;
  bool ok;
  Fault fault;

  plant->check = check;
  plant->device = data;
  ok = plant_begin (plant, size, index, random);
  for (int i = 0; i < depth && ok; i++)
    ok = berth_begin (&berths[i], plant, random);
  if (ok) {
    ring = ring_new (plant->device->gpu, &plant->layout, &plant->layout, depth,
        NULL, &fault);
    if (EXPECT (check, ring != NULL, "no ring: %s", fault.message))
      pass_routes (check, ring, plant, berths, depth, random);
  }
  ring_free (ring);
  for (int i = 0; i < depth; i++)
    berth_end (&berths[i]);
  plant_end (plant);
  free (berths);
  free (plant);
}

/* Without a GPU, transfers and slices make no difference: one size for each depth. */
static void
check_transfers (Check *check, const void *data)
{
  const Backend backend = *(const Backend *) data;
  const int n = backend == BACKEND_CPU ? MAX_DEPTH : MAX_DEPTH * N_SIZES;

  device_check_cases (check, backend, check->quick ? 4 : n, transfer_case);
}

void
check_transfers_add (void)
{
  static const Backend cpu = BACKEND_CPU, cuda = BACKEND_CUDA;

  kerncheck_add (check_transfers, &cpu, NULL, "ring/transfers");
  kerncheck_add (check_transfers, &cuda, NULL, "ring/cuda/transfers");
}
