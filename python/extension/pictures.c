/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "pictures.h"

#include <limits.h>
#include <string.h>

/* One picture of the array, whatever its dimensions. Strides in bytes. */
typedef struct
{
  int64_t height, width, channels;
  int64_t row, column, channel;
  int bytes; /* of a sample */
} Grid;

static bool
refuse (PyObject *type, const char *name, const char *why)
{
  PyErr_Format (type, "%s %s", name, why);
  return false;
}

static bool
find_grid (const Array *array, const char *name, Grid *grid, Pictures *pictures)
{
  const int n = array->dimensions;
  const int first = n == 4 ? 1 : 0; /* the dimension of rows */

  if (array->type == ARRAY_INT64)
    return refuse (PyExc_TypeError, name,
        "has elements of type int64; uint8 and uint16 can be filtered.");
  if (n < 2)
    return refuse (PyExc_ValueError, name,
        "is no picture: it has less than 2 dimensions. Pictures are (height, width), "
        "(height, width, channels) or (pictures, height, width, channels).");
  grid->bytes = array_element_bytes (array->type);
  grid->height = array->shape[first];
  grid->row = array->stride[first];
  grid->width = array->shape[first + 1];
  grid->column = array->stride[first + 1];
  grid->channels = n > 2 ? array->shape[n - 1] : 1;
  grid->channel = n > 2 ? array->stride[n - 1] : grid->bytes;
  pictures->n = n == 4 ? array->shape[0] : 1;
  pictures->step = n == 4 ? (ptrdiff_t) array->stride[0] : 0;
  if (grid->channels > IMAGE_MAX_CHANNELS)
    return refuse (PyExc_ValueError, name,
        "has more than 4 channels. They are its last dimension; move another one "
        "there, for example by a transposed view.");
  if (grid->height > IMAGE_MAX_HEIGHT || grid->width > INT_MAX)
    return refuse (PyExc_ValueError, name, "is too large.");
  return true;
}

/* Strides of dimensions with one element may be any: sets those that ease the rest. */
static void
settle_strides (Grid *grid)
{
  if (grid->channels == 1)
    grid->channel = grid->bytes;
  if (grid->width == 1 && grid->channel == grid->bytes)
    grid->column = grid->channels * grid->bytes;
  else if (grid->width == 1)
    grid->column = grid->bytes;
}

static ImagePlane
make_plane (const Grid *grid, int memory, int channels, int depth)
{
  return (ImagePlane){
    .memory = memory,
    .width = (int) grid->width,
    .channels = channels,
    .pixel_stride = (int) grid->column,
    .channel_stride = channels > 1 ? (int) grid->channel : grid->bytes,
    .depth = depth > 0 ? depth : 8 * grid->bytes,
  };
}

PicturesStatus
pictures_get (
    const Array *array, int depth, const char *name, Pictures *pictures)
{
  Image *image = &pictures->first;
  Grid grid;
  int64_t pixel, row_bytes;
  bool planar;

  memset (pictures, 0, sizeof *pictures);
  if (!find_grid (array, name, &grid, pictures))
    return PICTURES_REFUSED;
  settle_strides (&grid);
  pixel = grid.channel * (grid.channels - 1) + grid.bytes;
  planar = grid.channel < grid.bytes || pixel > grid.column;
  if (planar)
    pixel = grid.bytes;
  row_bytes = grid.column * (grid.width - 1) + pixel;
  if (grid.height == 1)
    grid.row = row_bytes;
  if (grid.column < pixel || row_bytes > IMAGE_MAX_ROW_BYTES
      || (grid.row < row_bytes && -grid.row < row_bytes))
    return PICTURES_SCATTERED;
  if (grid.bytes == 2
      && (grid.column % 2 != 0 || (!planar && grid.channel % 2 != 0)))
    return PICTURES_SCATTERED;

  image->n_planes = image->n_memories = planar ? (int) grid.channels : 1;
  for (int p = 0; p < image->n_planes; p++) {
    image->plane[p] =
        make_plane (&grid, p, planar ? 1 : (int) grid.channels, depth);
    image->memory[p] = (ImageMemory){
      .data = array->data + p * grid.channel,
      .stride = (ptrdiff_t) grid.row,
      .row_bytes = (size_t) row_bytes,
      .height = (int) grid.height,
    };
    pictures->gaps = pictures->gaps || !image_is_packed (&image->plane[p]);
  }
  return PICTURES_READY;
}

Image
pictures_at (const Pictures *pictures, int64_t i)
{
  Image image = pictures->first;

  for (int m = 0; m < image.n_memories; m++)
    image.memory[m].data += i * pictures->step;
  return image;
}
