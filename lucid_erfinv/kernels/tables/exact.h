/* Constants of the float64 slow path, written by gen_exact.py.  SPDX-License-Identifier: MIT */
#ifndef LUCID_TABLES_EXACT_H
#define LUCID_TABLES_EXACT_H

#include <stdint.h>

/* Words stand with the most significant one first. */
struct lucid_exact_node {
    uint64_t x[2]; /* sqrt(pi)/2 * exp(t^2) * erfc(t), scale 2^-126, t = row / 64 */
    uint64_t e[3]; /* sqrt(pi)/2 * exp(t^2), scale 2^-126 */
};

enum { LUCID_EXACT_TERMS = 20, LUCID_EXACT_SERIES = 9, LUCID_EXACT_WORDS = 31 };

extern const struct lucid_exact_node lucid_exact_node[377];
extern const uint64_t lucid_exact_weight[LUCID_EXACT_TERMS];
extern const uint64_t lucid_exact_series[LUCID_EXACT_SERIES][2];
extern const uint64_t lucid_exact_half_sqrt_pi[LUCID_EXACT_WORDS];

#endif
