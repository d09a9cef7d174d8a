/* erfinv, float16 and bfloat16, correctly rounded: AVX-512, coefficients by permutation.
 * SPDX-License-Identifier: MIT
 * Sixteen segments of a = |x|, degree 4, in binary32, and a permutation of results for the last 32
 * values below 1.  That they all round right is known from trying them all.  Lanes that hold zeros,
 * tiny or special values are left open at first.  docs/accuracy-f32.md. */
#include "erfinv.h"
#include "tables/half.h"

#include <immintrin.h>

enum { SIGN = 0x8000, MAGNITUDE = 0x7fff };

/* A pair of vectors of floats holds LANES numbers. */
enum { LANES = 32, PAIRS = 2, VECTORS = 2 * PAIRS, GROUP = LANES * PAIRS, BLOCK = 1024 };

struct format {
    void (*of_pairs)(__m512i a[PAIRS]); /* erfinv of patterns below last_32, in place */
    const uint16_t *last_results;       /* of the patterns from last_32 on */
    uint16_t last_32;                   /* ends with five bits 0 */
    uint16_t one, infinity, quiet, smallest_normal;
    lucid_kernel_u16 *rest; /* for less than a group */
};

static inline __m512i all(uint16_t pattern) {
    return _mm512_set1_epi16((short)pattern);
}

static inline __m512 pick(const float line[16], __m512i index) {
    return _mm512_permutexvar_ps(index, _mm512_loadu_ps(line));
}

/* a = erfinv(a); step by step for all vectors, so that their latencies overlap. */
static inline __attribute__((always_inline)) void of_floats(__m512 a[VECTORS]) {
    __m512i segment[VECTORS];
    __m512 h[VECTORS];
#define EACH for (int v = 0; v < VECTORS; v++)
    EACH segment[v] = _mm512_castps_si512(_mm512_sub_ps(_mm512_set1_ps(17 / 16.0f), a[v]));
    EACH segment[v] = _mm512_srli_epi32(segment[v], 21);
    EACH h[v] = _mm512_sub_ps(a[v], pick(lucid_half_permute[0], segment[v])); /* exact */
    EACH a[v] = pick(lucid_half_permute[5], segment[v]);
    for (int k = 4; k >= 1; k--)
        EACH a[v] = _mm512_fmadd_ps(a[v], h[v], pick(lucid_half_permute[k], segment[v]));
#undef EACH
}

static inline __m512i join(__m256i low, __m256i high) {
    return _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
}

static inline __attribute__((always_inline)) void of_f16_pairs(__m512i a[PAIRS]) {
    __m512 f[VECTORS];
    for (int p = 0; p < PAIRS; p++) {
        f[2 * p] = _mm512_cvtph_ps(_mm512_castsi512_si256(a[p]));
        f[2 * p + 1] = _mm512_cvtph_ps(_mm512_extracti64x4_epi64(a[p], 1));
    }
    of_floats(f);
    for (int p = 0; p < PAIRS; p++)
        a[p] = join(_mm512_cvtps_ph(f[2 * p], _MM_FROUND_NO_EXC),
                    _mm512_cvtps_ph(f[2 * p + 1], _MM_FROUND_NO_EXC));
}

static inline __attribute__((always_inline)) void of_bf16_pairs(__m512i a[PAIRS]) {
    __m512i upper = _mm512_set1_epi32((int)0xffff0000), half = _mm512_set1_epi32(0x8000);
    __m512 f[VECTORS];
    for (int p = 0; p < PAIRS; p++) {
        f[2 * p] = _mm512_castsi512_ps(_mm512_slli_epi32(a[p], 16));
        f[2 * p + 1] = _mm512_castsi512_ps(_mm512_and_si512(a[p], upper));
    }
    of_floats(f);
    for (int p = 0; p < PAIRS; p++) {
        /* No value is halfway between two bfloat16. */
        __m512i even = _mm512_add_epi32(_mm512_castps_si512(f[2 * p]), half);
        __m512i odd = _mm512_add_epi32(_mm512_castps_si512(f[2 * p + 1]), half);
        a[p] = _mm512_ternarylogic_epi32(upper, _mm512_srli_epi32(even, 16), odd, 0xec);
    }
}

/* Below twice the smallest normal number a pattern counts units of the smallest subnormal one. */
static inline __m256i small_half(__m256i a) {
    __m512 units = _mm512_cvtepi32_ps(_mm512_cvtepu16_epi32(a));
    units = _mm512_mul_ps(units, _mm512_set1_ps(0x1.c5bf8ap-1f)); /* sqrt(pi)/2 */
    return _mm512_cvtepi32_epi16(_mm512_cvtps_epi32(units));
}

static inline __m512i of_small(__m512i a) {
    return join(small_half(_mm512_castsi512_si256(a)), small_half(_mm512_extracti64x4_epi64(a, 1)));
}

