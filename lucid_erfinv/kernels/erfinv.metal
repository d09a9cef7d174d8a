/* erfinv and its gradient for GPUs: float32, float16, bfloat16.  SPDX-License-Identifier: MIT
 * Results are those of the CPU kernels, bit for bit, also where subnormals are flushed: arithmetic
 * is on normal numbers, in pairs of floats whose unrounded sum is the value, and what enters or
 * leaves is an integer.  One rounding an operation: sums, products and metal::fma, and none of them
 * contracted; no division, no library function.  Errors and margins: docs/accuracy-metal.md. */
#include <metal_stdlib>

#ifndef LUCID_ERFINV_METAL
#define LUCID_ERFINV_METAL

#pragma METAL fp math_mode(safe)
#pragma METAL fp contract(off)

#include "tables/erfinv_metal.h"

#define LUCID_MAGNITUDE 0x7fffffffu
#define LUCID_INFINITY 0x7f800000u
#define LUCID_QUIET 0x00400000u
#define LUCID_ONE 0x3f800000u
#define LUCID_TINY 0x30800000u /* 2^-30: what is below has the slope at 0 */

#define LUCID_MARGIN 0x1p-44f /* the pairs err by less than 2^-44.4 */

#define LUCID_INVERSE_LN2 0x1.715476p+0f
#define LUCID_LN2_HIGH 0x1.62cp-1f /* 11 bits: its product with n is exact */
#define LUCID_LN2_LOW 0x1.217f7ep-12f
#define LUCID_LN2_LAST -0x1.c610cap-37f
#define LUCID_ROUND_TO_16TH 0x1.8p19f
#define LUCID_OVERFLOWS 0x41680000u /* 14.5: exp(14.5^2) times any g */

struct lucid_pair {
    float high, low;
};

static inline lucid_pair lucid_exact_product(float a, float b) {
    float high = a * b;
    lucid_pair product = {high, metal::fma(a, b, -high)};
    return product;
}

/* |a| >= |b| or a = 0. */
static inline lucid_pair lucid_exact_sum(float a, float b) {
    float high = a + b;
    lucid_pair sum = {high, b - (high - a)};
    return sum;
}

/* The bits of y 2^exponent, y > 0, rounded once, in a format that has `fraction` fraction bits: two
 * bits below those of y.high keep what the rest does, its sign. */
static inline uint lucid_rounded(lucid_pair y, int exponent, int fraction, int bias) {
    y = lucid_exact_sum(y.high, y.low);
    uint bits = as_type<uint>(y.high);
    int scale = metal::min(int(bits >> 23) - 127 + exponent + bias, 2 * bias + 1);
    uint digits = ((bits & 0x7fffffu) | 0x800000u) << 2;
    digits = y.low < 0.0f ? digits - 1u : y.low > 0.0f ? digits + 1u : digits;
    int drop = metal::min(25 - fraction + metal::max(1 - scale, 0), 27);
    digits = (digits + (1u << (drop - 1)) - 1u + ((digits >> drop) & 1u)) >> drop;
    uint result = (uint(metal::max(scale, 1) - 1) << fraction) + digits;
    return metal::min(result, uint(2 * bias + 1) << fraction);
}

/* The significand of a magnitude as an integer, its unit being 2^lucid_unit. */
static inline float lucid_digits(uint size, int fraction) {
    uint one = 1u << fraction;
    return float(size < one ? size : (size & (one - 1u)) | one);
}

static inline int lucid_unit(uint size, int fraction, int bias) {
    return metal::max(int(size >> fraction), 1) - bias - fraction;
}

/* erfinv(a), 2^-30 <= a < 1 - 2^-14: h = a - c is exact, c4 to c0 are pairs. */
static inline lucid_pair lucid_unrounded(float a) {
    uint row = (LUCID_ONE - as_type<uint>(1.0f - a)) >> 19;
    constant float *c = lucid_metal_rows[row];
    float h = a - c[0];
    float r = metal::fma(metal::fma(metal::fma(c[1], h, c[2]), h, c[3]), h, c[4]), low = 0.0f;
    for (int i = 5; i < 15; i += 2) {
        float next = metal::fma(r, h, c[i]);
        low = metal::fma(low, h, metal::fma(r, h, c[i] - next) + c[i + 1]);
        r = next;
    }
    lucid_pair y = {r, low};
    return y;
}

