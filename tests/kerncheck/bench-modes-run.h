/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* bench-modes-run: `kerncheck --bench --modes` times the equalizer (with one table and with
 * tiles), the overlay, and a filter in linear light beside the plain filter. */
#pragma once

/* Arguments and result as of bench_run(). */
int bench_modes_run (int argc, char **argv);
