/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* bench-modes-run: `kerncheck --bench --modes`, which times the equaliser, by one table and by
 * tiles, the overlay, and a filter in linear light beside the plain one. */
#pragma once

/* As bench_run(). */
int bench_modes_run (int argc, char **argv);