static inline uint lucid_erfinv_f32(uint x) {
    uint a = x & LUCID_MAGNITUDE, sign = x ^ a;
    if (a > LUCID_INFINITY) {
        return x | LUCID_QUIET;
    }
    if (a > LUCID_ONE) {
        return LUCID_INFINITY | LUCID_QUIET;
    }
    if (a == LUCID_ONE) {
        return sign | LUCID_INFINITY;
    }
    if (a >= LUCID_ONE - LUCID_METAL_LAST) {
        return sign | as_type<uint>(lucid_metal_last[LUCID_ONE - 1u - a]);
    }
    if (a == 0u) {
        return x;
    }
    if (a < LUCID_TINY) {
        float digits = lucid_digits(a, 23);
        lucid_pair y = lucid_exact_product(digits, lucid_metal_slope[0]);
        y.low = metal::fma(digits, lucid_metal_slope[1], y.low);
        return sign | lucid_rounded(y, lucid_unit(a, 23, 127), 23, 127);
    }
    lucid_pair y = lucid_unrounded(as_type<float>(a));
    float result = y.high + metal::fma(y.high, LUCID_MARGIN, y.low);
    if (result != y.high + metal::fma(y.high, -LUCID_MARGIN, y.low)) {
        result = y.high + y.low;
        for (int i = 0; i < LUCID_METAL_EXCEPTIONS; i++) {
            if (lucid_metal_exceptions[i][0] == a) {
                return sign | lucid_metal_exceptions[i][1];
            }
        }
    }
    return sign | as_type<uint>(result);
}

static inline float lucid_float_of_f16(uint size) {
    return size < 0x400u ? float(size) * 0x1p-24f : as_type<float>((size << 13) + (112u << 23));
}

static inline ushort lucid_erfinv_f16(ushort x) {
    uint a = x & 0x7fffu, sign = x ^ a;
    if (a > 0x7c00u) {
        return ushort(x | 0x0200u);
    }
    if (a > 0x3c00u) {
        return 0x7e00u;
    }
    if (a == 0x3c00u) {
        return ushort(sign | 0x7c00u);
    }
    if (a == 0u) {
        return x;
    }
    return ushort(sign | lucid_rounded(lucid_unrounded(lucid_float_of_f16(a)), 0, 10, 15));
}

/* Rounding the float32 result again does no harm: exhaustive. */
static inline ushort lucid_erfinv_bf16(ushort x) {
    uint y = lucid_erfinv_f32(uint(x) << 16);
    return ushort((y + 0x7fffu + ((y >> 16) & 1u)) >> 16);
}

/* sqrt(pi)/2 exp(z) = 2^k t exp(r + ..): z = n ln(2) + r, n in 16ths, r exact but for n ln(2)'s
 * low part. */
struct lucid_power {
    float n, r, t, t_lost;
    int k;
};

static inline lucid_power lucid_power_of(float z) {
    float magic = metal::fma(z, LUCID_INVERSE_LN2, LUCID_ROUND_TO_16TH);
    uint bits = as_type<uint>(magic);
    float n = magic - LUCID_ROUND_TO_16TH, r = metal::fma(-n, LUCID_LN2_HIGH, z);
    lucid_power power = {n, r, lucid_backward_f32_power[0][bits & 15u],
                         lucid_backward_f32_power[1][bits & 15u], int((bits >> 4) & 0xfffu)};
    return power;
}

/* 1/a, correctly rounded but for a significand of ones: each step squares the error, and the last
 * one starts from 1 ulp. */
static inline float lucid_reciprocal(float a) {
    float r = as_type<float>(0x7ef311c7u - as_type<uint>(a));
    for (int i = 0; i < 4; i++) {
        r = metal::fma(metal::fma(-a, r, 1.0f), r, r);
    }
    return r;
}

/* What backward_lanes.h has by these names; u is a t. */
struct lucid_slope {
    float t, r, s, p;
    int k;
};

struct lucid_tail {
    float h, q, g0, inverse, slope;
    lucid_pair u;
};

static inline lucid_slope lucid_slope_of(float a) {
    lucid_pair z = lucid_exact_product(a, a);
    lucid_power power = lucid_power_of(z.high);
    float r_low = metal::fma(-power.n, LUCID_LN2_LOW, z.low) + power.t_lost;
    float x = power.r + r_low, s = lucid_backward_f32_exp[2];
    s = metal::fma(s, x, lucid_backward_f32_exp[1]);
    s = metal::fma(s, x, lucid_backward_f32_exp[0]);
    s = metal::fma(s, x * x, r_low);
    lucid_slope slope = {power.t, power.r, s, power.t * (power.r + s), power.k};
    return slope;
}

