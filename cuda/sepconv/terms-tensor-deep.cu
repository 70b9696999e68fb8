/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* terms-tensor-deep: the kernels of terms-tensor for samples as sums of two FP16 values: in a
 * file of their own, as they take as long to compile as all others. */
#include "terms-march.cuh"

#define VARIANTS_OF(mode) \
  terms_variant<2, 2, 2, false, mode, true> (), \
      terms_variant<2, 2, 2, true, mode, true> (), \
      terms_variant<3, 2, 2, false, mode, true> (), \
      terms_variant<3, 2, 2, true, mode, true> ()

const TermsTensorVariant terms_deep_variants[TERMS_N_DEEP] = {
  VARIANTS_OF (TERMS_SHARPEN),
  VARIANTS_OF (TERMS_SHARPEN_ABOVE),
  VARIANTS_OF (TERMS_ADD),
  VARIANTS_OF (TERMS_GRADIENT),
  VARIANTS_OF (TERMS_ANGLE),
};