/* Does the lanes of y that are `open`, which hold x. */
static __attribute__((noinline)) unsigned special(const struct format *f, uint16_t *y,
                                                  const __mmask32 *open, size_t n) {
    __mmask32 divide = 0, invalid = 0, underflow = 0;
    for (; n; n -= LANES, y += LANES, open++) {
        if (!*open)
            continue;
        __m512i x = _mm512_loadu_si512(y), a = _mm512_and_si512(x, all(MAGNITUDE)), r = a;
        __mmask32 small = _mm512_mask_cmplt_epu16_mask(*open, _mm512_sub_epi16(a, all(1)),
                                                       all(f->one - 1)); /* and not 0 */
        __mmask32 one = _mm512_mask_cmpeq_epu16_mask(*open, a, all(f->one));
        __mmask32 above = _mm512_mask_cmpgt_epu16_mask(*open, a, all(f->one));
        __mmask32 nan = _mm512_mask_cmpgt_epu16_mask(*open, a, all(f->infinity));
        if (small) {
            r = of_small(a);
            /* The results are not exact, so the subnormal ones underflow. */
            underflow |= _mm512_mask_cmplt_epu16_mask(small, r, all(f->smallest_normal));
        }
        divide |= one;
        invalid |= (above & ~nan) | _mm512_mask_testn_epi16_mask(nan, x, all(f->quiet));
        r = _mm512_mask_mov_epi16(r, one, all(f->infinity));
        r = _mm512_ternarylogic_epi32(x, r, all(SIGN), 0xec);
        r = _mm512_mask_mov_epi16(r, above, all(f->infinity | f->quiet));
        r = _mm512_mask_mov_epi16(r, nan, _mm512_or_si512(x, all(f->quiet)));
        _mm512_storeu_si512(y, _mm512_mask_mov_epi16(x, *open, r));
    }
    return (divide ? LUCID_DIVIDE : 0) | (invalid ? LUCID_INVALID : 0) |
           (underflow ? LUCID_UNDERFLOW : 0);
}

/* x and y hold a multiple of GROUP, at most BLOCK. */
static inline __attribute__((always_inline)) unsigned
block(const struct format *f, const uint16_t *x, uint16_t *y, size_t n) {
    uint16_t small = 2 * f->smallest_normal;
    __m512i last_results = _mm512_loadu_si512(f->last_results);
    __mmask32 open[BLOCK / LANES], any = 0;
    for (size_t i = 0; i < n; i += GROUP) {
        __m512i in[PAIRS], a[PAIRS], r[PAIRS];
        for (int p = 0; p < PAIRS; p++) {
            in[p] = _mm512_loadu_si512(x + i + p * LANES);
            a[p] = _mm512_and_si512(in[p], all(MAGNITUDE));
            r[p] = _mm512_max_epu16(a[p], all(small)); /* subnormal floats are slow on some CPUs */
        }
        f->of_pairs(r);
        for (int p = 0; p < PAIRS; p++) {
            __mmask32 last = _mm512_cmpge_epu16_mask(a[p], all(f->last_32));
            __mmask32 done =
                _mm512_cmplt_epu16_mask(_mm512_sub_epi16(a[p], all(small)), all(f->one - small));
            r[p] = _mm512_mask_permutexvar_epi16(r[p], last, a[p], last_results);
            r[p] = _mm512_ternarylogic_epi32(in[p], r[p], all(SIGN), 0xec);
            _mm512_storeu_si512(y + i + p * LANES, _mm512_mask_mov_epi16(in[p], done, r[p]));
            open[i / LANES + (size_t)p] = ~done;
            any |= ~done;
        }
    }
    return any ? special(f, y, open, n) : 0;
}

static inline __attribute__((always_inline)) unsigned
erfinv(const struct format *f, const uint16_t *x, uint16_t *y, size_t n) {
    unsigned flags = 0;
    while (n >= GROUP) {
        size_t now = n < BLOCK ? n / GROUP * GROUP : BLOCK;
        flags |= block(f, x, y, now);
        x += now, y += now, n -= now;
    }
    return n ? flags | f->rest(x, y, n) : flags;
}

lucid_kernel_u16 lucid_erfinv_f16, lucid_erfinv_bf16;

unsigned LUCID_NAME(lucid_erfinv_f16_permute)(const uint16_t *x, uint16_t *y, size_t n) {
    static const struct format f16 = {
        .of_pairs = of_f16_pairs,
        .last_results = lucid_f16 + 0x3be0,
        .last_32 = 0x3be0,
        .one = 0x3c00,
        .infinity = 0x7c00,
        .quiet = 0x0200,
        .smallest_normal = 0x0400,
        .rest = lucid_erfinv_f16,
    };
    return erfinv(&f16, x, y, n);
}

unsigned LUCID_NAME(lucid_erfinv_bf16_permute)(const uint16_t *x, uint16_t *y, size_t n) {
    static const struct format bf16 = {
        .of_pairs = of_bf16_pairs,
        .last_results = lucid_bf16 + 0x3f60,
        .last_32 = 0x3f60,
        .one = 0x3f80,
        .infinity = 0x7f80,
        .quiet = 0x0040,
        .smallest_normal = 0x0080,
        .rest = lucid_erfinv_bf16,
    };
    return erfinv(&bf16, x, y, n);
}
