/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* bench-run: `kerncheck --bench`, which times all methods side by side: those of
 * filters, with --histo those of histograms (bench-histo-run), with --modes those of equaliser,
 * overlay and light (bench-modes-run), or with --regions parts of pictures (bench-regions-run). */
#pragma once

/* Takes kerncheck's whole command line; returns its exit status: 0, 1 when
 * something failed, 2 for bad options. */
int bench_run (int argc, char **argv);
