/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* divide: integer division rounded up. Not a public header. */
#pragma once

/* n / by rounded up, for n >= 0 and by > 0 whose sum fits an int. */
static inline int
divide_up (int n, int by)
{
  return (n + by - 1) / by;
}

/* The least multiple of `unit` that is at least n, within the same limits. */
static inline int
round_up (int n, int unit)
{
  return divide_up (n, unit) * unit;
}
