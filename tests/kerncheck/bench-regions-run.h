/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* bench-regions-run: `kerncheck --bench --regions`, which times the filter, mosaic or color of
 * some regions beside the filter and the copy of the whole picture. */
#pragma once

/* As bench_run(). */
int bench_regions_run (int argc, char **argv);
