/* erfinv, float16 and bfloat16, correctly rounded: tables of all results from 0 to 1.
 * SPDX-License-Identifier: MIT
 * A block's smallest and largest magnitudes tell which flags it raises and whether it has
 * values without an entry; then four results go out in one store. */
#include "erfinv.h"
#include "tables/half.h"

#include <string.h>

enum { BLOCK = 1024, SIGN = 0x8000, MAGNITUDE = 0x7fff };

struct format {
    const uint16_t *table;
    uint16_t one, infinity, quiet, smallest_normal;
};

struct range {
    uint16_t smallest_nonzero, largest; /* magnitudes */
};

static inline struct range range_of(const uint16_t *x, size_t n) {
    /* Signed 16-bit extrema are what SSE2 has: 1, 2, .., 0x7fff, 0 in ascending order. */
    int16_t smallest = INT16_MAX, largest = 0;
    for (size_t i = 0; i < n; i++) {
        int16_t magnitude = x[i] & MAGNITUDE;
        int16_t zero_last = (int16_t)((uint16_t)(magnitude - 1) ^ SIGN);
        smallest = zero_last < smallest ? zero_last : smallest;
        largest = magnitude > largest ? magnitude : largest;
    }
    uint16_t nonzero = (uint16_t)(((uint16_t)smallest ^ SIGN) + 1);
    return (struct range){nonzero, (uint16_t)largest};
}

/* All magnitudes are at most 1. */
static inline void look_up(const uint16_t *table, const uint16_t *x, uint16_t *y, size_t n) {
    size_t i = 0;
    for (; i + 4 <= n; i += 4) {
        uint64_t in;
        memcpy(&in, x + i, sizeof in);
        uint64_t m = in & 0x7fff7fff7fff7fffu, out = in & 0x8000800080008000u;
        uint64_t r0 = table[m & 0xffff], r1 = table[m >> 16 & 0xffff];
        uint64_t r2 = table[m >> 32 & 0xffff], r3 = table[m >> 48];
        out |= (r0 | r1 << 16) | (r2 | r3 << 16) << 32;
        memcpy(y + i, &out, sizeof out);
    }
    for (; i < n; i++)
        y[i] = table[x[i] & MAGNITUDE] | (x[i] & SIGN);
}

static unsigned with_special(const struct format *f, const uint16_t *x, uint16_t *y, size_t n) {
    unsigned flags = 0;
    for (size_t i = 0; i < n; i++) {
        uint16_t magnitude = x[i] & MAGNITUDE;
        if (magnitude <= f->one) {
            flags |= magnitude == f->one ? LUCID_DIVIDE : 0;
            y[i] = f->table[magnitude] | (x[i] & SIGN);
        } else if (magnitude <= f->infinity) {
            flags |= LUCID_INVALID;
            y[i] = f->infinity | f->quiet;
        } else {
            flags |= x[i] & f->quiet ? 0 : LUCID_INVALID;
            y[i] = x[i] | f->quiet;
        }
    }
    return flags;
}

static inline unsigned erfinv(const struct format *f, const uint16_t *x, uint16_t *y, size_t n) {
    unsigned flags = 0;
    for (size_t now; n; x += now, y += now, n -= now) {
        now = n < BLOCK ? n : BLOCK;
        struct range range = range_of(x, now);
        /* A nonzero result is never exact, so a subnormal one underflows. */
        if (range.smallest_nonzero <= f->one &&
            f->table[range.smallest_nonzero] < f->smallest_normal && range.smallest_nonzero)
            flags |= LUCID_UNDERFLOW;
        if (range.largest > f->one) {
            flags |= with_special(f, x, y, now);
        } else {
            flags |= range.largest == f->one ? LUCID_DIVIDE : 0;
            look_up(f->table, x, y, now);
        }
    }
    return flags;
}

unsigned lucid_erfinv_f16(const uint16_t *x, uint16_t *y, size_t n) {
    static const struct format f16 = {lucid_f16, 0x3c00, 0x7c00, 0x0200, 0x0400};
    return erfinv(&f16, x, y, n);
}

unsigned lucid_erfinv_bf16(const uint16_t *x, uint16_t *y, size_t n) {
    static const struct format bf16 = {lucid_bf16, 0x3f80, 0x7f80, 0x0040, 0x0080};
    return erfinv(&bf16, x, y, n);
}
