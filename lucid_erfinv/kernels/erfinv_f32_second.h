/* Second phase of the vector kernels of binary32: lanes whose rounding the first left open.
 * SPDX-License-Identifier: MIT
 * They are listed by their place in the block, where y still holds x, and done in double: four
 * at a time with FMA on x86-64, from the scalar kernel's table, else by that kernel. */
#ifndef LUCID_ERFINV_F32_SECOND_H
#define LUCID_ERFINV_F32_SECOND_H

#include "counters.h"
#include "erfinv.h"
#include "tables/f32.h"

#include <string.h>

enum { LUCID_F32_BLOCK = 2048, LUCID_F32_AT_ONCE = 4 };

/* Shorter arrays are faster one by one. */
enum { FEW = 8 };

unsigned lucid_erfinv_f32_scalar(const float *x, float *y, size_t n);

struct open_lanes {
    unsigned count;
    uint16_t place[LUCID_F32_BLOCK + LUCID_F32_AT_ONCE];
};

/* The lanes first + i where bit i of `open` is set.  Four entries are written without a look at
 * how many there are, since more are rare and each look is a branch mispredicted. */
static inline void list_open(struct open_lanes *list, uint64_t open, size_t first) {
    uint16_t *place = list->place + list->count;
    list->count += (unsigned)__builtin_popcountll(open);
    for (int i = 0; i < LUCID_F32_AT_ONCE; i++, open &= open - 1) {
        place[i] = (uint16_t)(first + (size_t)__builtin_ctzll(open | (uint64_t)1 << 63));
        __asm__("" : "+m"(place[i])); /* four stores, not a vector put together */
    }
    for (place += LUCID_F32_AT_ONCE; open; open &= open - 1)
        *place++ = (uint16_t)(first + (size_t)__builtin_ctzll(open));
}

static inline unsigned do_by_scalar(const uint16_t *place, unsigned n, float *y) {
    float x[LUCID_F32_BLOCK];
    for (unsigned i = 0; i < n; i++)
        x[i] = y[place[i]];
    unsigned flags = lucid_erfinv_f32_scalar(x, x, n);
    for (unsigned i = 0; i < n; i++)
        y[place[i]] = x[i];
    return flags;
}

#if defined(__AVX2__) && defined(__FMA__)
#include <immintrin.h>

/* The scalar kernel's polynomial of four values below 1 - 2^-13, with the sign of x. */
static inline __m128 open_values(__m128 x) {
    __m128 sign = _mm_set1_ps(-0.0f), a = _mm_andnot_ps(sign, x);
    __m128i w = _mm_castps_si128(_mm_sub_ps(_mm_set1_ps(0x1.fffffep-1f), a));
    __m128i row = _mm_srli_epi32(_mm_sub_epi32(_mm_set1_epi32(0x3f7fffff), w), 19);
    const double *r0 = lucid_f32_double[_mm_extract_epi32(row, 0)];
    const double *r1 = lucid_f32_double[_mm_extract_epi32(row, 1)];
    const double *r2 = lucid_f32_double[_mm_extract_epi32(row, 2)];
    const double *r3 = lucid_f32_double[_mm_extract_epi32(row, 3)];
    __m256d c[10];
    for (int k = 0; k < 10; k += 2) {
        __m256d even = _mm256_castpd128_pd256(_mm_loadu_pd(r0 + k));
        __m256d odd = _mm256_castpd128_pd256(_mm_loadu_pd(r1 + k));
        even = _mm256_insertf128_pd(even, _mm_loadu_pd(r2 + k), 1);
        odd = _mm256_insertf128_pd(odd, _mm_loadu_pd(r3 + k), 1);
        c[k] = _mm256_unpacklo_pd(even, odd);
        c[k + 1] = _mm256_unpackhi_pd(even, odd);
    }
    __m256d h = _mm256_sub_pd(_mm256_cvtps_pd(a), c[0]), h2 = _mm256_mul_pd(h, h);
    __m256d y = _mm256_fmadd_pd(h2, c[9], _mm256_fmadd_pd(h, c[8], c[7]));
    y = _mm256_fmadd_pd(h2, y, _mm256_fmadd_pd(h, c[6], c[5]));
    y = _mm256_fmadd_pd(h2, y, _mm256_fmadd_pd(h, c[4], c[3]));
    y = _mm256_fmadd_pd(h, _mm256_fmadd_pd(h, y, c[2]), c[1]);
    return _mm_or_ps(_mm256_cvtpd_ps(y), _mm_and_ps(sign, x));
}

static inline unsigned do_open(struct open_lanes *list, float *y) {
    unsigned left = 0; /* by the scalar kernel, moved to the list's front */
    for (unsigned i = list->count; i % 4; i++)
        list->place[i] = list->place[i - 1];
    for (unsigned i = 0; i < list->count; i += 4) {
        const uint16_t *at = list->place + i;
        __m128 x = _mm_setr_ps(y[at[0]], y[at[1]], y[at[2]], y[at[3]]);
        /* Without flags: 2^-125 <= |x| < 1 - 2^-13. */
        __m128i a = _mm_and_si128(_mm_castps_si128(x), _mm_set1_epi32(0x7fffffff));
        __m128i special = _mm_or_si128(_mm_cmpgt_epi32(_mm_set1_epi32(0x01000000), a),
                                       _mm_cmpgt_epi32(a, _mm_set1_epi32(0x3f7ff7ff)));
        if (_mm_movemask_epi8(special)) {
            memmove(list->place + left, at, 4 * sizeof *at);
            left += 4;
            continue;
        }
        float r[4];
        _mm_storeu_ps(r, open_values(x));
        for (int k = 0; k < 4; k++)
            y[at[k]] = r[k];
    }
    return left ? do_by_scalar(list->place, left, y) : 0;
}

#else

static inline unsigned do_open(const struct open_lanes *list, float *y) {
    return do_by_scalar(list->place, list->count, y);
}

#endif

#endif
