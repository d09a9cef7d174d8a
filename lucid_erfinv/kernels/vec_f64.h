/* Lanes of binary64: one section per instruction set, chosen by the compiler's own macros.
 * SPDX-License-Identifier: MIT
 * vec_madd(a, b, c) is a b + c, with one rounding where VEC_FUSED, else with two.
 * vec_line, vec_row: where each lane's line or row begins in its table.  vec_columns reads them.
 * vec_usable: where a is 0 or at least tiny, for a >= 0.  LUCID_F64_TINY is what the kernels start
 * at: few steps have subnormal results, which are slow, from there on.
 * vec_usable_sub(usable, a, b) is a - b, and 0 in the other lanes.
 * vec_finish stores above with the sign of x in usable lanes with above == below, and x itself in
 * all others, whose bits it returns.
 * vec_choose(mask, a, b) is a where the mask is set, else b.
 * LUCID_SCALAR asks for plain C on any machine. */
#ifndef LUCID_VEC_F64_H
#define LUCID_VEC_F64_H

#include "tables/erfinv_f64_lines.h"
#include "tables/erfinv_f64_rows.h"

#include <stdint.h>
#include <string.h>

/* The kernels' inner steps: gcc keeps them as functions otherwise, for a tenth of the speed. */
#ifdef __GNUC__
#define VEC_INLINE static inline __attribute__((always_inline))
#else
#define VEC_INLINE static inline
#endif

#define LUCID_F64_TINY 0x1p-950

#define VEC_ONE_BITS 0x3ff0000000000000
#define VEC_SIGN_BIT INT64_MIN
#define VEC_LOW_27_BITS 0x7ffffff

static inline uint64_t f64_bits(double a) {
    uint64_t bits;
    memcpy(&bits, &a, sizeof bits);
    return bits;
}

static inline double f64_of_bits(uint64_t bits) {
    double a;
    memcpy(&a, &bits, sizeof a);
    return a;
}

/* For the gradient: vec_pick(t, i) is t[i mod 16] in each lane; vec_segment_of finds i in a table
 * of 64 places by the lowest exponent bits and upper fraction bits; vec_special tells which lanes
 * are zero, subnormal, infinite or NaN. */

#if defined(__AVX512F__) && !defined(LUCID_SCALAR)

#include <immintrin.h>

#define VEC_SCALES
enum { LANES = 8, VEC_FUSED = 1 };
typedef __m512d vec;
typedef __mmask8 vec_mask;

static inline vec vec_load(const double *p) {
    return _mm512_loadu_pd(p);
}

static inline void vec_store(double *p, vec a) {
    _mm512_storeu_pd(p, a);
}

static inline vec vec_load_first(const double *p, size_t n) {
    return _mm512_maskz_loadu_pd((__mmask8)((1u << n) - 1), p);
}

static inline void vec_store_first(double *p, vec a, size_t n) {
    _mm512_mask_storeu_pd(p, (__mmask8)((1u << n) - 1), a);
}

static inline vec vec_set(double a) {
    return _mm512_set1_pd(a);
}

static inline vec vec_add(vec a, vec b) {
    return _mm512_add_pd(a, b);
}

static inline vec vec_sub(vec a, vec b) {
    return _mm512_sub_pd(a, b);
}

static inline vec vec_mul(vec a, vec b) {
    return _mm512_mul_pd(a, b);
}

static inline vec vec_madd(vec a, vec b, vec c) {
    return _mm512_fmadd_pd(a, b, c);
}

static inline vec vec_max(vec a, vec b) { /* b where a is NaN */
    return _mm512_max_pd(a, b);
}

static inline vec vec_abs(vec a) {
    return _mm512_abs_pd(a);
}

static inline void vec_product(vec a, vec b, vec *high, vec *low) {
    *high = vec_mul(a, b);
    *low = _mm512_fmsub_pd(a, b, *high);
}

static inline vec vec_shift_left(vec a, int n) {
    return _mm512_castsi512_pd(_mm512_slli_epi64(_mm512_castpd_si512(a), (unsigned)n));
}

static inline __m512i vec_below_one_(vec w) {
    return _mm512_sub_epi64(_mm512_set1_epi64(VEC_ONE_BITS), _mm512_castpd_si512(w));
}

