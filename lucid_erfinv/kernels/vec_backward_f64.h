/* What the gradient needs of vec_f64.h's lanes beyond that header: one section per instruction
 * set.  SPDX-License-Identifier: MIT
 * vec_pick(t, i) is t[i mod 16] in each lane; vec_segment_of finds i in a table of 64 places by the
 * lowest exponent bits and upper fraction bits; vec_choose is a where the mask is set, else b;
 * vec_special tells which lanes are zero, subnormal, infinite or NaN.  vec_backward_f32.h has the
 * same names. */
#ifndef LUCID_VEC_BACKWARD_F64_H
#define LUCID_VEC_BACKWARD_F64_H

#include "vec_f64.h"

#if defined(__AVX512F__) && !defined(LUCID_SCALAR)

typedef __m512i vec_bits;
typedef __m512i vec_index;

static inline vec_bits vec_to_bits(vec a) {
    return _mm512_castpd_si512(a);
}

static inline vec vec_from_bits(vec_bits a) {
    return _mm512_castsi512_pd(a);
}

static inline vec_bits vec_bits_set(int64_t a) {
    return _mm512_set1_epi64(a);
}

static inline vec_bits vec_bits_and(vec_bits a, vec_bits b) {
    return _mm512_and_si512(a, b);
}

static inline vec_bits vec_bits_add(vec_bits a, vec_bits b) {
    return _mm512_add_epi64(a, b);
}

static inline vec_bits vec_bits_sub(vec_bits a, vec_bits b) {
    return _mm512_sub_epi64(a, b);
}

#define vec_bits_left(a, places) _mm512_slli_epi64(a, places)
#define vec_bits_right(a, places) _mm512_srli_epi64(a, places)

static inline vec vec_min(vec limit, vec a) { /* a where a is NaN */
    return _mm512_min_pd(limit, a);
}

static inline vec vec_nmadd(vec a, vec b, vec c) { /* c - a * b */
    return _mm512_fnmadd_pd(a, b, c);
}

static inline void vec_exact_product(vec a, vec b, vec *high, vec *low) {
    *high = _mm512_mul_pd(a, b);
    *low = _mm512_fmsub_pd(a, b, *high);
}

static inline vec vec_reciprocal(vec a) {
    return _mm512_div_pd(_mm512_set1_pd(1), a);
}

static inline vec_index vec_index_of(vec magic) {
    return _mm512_castpd_si512(magic);
}

static inline vec_index vec_segment_of(const uint8_t places[64], vec a) {
    return _mm512_permutexvar_epi8(_mm512_srli_epi64(_mm512_castpd_si512(a), 48),
                                   _mm512_load_si512(places));
}

static inline vec vec_pick(const double table[16], vec_index i) {
    return _mm512_permutex2var_pd(_mm512_load_pd(table), i, _mm512_load_pd(table + 8));
}

static inline vec_mask vec_at_most(vec a, vec b) {
    return _mm512_cmp_pd_mask(a, b, _CMP_LE_OQ);
}

static inline vec_mask vec_between(vec a, double low, double high) { /* low <= a < high */
    vec_bits begin = vec_bits_set((int64_t)f64_bits(low));
    vec_bits count = vec_bits_set((int64_t)(f64_bits(high) - f64_bits(low)));
    return _mm512_cmplt_epu64_mask(_mm512_sub_epi64(_mm512_castpd_si512(a), begin), count);
}

static inline vec_mask vec_both(vec_mask a, vec_mask b) {
    return a & b;
}

static inline vec vec_choose(vec_mask mask, vec a, vec b) {
    return _mm512_mask_mov_pd(b, mask, a);
}

static inline unsigned vec_special(vec a) {
    return _mm512_fpclass_pd_mask(a, 0xbf);
}

static inline vec vec_significand(vec a) {
    return _mm512_getmant_pd(a, _MM_MANT_NORM_1_2, _MM_MANT_SIGN_src);
}

static inline vec vec_exponent(vec a) {
    return _mm512_getexp_pd(a);
}

static inline vec vec_scale(vec a, vec exponent) { /* a 2^floor(exponent) */
    return _mm512_scalef_pd(a, exponent);
}

#define VEC_SCALES

#else

#if defined(__AVX2__) && defined(__FMA__) && !defined(LUCID_SCALAR)

typedef __m256i vec_bits;

static inline vec_bits vec_to_bits(vec a) {
    return _mm256_castpd_si256(a);
}

static inline vec vec_from_bits(vec_bits a) {
    return _mm256_castsi256_pd(a);
}

static inline vec_bits vec_bits_set(int64_t a) {
    return _mm256_set1_epi64x(a);
}

static inline vec_bits vec_bits_and(vec_bits a, vec_bits b) {
    return _mm256_and_si256(a, b);
}

