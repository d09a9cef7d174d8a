/* erfinv, binary32, correctly rounded: 8 lanes of AVX2 or 4 of NEON, coefficients by row.
 * SPDX-License-Identifier: MIT
 * Eight segments per binade of w = 1 - |x|, degree 5, in binary32, give high + low, from 0
 * to 2^-29 of its value below the result; a lane is open where these limits round apart, and so
 * are the last floats below 1, tiny ones and special values.  docs/accuracy-f32.md has the bounds.
 */
#include "erfinv_f32_second.h"
#include "vec_f32.h"

#define SIGN 0x80000000u
#define ONE 0x3f800000u
#define SMALLEST_NORMAL 0x00800000u
#define TABLE_BREAK 0x3f7ff800u /* 1 - 2^-13 */
#define TINY 0x12800000u        /* 2^-90: few steps have subnormal results from here on */
#define FAR_TAIL 0x3f7ff000u    /* 1 - 2^-12: the end of the rows */

enum { VECTORS = 4, GROUP = VECTORS * LANES, MANY = GROUP / 4 };

/* 0 and TINY <= |x| < 1 - 2^-12; all else becomes 1 - 2^-12, for which there is a row of NaN: with
 * tiny numbers, steps would have subnormal results, which are slow. */
static inline vec limited(vec_bits pattern) {
    vec_bits beyond =
        vec_bits_min(vec_bits_sub(pattern, vec_bits_set(TINY)), vec_bits_set(FAR_TAIL - TINY));
    vec_mask zero = vec_bits_equal(pattern, vec_bits_set(0));
    return vec_choose(zero, vec_set(0), vec_from_bits(vec_bits_add(beyond, vec_bits_set(TINY))));
}

/* Offsets of the rows in bytes.  In a pass of its own: then the next one does not wait for its
 * loads. */
static inline void find_rows(const float *x, uint32_t *row, size_t n) {
    for (size_t i = 0; i < n; i += LANES) {
        vec a = limited(vec_bits_and(vec_to_bits(vec_load(x + i)), vec_bits_set(~SIGN)));
        vec_bits below_one = vec_bits_sub(vec_bits_set(0x3f7fffffu),
                                          vec_to_bits(vec_sub(vec_set(0x1.fffffep-1f), a)));
        vec_bits_store(row + i, vec_bits_and(vec_bits_right(below_one, 15), vec_bits_set(~31u)));
    }
}

/* y = erfinv(x) where the rounding is sure, x elsewhere; the result has a bit for each of the
 * former lanes.  Step by step for all vectors of a group, so that their latencies overlap. */
static inline uint64_t quick(const float *x, const uint32_t *row, float *y) {
    const float *table = lucid_f32_rows[0];
    vec_bits sign[VECTORS], pattern[VECTORS];
    vec h[VECTORS], u[VECTORS], high[VECTORS], low[VECTORS], c[VECTORS][4];
    uint64_t sure = 0;
#define EACH for (int v = 0; v < VECTORS; v++)
    EACH {
        vec_bits in = vec_to_bits(vec_load(x + v * LANES));
        sign[v] = vec_bits_and(in, vec_bits_set(SIGN));
        pattern[v] = vec_bits_sub(in, sign[v]);
        vec_columns(table, row + v * LANES, c[v]);
        h[v] = vec_sub(vec_from_bits(pattern[v]), c[v][0]); /* exact */
        u[v] = vec_madd(vec_madd(c[v][1], h[v], c[v][2]), h[v], c[v][3]);
    }
    EACH {
        vec_columns(table + 4, row + v * LANES, c[v]);
        /* y0 + h * (c1 + u) as high + low; y0 - high is exact. */
        vec c1 = c[v][2], y0 = c[v][3];
        u[v] = vec_madd(vec_madd(u[v], h[v], c[v][0]), h[v], c[v][1]);
        high[v] = vec_madd(h[v], c1, y0);
        low[v] = vec_madd(h[v], u[v], vec_madd(h[v], c1, vec_sub(y0, high[v])));
    }
    EACH {
        vec below = vec_add(high[v], low[v]);
        vec above = vec_add(high[v], vec_madd(high[v], vec_set(0x1p-29f), low[v]));
        vec_mask k = vec_equal(below, above);
        vec result = vec_choose(k, below, vec_from_bits(pattern[v]));
        vec_store(y + v * LANES, vec_from_bits(vec_bits_or(vec_to_bits(result), sign[v])));
        sure |= (uint64_t)vec_lanes(k) << (v * LANES);
    }
#undef EACH
    return sure;
}

