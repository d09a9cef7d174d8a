/* erfinv, binary32, correctly rounded: plain C, in double, without FMA.
 * SPDX-License-Identifier: MIT
 * The baseline level's kernel, and where the vector kernels send what they leave open.  Sixteen
 * segments per binade of w = 1 - |x|, degree 8, relative error < 2^-52, rounded once; the last
 * 2048 floats below 1 are a table.  Right for all 2^32 inputs: exhaustive, docs/accuracy-f32.md. */
#include "erfinv.h"
#include "tables/f32.h"

#include <string.h>

enum { BLOCK = 256 };

#define SIGN 0x80000000u
#define QUIET 0x00400000u
#define INFINITE 0x7f800000u
#define SMALLEST_NORMAL 0x00800000u
#define ONE 0x3f800000u
#define HALF_ULP 0x10000000u /* of float, in ulp of double */
#define MARGIN 0x180000u
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

/* |x| >= 1 - 2^-13 */
static float beyond_rows(uint32_t x, unsigned *flags) {
    uint32_t a = x & ~SIGN;
    if (a <= ONE) {
        if (a == ONE)
            *flags |= LUCID_DIVIDE;
        return from_bits(bits(lucid_f32_last[ONE - a]) | (x & SIGN));
    }
    if (a <= INFINITE || !(a & QUIET))
        *flags |= LUCID_INVALID;
    return from_bits(a <= INFINITE ? INFINITE | QUIET : x | QUIET);
}

/* Table rows and limited values of |x|; returns whether any is beyond the rows. */
static inline int find_rows(const uint32_t *x, uint32_t *row, float *a, size_t n) {
    int32_t largest = 0;
    for (size_t i = 0; i < n; i++) {
        int32_t pattern = x[i] & ~SIGN, last = TABLE_BREAK - 1;
        largest = pattern > largest ? pattern : largest;
        a[i] = from_bits((uint32_t)(pattern < last ? pattern : last));
        /* w only chooses the segment; 1 - 2^-24 keeps it below 1 where a is tiny. */
        row[i] = (ONE - 1 - bits(0x1.fffffep-1f - a[i])) >> 19;
    }
    return largest >= (int32_t)TABLE_BREAK;
}

/* 0 <= a < 1 - 2^-13.  c0 + h * (..) rounds last; what precedes adds less than half an ulp, except
 * in segment 0, where c0 = 0 and the product rounds.  The terms from h^6 on are below 2^-33.1 of
 * the value, or 2^20 ulp, and are left out where that cannot change the float. */
static inline double polynomial(const double *c, float a) {
    double h = (double)a - *c++; /* exact */
    double h2 = h * h;
    double low = (c[2] + h * c[3]) + h2 * (c[4] + h * c[5]);
    double value = c[0] + h * (c[1] + h * low);
    uint64_t pattern;
    memcpy(&pattern, &value, sizeof pattern);
    if (((uint32_t)pattern - HALF_ULP + MARGIN) % (2 * HALF_ULP) > 2 * MARGIN)
        return value;
    double high = (c[6] + h * c[7]) + h2 * c[8];
    return c[0] + h * (c[1] + h * (low + h2 * h2 * high));
}

/* Pass by pass: those without table are vectorised, and none waits for its own loads. */
static unsigned block(const float *x, float *y, size_t n) {
    uint32_t pattern[BLOCK], row[BLOCK];
    float a[BLOCK];
    double value[BLOCK];
    memcpy(pattern, x, n * sizeof *x);
    int beyond = find_rows(pattern, row, a, n);
    for (size_t i = 0; i < n; i++)
        value[i] = polynomial(lucid_f32_double[row[i]], a[i]);
    uint32_t underflow = 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t r = bits((float)value[i]);
        underflow |= r - 1 < SMALLEST_NORMAL - 1;
        y[i] = from_bits(r | (pattern[i] & SIGN));
    }
    unsigned flags = underflow ? LUCID_UNDERFLOW : 0;
    for (size_t i = 0; beyond && i < n; i++) {
        if ((pattern[i] & ~SIGN) >= TABLE_BREAK)
            y[i] = beyond_rows(pattern[i], &flags);
    }
    return flags;
}

unsigned lucid_erfinv_f32_scalar(const float *x, float *y, size_t n) {
    unsigned flags = 0;
    for (size_t now; n; x += now, y += now, n -= now) {
        now = n < BLOCK ? n : BLOCK;
        flags |= block(x, y, now);
    }
    return flags;
}