static inline lucid_tail lucid_tail_of(float a, lucid_slope e) {
    uint i = lucid_backward_f32_segment[(as_type<uint>(a) >> 19) & 63u];
    float h = a - lucid_backward_f32_g[0][i], q = lucid_backward_f32_g[6][i];
    for (int k = 5; k >= 2; k--) {
        q = metal::fma(q, h, lucid_backward_f32_g[k][i]);
    }
    lucid_pair u = lucid_exact_product(a, e.t);
    float slope = metal::fma(u.high, e.r + e.s, u.high);
    lucid_tail tail = {h, q, lucid_backward_f32_g[1][i], lucid_reciprocal(slope), slope, u};
    return tail;
}

/* backward_lanes.h, operation by operation: p with y's rounding undone. */
static inline float lucid_recovered(float a, lucid_slope e) {
    lucid_tail tail = lucid_tail_of(a, e);
    float grid = as_type<float>(0x3fc00000u + (uint(e.k) << 23));
    float v = metal::fma(metal::fma(tail.h, tail.q, tail.g0), tail.inverse, grid) - grid;
    lucid_pair w = lucid_exact_product(tail.u.high, v);
    w.low = metal::fma(tail.u.low, v, w.low);
    float c = metal::fma(tail.h, tail.q, metal::fma(-w.high, e.r, tail.g0 - w.high));
    c = c - metal::fma(w.high, e.s, metal::fma(w.low, e.r, w.low));
    float steps = metal::fma(c, tail.inverse, grid) - grid;
    c = metal::fma(-steps, tail.slope, c);
    uint bits = as_type<uint>(a);
    float bound = as_type<float>(bits + (bits & LUCID_INFINITY) + (11u << 16) - (150u << 23));
    return c <= bound && -c <= bound ? metal::fma(e.t + e.p, c, e.p) : e.p;
}

static inline bool lucid_may_be_output(float a) {
    return a >= 0.5f && a < 3.875f;
}

/* A y between these stands for all below and above. */
static inline float lucid_clamped(uint size) {
    return as_type<float>(metal::clamp(size, LUCID_TINY, LUCID_OVERFLOWS));
}

static inline uint lucid_backward_f32(uint g, uint y) {
    uint g_size = g & LUCID_MAGNITUDE, y_size = y & LUCID_MAGNITUDE;
    if (g_size > LUCID_INFINITY) {
        return g | LUCID_QUIET;
    }
    if (y_size > LUCID_INFINITY) {
        return y | LUCID_QUIET;
    }
    if (g_size == 0u || g_size == LUCID_INFINITY) {
        return g;
    }
    float a = lucid_clamped(y_size);
    lucid_slope e = lucid_slope_of(a);
    float p = lucid_may_be_output(a) ? lucid_recovered(a, e) : e.p;
    float digits = lucid_digits(g_size, 23);
    lucid_pair product = {metal::fma(digits, e.t, digits * p), 0.0f};
    return (g ^ g_size) | lucid_rounded(product, e.k + lucid_unit(g_size, 23, 127), 23, 127);
}

