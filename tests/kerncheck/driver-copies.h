/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* driver-copies: how many copies the driver was asked for. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Since the program began. False: this driver does not count them. */
bool driver_copies (uint64_t *n);

#ifdef __cplusplus
}
#endif
