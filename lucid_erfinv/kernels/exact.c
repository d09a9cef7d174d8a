/* The float64 slow path, in integers only.  SPDX-License-Identifier: MIT
 *
 * With m halfway between a and b, erfinv(x) < m if and only if erf(m) > x.  Stage 1 decides the
 * sign of erf(m) - x in 128 bits, stages 2 and 3 from the Taylor series in 512 and 2048 bits; each
 * answers only beyond its proved error (docs/accuracy-exact.md).  What the last one leaves open, at
 * odds below 2^-1700, is taken for a tie and goes to the even neighbour. */
#include "exact.h"

#include "counters.h"
#include "tables/exact.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* 128 bits, unsigned, or two's complement where a comment says signed. */
struct wide {
    uint64_t hi, lo;
};

/* digits * 2^exponent, 2^63 <= digits < 2^64. */
struct scaled {
    uint64_t digits;
    int exponent;
};

static inline struct wide product(uint64_t a, uint64_t b) {
#ifdef __SIZEOF_INT128__
    __extension__ typedef unsigned __int128 uint128;
    uint128 p = (uint128)a * b;
    return (struct wide){(uint64_t)(p >> 64), (uint64_t)p};
#else
    uint64_t a1 = a >> 32, a0 = (uint32_t)a, b1 = b >> 32, b0 = (uint32_t)b;
    uint64_t low = a0 * b0, middle = a1 * b0 + (low >> 32), other = a0 * b1 + (uint32_t)middle;
    return (struct wide){a1 * b1 + (middle >> 32) + (other >> 32), other << 32 | (uint32_t)low};
#endif
}

static inline struct wide add(struct wide a, struct wide b) {
    uint64_t lo = a.lo + b.lo;
    return (struct wide){a.hi + b.hi + (lo < a.lo), lo};
}

static inline struct wide subtract(struct wide a, struct wide b) {
    return (struct wide){a.hi - b.hi - (a.lo < b.lo), a.lo - b.lo};
}

/* floor(a * u / 2^64). */
static inline struct wide times(struct wide a, uint64_t u) {
    return add(product(a.hi, u), (struct wide){0, product(a.lo, u).hi});
}

/* The same, a signed. */
static inline struct wide signed_times(struct wide a, uint64_t u) {
    return subtract(times(a, u), (struct wide){a.hi >> 63 ? u : 0, 0});
}

/* a * f / 2^128, a signed, less than 2 too low. */
static inline struct wide signed_times_wide(struct wide a, struct wide f) {
    uint64_t low = signed_times(a, f.lo).hi;
    return add(signed_times(a, f.hi), (struct wide){low >> 63 ? UINT64_MAX : 0, low});
}

/* -1 where the signed difference is positive (erf(m) > x: a is nearer), +1 where it is negative,
 * 0 within the margin. */
static inline int verdict(struct wide difference, uint64_t margin) {
    struct wide shifted = add(difference, (struct wide){0, margin});
    if (shifted.hi == 0 && shifted.lo <= 2 * margin)
        return 0;
    return difference.hi >> 63 ? 1 : -1;
}

/* m < 2^-6: m S against x sqrt(pi)/2, where S = 1 - z/3 + z^2/10 - ..., z = m^2. */
static int narrow_small(struct scaled m, struct scaled x) {
    struct wide z = product(m.digits, m.digits);
    int shift = -2 * m.exponent - 128;
    if (shift >= 64) {
        z = (struct wide){0, shift < 128 ? z.hi >> (shift - 64) : 0};
    } else { /* at least 12 */
        z = (struct wide){z.hi >> shift, z.hi << (64 - shift) | z.lo >> shift};
    }
    struct wide s = {0, 0};
    for (int n = LUCID_EXACT_SERIES; n-- > 0;) {
        struct wide c = {lucid_exact_series[n][0], lucid_exact_series[n][1]};
        s = subtract(c, signed_times_wide(s, z));
    }
    s = signed_times_wide(s, z); /* S = 1 - s */
    struct wide half_sqrt_pi = {lucid_exact_half_sqrt_pi[0], lucid_exact_half_sqrt_pi[1]};
    struct wide left = subtract((struct wide){m.digits, 0}, times(s, m.digits));
    struct wide right = times(half_sqrt_pi, x.digits);
    if (m.exponent < x.exponent) /* by one: m < x <= 2 m */
        left = (struct wide){left.hi >> 1, left.hi << 63 | left.lo >> 1};
    return verdict(subtract(left, right), 16);
}

