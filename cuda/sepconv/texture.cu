/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* texture: `global` with its samples fetched by the texture units.
 *
 * The units compute addresses, widen samples to 32 bits and, in some cases, supply the
 * sample for coordinates outside the image, so that a tap costs neither a border test
 * nor a conversion:
 *
 *   border       source of the sample
 *   replicate    the unit (address mode clamp)
 *   constant     the unit where the value is 0 (border), else the kernel
 *   wrap,        the kernel: the unit's modes for them need normalized
 *   reflect      coordinates, x / width, which are rounded before they are used
 *   reflect-101  the kernel: there is no such mode
 *
 * Coordinates are not normalized and sampling is by point, so that fetches are exact. A
 * texel is a pixel where the pixel has 1, 2 or 4 samples without a gap and begins at
 * the start of the row; otherwise it is a sample, the texture is as wide as the row,
 * and the kernel computes the border. Sums are read by plain loads.
 *
 * A texture is bound to an aligned address. Frames at other addresses, or in host
 * memory, are first copied on the stream; all others are read in place. The textures
 * made for them are kept, since the addresses of a ring or a pool come back. */
#include "pointwise.cuh"

#define TEXTURES 64

/* A texture and what it was made for. */
struct Texture
{
  bool made;
  int plane, height;
  const uint8_t *data;
  ptrdiff_t stride;
  enum cudaTextureAddressMode mode;
  cudaTextureObject_t object;
  GpuEvent used;          /* after the last kernel that fetches from it */
  unsigned long last_run; /* the last run that used it */
};

struct TextureState : TwopassState
{
  int alignment, stride_alignment, max_stride; /* bytes */
  void *copy;                                  /* of a frame */
  Image aligned;                               /* laid out in it */
  Texture texture[TEXTURES];
  unsigned long runs;
};

/* Where the row pass fetches a channel. */
struct TextureChannel
{
  cudaTextureObject_t object;
  int first, step; /* texels */
  int component;   /* of a texel */
  bool has_border; /* fetches outside the image give the border */
};

template <typename RealType>
struct TextureAccess : MemoryAccess<RealType, PlainLoad>
{
  typedef RealType Real;

  TextureChannel source[SEPCONV_MAX_CHANNELS];

  __device__ __forceinline__ Real
  sample (const TwopassChannel<Real> &channel, int x, int y) const
  {
    const TextureChannel &from = source[blockIdx.z];
    uint4 texel;
    unsigned raw;

    if (!from.has_border) {
      x = border_index (x, channel.width, this->border);
      if (x < 0)
        return channel.border;
    }
    /* PTX fetches unsigned texels of any size into four 32-bit registers. */
    texel = tex2D<uint4> (from.object,
        (float) (from.first + x * from.step) + 0.5f, (float) y + 0.5f);
    raw = from.component == 0 ? texel.x
        : from.component == 1 ? texel.y
        : from.component == 2 ? texel.z
                              : texel.w;
    return (Real) (int) (raw >> channel.shift) - channel.center;
  }
};

/* Number of samples of a texel. */
static int
texel_samples (const ImagePlane *plane)
{
  const int samples = plane->channels;

  return plane->offset == 0 && samples != 3
          && (samples == 1
              || plane->channel_stride == image_sample_bytes (plane))
          && plane->pixel_stride == samples * image_sample_bytes (plane)
      ? samples
      : 1;
}

/* Whether a texel is a pixel, and a row of texels is the plane's. */
static bool
texel_is_pixel (const ImagePlane *plane)
{
  return plane->offset == 0
      && plane->pixel_stride
      == texel_samples (plane) * image_sample_bytes (plane);
}

static int
texture_width (const ImagePlane *plane)
{
  return texel_is_pixel (plane) ? plane->width
                                : (int) (image_plane_row_bytes (plane)
                                    / (size_t) image_sample_bytes (plane));
}

