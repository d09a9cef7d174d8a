/* erfinv, binary32, correctly rounded: 16 lanes of AVX-512, coefficients by permutation.
 * SPDX-License-Identifier: MIT
 * Four segments per binade of w = 1 - |x|, degree 6, in binary32, give high + low, from 0 to
 * 2^-29 of its value below the result; a lane is open where these limits round apart.  Lanes of the
 * far tail, the last floats below 1, tiny ones and special values are done 64 at a time where many
 * of them come together; the former two are closed up for that.  docs/accuracy-f32.md. */
#include "erfinv_f32_second.h"

#include <immintrin.h>

#define SIGN 0x80000000u
#define QUIET 0x00400000u
#define INFINITE 0x7f800000u
#define SMALLEST_NORMAL 0x00800000u
#define ONE 0x3f800000u
#define TINY 0x20000000u /* 2^-63: no step has a subnormal result from here on */
#define TINY_BITS 0x60000000u
#define FAR_TAIL 0x3f7ec000u    /* 1 - 5/4 * 2^-8 */
#define LIMIT 0x1.fdcp-1f       /* 1 - 9/8 * 2^-8, in the segment of NaN */
#define TABLE_BREAK 0x3f7ff800u /* 1 - 2^-13 */

enum { VECTORS = 4, GROUP = 16 * VECTORS, MANY = 8 };

typedef const float table[8][32];

/* Lanes of a kind are closed up if a group has no more than CROWD, in blocks from WORTH_IT on. */
enum { CROWD = 40, WORTH_IT = 256 };

/* Lanes set aside, closed up; far[i] and last[i] have those of the group from place[i] on. */
struct aside {
    unsigned crowd, groups, far_count, last_count;
    uint16_t place[LUCID_F32_BLOCK / GROUP];
    uint64_t far[LUCID_F32_BLOCK / GROUP], last[LUCID_F32_BLOCK / GROUP];
    _Alignas(64) float far_x[LUCID_F32_BLOCK + 16], last_x[LUCID_F32_BLOCK + 16];
};

static inline __m512i all(uint32_t pattern) {
    return _mm512_set1_epi32((int)pattern);
}

static inline __m512i bits(__m512 v) {
    return _mm512_castps_si512(v);
}

static inline __m512 floats(__m512i v) {
    return _mm512_castsi512_ps(v);
}

/* a <= |x| < b, as patterns, of the lanes in k. */
static inline __mmask16 between(__mmask16 k, __m512i x, uint32_t a, uint32_t b) {
    return _mm512_mask_cmplt_epu32_mask(k, _mm512_sub_epi32(x, all(a)), all(b - a));
}

static inline __m512 pick(const float line[32], __m512i index) {
    return _mm512_permutex2var_ps(_mm512_loadu_ps(line), index, _mm512_loadu_ps(line + 16));
}

static inline uint64_t together(const __mmask16 k[VECTORS]) {
    return _mm512_kunpackd(_mm512_kunpackw(k[3], k[2]), _mm512_kunpackw(k[1], k[0]));
}

/* r = erfinv(x) where the rounding is sure, x elsewhere; sure[v] has a bit for each of the former
 * lanes.  Segments from |x| = `limit` on are left out.  Step by step for all vectors, so that
 * their latencies overlap. */