/* m >= 2^-6: with t the multiple of 1/64 nearest to m, d = m - t and w = 1 - x, erf(m) > x if and
 * only if d (1 + p1/2! + p2/3! + ...) > sqrt(pi)/2 exp(t^2) (erfc(t) - w), the left side being the
 * integral of exp(-2ts - s^2) from 0 to d, p(n+1) = -2td p(n) - 2n d^2 p(n-1). Numbers are signed
 * at scale 2^-126, factors unsigned at scale 2^-64 or 2^-128; m, x, d are exact. */
static int narrow_large(struct scaled m, struct scaled x) {
    uint64_t m61 = m.digits >> (-61 - m.exponent);
    uint64_t w = 0 - (x.digits >> (-64 - x.exponent));
    uint64_t i = (m61 + (UINT64_C(1) << 54)) >> 55, t61 = i << 55;
    bool below = m61 < t61;
    uint64_t d = (below ? t61 - m61 : m61 - t61) << 3;
    uint64_t two_td = i * (d >> 5);
    struct wide dd = product(d, d), two_dd = add(dd, dd);

    /* The p(n) for -|d|; those for |d| differ in the sign of the odd ones.  sum[n % 2] gathers
     * 4 * 20! / 2^64 times the terms, so that their weights are integers. */
    struct wide sum[2] = {{0, 0}, {0, 0}}, factor = {0, 0}, before = {0, 0},
                p = {UINT64_C(1) << 62, 0};
    for (int n = 0; n < LUCID_EXACT_TERMS; n++) {
        sum[n % 2] = add(sum[n % 2], signed_times(p, lucid_exact_weight[n]));
        struct wide next = subtract(signed_times(p, two_td), signed_times_wide(before, factor));
        factor = add(factor, two_dd);
        before = p;
        p = next;
    }
    struct wide zero = {0, 0};
    struct wide left = below ? subtract(zero, signed_times(add(sum[0], sum[1]), d))
                             : signed_times(subtract(sum[0], sum[1]), d);

    const struct lucid_exact_node *node = &lucid_exact_node[i];
    struct wide we = times((struct wide){node->e[1], node->e[2]}, w);
    we.hi += node->e[0] * w;
    struct wide right = subtract((struct wide){node->x[0], node->x[1]}, we);
    right = signed_times(right, lucid_exact_weight[0]);
    return verdict(subtract(left, right), 16);
}

/* Numbers of n words: word 0 the integer part, then the fraction, most significant word first. */
enum { WORDS = LUCID_EXACT_WORDS + 1 };

static void words_add(int n, uint64_t *a, const uint64_t *b) {
    uint64_t carry = 0;
    for (int i = n; i-- > 0;) {
        uint64_t partial = b[i] + carry;
        carry = partial < carry;
        a[i] += partial;
        carry += a[i] < partial;
    }
}

static void words_subtract(int n, uint64_t *a, const uint64_t *b) {
    uint64_t borrow = 0;
    for (int i = n; i-- > 0;) {
        uint64_t partial = b[i] + borrow;
        borrow = partial < borrow;
        borrow += a[i] < partial;
        a[i] -= partial;
    }
}

/* a * u, where it is below 2^64. */
static void words_scale(int n, uint64_t *a, uint64_t u) {
    uint64_t carry = 0;
    for (int i = n; i-- > 0;) {
        struct wide p = add(product(a[i], u), (struct wide){0, carry});
        a[i] = p.lo;
        carry = p.hi;
    }
}

/* a * b rounded down, where it is below 2^64. */
static void words_multiply(int n, uint64_t *a, const uint64_t *b) {
    uint64_t p[2 * WORDS] = {0}; /* the integer part of the product is p[1] */
    for (int i = n; i-- > 0;) {
        uint64_t carry = 0;
        if (b[i] == 0) /* most of m^2 */
            continue;
        for (int j = n; j-- > 0;) {
            struct wide t = add(product(a[j], b[i]), (struct wide){0, carry});
            t = add(t, (struct wide){0, p[i + j + 1]});
            p[i + j + 1] = t.lo;
            carry = t.hi;
        }
        p[i] = carry;
    }
    memcpy(a, p + 1, (size_t)n * sizeof *a);
}