static inline vec_bits vec_bits_add(vec_bits a, vec_bits b) {
    return _mm256_add_epi64(a, b);
}

static inline vec_bits vec_bits_sub(vec_bits a, vec_bits b) {
    return _mm256_sub_epi64(a, b);
}

#define vec_bits_left(a, places) _mm256_slli_epi64(a, places)
#define vec_bits_right(a, places) _mm256_srli_epi64(a, places)

static inline void vec_bits_store(uint64_t *p, vec_bits a) {
    _mm256_storeu_si256((__m256i *)p, a);
}

static inline vec vec_min(vec limit, vec a) { /* a where a is NaN */
    return _mm256_min_pd(limit, a);
}

static inline vec vec_reciprocal(vec a) {
    return _mm256_div_pd(_mm256_set1_pd(1), a);
}

static inline vec vec_gather(const double *table, const uint64_t i[LANES]) {
    return _mm256_setr_pd(table[i[0]], table[i[1]], table[i[2]], table[i[3]]);
}

static inline vec_mask vec_at_most(vec a, vec b) {
    return _mm256_cmp_pd(a, b, _CMP_LE_OQ);
}

static inline vec_mask vec_both(vec_mask a, vec_mask b) {
    return _mm256_and_pd(a, b);
}

static inline vec vec_choose(vec_mask mask, vec a, vec b) {
    return _mm256_blendv_pd(b, a, mask);
}

static inline unsigned vec_lanes_not(vec_mask mask) {
    return (unsigned)_mm256_movemask_pd(mask) ^ 15;
}

#elif defined(__SSE2__) && !defined(LUCID_SCALAR)

typedef __m128i vec_bits;

static inline vec_bits vec_to_bits(vec a) {
    return _mm_castpd_si128(a);
}

static inline vec vec_from_bits(vec_bits a) {
    return _mm_castsi128_pd(a);
}

static inline vec_bits vec_bits_set(int64_t a) {
    return _mm_set1_epi64x(a);
}

static inline vec_bits vec_bits_and(vec_bits a, vec_bits b) {
    return _mm_and_si128(a, b);
}

static inline vec_bits vec_bits_add(vec_bits a, vec_bits b) {
    return _mm_add_epi64(a, b);
}

static inline vec_bits vec_bits_sub(vec_bits a, vec_bits b) {
    return _mm_sub_epi64(a, b);
}

#define vec_bits_left(a, places) _mm_slli_epi64(a, places)
#define vec_bits_right(a, places) _mm_srli_epi64(a, places)

static inline void vec_bits_store(uint64_t *p, vec_bits a) {
    _mm_storeu_si128((__m128i *)p, a);
}

static inline vec vec_min(vec limit, vec a) { /* a where a is NaN */
    return _mm_min_pd(limit, a);
}

static inline vec vec_reciprocal(vec a) {
    return _mm_div_pd(_mm_set1_pd(1), a);
}

static inline vec vec_gather(const double *table, const uint64_t i[LANES]) {
    return _mm_loadh_pd(_mm_load_sd(table + i[0]), table + i[1]);
}

static inline vec_mask vec_at_most(vec a, vec b) {
    return _mm_cmple_pd(a, b);
}

static inline vec_mask vec_both(vec_mask a, vec_mask b) {
    return _mm_and_pd(a, b);
}

static inline vec vec_choose(vec_mask mask, vec a, vec b) {
    return _mm_or_pd(_mm_and_pd(mask, a), _mm_andnot_pd(mask, b));
}

static inline unsigned vec_lanes_not(vec_mask mask) {
    return (unsigned)_mm_movemask_pd(mask) ^ 3;
}

#elif defined(__aarch64__) && defined(__ARM_NEON) && !defined(LUCID_SCALAR)

typedef uint64x2_t vec_bits;

static inline vec_bits vec_to_bits(vec a) {
    return vreinterpretq_u64_f64(a);
}

static inline vec vec_from_bits(vec_bits a) {
    return vreinterpretq_f64_u64(a);
}

static inline vec_bits vec_bits_set(int64_t a) {
    return vdupq_n_u64((uint64_t)a);
}

static inline vec_bits vec_bits_and(vec_bits a, vec_bits b) {
    return vandq_u64(a, b);
}

static inline vec_bits vec_bits_add(vec_bits a, vec_bits b) {
    return vaddq_u64(a, b);
}

static inline vec_bits vec_bits_sub(vec_bits a, vec_bits b) {
    return vsubq_u64(a, b);
}

#define vec_bits_left(a, places) vshlq_n_u64(a, places)
#define vec_bits_right(a, places) vshrq_n_u64(a, places)

static inline void vec_bits_store(uint64_t *p, vec_bits a) {
    vst1q_u64(p, a);
}

static inline vec vec_min(vec limit, vec a) { /* NaN where a is NaN */
    return vminq_f64(limit, a);
}

