/* erfinv, binary64, correctly rounded: the kernel of the levels with fused multiply-add.
 * SPDX-License-Identifier: MIT
 * First phase: a 64-byte line of coefficients, picked by 1 - |x|, and c such that the double y0 is
 * erfinv(c) to 2^-64: y = y0 + h (c1 + h (c2 + ...)), h = |x| - c, comes as high + low.
 * Relative error (docs/accuracy-f64.md, proved): < 2^-63.2.
 * From 1 - 2^-33 on, h = 1 - |x| - c: this costs three steps more and is done from the first word
 * on that leaves many open.  What stays open is collected for erfinv_f64_rows.c: lanes that fail
 * the rounding test (0.1 %), tiny and special ones, and those from 1 - 2^-33 on if few.  The last
 * lanes, too few for a step, go there at once. */
#include "counters.h"
#include "erfinv.h"
#include "vec_f64.h"

enum { WORD = 64, WORDS = 8 };          /* lanes in a word of bits, words in a block */
enum { PAIR = 2, STEP = PAIR * LANES }; /* vectors worked on in step: their latencies overlap */

#define EACH for (int j = 0; j < PAIR; j++)

lucid_kernel_f64 LUCID_NAME(lucid_erfinv_f64_rows);

/* y, or x itself in the lanes whose bits it returns; far: also from 1 - 2^-33 on. */
VEC_INLINE uint64_t evaluate(const double *x, double *y, const uint64_t *at, int far) {
    enum { C, C6, C5, C4, C3, C2, C1, Y0, HALF = LUCID_F64_LINE / 2 };
    const double *table = lucid_f64_lines[0];
    vec k[PAIR][LUCID_F64_LINE], h[PAIR], h2[PAIR], c7[PAIR], c1_low[PAIR], r[PAIR];
    vec high[PAIR], low[PAIR];
    vec_mask usable[PAIR];
    uint64_t open = 0;
    EACH vec_columns(table, at + j * LANES, HALF, k[j]);
    EACH {
        vec a = vec_abs(vec_load(x + j * LANES));
        usable[j] = vec_usable(a, LUCID_F64_TINY);
        if (far) {
            vec w = vec_sub(vec_set(1), a);
            a = vec_choose(vec_at_most(w, vec_set(LUCID_F64_LINES_BREAK)), w, a);
        }
        h[j] = vec_usable_sub(usable[j], a, k[j][C]); /* exact */
    }
    EACH h2[j] = vec_madd(h[j], h[j], vec_set(0x1p-240)); /* an underflow would be slow */
    EACH {
        c7[j] = vec_shift_left(k[j][C5], LUCID_F64_C7_SHIFT);
        c1_low[j] = vec_shift_left(k[j][C6], LUCID_F64_C1_LOW_SHIFT);
    }
    EACH r[j] = vec_madd(h[j], c7[j], k[j][C6]);
    EACH r[j] = vec_madd(h2[j], r[j], vec_madd(h[j], k[j][C5], k[j][C4]));
    EACH vec_columns(table + HALF, at + j * LANES, HALF, k[j] + HALF);
    EACH r[j] = vec_madd(h2[j], r[j], vec_madd(h[j], k[j][C3], k[j][C2]));
    EACH r[j] = vec_madd(h[j], r[j], c1_low[j]);
    EACH high[j] = vec_madd(h[j], k[j][C1], k[j][Y0]);
    /* y0 - high is exact: |h c1| < y0 / 2, or y0 = 0. */
    EACH low[j] = vec_madd(h[j], k[j][C1], vec_sub(k[j][Y0], high[j]));
    EACH low[j] = vec_madd(h[j], r[j], low[j]);
    EACH {
        vec above = vec_add(high[j], vec_madd(high[j], vec_set(LUCID_F64_LINES_EPS), low[j]));
        vec below = vec_add(high[j], vec_madd(high[j], vec_set(-LUCID_F64_LINES_EPS), low[j]));
        vec signed_x = vec_load(x + j * LANES);
        open |= (uint64_t)vec_finish(y + j * LANES, signed_x, above, below, usable[j])
                << (j * LANES);
    }
    return open;
}

/* lanes is a multiple of STEP. */
VEC_INLINE uint64_t first_phase(const double *x, double *y, int lanes, int far) {
    const double END = far ? LUCID_F64_LINES_END : LUCID_F64_LINES_BREAK;
    uint64_t at[WORD], open = 0;
    for (int i = 0; i < lanes; i += LANES) {
        vec w = vec_sub(vec_set(1), vec_abs(vec_load(x + i)));
        vec_line(vec_max(w, vec_set(END)), at + i);
    }
    for (int i = 0; i < lanes; i += STEP) {
        open |= evaluate(x + i, y + i, at + i, far) << i;
    }
    return open;
}

static unsigned second_phase(double *y, const uint64_t *open, int words) {
    double left[WORDS * WORD];
    size_t n = 0, done = 0;
    for (int i = 0; i < words; i++) {
        for (uint64_t bits = open[i]; bits; bits &= bits - 1) {
            left[n++] = y[i * WORD + __builtin_ctzll(bits)];
        }
    }
    if (n == 0) {
        return 0;
    }
    lucid_count(LUCID_F64_SECOND, n);
    unsigned flags = LUCID_NAME(lucid_erfinv_f64_rows)(left, left, n);
    for (int i = 0; i < words; i++) {
        for (uint64_t bits = open[i]; bits; bits &= bits - 1) {
            y[i * WORD + __builtin_ctzll(bits)] = left[done++];
        }
    }
    return flags;
}

unsigned LUCID_NAME(lucid_erfinv_f64_lines)(const double *x, double *y, size_t n) {
    uint64_t open[WORDS];
    unsigned flags = 0;
    int far = 0;
    while (n >= STEP) {
        size_t lanes = n < WORDS * WORD ? n / STEP * STEP : WORDS * WORD;
        int words = 0;
        for (size_t i = 0; i < lanes; i += WORD) {
            int now = lanes - i < WORD ? (int)(lanes - i) : WORD;
            uint64_t left =
                far ? first_phase(x + i, y + i, now, 1) : first_phase(x + i, y + i, now, 0);
            far |= __builtin_popcountll(left) > WORD / 16;
            open[words++] = left;
        }
        flags |= second_phase(y, open, words);
        x += lanes;
        y += lanes;
        n -= lanes;
    }
    return n > 0 ? flags | LUCID_NAME(lucid_erfinv_f64_rows)(x, y, n) : flags;
}
