/* erfinv, binary32, correctly rounded: one element at a time, in double, without FMA.
 * SPDX-License-Identifier: MIT
 * The baseline level's kernel, and where the vector kernels send what they leave open.  Sixteen
 * segments per binade of w = 1 - |x|, degree 8, relative error < 2^-52, rounded once; the last
 * 2048 floats below 1 are a table.  Right for all 2^32 inputs: exhaustive, docs/accuracy-f32.md. */
#include "erfinv.h"
#include "tables/f32.h"

#include <string.h>

#define SIGN 0x80000000u
#define QUIET 0x00400000u
#define INFINITE 0x7f800000u
#define SMALLEST_NORMAL 0x00800000u
#define ONE 0x3f800000u
#define LINEAR 0x1f800000u      /* 2^-64 */
#define TABLE_BREAK 0x3f7ff800u /* 1 - 2^-13 */

static inline uint32_t bits(float value) {
    uint32_t pattern;
    memcpy(&pattern, &value, sizeof pattern);
    return pattern;
}

static inline float from_bits(uint32_t pattern) {
    float value;
    memcpy(&value, &pattern, sizeof value);
    return value;
}

/* |x| >= 1 - 2^-13, a = |x|'s pattern. */
static float beyond_table_break(uint32_t x, uint32_t a, unsigned *flags) {
    if (a <= ONE) {
        if (a == ONE)
            *flags |= LUCID_DIVIDE;
        return from_bits(bits(lucid_f32_last[ONE - a]) | (x & SIGN));
    }
    if (a <= INFINITE || !(a & QUIET))
        *flags |= LUCID_INVALID;
    return from_bits(a <= INFINITE ? INFINITE | QUIET : x | QUIET);
}

/* 0 <= a < 2^-64, where erfinv(a) = a * sqrt(pi)/2 * (1 + 2^-130). */
static inline double linear(float a) {
    return (double)a * 0x1.c5bf891b4ef6bp-1;
}

/* 2^-64 <= a < 1 - 2^-13.  c0 + h * (..) rounds last: what precedes adds less than 2^-5 ulp, except
 * in segment 0, where c0 = 0 and the product rounds. */
static inline double polynomial(float a) {
    /* w only chooses the segment; 1 - 2^-24 keeps it below 1 where a is tiny. */
    float w = 0x1.fffffep-1f - a;
    const double *c = lucid_f32_double[(ONE - 1 - bits(w)) >> 19];
    double h = (double)a - *c++; /* exact */
    double h2 = h * h;
    double high = (c[4] + h * c[5]) + h2 * ((c[6] + h * c[7]) + h2 * c[8]);
    return c[0] + h * (c[1] + h * ((c[2] + h * c[3]) + h2 * high));
}

unsigned lucid_erfinv_f32_scalar(const float *x, float *y, size_t n) {
    unsigned flags = 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t pattern = bits(x[i]), a = pattern & ~SIGN;
        if (a >= TABLE_BREAK) {
            y[i] = beyond_table_break(pattern, a, &flags);
            continue;
        }
        uint32_t r = bits((float)(a < LINEAR ? linear(from_bits(a)) : polynomial(from_bits(a))));
        if (r - 1 < SMALLEST_NORMAL - 1)
            flags |= LUCID_UNDERFLOW;
        y[i] = from_bits(r | (pattern & SIGN));
    }
    return flags;
}
