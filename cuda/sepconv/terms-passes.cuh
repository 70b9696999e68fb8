/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* terms-passes: any number of terms and taps, and any layout, in two kernels. The row pass
 * writes the sums of each term, planar, into a buffer of the plan. The column pass sums the
 * columns of one term after the other and combines them in registers. Blocks, tiles and banks
 * are as in the method `shared`. Real is double where single precision is not accurate
 * enough. */
#pragma once

#include "terms-combine.cuh"
#include "window.cuh"

/* The taps, and the sums, of a plane's terms lie one after the other. */
template <typename Real> struct TermsPlane
{
  int n_terms;
  int nx[TAPS_MAX_TERMS], ny[TAPS_MAX_TERMS];
  Real row_sum[TAPS_MAX_TERMS]; /* of the taps along x */
};

template <typename Real> struct TermsFrame : TwopassFrame<Real>
{
  TermsCombination<Real> how;
  int plane_of[SEPCONV_MAX_CHANNELS];
  TermsLevels<Real> levels[SEPCONV_MAX_CHANNELS];
  TermsPlane<Real> plane[IMAGE_MAX_PLANES];
};

static_assert (sizeof (TermsFrame<double>) <= 4096,
    "A kernel's parameters have 4 KB.");

template <typename Real> struct TermsWindows
{
  static constexpr int block_width = 32, block_height = 8;
  static constexpr int row_outputs = 4, column_outputs = 8;

  template <int Width, int Height> struct Window
  {
    Real sample[Height][Width];

    __device__ __forceinline__ Real &
    at (int x, int y)
    {
      return sample[y][x];
    }
  };
};

/* Sets the channel to its term t, after it was at the term before. */
template <typename Real>
__device__ __forceinline__ void
terms_enter (
    const TermsPlane<Real> &plane, int t, TwopassChannel<Real> &channel)
{
  if (t > 0) {
    channel.tx += channel.nx + channel.ny;
    channel.sums += (size_t) channel.width * channel.height;
  }
  channel.nx = plane.nx[t];
  channel.ny = plane.ny[t];
  channel.ty = channel.tx + channel.nx;
  channel.row_outside = plane.row_sum[t] * channel.border;
}

template <typename Real>
static __global__ void
terms_rows (GPU_PARAMETER TermsFrame<Real> frame)
{
  typedef TermsWindows<Real> Windows;
  const TermsPlane<Real> &plane = frame.plane[frame.plane_of[blockIdx.z]];
  TwopassChannel<Real> channel = frame.channel[blockIdx.z];

  if (!window_has_rows<Windows> (channel))
    return;
  for (int t = 0; t < plane.n_terms; t++) {
    terms_enter (plane, t, channel);
    window_sum_rows<Windows> (channel, frame.border);
  }
}

template <typename Real>
static __global__ void
terms_columns (GPU_PARAMETER TermsFrame<Real> frame)
{
  typedef TermsWindows<Real> Windows;
  constexpr int outputs = Windows::column_outputs;
  const TermsPlane<Real> &plane = frame.plane[frame.plane_of[blockIdx.z]];
  const TermsLevels<Real> &levels = frame.levels[blockIdx.z];
  TwopassChannel<Real> channel = frame.channel[blockIdx.z];
  const int x = blockIdx.x * Windows::block_width + threadIdx.x;
  int y = channel.result.first
      + blockIdx.y * outputs * Windows::block_height + threadIdx.y;
  Real total[2][outputs] = {};

  if (!window_has_columns<Windows> (channel))
    return;
  if (!channel.filter) {
    window_copy_columns<Windows> (channel);
    return;
  }
  for (int t = 0; t < plane.n_terms; t++) {
    const bool first = t == 0 || frame.how.combine == SEPCONV_SUM;
    Real sum[outputs];

    terms_enter (plane, t, channel);
    window_sum_columns<Windows> (channel, frame.border, sum);
#pragma unroll
    for (int k = 0; k < outputs; k++) {
      total[0][k] += first ? sum[k] : 0;
      total[1][k] += first ? 0 : sum[k];
    }
  }
  if (x >= channel.width)
    return;
#pragma unroll
  for (int k = 0; k < outputs; k++, y += Windows::block_height)
    if (y < channel.result.last) {
      const Real level = load_sample (
          channel, channel.src + y * channel.src_stride, x, frame.border);

      store_code (channel.dst + y * channel.dst_stride
              + (ptrdiff_t) x * channel.pixel_stride,
          terms_code (
              frame.how, levels, channel, level, total[0][k], total[1][k]),
          channel.sample_bytes, channel.shift);
    }
}

template <typename Real>
static TwopassPasses<TermsFrame<Real>>
terms_passes (void)
{
  typedef TermsWindows<Real> Windows;
  const dim3 block (Windows::block_width, Windows::block_height);
  const dim3 rows (
      Windows::row_outputs * Windows::block_width, Windows::block_height);
  const dim3 columns (
      Windows::block_width, Windows::column_outputs * Windows::block_height);

  return { { terms_rows<Real>, block, rows },
    { terms_columns<Real>, block, columns } };
}

template <typename Real>
static void
terms_describe_plane (const SepconvPlan *plan, int p, TermsPlane<Real> *plane)
{
  plane->n_terms = plan->n_terms[p];
  for (int t = 0; t < plan->n_terms[p]; t++) {
    const SepconvPlaneTaps *taps = sepconv_plan_term (plan, p, t);

    plane->nx[t] = taps->x.n;
    plane->ny[t] = taps->y.n;
    plane->row_sum[t] = (Real) taps_sum (&taps->x);
  }
}

template <typename Real>
static TermsLevels<Real>
terms_describe_levels (const SepconvChannel *channel)
{
  return { (Real) channel->zero_offset,
    { (Real) channel->term_offset[0], (Real) channel->term_offset[1] },
    (Real) channel->threshold };
}

/* Queues both passes over a part. The plan's state must derive from TwopassState. */
template <typename Real>
static bool
terms_run_passes (SepconvPlan *plan, const SepconvPart *part, Fault *fault)
{
  TermsFrame<Real> frame = TermsFrame<Real> ();
  TwopassExtent extent;

  if (!twopass_begin<Real> (plan, part, &frame, &extent, fault))
    return false;
  frame.how = { plan->combine, (Real) plan->scale, (Real) plan->amount };
  for (int p = 0; p < plan->layout.n_planes; p++)
    terms_describe_plane (plan, p, &frame.plane[p]);
  for (int i = 0; i < plan->n_channels; i++) {
    frame.plane_of[i] = plan->channel[i].plane;
    frame.levels[i] = terms_describe_levels<Real> (&plan->channel[i]);
  }
  return twopass_launch (
      terms_passes<Real> (), frame, extent, part->stream, fault);
}