static inline void vec_line(vec w, uint64_t at[LANES]) {
    __m512i line = _mm512_srli_epi64(vec_below_one_(w), 46);
    _mm512_storeu_si512(at, _mm512_slli_epi64(line, 3));
}

static inline void vec_row(vec w, uint64_t at[LANES]) {
    __m512i d = vec_below_one_(w), extra = _mm512_set1_epi64(LUCID_F64_ROWS_EXTRA);
    __m512i row = _mm512_min_epu32(_mm512_srli_epi64(d, 46),
                                   _mm512_add_epi64(_mm512_srli_epi64(d, 47), extra));
    _mm512_storeu_si512(at, _mm512_add_epi64(_mm512_slli_epi64(row, 3), _mm512_slli_epi64(row, 2)));
}

static inline vec vec_join_(const double *low, const double *high) {
    return _mm512_insertf64x4(_mm512_castpd256_pd512(_mm256_load_pd(low)), _mm256_load_pd(high), 1);
}

static inline void vec_columns(const double *table, const uint64_t at[LANES], int count, vec *out) {
    for (int k = 0; k < count; k += 4, table += 4) {
        vec r02 = vec_join_(table + at[0], table + at[2]);
        vec r13 = vec_join_(table + at[1], table + at[3]);
        vec r46 = vec_join_(table + at[4], table + at[6]);
        vec r57 = vec_join_(table + at[5], table + at[7]);
        vec even0123 = _mm512_unpacklo_pd(r02, r13), odd0123 = _mm512_unpackhi_pd(r02, r13);
        vec even4567 = _mm512_unpacklo_pd(r46, r57), odd4567 = _mm512_unpackhi_pd(r46, r57);
        out[k] = _mm512_shuffle_f64x2(even0123, even4567, 0x88);
        out[k + 1] = _mm512_shuffle_f64x2(odd0123, odd4567, 0x88);
        out[k + 2] = _mm512_shuffle_f64x2(even0123, even4567, 0xdd);
        out[k + 3] = _mm512_shuffle_f64x2(odd0123, odd4567, 0xdd);
    }
}

static inline vec_mask vec_usable(vec a, double tiny) {
    __m512i less = _mm512_sub_epi64(_mm512_castpd_si512(a), _mm512_set1_epi64(1));
    return _mm512_cmpge_epu64_mask(less, _mm512_set1_epi64((int64_t)f64_bits(tiny) - 1));
}

static inline vec vec_usable_sub(vec_mask usable, vec a, vec b) {
    return _mm512_maskz_sub_pd(usable, a, b);
}

static inline unsigned vec_finish(double *y, vec x, vec above, vec below, vec_mask usable) {
    __m512i sign = _mm512_set1_epi64(VEC_SIGN_BIT);
    vec_mask done = _mm512_mask_cmp_pd_mask(usable, above, below, _CMP_EQ_OQ);
    _mm512_storeu_si512(y, _mm512_mask_ternarylogic_epi64(_mm512_castpd_si512(x), done,
                                                          _mm512_castpd_si512(above), sign,
                                                          0xec)); /* x & sign | above */
    return (unsigned)done ^ 0xff;
}

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

static inline void vec_bits_store(uint64_t *p, vec_bits a) {
    _mm512_storeu_si512(p, a);
}

static inline vec vec_min(vec limit, vec a) { /* a where a is NaN */
    return _mm512_min_pd(limit, a);
}

static inline vec vec_nmadd(vec a, vec b, vec c) { /* c - a * b */
    return _mm512_fnmadd_pd(a, b, c);
}