/* The same for a y of `fraction` fraction bits, a its magnitude as float32, in pairs of floats. */
static inline uint lucid_backward_half(uint g_size, uint y_size, float a, int fraction, int bias) {
    lucid_pair y = {a, 0.0f};
    if (lucid_may_be_output(a)) {
        /* Nearly 2^k 2 (1 - x) becomes 1 - x in units of it, x in [1/2, 1). */
        lucid_slope e = lucid_slope_of(a);
        lucid_tail tail = lucid_tail_of(a, e);
        float v = metal::fma(tail.h, tail.q, tail.g0) * tail.inverse;
        float scale = as_type<float>(uint(127 + fraction - e.k) << 23);
        float units = metal::fma(v, scale, 0.5f);
        float unit = as_type<float>(uint(126 - fraction) << 23);
        float x = metal::fma(-unit, float(uint(units)), 1.0f);
        lucid_pair found = lucid_unrounded(x < 1.0f ? x : 0.5f);
        if (lucid_rounded(found, 0, fraction, bias) == y_size) {
            y = found;
        }
    }
    lucid_pair z = lucid_exact_product(y.high, y.high);
    z.low = metal::fma(y.high + y.high, y.low, z.low);
    lucid_power power = lucid_power_of(z.high);

    /* exp(high + low) = 1 + growth, high + low being what z has beyond n ln(2). */
    lucid_pair product = lucid_exact_product(power.n, LUCID_LN2_LOW);
    product.low = metal::fma(power.n, LUCID_LN2_LAST, product.low);
    float high = power.r - product.high, back = high - power.r;
    float low = (power.r - (high - back)) - (product.high + back);
    low = low + (z.low - product.low + power.t_lost);
    lucid_pair square = lucid_exact_product(high, high);
    float rest = metal::fma(high, 0x1.111112p-7f, 0x1.555556p-5f);
    rest = metal::fma(rest, high, 0x1.555556p-3f) * (high * square.high);
    lucid_pair growth = lucid_exact_sum(high, 0.5f * square.high);
    growth.low = growth.low + metal::fma(0.5f, square.low, metal::fma(low, high, low) + rest);

    /* g t (1 + growth). */
    product = lucid_exact_product(lucid_digits(g_size, fraction), power.t);
    lucid_pair more = lucid_exact_product(product.high, growth.high);
    lucid_pair sum = lucid_exact_sum(product.high, more.high);
    rest = metal::fma(product.low, growth.high, product.low);
    rest = metal::fma(product.high, growth.low, more.low) + rest;
    sum.low = sum.low + rest;
    return lucid_rounded(sum, power.k + lucid_unit(g_size, fraction, bias), fraction, bias);
}

static inline ushort lucid_backward_f16(ushort g, ushort y) {
    uint g_size = g & 0x7fffu, y_size = y & 0x7fffu;
    if (g_size > 0x7c00u) {
        return ushort(g | 0x0200u);
    }
    if (y_size > 0x7c00u) {
        return ushort(y | 0x0200u);
    }
    if (g_size == 0u || g_size == 0x7c00u) {
        return g;
    }
    float a = lucid_clamped(as_type<uint>(lucid_float_of_f16(y_size)));
    return ushort((g ^ g_size) | lucid_backward_half(g_size, y_size, a, 10, 15));
}

static inline ushort lucid_backward_bf16(ushort g, ushort y) {
    uint g_size = g & 0x7fffu, y_size = y & 0x7fffu;
    if (g_size > 0x7f80u) {
        return ushort(g | 0x0040u);
    }
    if (y_size > 0x7f80u) {
        return ushort(y | 0x0040u);
    }
    if (g_size == 0u || g_size == 0x7f80u) {
        return g;
    }
    float a = lucid_clamped(y_size << 16);
    return ushort((g ^ g_size) | lucid_backward_half(g_size, y_size, a, 7, 127));
}

/* One element a thread: the grid is exactly the arrays' length. */
kernel void erfinv_f32(device const uint *x [[buffer(0)]], device uint *y [[buffer(1)]],
                       uint i [[thread_position_in_grid]]) {
    y[i] = lucid_erfinv_f32(x[i]);
}

kernel void erfinv_f16(device const ushort *x [[buffer(0)]], device ushort *y [[buffer(1)]],
                       uint i [[thread_position_in_grid]]) {
    y[i] = lucid_erfinv_f16(x[i]);
}

kernel void erfinv_bf16(device const ushort *x [[buffer(0)]], device ushort *y [[buffer(1)]],
                        uint i [[thread_position_in_grid]]) {
    y[i] = lucid_erfinv_bf16(x[i]);
}

kernel void erfinv_backward_f32(device const uint *g [[buffer(0)]],
                                device const uint *y [[buffer(1)]], device uint *out [[buffer(2)]],
                                uint i [[thread_position_in_grid]]) {
    out[i] = lucid_backward_f32(g[i], y[i]);
}

kernel void erfinv_backward_f16(device const ushort *g [[buffer(0)]],
                                device const ushort *y [[buffer(1)]],
                                device ushort *out [[buffer(2)]],
                                uint i [[thread_position_in_grid]]) {
    out[i] = lucid_backward_f16(g[i], y[i]);
}

kernel void erfinv_backward_bf16(device const ushort *g [[buffer(0)]],
                                 device const ushort *y [[buffer(1)]],
                                 device ushort *out [[buffer(2)]],
                                 uint i [[thread_position_in_grid]]) {
    out[i] = lucid_backward_bf16(g[i], y[i]);
}

#endif
