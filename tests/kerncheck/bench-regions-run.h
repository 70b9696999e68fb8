/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* bench-regions-run: `kerncheck --bench --regions` times the blur, mosaic or colour fill of
 * some regions beside the filter and the copy of the whole picture. */
#pragma once

/* Arguments and result as of bench_run(). */
int bench_regions_run (int argc, char **argv);
