/* Lanes of binary32, with the names of vec_f64.h: one section per instruction set, chosen by the
 * compiler's own macros.
 * SPDX-License-Identifier: MIT
 * Every operation has one rounding.  Where nothing is fused, vec_madd and vec_nmadd have a second
 * one, of a sum in binary64, which happens to change no function of y (exhaustive); vec_fused has
 * one always.  vec_reciprocal is rounded correctly.  So the levels agree.
 * VEC_ROWS: the section has what erfinv_f32_rows.c needs, too. */
#ifndef LUCID_VEC_F32_H
#define LUCID_VEC_F32_H

#include <stdint.h>
#include <string.h>

static inline uint32_t f32_bits(float a) {
    uint32_t bits;
    memcpy(&bits, &a, sizeof bits);
    return bits;
}

static inline float f32_of_bits(uint32_t bits) {
    float a;
    memcpy(&a, &bits, sizeof a);
    return a;
}

enum { VEC_FUSED = 1 };

#if defined(__AVX512F__) && !defined(LUCID_SCALAR)

#include <immintrin.h>

#define VEC_SCALES
enum { LANES = 16 };
typedef __m512 vec;
typedef __m512i vec_bits;
typedef __m512i vec_index;
typedef __mmask16 vec_mask;

static inline vec vec_load(const float *p) {
    return _mm512_loadu_ps(p);
}

static inline void vec_store(float *p, vec a) {
    _mm512_storeu_ps(p, a);
}

static inline vec vec_set(float a) {
    return _mm512_set1_ps(a);
}

static inline vec vec_add(vec a, vec b) {
    return _mm512_add_ps(a, b);
}

static inline vec vec_sub(vec a, vec b) {
    return _mm512_sub_ps(a, b);
}

static inline vec vec_mul(vec a, vec b) {
    return _mm512_mul_ps(a, b);
}

static inline vec vec_madd(vec a, vec b, vec c) {
    return _mm512_fmadd_ps(a, b, c);
}

static inline vec vec_nmadd(vec a, vec b, vec c) { /* c - a * b */
    return _mm512_fnmadd_ps(a, b, c);
}

static inline void vec_exact_product(vec a, vec b, vec *high, vec *low) {
    *high = _mm512_mul_ps(a, b);
    *low = _mm512_fmsub_ps(a, b, *high);
}

static inline vec vec_reciprocal(vec a) {
    return _mm512_div_ps(_mm512_set1_ps(1), a);
}

static inline vec vec_abs(vec a) {
    return _mm512_abs_ps(a);
}

static inline vec vec_min(vec limit, vec a) { /* a where a is NaN */
    return _mm512_min_ps(limit, a);
}

static inline vec_bits vec_to_bits(vec a) {
    return _mm512_castps_si512(a);
}

static inline vec vec_from_bits(vec_bits a) {
    return _mm512_castsi512_ps(a);
}

static inline vec_bits vec_bits_set(int32_t a) {
    return _mm512_set1_epi32(a);
}

static inline vec_bits vec_bits_and(vec_bits a, vec_bits b) {
    return _mm512_and_si512(a, b);
}

static inline vec_bits vec_bits_add(vec_bits a, vec_bits b) {
    return _mm512_add_epi32(a, b);
}

static inline vec_bits vec_bits_sub(vec_bits a, vec_bits b) {
    return _mm512_sub_epi32(a, b);
}

#define vec_bits_left(a, places) _mm512_slli_epi32(a, places)
#define vec_bits_right(a, places) _mm512_srli_epi32(a, places)

static inline vec_index vec_index_of(vec magic) {
    return _mm512_castps_si512(magic);
}

static inline vec_index vec_segment_of(const uint8_t places[64], vec a) {
    return _mm512_permutexvar_epi8(_mm512_srli_epi32(_mm512_castps_si512(a), 19),
                                   _mm512_load_si512(places));
}

static inline vec vec_pick(const float table[16], vec_index i) {
    return _mm512_permutexvar_ps(i, _mm512_load_ps(table));
}

static inline vec_mask vec_at_most(vec a, vec b) {
    return _mm512_cmp_ps_mask(a, b, _CMP_LE_OQ);
}