static inline __attribute__((always_inline)) void quick(table t, float limit, const float *x,
                                                        __m512 *r, __mmask16 *sure) {
    __m512 a[VECTORS], h[VECTORS], u[VECTORS], high[VECTORS], low[VECTORS];
    __m512i segment[VECTORS];
#define EACH for (int v = 0; v < VECTORS; v++)
    /* min(|x|, limit), and limit for a NaN */
    EACH a[v] = _mm512_range_ps(_mm512_loadu_ps(x + 16 * v), _mm512_set1_ps(limit), 0xa);
    EACH segment[v] =
        _mm512_srli_epi32(bits(_mm512_sub_ps(_mm512_set1_ps(0x1.fffffep-1f), a[v])), 21);
    /* Subnormal results are slow: h = 0 in tiny lanes. */
    EACH sure[v] = _mm512_test_epi32_mask(bits(a[v]), all(TINY_BITS));
    EACH h[v] = _mm512_maskz_sub_ps(sure[v], a[v], pick(t[0], segment[v])); /* exact */
    EACH u[v] = pick(t[7], segment[v]);
    for (int k = 6; k >= 3; k--)
        EACH u[v] = _mm512_fmadd_ps(u[v], h[v], pick(t[k], segment[v]));
    EACH u[v] = _mm512_fmadd_ps(u[v], h[v], _mm512_set1_ps(lucid_f32_permute_c1_low));
    EACH {
        /* y0 + h * (c1 + u) as high + low; y0 - high is exact. */
        __m512 y0 = pick(t[1], segment[v]), c1 = pick(t[2], segment[v]);
        high[v] = _mm512_fmadd_ps(h[v], c1, y0);
        low[v] = _mm512_fmadd_ps(h[v], c1, _mm512_sub_ps(y0, high[v]));
        low[v] = _mm512_fmadd_ps(h[v], u[v], low[v]);
    }
    EACH {
        __m512 below = _mm512_add_ps(high[v], low[v]);
        __m512 above = _mm512_fmadd_ps(high[v], _mm512_set1_ps(0x1p-29f), low[v]);
        above = _mm512_add_ps(high[v], above);
        sure[v] = _mm512_mask_cmp_ps_mask(sure[v], above, below, _CMP_EQ_OQ);
        __m512i in = _mm512_loadu_si512(x + 16 * v);
        r[v] = floats(_mm512_mask_ternarylogic_epi32(in, sure[v], bits(below), all(SIGN), 0xec));
    }
#undef EACH
}

/* |x| < 2^-63, where erfinv(x) = x * sqrt(pi)/2 * (1 + 2^-126), in double. */
static unsigned tiny_lanes(float *y, uint64_t lanes) {
    __m512d scale = _mm512_set1_pd(0x1.c5bf891b4ef6bp-1);
    unsigned underflow = 0;
    for (; lanes; lanes >>= 8, y += 8) {
        __m256 x = _mm256_loadu_ps(y);
        __m256 r = _mm512_cvtpd_ps(_mm512_mul_pd(_mm512_cvtps_pd(x), scale));
        _mm256_mask_storeu_ps(y, (__mmask8)lanes, r);
        __m256i a = _mm256_slli_epi32(_mm256_castps_si256(r), 1);
        __m256i zero_last = _mm256_sub_epi32(a, _mm256_set1_epi32(1));
        underflow |= _mm256_mask_cmplt_epu32_mask(
            (__mmask8)lanes, zero_last, _mm256_set1_epi32((int)(2 * SMALLEST_NORMAL - 1)));
    }
    return underflow ? LUCID_UNDERFLOW : 0;
}

/* |x| > 1 or NaN */
static unsigned outside_lanes(float *y, uint64_t lanes) {
    unsigned invalid = 0;
    for (; lanes; lanes >>= 16, y += 16) {
        __mmask16 k = (__mmask16)lanes;
        __m512i x = bits(_mm512_loadu_ps(y)), a = bits(_mm512_abs_ps(floats(x)));
        __mmask16 nan = between(k, a, INFINITE + 1, SIGN);
        __m512i r = _mm512_mask_or_epi32(all(INFINITE | QUIET), nan, x, all(QUIET));
        _mm512_mask_storeu_ps(y, k, floats(r));
        invalid |= (k & ~nan) | _mm512_mask_testn_epi32_mask(nan, a, all(QUIET));
    }
    return invalid ? LUCID_INVALID : 0;
}

/* 1 - 2^-13 <= |x| <= 1 */
static unsigned last_lanes(float *y, uint64_t lanes) {
    unsigned one = 0;
    for (; lanes; lanes >>= 16, y += 16) {
        __mmask16 k = (__mmask16)lanes;
        __m512i x = bits(_mm512_loadu_ps(y));
        __m512i steps = _mm512_sub_epi32(all(ONE), _mm512_andnot_si512(all(SIGN), x));
        __m512 r = _mm512_mask_i32gather_ps(floats(x), k, steps, lucid_f32_last, 4);
        r = floats(_mm512_ternarylogic_epi32(x, bits(r), all(SIGN), 0xec));
        _mm512_mask_storeu_ps(y, k, r);
        one |= _mm512_mask_testn_epi32_mask(k, steps, steps);
    }
    return one ? LUCID_DIVIDE : 0;
}