/* Does those of the lanes `open` of y, which hold x, that are tiny or among the last floats below
 * 1, and returns the others.  For data that are full of them. */
static __attribute__((noinline)) uint64_t special(float *y, uint64_t open, unsigned *flags) {
    uint64_t last = 0, tiny = 0;
    for (int v = 0; v < VECTORS; v++) {
        vec_bits a = vec_bits_and(vec_to_bits(vec_load(y + v * LANES)), vec_bits_set(~SIGN));
        vec_bits tiny_or_more = vec_bits_max(a, vec_bits_set(TINY));
        vec_mask small = vec_bits_equal(tiny_or_more, vec_bits_set(TINY));
        vec_mask large = vec_both(vec_bits_equal(vec_bits_max(a, vec_bits_set(TABLE_BREAK)), a),
                                  vec_bits_equal(vec_bits_min(a, vec_bits_set(ONE - 1)), a));
        tiny |= (uint64_t)vec_lanes(small) << (v * LANES);
        last |= (uint64_t)vec_lanes(large) << (v * LANES);
    }
    last &= open;
    tiny &= open;
    for (uint64_t k = last; k; k &= k - 1) {
        float *here = y + __builtin_ctzll(k);
        uint32_t x, r;
        memcpy(&x, here, sizeof x);
        memcpy(&r, lucid_f32_last + (ONE - (x & ~SIGN)), sizeof r);
        r |= x & SIGN;
        memcpy(here, &r, sizeof r);
    }
    uint32_t underflow = 0;
    for (uint64_t k = tiny; k; k &= k - 1) {
        float *here = y + __builtin_ctzll(k);
        float r = (float)(*here * 0x1.c5bf891b4ef6bp-1); /* in double */
        uint32_t pattern;
        memcpy(&pattern, &r, sizeof pattern);
        underflow |= (pattern & ~SIGN) - 1 < SMALLEST_NORMAL - 1;
        *here = r;
    }
    *flags |= underflow ? LUCID_UNDERFLOW : 0;
    return open & ~(last | tiny);
}

static unsigned block(const float *x, float *y, size_t n, size_t *second) {
    uint32_t row[LUCID_F32_BLOCK];
    struct open_lanes list;
    struct {
        size_t begin;
        uint64_t open;
    } crowded[LUCID_F32_BLOCK / GROUP]; /* later: each would wait for its quick() to end */
    unsigned flags = 0, count = 0;
    find_rows(x, row, n);
    list.count = 0;
    for (size_t i = 0; i < n; i += GROUP) {
        uint64_t open = ((uint64_t)1 << GROUP) - 1;
        open ^= quick(x + i, row + i, y + i);
        if (__builtin_popcountll(open) > MANY) {
            crowded[count].begin = i;
            crowded[count++].open = open;
        } else {
            list_open(&list, open, i);
        }
    }
    for (unsigned k = 0; k < count; k++) {
        size_t i = crowded[k].begin;
        list_open(&list, special(y + i, crowded[k].open, &flags), i);
    }
    if (list.count) {
        *second += list.count;
        flags |= do_open(&list, y);
    }
    return flags;
}

unsigned LUCID_NAME(lucid_erfinv_f32_rows)(const float *x, float *y, size_t n) {
    if (n < FEW)
        return lucid_erfinv_f32_scalar(x, y, n);
    unsigned flags = 0;
    size_t second = 0;
    while (n >= GROUP) {
        size_t now = n < LUCID_F32_BLOCK ? n / GROUP * GROUP : LUCID_F32_BLOCK;
        flags |= block(x, y, now, &second);
        x += now, y += now, n -= now;
    }
    if (n) {
        float padded[GROUP];
        for (size_t i = 0; i < GROUP; i++)
            padded[i] = i < n ? x[i] : 0.5f;
        flags |= block(padded, padded, GROUP, &second);
        memcpy(y, padded, n * sizeof *y);
    }
    if (second)
        lucid_count(LUCID_F32_SECOND, second);
    return flags;
}