static inline vec_mask vec_between(vec a, float low, float high) { /* low <= a < high */
    vec_bits begin = vec_bits_set((int32_t)f32_bits(low));
    vec_bits count = vec_bits_set((int32_t)(f32_bits(high) - f32_bits(low)));
    return _mm512_cmplt_epu32_mask(_mm512_sub_epi32(_mm512_castps_si512(a), begin), count);
}

static inline vec_mask vec_both(vec_mask a, vec_mask b) {
    return a & b;
}

static inline vec vec_choose(vec_mask mask, vec a, vec b) {
    return _mm512_mask_mov_ps(b, mask, a);
}

static inline unsigned vec_special(vec a) {
    return _mm512_fpclass_ps_mask(a, 0xbf);
}

static inline vec vec_significand(vec a) {
    return _mm512_getmant_ps(a, _MM_MANT_NORM_1_2, _MM_MANT_SIGN_src);
}

static inline vec vec_exponent(vec a) {
    return _mm512_getexp_ps(a);
}

static inline vec vec_scale(vec a, vec exponent) { /* a 2^floor(exponent) */
    return _mm512_scalef_ps(a, exponent);
}

#else

#if defined(__AVX2__) && defined(__FMA__) && !defined(LUCID_SCALAR)

#include <immintrin.h>

enum { LANES = 8 };
typedef __m256 vec, vec_mask;
typedef __m256i vec_bits, vec_index;

static inline vec vec_load(const float *p) {
    return _mm256_loadu_ps(p);
}

static inline void vec_store(float *p, vec a) {
    _mm256_storeu_ps(p, a);
}

static inline vec vec_set(float a) {
    return _mm256_set1_ps(a);
}

static inline vec vec_add(vec a, vec b) {
    return _mm256_add_ps(a, b);
}

static inline vec vec_sub(vec a, vec b) {
    return _mm256_sub_ps(a, b);
}

static inline vec vec_mul(vec a, vec b) {
    return _mm256_mul_ps(a, b);
}

static inline vec vec_madd(vec a, vec b, vec c) {
    return _mm256_fmadd_ps(a, b, c);
}

static inline vec vec_nmadd(vec a, vec b, vec c) { /* c - a * b */
    return _mm256_fnmadd_ps(a, b, c);
}

static inline void vec_exact_product(vec a, vec b, vec *high, vec *low) {
    *high = _mm256_mul_ps(a, b);
    *low = _mm256_fmsub_ps(a, b, *high);
}

static inline vec vec_reciprocal(vec a) {
    return _mm256_div_ps(_mm256_set1_ps(1), a);
}

static inline vec vec_abs(vec a) {
    return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), a);
}

static inline vec vec_min(vec limit, vec a) { /* a where a is NaN */
    return _mm256_min_ps(limit, a);
}

static inline vec_bits vec_to_bits(vec a) {
    return _mm256_castps_si256(a);
}

static inline vec vec_from_bits(vec_bits a) {
    return _mm256_castsi256_ps(a);
}

static inline vec_bits vec_bits_set(int32_t a) {
    return _mm256_set1_epi32(a);
}

static inline vec_bits vec_bits_and(vec_bits a, vec_bits b) {
    return _mm256_and_si256(a, b);
}

static inline vec_bits vec_bits_add(vec_bits a, vec_bits b) {
    return _mm256_add_epi32(a, b);
}

static inline vec_bits vec_bits_sub(vec_bits a, vec_bits b) {
    return _mm256_sub_epi32(a, b);
}

#define vec_bits_left(a, places) _mm256_slli_epi32(a, places)
#define vec_bits_right(a, places) _mm256_srli_epi32(a, places)

#define VEC_PICKS

static inline vec_index vec_index_of(vec magic) {
    return _mm256_castps_si256(magic);
}

static inline vec_index vec_segment_of(const uint8_t places[64], vec a) {
    uint32_t i[LANES];
    _mm256_storeu_si256((__m256i *)i, _mm256_srli_epi32(_mm256_castps_si256(a), 19));
    for (int k = 0; k < LANES; k++)
        i[k] = places[i[k] & 63];
    return _mm256_loadu_si256((const __m256i *)i);
}