/* floor(a / k) to the last word; k < 2^31. */
static void words_divide(int n, uint64_t *a, uint64_t k) {
    uint64_t rest = 0;
    for (int i = 0; i < n; i++) {
        uint64_t high = rest << 32 | a[i] >> 32;
        uint64_t low = (high % k) << 32 | (uint32_t)a[i];
        a[i] = high / k << 32 | low / k;
        rest = low % k;
    }
}

static bool words_zero(int n, const uint64_t *a) {
    for (int i = 0; i < n; i++) {
        if (a[i] != 0)
            return false;
    }
    return true;
}

/* Any m: m (1 - z/3 + z^2/10 - ...) against x sqrt(pi)/2 in n words. */
static int taylor(int n, struct scaled m, struct scaled x) {
    uint64_t term[WORDS] = {1}, sum[WORDS] = {0}, right[WORDS] = {0}, part[WORDS],
             z[WORDS + 2] = {0};

    /* z = square * 2^(shift - 64 first - 128), 0 <= shift < 64. */
    struct wide square = product(m.digits, m.digits);
    int first = (63 - 2 * m.exponent - 128) / 64, shift = 64 * first + 2 * m.exponent + 128;
    if (first < n) {
        z[first] = (square.hi >> 1) >> (63 - shift);
        z[first + 1] = square.hi << shift | (square.lo >> 1) >> (63 - shift);
        z[first + 2] = square.lo << shift;
    }
    for (uint64_t k = 0; !words_zero(n, term); k++) {
        memcpy(part, term, sizeof part);
        words_divide(n, part, 2 * k + 1);
        if (k % 2 == 0)
            words_add(n, sum, part);
        else
            words_subtract(n, sum, part);
        words_multiply(n, term, z);
        words_divide(n, term, k + 1);
    }
    memcpy(right + 1, lucid_exact_half_sqrt_pi, (size_t)(n - 1) * sizeof *right);
    words_scale(n, sum, m.digits >> 10 << (m.exponent - x.exponent + 1)); /* 54 bits, by 0 to 4 */
    words_scale(n, right, x.digits >> 10 << 1);
    words_subtract(n, sum, right);

    /* The error is below 2^120 units, the verdict open within 2^128 of them. */
    bool open = true;
    for (int i = 0; i < n - 2; i++)
        open &= sum[i] == (sum[0] >> 63 ? UINT64_MAX : 0);
    return open ? 0 : sum[0] >> 63 ? 1 : -1;
}

static uint64_t bits(double x) {
    uint64_t u;
    memcpy(&u, &x, sizeof u);
    return u;
}

/* x plus so many halves of its quantum, x + halves > 0. */
static struct scaled scaled(double x, uint64_t halves) {
    uint64_t digits = 2 * (bits(x) << 12 >> 12) + halves;
    int field = (int)(bits(x) >> 52);
    if (field != 0) {
        digits += UINT64_C(1) << 53;
        field--;
    }
    struct scaled s = {digits << 10, field - 1085};
    for (; s.digits >> 63 == 0; s.exponent--)
        s.digits <<= 1;
    return s;
}

int lucid_erfinv_exact_at(int stage, double x, double a, double b) {
    (void)b; /* the neighbour above a */
    struct scaled xs = scaled(x, 0), m = scaled(a, 1);
    switch (stage) {
    case 1:
        return m.exponent < -69 ? narrow_small(m, xs) : narrow_large(m, xs);
    case 2:
        return taylor(8, m, xs);
    default:
        return taylor(WORDS, m, xs);
    }
}

double lucid_erfinv_exact(double x, double a, double b) {
    int nearer = 0;
    for (int stage = 1; stage <= LUCID_EXACT_STAGES && nearer == 0; stage++) {
        if (stage < 3)
            lucid_count(stage == 1 ? LUCID_F64_EXACT : LUCID_F64_EXACT_WIDE, 1);
        nearer = lucid_erfinv_exact_at(stage, x, a, b);
    }
    if (nearer == 0) {
        lucid_count(LUCID_F64_EXACT_LAST, 1);
        nearer = bits(a) % 2 == 0 ? -1 : 1;
    }
    return nearer < 0 ? a : b;
}
