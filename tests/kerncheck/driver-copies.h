/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* driver-copies: the number of copies that the driver was asked for. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Counts from the start of the program. False: this driver does not count copies. */
bool driver_copies (uint64_t *n);

#ifdef __cplusplus
}
#endif