static inline vec vec_pick(const float table[16], vec_index i) {
    vec low = _mm256_permutevar8x32_ps(_mm256_load_ps(table), i);
    vec high = _mm256_permutevar8x32_ps(_mm256_load_ps(table + 8), i);
    return _mm256_blendv_ps(low, high, _mm256_castsi256_ps(_mm256_slli_epi32(i, 28)));
}

static inline vec_mask vec_at_most(vec a, vec b) {
    return _mm256_cmp_ps(a, b, _CMP_LE_OQ);
}

static inline vec_mask vec_both(vec_mask a, vec_mask b) {
    return _mm256_and_ps(a, b);
}

static inline vec vec_choose(vec_mask mask, vec a, vec b) {
    return _mm256_blendv_ps(b, a, mask);
}

static inline unsigned vec_lanes(vec_mask mask) { /* bit i: lane i */
    return (unsigned)_mm256_movemask_ps(mask);
}

#define VEC_ROWS

static inline void vec_bits_store(uint32_t *p, vec_bits a) {
    _mm256_storeu_si256((__m256i *)p, a);
}

static inline vec_bits vec_bits_or(vec_bits a, vec_bits b) {
    return _mm256_or_si256(a, b);
}

static inline vec_bits vec_bits_min(vec_bits a, vec_bits b) {
    return _mm256_min_epu32(a, b);
}

static inline vec_bits vec_bits_max(vec_bits a, vec_bits b) {
    return _mm256_max_epu32(a, b);
}

static inline vec_mask vec_bits_equal(vec_bits a, vec_bits b) {
    return _mm256_castsi256_ps(_mm256_cmpeq_epi32(a, b));
}

static inline vec_mask vec_equal(vec a, vec b) {
    return _mm256_cmp_ps(a, b, _CMP_EQ_OQ);
}

/* out[k], lane i: the float at table + offset[i] + 4 * k bytes. */
static inline void vec_columns(const float *table, const uint32_t offset[LANES], vec out[4]) {
    const char *base = (const char *)table;
    vec t[4], s[4];
    for (int i = 0; i < 4; i++) {
        vec low = _mm256_castps128_ps256(_mm_loadu_ps((const float *)(base + offset[i])));
        __m128 high = _mm_loadu_ps((const float *)(base + offset[i + 4]));
        t[i] = _mm256_insertf128_ps(low, high, 1);
    }
    for (int i = 0; i < 4; i += 2) {
        s[i] = _mm256_unpacklo_ps(t[i], t[i + 1]);
        s[i + 1] = _mm256_unpackhi_ps(t[i], t[i + 1]);
    }
    for (int i = 0; i < 2; i++) {
        out[2 * i] = _mm256_shuffle_ps(s[i], s[i + 2], 0x44);
        out[2 * i + 1] = _mm256_shuffle_ps(s[i], s[i + 2], 0xee);
    }
}

#elif defined(__SSE2__) && !defined(LUCID_SCALAR)

#include <immintrin.h>

enum { LANES = 4 };
typedef __m128 vec, vec_mask;
typedef __m128i vec_bits;

static inline vec vec_load(const float *p) {
    return _mm_loadu_ps(p);
}

static inline void vec_store(float *p, vec a) {
    _mm_storeu_ps(p, a);
}

static inline vec vec_set(float a) {
    return _mm_set1_ps(a);
}

static inline vec vec_add(vec a, vec b) {
    return _mm_add_ps(a, b);
}

static inline vec vec_sub(vec a, vec b) {
    return _mm_sub_ps(a, b);
}

static inline vec vec_mul(vec a, vec b) {
    return _mm_mul_ps(a, b);
}

static inline __m128d vec_upper_(vec a) {
    return _mm_cvtps_pd(_mm_movehl_ps(a, a));
}

static inline vec vec_joined_(__m128d lower, __m128d upper) {
    return _mm_movelh_ps(_mm_cvtpd_ps(lower), _mm_cvtpd_ps(upper));
}

static inline vec vec_madd(vec a, vec b, vec c) {
    __m128d lower = _mm_mul_pd(_mm_cvtps_pd(a), _mm_cvtps_pd(b));
    __m128d upper = _mm_mul_pd(vec_upper_(a), vec_upper_(b));
    return vec_joined_(_mm_add_pd(lower, _mm_cvtps_pd(c)), _mm_add_pd(upper, vec_upper_(c)));
}