static bool
make_texture (Texture *texture, const ImagePlane *plane,
    const ImageMemory *memory, Fault *fault)
{
  const int bits = 8 * image_sample_bytes (plane);
  const int samples = texel_samples (plane);
  struct cudaResourceDesc resource = {};
  struct cudaTextureDesc how = {};
  bool ok = false;

  resource.resType = cudaResourceTypePitch2D;
  resource.res.pitch2D.devPtr = memory->data;
  resource.res.pitch2D.desc = cudaCreateChannelDesc (bits,
      samples > 1 ? bits : 0, samples > 2 ? bits : 0, samples > 2 ? bits : 0,
      cudaChannelFormatKindUnsigned);
  resource.res.pitch2D.width = (size_t) texture_width (plane);
  resource.res.pitch2D.height = (size_t) memory->height;
  resource.res.pitch2D.pitchInBytes = (size_t) memory->stride;
  how.addressMode[0] = how.addressMode[1] = texture->mode;
  how.filterMode = cudaFilterModePoint;
  how.readMode = cudaReadModeElementType;
  how.normalizedCoords = 0;
  GPU_CHECK (
      cudaCreateTextureObject (&texture->object, &resource, &how, NULL), fault);
  texture->made = ok = true;
done:
  return ok;
}

static void
destroy_texture (Texture *texture)
{
  if (texture->made
      && cudaDestroyTextureObject (texture->object) != cudaSuccess)
    (void) cudaGetLastError (); /* cleared, or the next call would report it */
  texture->made = false;
}

/* The texture of plane p in rows at `memory`; NULL and a fault if it cannot be made. It
 * replaces the texture that was not used for longest: most likely its last use ended
 * long ago, so that waiting for that takes no time. */
static Texture *
find_texture (SepconvPlan *plan, int p, const ImageMemory *memory,
    enum cudaTextureAddressMode mode, Fault *fault)
{
  TextureState *state = (TextureState *) plan->state;
  Texture *texture = &state->texture[0];

  for (int i = 0; i < TEXTURES; i++) {
    Texture *candidate = &state->texture[i];

    if (candidate->made && candidate->plane == p
        && candidate->height == memory->height
        && candidate->data == memory->data
        && candidate->stride == memory->stride && candidate->mode == mode) {
      candidate->last_run = state->runs;
      return candidate;
    }
    if (candidate->last_run < texture->last_run)
      texture = candidate;
  }
  if (texture->made
      && !gpu_event_synchronize (texture->used, GPU_NAP_NS, fault))
    return NULL;
  destroy_texture (texture);
  texture->plane = p;
  texture->height = memory->height;
  texture->data = memory->data;
  texture->stride = memory->stride;
  texture->mode = mode;
  if (!make_texture (texture, &plan->layout.plane[p], memory, fault))
    return NULL;
  texture->last_run = state->runs;
  return texture;
}

/* Sets `from` to the memory from which memory m is fetched, after copying its fresh
 * rows if necessary. All frames share one copy: they follow each other on one
 * stream. */
static bool
place_memory (SepconvPlan *plan, const SepconvPart *part, int m,
    ImageMemory *from, Fault *fault)
{
  const TextureState *state = (const TextureState *) plan->state;
  const ImageMemory *memory = &part->src->memory[m];
  const ImageMemory *aligned = &state->aligned.memory[m];
  const ImageRows fresh = part->fresh[m];
  struct cudaPointerAttributes attributes;
  bool ok = false;

  *from = *memory;
  GPU_CHECK (cudaPointerGetAttributes (&attributes, memory->data), fault);
  if (attributes.type == cudaMemoryTypeDevice
      && (uintptr_t) memory->data % (unsigned) state->alignment == 0
      && memory->stride >= (ptrdiff_t) memory->row_bytes
      && memory->stride % state->stride_alignment == 0
      && memory->stride <= state->max_stride)
    return true;
  from->row_bytes = min (memory->row_bytes, aligned->row_bytes);
  from->data = aligned->data;
  from->stride = aligned->stride;
  ok = gpu_copy_rows (from->data + fresh.first * from->stride, from->stride,
      memory->data + fresh.first * memory->stride, memory->stride,
      from->row_bytes, fresh.last - fresh.first,
      attributes.type == cudaMemoryTypeHost ? GPU_COPY_UP : GPU_COPY_DEVICE,
      part->stream, fault);
done:
  return ok;
}