/* The first n lanes of a group. */
static inline uint64_t first_lanes(unsigned n) {
    return n < GROUP ? ((uint64_t)1 << n) - 1 : ~(uint64_t)0;
}

static inline uint64_t gather_masks(uint64_t masks, __mmask16 k, int v) {
    return masks | (uint64_t)k << (16 * v);
}

/* 1 - 5/4 * 2^-8 <= |x| < 1 - 2^-13; returns the lanes left open. */
static inline __attribute__((always_inline)) uint64_t far_lanes(float *y, uint64_t lanes) {
    __m512 r[VECTORS];
    __mmask16 sure[VECTORS];
    quick(lucid_f32_permute + 8, 1, y, r, sure);
    for (int v = 0; v < VECTORS; v++) {
        sure[v] &= (__mmask16)(lanes >> (16 * v));
        _mm512_mask_storeu_ps(y + 16 * v, sure[v], r[v]);
    }
    return lanes & ~together(sure);
}

/* Not by a compressing store: those are slow on some CPUs. */
static inline float *close_up(float *to, __mmask16 k, __m512 x) {
    _mm512_storeu_ps(to, _mm512_maskz_compress_ps(k, x));
    return to + __builtin_popcount(k);
}

static void set_aside(struct aside *aside, const float *y, size_t i, uint64_t far, uint64_t last) {
    float *far_x = aside->far_x + aside->far_count, *last_x = aside->last_x + aside->last_count;
    aside->place[aside->groups] = (uint16_t)i;
    aside->far[aside->groups] = far;
    aside->last[aside->groups++] = last;
    aside->far_count += (unsigned)__builtin_popcountll(far);
    aside->last_count += (unsigned)__builtin_popcountll(last);
    for (int v = 0; v < VECTORS; v++) {
        __m512 x = _mm512_loadu_ps(y + i + 16 * v);
        far_x = close_up(far_x, (__mmask16)(far >> (16 * v)), x);
        last_x = close_up(last_x, (__mmask16)(last >> (16 * v)), x);
    }
}

/* Does the lanes of a kind if more than `crowd` are here, else sets them aside; returns those left
 * open. */
static __attribute__((noinline)) uint64_t tail_lanes(struct aside *aside, float *y, size_t i,
                                                     uint64_t far, uint64_t last, unsigned *flags) {
    uint64_t open = 0;
    if ((unsigned)__builtin_popcountll(far) > aside->crowd) {
        open = far_lanes(y + i, far);
        far = 0;
    }
    if ((unsigned)__builtin_popcountll(last) > aside->crowd) {
        *flags |= last_lanes(y + i, last);
        last = 0;
    }
    if (far | last)
        set_aside(aside, y, i, far, last);
    return open;
}

static void put_back(const struct aside *aside, float *y) {
    const float *far_x = aside->far_x, *last_x = aside->last_x;
    for (unsigned i = 0; i < aside->groups; i++) {
        float *to = y + aside->place[i];
        uint64_t far = aside->far[i], last = aside->last[i];
        for (int v = 0; v < VECTORS; v++, to += 16) {
            __mmask16 kf = (__mmask16)(far >> (16 * v)), kl = (__mmask16)(last >> (16 * v));
            __m512 r = _mm512_loadu_ps(to);
            r = _mm512_mask_expand_ps(r, kf, _mm512_loadu_ps(far_x));
            r = _mm512_mask_expand_ps(r, kl, _mm512_loadu_ps(last_x));
            _mm512_storeu_ps(to, r);
            far_x += __builtin_popcount(kf);
            last_x += __builtin_popcount(kl);
        }
    }
}