/* p + c, rounded to odd: rounding that to binary32 is as good as rounding the exact sum. */
static inline __m128d vec_odd_sum_(__m128d p, __m128d c) {
    __m128d sum = _mm_add_pd(p, c), added = _mm_sub_pd(sum, p), zero = _mm_setzero_pd();
    __m128d error = _mm_add_pd(_mm_sub_pd(p, _mm_sub_pd(sum, added)), _mm_sub_pd(c, added));
    __m128d inexact = _mm_or_pd(_mm_cmplt_pd(error, zero), _mm_cmpgt_pd(error, zero));
    __m128i bits = _mm_castpd_si128(sum);
    __m128i even =
        _mm_andnot_si128(bits, _mm_and_si128(_mm_castpd_si128(inexact), _mm_set1_epi64x(1)));
    __m128i down =
        _mm_and_si128(even, _mm_srli_epi64(_mm_castpd_si128(_mm_xor_pd(sum, error)), 63));
    bits = _mm_sub_epi64(_mm_add_epi64(bits, even), _mm_add_epi64(down, down));
    return _mm_castsi128_pd(bits);
}

static inline vec vec_fused(vec a, vec b, vec c) {
    __m128d lower = _mm_mul_pd(_mm_cvtps_pd(a), _mm_cvtps_pd(b));
    __m128d upper = _mm_mul_pd(vec_upper_(a), vec_upper_(b));
    return vec_joined_(vec_odd_sum_(lower, _mm_cvtps_pd(c)), vec_odd_sum_(upper, vec_upper_(c)));
}

#define VEC_EMULATES

static inline vec vec_abs(vec a) {
    return _mm_andnot_ps(_mm_set1_ps(-0.0f), a);
}

static inline vec vec_negative(vec a) {
    return _mm_xor_ps(_mm_set1_ps(-0.0f), a);
}

static inline vec vec_reciprocal(vec a) {
    return _mm_div_ps(_mm_set1_ps(1), a);
}

static inline vec vec_min(vec limit, vec a) { /* a where a is NaN */
    return _mm_min_ps(limit, a);
}

static inline vec_bits vec_to_bits(vec a) {
    return _mm_castps_si128(a);
}

static inline vec vec_from_bits(vec_bits a) {
    return _mm_castsi128_ps(a);
}

static inline vec_bits vec_bits_set(int32_t a) {
    return _mm_set1_epi32(a);
}

static inline vec_bits vec_bits_and(vec_bits a, vec_bits b) {
    return _mm_and_si128(a, b);
}

static inline vec_bits vec_bits_add(vec_bits a, vec_bits b) {
    return _mm_add_epi32(a, b);
}

static inline vec_bits vec_bits_sub(vec_bits a, vec_bits b) {
    return _mm_sub_epi32(a, b);
}

#define vec_bits_left(a, places) _mm_slli_epi32(a, places)
#define vec_bits_right(a, places) _mm_srli_epi32(a, places)

static inline void vec_bits_store(uint32_t *p, vec_bits a) {
    _mm_storeu_si128((__m128i *)p, a);
}

static inline vec vec_gather(const float *table, const uint32_t i[LANES]) {
    return _mm_setr_ps(table[i[0]], table[i[1]], table[i[2]], table[i[3]]);
}

static inline vec_mask vec_at_most(vec a, vec b) {
    return _mm_cmple_ps(a, b);
}

static inline vec_mask vec_both(vec_mask a, vec_mask b) {
    return _mm_and_ps(a, b);
}

static inline vec vec_choose(vec_mask mask, vec a, vec b) {
    return _mm_or_ps(_mm_and_ps(mask, a), _mm_andnot_ps(mask, b));
}

static inline unsigned vec_lanes(vec_mask mask) {
    return (unsigned)_mm_movemask_ps(mask);
}

#elif defined(__aarch64__) && defined(__ARM_NEON) && !defined(LUCID_SCALAR)

#include <arm_neon.h>