/* Whether plane p has samples to fetch in this part. */
static bool
is_fetched (const SepconvPlan *plan, const SepconvPart *part, int p)
{
  const ImageRows fresh = part->fresh[plan->layout.plane[p].memory];

  return plan->taps[p].x.n > 0 && fresh.first < fresh.last;
}

/* Finds the address mode in which the unit supplies the border in all channels of plane
 * p; false if there is none. */
static bool
border_mode (const SepconvPlan *plan, int p, enum cudaTextureAddressMode *mode)
{
  const SepconvChannel *channel = sepconv_plane_channels (plan, p);

  *mode = cudaAddressModeClamp;
  if (!texel_is_pixel (&plan->layout.plane[p]))
    return false;
  if (plan->border == SEPCONV_REPLICATE)
    return true;
  if (plan->border != SEPCONV_CONSTANT)
    return false;
  for (int c = 0; c < plan->layout.plane[p].channels; c++)
    if (channel[c].filter && channel[c].border + channel[c].center != 0.0)
      return false;
  *mode = cudaAddressModeBorder;
  return true;
}

static TextureChannel
describe_source (const SepconvPlan *plan, const SepconvChannel *channel,
    const Texture *texture, bool has_border)
{
  const ImagePlane *plane = &plan->layout.plane[channel->plane];
  const int sample_bytes = channel->sample_bytes;
  TextureChannel source = {};

  source.object = texture->object;
  source.has_border = has_border;
  if (texel_is_pixel (plane)) {
    source.step = 1;
    source.component = channel->byte_offset / sample_bytes;
  } else {
    source.first = channel->byte_offset / sample_bytes;
    source.step = channel->pixel_stride / sample_bytes;
  }
  return source;
}

/* Copies frames where necessary. Fills `source` of the channels that are filtered, and
 * `texture` of their planes; NULL for planes without samples to fetch. */
static bool
bind_textures (SepconvPlan *plan, const SepconvPart *part,
    TextureChannel *source, Texture **texture, Fault *fault)
{
  TextureState *state = (TextureState *) plan->state;
  bool placed[IMAGE_MAX_MEMORIES] = {}, has_border[IMAGE_MAX_PLANES] = {};
  ImageMemory from[IMAGE_MAX_MEMORIES];

  state->runs++;
  for (int p = 0; p < plan->layout.n_planes; p++) {
    const int m = plan->layout.plane[p].memory;
    enum cudaTextureAddressMode mode;

    texture[p] = NULL;
    if (!is_fetched (plan, part, p))
      continue;
    if (!placed[m] && !place_memory (plan, part, m, &from[m], fault))
      return false;
    placed[m] = true;
    has_border[p] = border_mode (plan, p, &mode);
    texture[p] = find_texture (plan, p, &from[m], mode, fault);
    if (texture[p] == NULL)
      return false;
  }
  for (int i = 0; i < plan->n_channels; i++) {
    const SepconvChannel *channel = &plan->channel[i];
    const int p = channel->plane;

    source[i] = TextureChannel ();
    if (channel->filter && texture[p] != NULL)
      source[i] = describe_source (plan, channel, texture[p], has_border[p]);
  }
  return true;
}

template <typename Real>
static bool
run (SepconvPlan *plan, const SepconvPart *part, Fault *fault)
{
  Texture *texture[IMAGE_MAX_PLANES];
  TextureAccess<Real> access;
  TwopassExtent extent;

  if (!twopass_begin<Real> (plan, part, &access, &extent, fault)
      || !bind_textures (plan, part, access.source, texture, fault)
      || !twopass_launch (pointwise_passes<TextureAccess<Real>> (), access,
          extent, part->stream, fault))
    return false;
  for (int p = 0; p < plan->layout.n_planes; p++)
    if (texture[p] != NULL
        && !gpu_event_record (texture[p]->used, part->stream, fault))
      return false;
  return true;
}

