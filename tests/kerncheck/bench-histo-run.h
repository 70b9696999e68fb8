/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* bench-histo-run: `kerncheck --bench --histo` times all histogram methods side by
 * side, over contents and sizes. */
#pragma once

/* Arguments and result as of bench_run(). */
int bench_histo_run (int argc, char **argv);
