/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* bench-histo-run: `kerncheck --bench --histo`, which times all histogram methods
 * side by side, over contents as well as sizes. */
#pragma once

/* As bench_run(). */
int bench_histo_run (int argc, char **argv);