enum { LANES = 4 };
typedef float32x4_t vec;
typedef uint32x4_t vec_bits, vec_mask;

static inline vec vec_load(const float *p) {
    return vld1q_f32(p);
}

static inline void vec_store(float *p, vec a) {
    vst1q_f32(p, a);
}

static inline vec vec_set(float a) {
    return vdupq_n_f32(a);
}

static inline vec vec_add(vec a, vec b) {
    return vaddq_f32(a, b);
}

static inline vec vec_sub(vec a, vec b) {
    return vsubq_f32(a, b);
}

static inline vec vec_mul(vec a, vec b) {
    return vmulq_f32(a, b);
}

static inline vec vec_madd(vec a, vec b, vec c) {
    return vfmaq_f32(c, a, b);
}

static inline vec vec_abs(vec a) {
    return vabsq_f32(a);
}

static inline vec vec_negative(vec a) {
    return vnegq_f32(a);
}

static inline vec vec_reciprocal(vec a) {
    return vdivq_f32(vdupq_n_f32(1), a);
}

static inline vec vec_min(vec limit, vec a) { /* NaN where a is NaN */
    return vminq_f32(limit, a);
}

static inline vec_bits vec_to_bits(vec a) {
    return vreinterpretq_u32_f32(a);
}

static inline vec vec_from_bits(vec_bits a) {
    return vreinterpretq_f32_u32(a);
}

static inline vec_bits vec_bits_set(int32_t a) {
    return vdupq_n_u32((uint32_t)a);
}

static inline vec_bits vec_bits_and(vec_bits a, vec_bits b) {
    return vandq_u32(a, b);
}

static inline vec_bits vec_bits_add(vec_bits a, vec_bits b) {
    return vaddq_u32(a, b);
}

static inline vec_bits vec_bits_sub(vec_bits a, vec_bits b) {
    return vsubq_u32(a, b);
}

#define vec_bits_left(a, places) vshlq_n_u32(a, places)
#define vec_bits_right(a, places) vshrq_n_u32(a, places)

static inline void vec_bits_store(uint32_t *p, vec_bits a) {
    vst1q_u32(p, a);
}

static inline vec vec_gather(const float *table, const uint32_t i[LANES]) {
    vec a = vdupq_n_f32(table[i[0]]);
    a = vld1q_lane_f32(table + i[1], a, 1);
    a = vld1q_lane_f32(table + i[2], a, 2);
    return vld1q_lane_f32(table + i[3], a, 3);
}

static inline vec_mask vec_at_most(vec a, vec b) {
    return vcleq_f32(a, b);
}

static inline vec_mask vec_both(vec_mask a, vec_mask b) {
    return vandq_u32(a, b);
}

static inline vec vec_choose(vec_mask mask, vec a, vec b) {
    return vbslq_f32(mask, a, b);
}

static inline unsigned vec_lanes(vec_mask mask) {
    static const uint32_t weight[4] = {1, 2, 4, 8};
    return vaddvq_u32(vandq_u32(vld1q_u32(weight), mask));
}

#define VEC_ROWS

static inline vec_bits vec_bits_or(vec_bits a, vec_bits b) {
    return vorrq_u32(a, b);
}

static inline vec_bits vec_bits_min(vec_bits a, vec_bits b) {
    return vminq_u32(a, b);
}

static inline vec_bits vec_bits_max(vec_bits a, vec_bits b) {
    return vmaxq_u32(a, b);
}

static inline vec_mask vec_bits_equal(vec_bits a, vec_bits b) {
    return vceqq_u32(a, b);
}

static inline vec_mask vec_equal(vec a, vec b) {
    return vceqq_f32(a, b);
}

static inline void vec_columns(const float *table, const uint32_t offset[LANES], vec out[4]) {
    const char *base = (const char *)table;
    vec r[4];
    for (int i = 0; i < 4; i++)
        r[i] = vld1q_f32((const float *)(base + offset[i]));
    float32x4x2_t a = vtrnq_f32(r[0], r[1]), b = vtrnq_f32(r[2], r[3]);
    out[0] = vcombine_f32(vget_low_f32(a.val[0]), vget_low_f32(b.val[0]));
    out[1] = vcombine_f32(vget_low_f32(a.val[1]), vget_low_f32(b.val[1]));
    out[2] = vcombine_f32(vget_high_f32(a.val[0]), vget_high_f32(b.val[0]));
    out[3] = vcombine_f32(vget_high_f32(a.val[1]), vget_high_f32(b.val[1]));
}

