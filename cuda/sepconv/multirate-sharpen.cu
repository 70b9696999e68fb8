/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The kernels of multirate for unsharp masks of bytes: apart from the others, as they take as long to
 * compile. */
#include "multirate-interpolate-bytes.cuh"

void (*const multirate_sharpen_bytes[2]) (MultirateFrame) = {
  multirate_interpolate_bytes<false, true>,
  multirate_interpolate_bytes<true, true>,
};