static bool
texture_run (SepconvPlan *plan, const SepconvPart *part, Fault *fault)
{
  return plan->float_holds ? run<float> (plan, part, fault)
                           : run<double> (plan, part, fault);
}

/* Queries the device's limits, and checks the layout against them. */
static bool
query_limits (const SepconvPlan *plan, TextureState *state, Fault *fault)
{
  const int device = gpu_id (plan->gpu);
  int max_width, max_height;
  bool ok = false;

  GPU_CHECK (cudaDeviceGetAttribute (
                 &state->alignment, cudaDevAttrTextureAlignment, device),
      fault);
  GPU_CHECK (cudaDeviceGetAttribute (&state->stride_alignment,
                 cudaDevAttrTexturePitchAlignment, device),
      fault);
  GPU_CHECK (cudaDeviceGetAttribute (&state->max_stride,
                 cudaDevAttrMaxTexture2DLinearPitch, device),
      fault);
  GPU_CHECK (cudaDeviceGetAttribute (
                 &max_width, cudaDevAttrMaxTexture2DLinearWidth, device),
      fault);
  GPU_CHECK (cudaDeviceGetAttribute (
                 &max_height, cudaDevAttrMaxTexture2DLinearHeight, device),
      fault);
  for (int p = 0; p < plan->layout.n_planes; p++) {
    const ImagePlane *plane = &plan->layout.plane[p];
    const ImageMemory *memory = &plan->layout.memory[plane->memory];
    const int width = texture_width (plane);

    if (width > max_width || memory->height > max_height)
      return fault_set (fault, FAULT_UNSUPPORTED,
          "Plane %d is too large for the GPU's textures: %d x %d texels, of "
          "%d x %d.",
          p, width, memory->height, max_width, max_height);
  }
  ok = true;
done:
  return ok;
}

/* Allocates memory for copies of frames, and lays `aligned` out in it. */
static bool
make_copy (const SepconvPlan *plan, TextureState *state, Fault *fault)
{
  const size_t alignment =
      (size_t) max (state->alignment, state->stride_alignment);
  const size_t bytes =
      image_pack (&plan->layout, alignment, NULL, &state->aligned);
  uintptr_t base;

  state->copy = gpu_malloc (bytes + alignment, fault);
  if (state->copy == NULL)
    return false;
  base = ((uintptr_t) state->copy + alignment - 1) / alignment * alignment;
  image_pack (&plan->layout, alignment, (uint8_t *) base, &state->aligned);
  return true;
}

static bool
texture_prepare (SepconvPlan *plan, Fault *fault)
{
  TextureState *state;

  if (!twopass_prepare_state (plan, sizeof (TextureState), fault))
    return false;
  state = (TextureState *) plan->state;
  if (!query_limits (plan, state, fault) || !make_copy (plan, state, fault))
    return false;
  for (int i = 0; i < TEXTURES; i++)
    if (!gpu_event_new_untimed (&state->texture[i].used, fault))
      return false;
  return twopass_load (pointwise_passes<TextureAccess<float>> (), fault)
      && twopass_load (pointwise_passes<TextureAccess<double>> (), fault);
}

static void
texture_release (SepconvPlan *plan)
{
  TextureState *state = (TextureState *) plan->state;

  if (state == NULL)
    return;
  for (int i = 0; i < TEXTURES; i++) {
    destroy_texture (&state->texture[i]);
    gpu_event_free (state->texture[i].used);
  }
  gpu_free (state->copy);
  twopass_release (plan);
}

static double
texture_cost (const SepconvWork *work)
{
  return twopass_cost (work, 2.1);
}

extern "C" const SepconvMethodOps sepconv_texture_ops = {
  .min_capability = 0,
  .in_parts = true,
  .combines = false,
  .supports = NULL,
  .cost = texture_cost,
  .prepare = texture_prepare,
  .release = texture_release,
  .run = texture_run,
  .overlaps = false,
  .turns = NULL,
  .counts = NULL,
};
