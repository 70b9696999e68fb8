/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* bench-run: `kerncheck --bench` times all methods side by side: filters, with --histo histograms
 * (bench-histo-run), with --modes equalizer, overlay and linear light (bench-modes-run), with
 * --regions parts of pictures (bench-regions-run). */
#pragma once

/* Takes kerncheck's whole command line. Returns the exit status: 0, 1 when something failed, 2 for
 * invalid options. */
int bench_run (int argc, char **argv);