#else

enum { LANES = 1 };
typedef float vec;
typedef uint32_t vec_bits;
typedef int vec_mask;

static inline vec vec_load(const float *p) {
    return *p;
}

static inline void vec_store(float *p, vec a) {
    *p = a;
}

static inline vec vec_set(float a) {
    return a;
}

static inline vec vec_add(vec a, vec b) {
    return a + b;
}

static inline vec vec_sub(vec a, vec b) {
    return a - b;
}

static inline vec vec_mul(vec a, vec b) {
    return a * b;
}

static inline vec vec_madd(vec a, vec b, vec c) {
    return (float)((double)a * (double)b + (double)c);
}

/* The sum rounded to odd: rounding that to binary32 is as good as rounding the exact sum. */
static inline vec vec_fused(vec a, vec b, vec c) {
    double p = (double)a * (double)b, sum = p + (double)c, added = sum - p;
    double error = (p - (sum - added)) + ((double)c - added);
    uint64_t bits;
    memcpy(&bits, &sum, sizeof bits);
    if ((error < 0 || error > 0) && !(bits & 1))
        bits += (error < 0) == (sum < 0) ? 1 : UINT64_MAX;
    memcpy(&sum, &bits, sizeof sum);
    return (float)sum;
}

#define VEC_EMULATES

static inline vec vec_abs(vec a) {
    return f32_of_bits(f32_bits(a) & INT32_MAX);
}

static inline vec vec_negative(vec a) {
    return -a;
}

static inline vec vec_reciprocal(vec a) {
    return 1 / a;
}

static inline vec vec_min(vec limit, vec a) { /* a where a is NaN */
    return limit < a ? limit : a;
}

static inline vec_bits vec_to_bits(vec a) {
    return f32_bits(a);
}

static inline vec vec_from_bits(vec_bits a) {
    return f32_of_bits(a);
}

static inline vec_bits vec_bits_set(int32_t a) {
    return (uint32_t)a;
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

static inline void vec_bits_store(uint32_t *p, vec_bits a) {
    *p = a;
}

static inline vec vec_gather(const float *table, const uint32_t i[LANES]) {
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

static inline unsigned vec_lanes(vec_mask mask) {
    return (unsigned)mask;
}

#endif

#ifndef VEC_PICKS
typedef struct {
    uint32_t lane[LANES];
} vec_index;

static inline vec vec_nmadd(vec a, vec b, vec c) { /* c - a * b */
    return vec_madd(vec_negative(a), b, c);
}

static inline void vec_exact_product(vec a, vec b, vec *high, vec *low) {
    *high = vec_mul(a, b);
    *low = vec_madd(a, b, vec_negative(*high));
}

static inline vec_index vec_index_of(vec magic) {
    vec_index i;
    vec_bits_store(i.lane, vec_bits_and(vec_to_bits(magic), vec_bits_set(15)));
    return i;
}

static inline vec_index vec_segment_of(const uint8_t places[64], vec a) {
    vec_index i;
    vec_bits_store(i.lane, vec_bits_right(vec_to_bits(a), 19));
    for (int k = 0; k < LANES; k++)
        i.lane[k] = places[i.lane[k] & 63];
    return i;
}

static inline vec vec_pick(const float table[16], vec_index i) {
    return vec_gather(table, i.lane);
}
#endif

static inline vec_mask vec_between(vec a, float low, float high) { /* low <= a <= high */
    return vec_both(vec_at_most(vec_set(low), a), vec_at_most(a, vec_set(high)));
}

static inline unsigned vec_special(vec a) {
    vec_mask normal = vec_between(vec_abs(a), 0x1p-126f, 0x1.fffffep127f);
    return vec_lanes(normal) ^ ((1u << LANES) - 1);
}

#endif

#ifndef VEC_EMULATES
static inline vec vec_fused(vec a, vec b, vec c) {
    return vec_madd(a, b, c);
}
#endif
#endif
