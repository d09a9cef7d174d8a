/* Float lanes: the vector type, its integer twin and their operations, one section per
 * instruction set.  SPDX-License-Identifier: MIT
 * load_columns gathers four neighbouring floats per lane. */
#ifndef LUCID_VEC_F32_H
#define LUCID_VEC_F32_H

#include <stdint.h>

#if defined(__AVX2__) && defined(__FMA__)
#include <immintrin.h>

enum { LANES = 8 };
typedef __m256 vec;
typedef __m256i veci;

static inline vec load(const float *p) {
    return _mm256_loadu_ps(p);
}

static inline void store(float *p, vec v) {
    _mm256_storeu_ps(p, v);
}

static inline void store_bits(uint32_t *p, veci v) {
    _mm256_storeu_si256((__m256i *)p, v);
}

static inline vec broadcast(float value) {
    return _mm256_set1_ps(value);
}

static inline veci broadcast_bits(uint32_t pattern) {
    return _mm256_set1_epi32((int)pattern);
}

static inline veci bits(vec v) {
    return _mm256_castps_si256(v);
}

static inline vec floats(veci v) {
    return _mm256_castsi256_ps(v);
}

static inline vec add(vec a, vec b) {
    return _mm256_add_ps(a, b);
}

static inline vec sub(vec a, vec b) {
    return _mm256_sub_ps(a, b);
}

static inline vec mul_add(vec a, vec b, vec c) {
    return _mm256_fmadd_ps(a, b, c);
}

static inline veci sub_bits(veci a, veci b) {
    return _mm256_sub_epi32(a, b);
}

static inline veci min_bits(veci a, veci b) {
    return _mm256_min_epu32(a, b);
}

static inline veci max_bits(veci a, veci b) {
    return _mm256_max_epu32(a, b);
}

static inline veci both_bits(veci a, veci b) {
    return _mm256_and_si256(a, b);
}

static inline veci either_bits(veci a, veci b) {
    return _mm256_or_si256(a, b);
}

static inline veci equal(vec a, vec b) {
    return bits(_mm256_cmp_ps(a, b, _CMP_EQ_OQ));
}

static inline veci equal_bits(veci a, veci b) {
    return _mm256_cmpeq_epi32(a, b);
}

/* a where the mask is set, else b. */
static inline vec choose(veci mask, vec a, vec b) {
    return _mm256_blendv_ps(b, a, floats(mask));
}

/* Bit i: lane i of the mask. */
static inline unsigned lanes_of(veci mask) {
    return (unsigned)_mm256_movemask_ps(floats(mask));
}

#define shift_right(a, places) _mm256_srli_epi32(a, places)

/* c[k], lane i: the float at table + offset[i] + 4 * k bytes. */
static inline void load_columns(const float *table, const uint32_t *offset, vec c[4]) {
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
        c[2 * i] = _mm256_shuffle_ps(s[i], s[i + 2], 0x44);
        c[2 * i + 1] = _mm256_shuffle_ps(s[i], s[i + 2], 0xee);
    }
}

#elif defined(__aarch64__)
#include <arm_neon.h>

enum { LANES = 4 };
typedef float32x4_t vec;
typedef uint32x4_t veci;

static inline vec load(const float *p) {
    return vld1q_f32(p);
}

static inline void store(float *p, vec v) {
    vst1q_f32(p, v);
}

static inline void store_bits(uint32_t *p, veci v) {
    vst1q_u32(p, v);
}

static inline vec broadcast(float value) {
    return vdupq_n_f32(value);
}

static inline veci broadcast_bits(uint32_t pattern) {
    return vdupq_n_u32(pattern);
}

static inline veci bits(vec v) {
    return vreinterpretq_u32_f32(v);
}

static inline vec floats(veci v) {
    return vreinterpretq_f32_u32(v);
}

static inline vec add(vec a, vec b) {
    return vaddq_f32(a, b);
}

static inline vec sub(vec a, vec b) {
    return vsubq_f32(a, b);
}

static inline vec mul_add(vec a, vec b, vec c) {
    return vfmaq_f32(c, a, b);
}

static inline veci sub_bits(veci a, veci b) {
    return vsubq_u32(a, b);
}

static inline veci min_bits(veci a, veci b) {
    return vminq_u32(a, b);
}

static inline veci max_bits(veci a, veci b) {
    return vmaxq_u32(a, b);
}

static inline veci both_bits(veci a, veci b) {
    return vandq_u32(a, b);
}

static inline veci either_bits(veci a, veci b) {
    return vorrq_u32(a, b);
}

static inline veci equal(vec a, vec b) {
    return vceqq_f32(a, b);
}

static inline veci equal_bits(veci a, veci b) {
    return vceqq_u32(a, b);
}

static inline vec choose(veci mask, vec a, vec b) {
    return vbslq_f32(mask, a, b);
}

static inline unsigned lanes_of(veci mask) {
    static const uint32_t weight[4] = {1, 2, 4, 8};
    return vaddvq_u32(vandq_u32(mask, vld1q_u32(weight)));
}

#define shift_right(a, places) vshrq_n_u32(a, places)

static inline void load_columns(const float *table, const uint32_t *offset, vec c[4]) {
    const char *base = (const char *)table;
    vec r[4];
    for (int i = 0; i < 4; i++)
        r[i] = vld1q_f32((const float *)(base + offset[i]));
    float32x4x2_t a = vtrnq_f32(r[0], r[1]), b = vtrnq_f32(r[2], r[3]);
    c[0] = vcombine_f32(vget_low_f32(a.val[0]), vget_low_f32(b.val[0]));
    c[1] = vcombine_f32(vget_low_f32(a.val[1]), vget_low_f32(b.val[1]));
    c[2] = vcombine_f32(vget_high_f32(a.val[0]), vget_high_f32(b.val[0]));
    c[3] = vcombine_f32(vget_high_f32(a.val[1]), vget_high_f32(b.val[1]));
}

#endif

#endif