/* Does the lanes set aside and puts them back. */
static __attribute__((noinline)) unsigned do_aside(struct aside *aside, struct open_lanes *list,
                                                   float *y, size_t *second) {
    unsigned flags = 0;
    for (unsigned i = 0; i < aside->last_count; i += GROUP)
        flags |= last_lanes(aside->last_x + i, first_lanes(aside->last_count - i));
    list->count = 0;
    for (unsigned i = 0; i < aside->far_count; i += GROUP)
        list_open(list, far_lanes(aside->far_x + i, first_lanes(aside->far_count - i)), i);
    *second += list->count;
    flags |= do_open(list, aside->far_x);
    put_back(aside, y);
    return flags;
}

/* Does the lanes `open` of y, which hold x, except those of the far tail, the last floats and those
 * whose rounding only is in doubt; these it returns. */
static __attribute__((noinline)) uint64_t special(float *y, uint64_t open, uint64_t *in_far,
                                                  uint64_t *in_last, unsigned *flags) {
    uint64_t far = 0, last = 0, small = 0, outside = 0;
    for (int v = 0; v < VECTORS; v++) {
        __mmask16 k = (__mmask16)(open >> (16 * v));
        __m512i a = bits(_mm512_abs_ps(_mm512_loadu_ps(y + 16 * v)));
        far = gather_masks(far, between(k, a, FAR_TAIL, TABLE_BREAK), v);
        last = gather_masks(last, between(k, a, TABLE_BREAK, ONE + 1), v);
        small = gather_masks(small, between(k, a, 0, TINY), v);
        outside = gather_masks(outside, between(k, a, ONE + 1, SIGN), v);
    }
    open &= ~(far | last | small | outside);
    *in_far = far;
    *in_last = last;
    if (small)
        *flags |= tiny_lanes(y, small);
    if (outside)
        *flags |= outside_lanes(y, outside);
    return open;
}

/* x and y hold a multiple of GROUP. */
static unsigned block(const float *x, float *y, size_t n, size_t *second) {
    uint64_t sure[LUCID_F32_BLOCK / GROUP];
    struct open_lanes list;
    struct aside aside;
    unsigned flags = 0;
    for (size_t i = 0; i < n; i += GROUP) {
        __m512 r[VECTORS];
        __mmask16 k[VECTORS];
        quick(lucid_f32_permute, LIMIT, x + i, r, k);
        for (size_t v = 0; v < VECTORS; v++)
            _mm512_storeu_ps(y + i + 16 * v, r[v]);
        sure[i / GROUP] = together(k);
    }
    aside.crowd = n < WORTH_IT ? 0 : CROWD;
    list.count = aside.groups = aside.far_count = aside.last_count = 0;
    for (size_t i = 0; i < n; i += GROUP) {
        uint64_t open = ~sure[i / GROUP];
        if (__builtin_popcountll(open) > MANY) {
            uint64_t far, last;
            open = special(y + i, open, &far, &last, &flags);
            if (far | last)
                open |= tail_lanes(&aside, y, i, far, last, &flags);
        }
        list_open(&list, open, i);
    }
    if (list.count) {
        *second += list.count;
        flags |= do_open(&list, y);
    }
    if (aside.groups)
        flags |= do_aside(&aside, &list, y, second);
    return flags;
}

unsigned LUCID_NAME(lucid_erfinv_f32_permute)(const float *x, float *y, size_t n) {
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
        uint64_t lanes = ((uint64_t)1 << n) - 1;
        for (int v = 0; v < VECTORS; v++, lanes >>= 16) {
            __m512 half = _mm512_set1_ps(0.5f);
            _mm512_storeu_ps(padded + 16 * v,
                             _mm512_mask_loadu_ps(half, (__mmask16)lanes, x + 16 * v));
        }
        flags |= block(padded, padded, GROUP, &second);
        lanes = ((uint64_t)1 << n) - 1;
        for (int v = 0; v < VECTORS; v++, lanes >>= 16)
            _mm512_mask_storeu_ps(y + 16 * v, (__mmask16)lanes, _mm512_loadu_ps(padded + 16 * v));
    }
    if (second)
        lucid_count(LUCID_F32_SECOND, second);
    return flags;
}
