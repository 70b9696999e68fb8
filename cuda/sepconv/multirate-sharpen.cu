/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* multirate-sharpen: the kernels of multirate for unsharp masks of bytes. They take as long to
 * compile as all others of multirate, and so have a file of their own, which is compiled in
 * parallel. */
#include "multirate-interpolate-bytes.cuh"

void (*const multirate_sharpen_bytes[MULTIRATE_N_RESULT_WAYS]) (
    MultirateFrame) = {
  multirate_interpolate_bytes<MULTIRATE_RESULT_ANY, true>,
  multirate_interpolate_bytes<MULTIRATE_RESULT_PLAIN, true>,
  multirate_interpolate_bytes<MULTIRATE_RESULT_KEEPS, true>,
};
