/* Gradient of erfinv, float16 and bfloat16: g times a table's double, correctly rounded.
 * SPDX-License-Identifier: MIT
 * The bits of |g|, moved to the top of a double, are g times a power of 2, subnormal or not; the
 * table's factor keeps the product normal.  Adding a power of 2 rounds it to the format's unit.
 * That rounding the product twice does no harm is checked where the table is made. */
#include "tables/backward_half.h"
#include "backward.h"

#include <string.h>

enum { BLOCK = 256, SIGN = 0x8000, MAGNITUDE = 0x7fff };

struct format {
    const double *derivative;
    uint16_t first, last;
    int fraction, bias; /* fraction bits, exponent bias */
};

static inline uint64_t bits_of(double a) {
    uint64_t bits;
    memcpy(&bits, &a, sizeof bits);
    return bits;
}

static inline double of_bits(uint64_t bits) {
    double a;
    memcpy(&a, &bits, sizeof a);
    return a;
}

/* The largest magnitudes of g and y tell whether a block has infinite g or NaNs. */
static inline int is_special(const struct format *f, const uint16_t *g, const uint16_t *y,
                             size_t n) {
    int16_t g_largest = 0, y_largest = 0, infinite = (int16_t)(SIGN - (1 << f->fraction));
    for (size_t i = 0; i < n; i++) {
        int16_t g_size = g[i] & MAGNITUDE, y_size = y[i] & MAGNITUDE;
        g_largest = g_size > g_largest ? g_size : g_largest;
        y_largest = y_size > y_largest ? y_size : y_largest;
    }
    return g_largest >= infinite || y_largest > infinite;
}

static unsigned with_special(const struct format *f, const uint16_t *g, const uint16_t *y,
                             uint16_t *out, size_t n) {
    unsigned flags = 0;
    uint16_t infinite = SIGN - (1 << f->fraction), quiet = 1 << (f->fraction - 1);
    for (size_t i = 0; i < n; i++) {
        const uint16_t both[] = {g[i], y[i]};
        for (int k = 1; k >= 0; k--)
            if ((both[k] & MAGNITUDE) > infinite) {
                flags |= both[k] & quiet ? 0 : LUCID_INVALID;
                out[i] = both[k] | quiet;
            }
        if ((g[i] & MAGNITUDE) == infinite && (y[i] & MAGNITUDE) <= infinite)
            out[i] = g[i];
    }
    return flags;
}

/* out is neither g nor y. */
static inline unsigned block(const struct format *f, const uint16_t *g, const uint16_t *y,
                             uint16_t *out, size_t n) {
    double product[BLOCK];
    int shift = 52 - f->fraction;
    for (size_t i = 0; i < n; i++) {
        int entry = y[i] & MAGNITUDE;
        entry = entry < f->first ? f->first : entry > f->last ? f->last : entry;
        product[i] =
            of_bits((uint64_t)(g[i] & MAGNITUDE) << shift) * f->derivative[entry - f->first];
    }
    /* From here on numbers are larger than their values by 2^512 and smaller by 2^(1023 - bias). */
    uint64_t smallest = (uint64_t)513 << 52, over = (uint64_t)(513 + 2 * f->bias) << 52;
    for (size_t i = 0; i < n; i++) {
        double p = product[i] < of_bits(over) ? product[i] : of_bits(over);
        double normal = p > of_bits(smallest) ? p : of_bits(smallest);
        uint64_t exponent = bits_of(normal) & (uint64_t)0x7ff << 52;
        uint64_t unit = exponent + ((uint64_t)shift << 52);
        uint64_t significand = bits_of(p + of_bits(unit)) - unit;
        out[i] = (uint16_t)(((exponent - smallest) >> shift) + significand);
    }
    uint16_t over_seen = 0, under_seen = 0;
    uint16_t infinite = SIGN - (1 << f->fraction), normal = 1 << f->fraction;
    for (size_t i = 0; i < n; i++) {
        uint16_t g_size = g[i] & MAGNITUDE, y_size = y[i] & MAGNITUDE;
        over_seen |= (out[i] == infinite) & (y_size < infinite) & (g_size < infinite);
        under_seen |= (out[i] < normal) & (g_size != 0);
        out[i] |= g[i] & SIGN;
    }
    return (over_seen ? LUCID_OVERFLOW : 0) | (under_seen ? LUCID_UNDERFLOW : 0);
}

static inline unsigned backward(const struct format *f, const uint16_t *g, const uint16_t *y,
                                uint16_t *out, size_t n) {
    unsigned flags = 0;
    for (size_t now; n; g += now, y += now, out += now, n -= now) {
        uint16_t result[BLOCK];
        now = n < BLOCK ? n : BLOCK;
        flags |= block(f, g, y, result, now);
        if (is_special(f, g, y, now))
            flags |= with_special(f, g, y, result, now);
        memcpy(out, result, now * sizeof *out);
    }
    return flags;
}

unsigned lucid_backward_f16(const uint16_t *g, const uint16_t *y, uint16_t *out, size_t n) {
    static const struct format f16 = {lucid_backward_f16_table, LUCID_BACKWARD_F16_FIRST,
                                      LUCID_BACKWARD_F16_LAST, 10, 15};
    return backward(&f16, g, y, out, n);
}

unsigned lucid_backward_bf16(const uint16_t *g, const uint16_t *y, uint16_t *out, size_t n) {
    static const struct format bf16 = {lucid_backward_bf16_table, LUCID_BACKWARD_BF16_FIRST,
                                       LUCID_BACKWARD_BF16_LAST, 7, 127};
    return backward(&bf16, g, y, out, n);
}
