/* The slow path: which of two neighbours is the correctly rounded erfinv(x).
 * SPDX-License-Identifier: MIT */
#ifndef LUCID_EXACT_H
#define LUCID_EXACT_H

enum { LUCID_EXACT_STAGES = 3 };

/* 0 < x < 1 and 0 <= a < b are adjacent doubles with a <= erfinv(x) <= b: returns the nearer one.
 * Subnormal values included. */
double lucid_erfinv_exact(double x, double a, double b);

/* One stage of the above on its own: -1 for a, +1 for b, 0 where it cannot tell. */
int lucid_erfinv_exact_at(int stage, double x, double a, double b);

#endif