static inline vec vec_reciprocal(vec a) {
    return vdivq_f64(vdupq_n_f64(1), a);
}

static inline vec vec_gather(const double *table, const uint64_t i[LANES]) {
    return vld1q_lane_f64(table + i[1], vdupq_n_f64(table[i[0]]), 1);
}

static inline vec_mask vec_at_most(vec a, vec b) {
    return vcleq_f64(a, b);
}

static inline vec_mask vec_both(vec_mask a, vec_mask b) {
    return vandq_u64(a, b);
}

static inline vec vec_choose(vec_mask mask, vec a, vec b) {
    return vbslq_f64(mask, a, b);
}

static inline unsigned vec_lanes_not(vec_mask mask) {
    return (unsigned)((~vgetq_lane_u64(mask, 0) & 1) | (~vgetq_lane_u64(mask, 1) & 2));
}

#else

typedef uint64_t vec_bits;

static inline vec_bits vec_to_bits(vec a) {
    return f64_bits(a);
}

static inline vec vec_from_bits(vec_bits a) {
    return f64_of_bits(a);
}

static inline vec_bits vec_bits_set(int64_t a) {
    return (uint64_t)a;
}

static inline vec_bits vec_bits_and(vec_bits a, vec_bits b) {
    return a & b;
}

static inline vec_bits vec_bits_add(vec_bits a, vec_bits b) {
    return a + b;
}

static inline vec_bits vec_bits_sub(vec_bits a, vec_bits b) {
    return a - b;
}

#define vec_bits_left(a, places) ((a) << (places))
#define vec_bits_right(a, places) ((a) >> (places))

static inline void vec_bits_store(uint64_t *p, vec_bits a) {
    *p = a;
}

static inline vec vec_min(vec limit, vec a) { /* a where a is NaN */
    return limit < a ? limit : a;
}

static inline vec vec_reciprocal(vec a) {
    return 1 / a;
}

static inline vec vec_gather(const double *table, const uint64_t i[LANES]) {
    return table[i[0]];
}

static inline vec_mask vec_at_most(vec a, vec b) {
    return a <= b;
}

static inline vec_mask vec_both(vec_mask a, vec_mask b) {
    return a & b;
}

static inline vec vec_choose(vec_mask mask, vec a, vec b) {
    return mask ? a : b;
}

static inline unsigned vec_lanes_not(vec_mask mask) {
    return !mask;
}

#endif

typedef struct {
    uint64_t lane[LANES];
} vec_index;

static inline vec vec_nmadd(vec a, vec b, vec c) { /* c - a * b */
    return vec_madd(vec_sub(vec_set(0), a), b, c);
}

/* high + low = a b, but for 2^-105 where nothing is fused. */
static inline void vec_exact_product(vec a, vec b, vec *high, vec *low) {
    if (VEC_FUSED) {
        vec_product(a, b, high, low);
        return;
    }
    vec_bits upper = vec_bits_set(~(int64_t)VEC_LOW_27_BITS);
    vec a1 = vec_from_bits(vec_bits_and(vec_to_bits(a), upper)), a2 = vec_sub(a, a1);
    vec b1 = vec_from_bits(vec_bits_and(vec_to_bits(b), upper)), b2 = vec_sub(b, b1);
    *high = vec_mul(a, b);
    *low = vec_sub(vec_mul(a1, b1), *high);
    *low = vec_add(vec_add(*low, vec_mul(a1, b2)), vec_mul(a2, b1));
    *low = vec_add(*low, vec_mul(a2, b2));
}

static inline vec_index vec_index_of(vec magic) {
    vec_index i;
    vec_bits_store(i.lane, vec_bits_and(vec_to_bits(magic), vec_bits_set(15)));
    return i;
}

static inline vec_index vec_segment_of(const uint8_t places[64], vec a) {
    vec_index i;
    vec_bits_store(i.lane, vec_bits_right(vec_to_bits(a), 48));
    for (int k = 0; k < LANES; k++)
        i.lane[k] = places[i.lane[k] & 63];
    return i;
}

static inline vec_mask vec_between(vec a, double low, double high) { /* low <= a <= high */
    return vec_both(vec_at_most(vec_set(low), a), vec_at_most(a, vec_set(high)));
}

static inline vec vec_pick(const double table[16], vec_index i) {
    return vec_gather(table, i.lane);
}

static inline unsigned vec_special(vec a) {
    vec size = vec_abs(a);
    return vec_lanes_not(vec_both(vec_at_most(vec_set(0x1p-1022), size),
                                  vec_at_most(size, vec_set(0x1.fffffffffffffp1023))));
}

#endif

static inline vec vec_fused(vec a, vec b, vec c) {
    return vec_madd(a, b, c);
}
#endif
