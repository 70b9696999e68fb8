/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* own-element: elements of this test program that derive from GstCudaFrameFilter, as other
 * projects' elements do.
 *
 *   ownelement   computes on the GPU and the CPU
 *   ownfields    the same, each field of an interlaced frame apart
 *   owngpu       computes on the GPU only
 *   owncpu       computes on the CPU only
 *   ownnothing   computes on neither
 *
 * They copy each row, and write OWN_VALUE into its first `mark` bytes. For each computed frame they
 * post a message `own` with the frame's slot index, and with `first`, the first byte of the
 * input. */
#pragma once

#include "elements-main.h"

#define OWN_VALUE 0x5a

/* Properties, beside those of the base class:
 *
 *   mark     bytes at the start of each row
 *   use      write, read or pass
 *   refuse   the name of a format that is not taken
 *   fail     prepare, cuda, cpu: an error there, "PLACE fails on purpose."; mute: the CPU fails
 *            and does not say why
 *   held     how many blocks for the slots exist: 1 while it is prepared, else 0; read-only */
void own_element_register (void);