static inline void vec_exact_product(vec a, vec b, vec *high, vec *low) {
    vec_product(a, b, high, low);
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

#elif defined(__AVX2__) && defined(__FMA__) && !defined(LUCID_SCALAR)

#include <immintrin.h>

enum { LANES = 4, VEC_FUSED = 1 };
typedef __m256d vec, vec_mask;

static inline vec vec_load(const double *p) {
    return _mm256_loadu_pd(p);
}

static inline void vec_store(double *p, vec a) {
    _mm256_storeu_pd(p, a);
}

static inline __m256i vec_first_(size_t n) {
    return _mm256_cmpgt_epi64(_mm256_set1_epi64x((long long)n), _mm256_setr_epi64x(0, 1, 2, 3));
}

static inline vec vec_load_first(const double *p, size_t n) {
    return _mm256_maskload_pd(p, vec_first_(n));
}

static inline void vec_store_first(double *p, vec a, size_t n) {
    _mm256_maskstore_pd(p, vec_first_(n), a);
}

static inline vec vec_set(double a) {
    return _mm256_set1_pd(a);
}

static inline vec vec_add(vec a, vec b) {
    return _mm256_add_pd(a, b);
}

static inline vec vec_sub(vec a, vec b) {
    return _mm256_sub_pd(a, b);
}

static inline vec vec_mul(vec a, vec b) {
    return _mm256_mul_pd(a, b);
}

static inline vec vec_madd(vec a, vec b, vec c) {
    return _mm256_fmadd_pd(a, b, c);
}

static inline vec vec_max(vec a, vec b) { /* b where a is NaN */
    return _mm256_max_pd(a, b);
}

static inline vec vec_abs(vec a) {
    return _mm256_andnot_pd(_mm256_set1_pd(-0.0), a);
}

static inline void vec_product(vec a, vec b, vec *high, vec *low) {
    *high = vec_mul(a, b);
    *low = _mm256_fmsub_pd(a, b, *high);
}

static inline vec vec_shift_left(vec a, int n) {
    return _mm256_castsi256_pd(_mm256_slli_epi64(_mm256_castpd_si256(a), n));
}

static inline __m256i vec_below_one_(vec w) {
    return _mm256_sub_epi64(_mm256_set1_epi64x(VEC_ONE_BITS), _mm256_castpd_si256(w));
}

static inline void vec_line(vec w, uint64_t at[LANES]) {
    __m256i line = _mm256_srli_epi64(vec_below_one_(w), 46);
    _mm256_storeu_si256((__m256i *)at, _mm256_slli_epi64(line, 3));
}

static inline void vec_row(vec w, uint64_t at[LANES]) {
    __m256i d = vec_below_one_(w), extra = _mm256_set1_epi64x(LUCID_F64_ROWS_EXTRA);
    __m256i row = _mm256_min_epu32(_mm256_srli_epi64(d, 46),
                                   _mm256_add_epi64(_mm256_srli_epi64(d, 47), extra));
    _mm256_storeu_si256((__m256i *)at,
                        _mm256_add_epi64(_mm256_slli_epi64(row, 3), _mm256_slli_epi64(row, 2)));
}

static inline vec vec_join_(const double *low, const double *high) {
    return _mm256_insertf128_pd(_mm256_castpd128_pd256(_mm_load_pd(low)), _mm_load_pd(high), 1);
}

static inline void vec_columns(const double *table, const uint64_t at[LANES], int count, vec *out) {
    for (int k = 0; k < count; k += 2, table += 2) {
        vec r02 = vec_join_(table + at[0], table + at[2]);
        vec r13 = vec_join_(table + at[1], table + at[3]);
        out[k] = _mm256_unpacklo_pd(r02, r13);
        out[k + 1] = _mm256_unpackhi_pd(r02, r13);
    }
}

static inline vec_mask vec_usable(vec a, double tiny) {
    /* The bits of a zero, less 1, read as a NaN, which is not below tiny. */
    __m256i less = _mm256_add_epi64(_mm256_castpd_si256(a), _mm256_set1_epi64x(-1));
    vec least = vec_set(f64_of_bits(f64_bits(tiny) - 1));
    return _mm256_cmp_pd(_mm256_castsi256_pd(less), least, _CMP_NLT_UQ);
}

static inline vec vec_usable_sub(vec_mask usable, vec a, vec b) {
    return _mm256_and_pd(usable, _mm256_sub_pd(a, b));
}

static inline unsigned vec_finish(double *y, vec x, vec above, vec below, vec_mask usable) {
    vec done = _mm256_and_pd(usable, _mm256_cmp_pd(above, below, _CMP_EQ_OQ));
    vec signed_y = _mm256_or_pd(above, _mm256_and_pd(_mm256_set1_pd(-0.0), x));
    vec_store(y, _mm256_blendv_pd(x, signed_y, done));
    return (unsigned)_mm256_movemask_pd(done) ^ 15;
}

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

static inline unsigned vec_lanes(vec_mask mask) { /* bit i: lane i */
    return (unsigned)_mm256_movemask_pd(mask);
}

#elif defined(__SSE2__) && !defined(LUCID_SCALAR)

#include <immintrin.h>

#ifdef __FMA__
enum { LANES = 2, VEC_FUSED = 1 };
#else
enum { LANES = 2, VEC_FUSED = 0 };
#endif
typedef __m128d vec, vec_mask;

static inline vec vec_load(const double *p) {
    return _mm_loadu_pd(p);
}

static inline void vec_store(double *p, vec a) {
    _mm_storeu_pd(p, a);
}

static inline vec vec_load_first(const double *p, size_t n) {
    (void)n; /* 1 */
    return _mm_load_sd(p);
}

static inline void vec_store_first(double *p, vec a, size_t n) {
    (void)n;
    _mm_store_sd(p, a);
}

static inline vec vec_set(double a) {
    return _mm_set1_pd(a);
}

static inline vec vec_add(vec a, vec b) {
    return _mm_add_pd(a, b);
}

static inline vec vec_sub(vec a, vec b) {
    return _mm_sub_pd(a, b);
}

static inline vec vec_mul(vec a, vec b) {
    return _mm_mul_pd(a, b);
}

static inline vec vec_max(vec a, vec b) { /* b where a is NaN */
    return _mm_max_pd(a, b);
}

static inline vec vec_abs(vec a) {
    return _mm_andnot_pd(_mm_set1_pd(-0.0), a);
}

#ifdef __FMA__
static inline vec vec_madd(vec a, vec b, vec c) {
    return _mm_fmadd_pd(a, b, c);
}

static inline void vec_product(vec a, vec b, vec *high, vec *low) {
    *high = vec_mul(a, b);
    *low = _mm_fmsub_pd(a, b, *high);
}
#else
static inline vec vec_madd(vec a, vec b, vec c) {
    return _mm_add_pd(_mm_mul_pd(a, b), c);
}

static inline void vec_product(vec a, vec b, vec *high, vec *low) {
    vec head = _mm_andnot_pd(_mm_castsi128_pd(_mm_set1_epi64x(VEC_LOW_27_BITS)), a);
    *high = vec_mul(head, b); /* exact: 26 bits times 27 */
    *low = vec_mul(vec_sub(a, head), b);
}
#endif

static inline vec vec_shift_left(vec a, int n) {
    return _mm_castsi128_pd(_mm_slli_epi64(_mm_castpd_si128(a), n));
}

static inline __m128i vec_below_one_(vec w) {
    return _mm_sub_epi64(_mm_set1_epi64x(VEC_ONE_BITS), _mm_castpd_si128(w));
}

static inline void vec_line(vec w, uint64_t at[LANES]) {
    __m128i line = _mm_srli_epi64(vec_below_one_(w), 46);
    _mm_storeu_si128((__m128i *)at, _mm_slli_epi64(line, 3));
}

static inline void vec_row(vec w, uint64_t at[LANES]) {
    __m128i d = vec_below_one_(w), extra = _mm_set1_epi64x(LUCID_F64_ROWS_EXTRA);
    __m128i row = _mm_min_epi16(_mm_srli_epi64(d, 46), _mm_add_epi64(_mm_srli_epi64(d, 47), extra));
    _mm_storeu_si128((__m128i *)at, _mm_add_epi64(_mm_slli_epi64(row, 3), _mm_slli_epi64(row, 2)));
}

static inline void vec_columns(const double *table, const uint64_t at[LANES], int count, vec *out) {
    for (int k = 0; k < count; k += 2, table += 2) {
        vec r0 = _mm_load_pd(table + at[0]), r1 = _mm_load_pd(table + at[1]);
        out[k] = _mm_unpacklo_pd(r0, r1);
        out[k + 1] = _mm_unpackhi_pd(r0, r1);
    }
}

static inline vec_mask vec_usable(vec a, double tiny) {
    /* A zero is not made a NaN, as with AVX2: here <= and < raise invalid at one, and flags that
     * have changed cost a write of MXCSR. */
    return _mm_or_pd(_mm_cmpge_pd(a, vec_set(tiny)), _mm_cmpeq_pd(a, _mm_setzero_pd()));
}

static inline vec vec_usable_sub(vec_mask usable, vec a, vec b) {
    return _mm_and_pd(usable, _mm_sub_pd(a, b));
}

static inline unsigned vec_finish(double *y, vec x, vec above, vec below, vec_mask usable) {
    vec done = _mm_and_pd(usable, _mm_cmpeq_pd(above, below));
    vec signed_y = _mm_or_pd(above, _mm_and_pd(_mm_set1_pd(-0.0), x));
    vec_store(y, _mm_or_pd(_mm_and_pd(done, signed_y), _mm_andnot_pd(done, x)));
    return (unsigned)_mm_movemask_pd(done) ^ 3;
}

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

static inline unsigned vec_lanes(vec_mask mask) {
    return (unsigned)_mm_movemask_pd(mask);
}

#elif defined(__aarch64__) && defined(__ARM_NEON) && !defined(LUCID_SCALAR)

#include <arm_neon.h>

enum { LANES = 2, VEC_FUSED = 1 };
typedef float64x2_t vec;
typedef uint64x2_t vec_mask;

static inline vec vec_load(const double *p) {
    return vld1q_f64(p);
}

static inline void vec_store(double *p, vec a) {
    vst1q_f64(p, a);
}

static inline vec vec_load_first(const double *p, size_t n) {
    (void)n; /* 1 */
    return vcombine_f64(vld1_f64(p), vdup_n_f64(0));
}

static inline void vec_store_first(double *p, vec a, size_t n) {
    (void)n;
    vst1_f64(p, vget_low_f64(a));
}

static inline vec vec_set(double a) {
    return vdupq_n_f64(a);
}

static inline vec vec_add(vec a, vec b) {
    return vaddq_f64(a, b);
}

static inline vec vec_sub(vec a, vec b) {
    return vsubq_f64(a, b);
}

static inline vec vec_mul(vec a, vec b) {
    return vmulq_f64(a, b);
}

static inline vec vec_madd(vec a, vec b, vec c) {
    return vfmaq_f64(c, a, b);
}

static inline vec vec_max(vec a, vec b) { /* b where a is a quiet NaN */
    return vmaxnmq_f64(a, b);
}

static inline vec vec_abs(vec a) {
    return vabsq_f64(a);
}

static inline void vec_product(vec a, vec b, vec *high, vec *low) {
    *high = vec_mul(a, b);
    *low = vnegq_f64(vfmsq_f64(*high, a, b));
}

static inline vec vec_shift_left(vec a, int n) {
    return vreinterpretq_f64_u64(vshlq_u64(vreinterpretq_u64_f64(a), vdupq_n_s64(n)));
}

static inline uint64x2_t vec_below_one_(vec w) {
    return vsubq_u64(vdupq_n_u64(VEC_ONE_BITS), vreinterpretq_u64_f64(w));
}

static inline void vec_line(vec w, uint64_t at[LANES]) {
    vst1q_u64(at, vshlq_n_u64(vshrq_n_u64(vec_below_one_(w), 46), 3));
}

static inline void vec_row(vec w, uint64_t at[LANES]) {
    uint64x2_t d = vec_below_one_(w), extra = vdupq_n_u64(LUCID_F64_ROWS_EXTRA);
    uint64x2_t row = vreinterpretq_u64_u32(
        vminq_u32(vreinterpretq_u32_u64(vshrq_n_u64(d, 46)),
                  vreinterpretq_u32_u64(vaddq_u64(vshrq_n_u64(d, 47), extra))));
    vst1q_u64(at, vaddq_u64(vshlq_n_u64(row, 3), vshlq_n_u64(row, 2)));
}

static inline void vec_columns(const double *table, const uint64_t at[LANES], int count, vec *out) {
    for (int k = 0; k < count; k += 2, table += 2) {
        vec r0 = vld1q_f64(table + at[0]), r1 = vld1q_f64(table + at[1]);
        out[k] = vzip1q_f64(r0, r1);
        out[k + 1] = vzip2q_f64(r0, r1);
    }
}

static inline vec_mask vec_usable(vec a, double tiny) {
    uint64x2_t less = vsubq_u64(vreinterpretq_u64_f64(a), vdupq_n_u64(1));
    return vcgeq_u64(less, vdupq_n_u64(f64_bits(tiny) - 1));
}

static inline vec vec_usable_sub(vec_mask usable, vec a, vec b) {
    return vreinterpretq_f64_u64(vandq_u64(usable, vreinterpretq_u64_f64(vsubq_f64(a, b))));
}

static inline unsigned vec_finish(double *y, vec x, vec above, vec below, vec_mask usable) {
    vec_mask done = vandq_u64(usable, vceqq_f64(above, below));
    vec signed_y = vbslq_f64(vdupq_n_u64((uint64_t)VEC_SIGN_BIT), x, above);
    vec_store(y, vbslq_f64(done, signed_y, x));
    return (unsigned)((~vgetq_lane_u64(done, 0) & 1) | (~vgetq_lane_u64(done, 1) & 2));
}

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

static inline unsigned vec_lanes(vec_mask mask) {
    return (unsigned)((vgetq_lane_u64(mask, 0) & 1) | (vgetq_lane_u64(mask, 1) & 2));
}

#else

enum { LANES = 1, VEC_FUSED = 0 };
typedef double vec;
typedef int vec_mask;

static inline vec vec_load(const double *p) {
    return *p;
}

static inline void vec_store(double *p, vec a) {
    *p = a;
}

static inline vec vec_load_first(const double *p, size_t n) { /* never called */
    (void)n;
    return *p;
}

static inline void vec_store_first(double *p, vec a, size_t n) {
    (void)n;
    *p = a;
}

static inline vec vec_set(double a) {
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
    return a * b + c;
}

static inline vec vec_max(vec a, vec b) { /* b where a is NaN */
    return a > b ? a : b;
}

static inline vec vec_abs(vec a) {
    return f64_of_bits(f64_bits(a) & INT64_MAX);
}

static inline void vec_product(vec a, vec b, vec *high, vec *low) {
    vec head = f64_of_bits(f64_bits(a) & ~(uint64_t)VEC_LOW_27_BITS);
    *high = head * b; /* exact: 26 bits times 27 */
    *low = (a - head) * b;
}

static inline vec vec_shift_left(vec a, int n) {
    return f64_of_bits(f64_bits(a) << n);
}

static inline void vec_line(vec w, uint64_t at[LANES]) {
    at[0] = (VEC_ONE_BITS - f64_bits(w)) >> 46 << 3;
}

static inline void vec_row(vec w, uint64_t at[LANES]) {
    uint64_t d = VEC_ONE_BITS - f64_bits(w);
    uint64_t fine = d >> 46, coarse = (d >> 47) + LUCID_F64_ROWS_EXTRA;
    at[0] = LUCID_F64_ROW * (fine < coarse ? fine : coarse);
}

static inline void vec_columns(const double *table, const uint64_t at[LANES], int count, vec *out) {
    memcpy(out, table + at[0], (size_t)count * sizeof *out);
}

static inline vec_mask vec_usable(vec a, double tiny) {
    return f64_bits(a) - 1 >= f64_bits(tiny) - 1;
}

static inline vec vec_usable_sub(vec_mask usable, vec a, vec b) {
    return usable ? a - b : 0;
}

static inline unsigned vec_finish(double *y, vec x, vec above, vec below, vec_mask usable) {
    int done = usable && above == below;
    *y = done ? f64_of_bits(f64_bits(above) | (f64_bits(x) & (uint64_t)VEC_SIGN_BIT)) : x;
    return !done;
}

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

static inline unsigned vec_lanes(vec_mask mask) {
    return (unsigned)mask;
}

#endif

#ifndef VEC_SCALES

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
    vec_mask normal = vec_between(vec_abs(a), 0x1p-1022, 0x1.fffffffffffffp1023);
    return vec_lanes(normal) ^ ((1u << LANES) - 1);
}

#endif

static inline vec vec_fused(vec a, vec b, vec c) {
    return vec_madd(a, b, c);
}
#endif
