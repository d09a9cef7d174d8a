/* The gradient's algorithm, on lanes of REAL.  SPDX-License-Identifier: MIT
 * exp(y^2) sqrt(pi)/2 = 2^k (t + p).  Where |y| >= 1/2 is the correctly rounded erfinv(x) of an x
 * of the type, 1 - |x| is what erfc(y) = G(y) / (sqrt(pi) y exp(y^2)) rounds to, and c = G(y) -
 * sqrt(pi) y exp(y^2) (1 - |x|) is the relative change of exp(y^2) that y's rounding has made,
 * which is undone.  docs/accuracy-backward.md. */
#ifndef LUCID_BACKWARD_LANES_H
#define LUCID_BACKWARD_LANES_H

enum { BIAS = FRACTION == 52 ? 1023 : 127 };
#define ONE_BIT(place) ((PATTERN)1 << (place))
#define EXPONENT_MASK ((2 * BIAS + 1) * ONE_BIT(FRACTION))

/* a 2^k, for normal a and result; k is the integer part of n, which magic's low bits hold. */
static inline vec times_power(vec a, vec magic) {
    vec_bits k = vec_bits_and(vec_to_bits(magic), vec_bits_set(0xfff0));
    return vec_from_bits(vec_bits_add(vec_to_bits(a), vec_bits_left(k, FRACTION - 4)));
}

/* a ulp(a), more by 11/128 ulp(a) 2^e where 2^e <= a < 2^(e+1): adding exponents multiplies by
 * powers of 2.  tables/gen_backward.py checks that c's own error is below the excess, and that no a
 * within it is taken for the output of another x. */
static inline vec output_bound(vec a) {
    vec_bits bits = vec_to_bits(a);
    vec_bits exponent = vec_bits_and(bits, vec_bits_set(EXPONENT_MASK));
    PATTERN factor = (-FRACTION - BIAS) * ONE_BIT(FRACTION) + 11 * ONE_BIT(FRACTION - 7);
    return vec_from_bits(vec_bits_add(bits, vec_bits_add(exponent, vec_bits_set(factor))));
}

/* g (t + p) 2^k with two roundings at most, the second only where the result is subnormal. */
#ifdef VEC_SCALES
static inline vec cutoff(vec g) {
    (void)g;
    return vec_set(CUTOFF_TINY);
}

static inline vec scaled_product(vec g, vec t, vec p, vec n, vec magic) {
    (void)magic;
    vec significand = vec_significand(g);
    vec product = vec_fused(significand, t, vec_mul(significand, p));
    return vec_scale(product, vec_add(n, vec_exponent(g)));
}
#else
static inline vec_mask is_tiny(vec g) {
    return vec_at_most(vec_abs(g), vec_set(TINY));
}

static inline vec cutoff(vec g) {
    return vec_choose(is_tiny(g), vec_set(CUTOFF_TINY), vec_set(CUTOFF));
}

/* g is brought to where no part of the product overflows or underflows before the result does;
 * then 2^k comes in two halves. */
static inline vec scaled_product(vec g, vec t, vec p, vec n, vec magic) {
    (void)n;
    vec_mask tiny = is_tiny(g);
    vec_bits up = vec_bits_set(2 * BIAS + 2 - TINY_SHIFT), down = vec_bits_set(2 * BIAS + 2 + 2);
    vec scaled = vec_mul(g, vec_choose(tiny, vec_set(TINY_SCALE), vec_set(0.25)));
    vec product;
    if (VEC_FUSED) {
        product = vec_fused(scaled, t, vec_mul(scaled, p));
    } else {
        vec low;
        vec_exact_product(scaled, t, &product, &low);
        product = vec_add(product, vec_add(low, vec_mul(scaled, p)));
    }
    vec_bits k = vec_bits_right(vec_bits_and(vec_to_bits(magic), vec_bits_set(0xffff)), 4);
    k = vec_bits_add(k, vec_to_bits(vec_choose(tiny, vec_from_bits(up), vec_from_bits(down))));
    vec_bits half = vec_bits_right(k, 1), one = vec_bits_set(1);
    vec_bits other = vec_bits_sub(vec_bits_sub(k, half), one);
    half = vec_bits_sub(half, one);
    product = vec_mul(product, vec_from_bits(vec_bits_left(half, FRACTION)));
    return vec_mul(product, vec_from_bits(vec_bits_left(other, FRACTION)));
}
#endif

static inline vec gradient(vec g, vec y) {
    vec a = vec_min(cutoff(g), vec_abs(y)), least = vec_set(LEAST);
    a = vec_choose(vec_at_most(a, least), least, a);
    vec z, z_low;
    vec_exact_product(a, a, &z, &z_low);

    /* z = n ln(2) + r with n in 16ths; r is exact, r_low has what t lacks, too. */
    vec magic = vec_madd(z, vec_set(INVERSE_LN2), vec_set(ROUND_TO_16TH));
    vec n = vec_sub(magic, vec_set(ROUND_TO_16TH));
    vec r = vec_nmadd(n, vec_set(LN2_HIGH), z);
    vec r_low = vec_nmadd(n, vec_set(LN2_LOW), z_low);
    vec_index j = vec_index_of(magic);
    vec t = vec_pick(POWER[0], j);
    r_low = vec_add(r_low, vec_pick(POWER[1], j));

    /* sqrt(pi)/2 exp(y^2) = 2^k (t + p), p = t (r + s). */
    vec x = vec_add(r, r_low), s = vec_set(EXP[EXP_DEGREE]);
    for (int i = EXP_DEGREE - 1; i >= 0; i--)
        s = vec_madd(s, x, vec_set(EXP[i]));
    s = vec_madd(s, vec_mul(x, x), r_low);
    vec growth = vec_add(r, s), p = vec_mul(t, growth);

    /* G(y) = g0 + h q. */
    vec_index segment = vec_segment_of(SEGMENT, a);
    vec h = vec_sub(a, vec_pick(G[0], segment)); /* exact */
    vec g0 = vec_pick(G[1], segment), q = vec_pick(G[DEGREE + 1], segment);
    for (int i = DEGREE; i >= 2; i--)
        q = vec_madd(q, h, vec_pick(G[i], segment));

    /* v = 2^k 2 (1 - |x|): erfc(y), from G(y) = y (t + p) 2^k 2 erfc(y), to a multiple of
     * 2^-FRACTION by adding 1.5 * 2^k. */
    vec u, u_low;
    vec_exact_product(a, t, &u, &u_low);
    vec slope = vec_madd(u, growth, u), inverse = vec_reciprocal(slope);
    vec grid = times_power(vec_set(1.5), magic);
    vec v = vec_sub(vec_madd(vec_madd(h, q, g0), inverse, grid), grid);

    /* c = (g0 + h q) - (u + u_low) (1 + r + s) v is near 0: large terms first, and exactly. */
    vec w, w_low;
    vec_exact_product(u, v, &w, &w_low);
    w_low = vec_madd(u_low, v, w_low);
    vec c = vec_sub(g0, w);
    if (VEC_FUSED) {
        c = vec_madd(h, q, vec_nmadd(w, r, c));
    } else {
        vec wr, wr_low, hq, hq_low;
        vec_exact_product(w, r, &wr, &wr_low);
        vec_exact_product(h, q, &hq, &hq_low);
        c = vec_add(vec_sub(c, wr), hq);
        w_low = vec_add(w_low, vec_sub(wr_low, hq_low));
    }
    c = vec_sub(c, vec_madd(w, s, vec_madd(w_low, r, w_low)));

    /* v was rounded from an approximation: the nearest one leaves the smallest c. */
    vec steps = vec_sub(vec_madd(c, inverse, grid), grid);
    c = vec_nmadd(steps, slope, c);

    /* |c| = 2 y |erfinv(x) - y|. */
    vec_mask output =
        vec_both(vec_between(a, 0.5, LARGEST_OUTPUT), vec_at_most(vec_abs(c), output_bound(a)));
    p = vec_choose(output, vec_madd(vec_add(t, p), c, p), p);
    return scaled_product(g, t, p, n, magic);
}

/* The lanes of out that are zero, subnormal, infinite or NaN. */
static unsigned special(const REAL *g, const REAL *y, REAL *out, unsigned lanes) {
    const PATTERN infinite = EXPONENT_MASK, quiet = ONE_BIT(FRACTION - 1);
    const PATTERN magnitude = infinite | (ONE_BIT(FRACTION) - 1);
    unsigned flags = 0;
    for (int i = 0; i < LANES; i++) {
        PATTERN in[2], result;
        if (!(lanes >> i & 1))
            continue;
        memcpy(&in[0], g + i, sizeof in[0]);
        memcpy(&in[1], y + i, sizeof in[1]);
        memcpy(&result, out + i, sizeof result);
        PATTERN g_size = in[0] & magnitude, y_size = in[1] & magnitude;
        if (g_size > infinite || y_size > infinite) {
            result = (g_size > infinite ? in[0] : in[1]) | quiet;
            if ((g_size > infinite && !(g_size & quiet)) ||
                (y_size > infinite && !(y_size & quiet)))
                flags |= LUCID_INVALID;
        } else if (g_size == 0 || g_size == infinite) {
            result = in[0];
        } else if ((result & magnitude) < infinite) {
            flags |= LUCID_UNDERFLOW;
        } else if (y_size < infinite) {
            flags |= LUCID_OVERFLOW;
        }
        memcpy(out + i, &result, sizeof result);
    }
    return flags;
}

static inline unsigned vector(const REAL *g, const REAL *y, REAL *out) {
    vec g_lanes = vec_load(g), y_lanes = vec_load(y), result = gradient(g_lanes, y_lanes);
    unsigned lanes = vec_special(result);
    if (lanes == 0) {
        vec_store(out, result);
        return 0;
    }
    REAL kept[3][LANES];
    vec_store(kept[0], g_lanes);
    vec_store(kept[1], y_lanes);
    vec_store(kept[2], result);
    unsigned flags = special(kept[0], kept[1], kept[2], lanes);
    memcpy(out, kept[2], sizeof kept[2]);
    return flags;
}

static inline unsigned backward(const REAL *g, const REAL *y, REAL *out, size_t n) {
    unsigned flags = 0;
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        flags |= vector(g + i, y + i, out + i);
    if (i < n) {
        REAL padded[2][LANES] = {{0}, {0}};
        memcpy(padded[0], g + i, (n - i) * sizeof *g);
        memcpy(padded[1], y + i, (n - i) * sizeof *y);
        flags |= vector(padded[0], padded[1], padded[0]);
        memcpy(out + i, padded[0], (n - i) * sizeof *out);
    }
    return flags;
}

#endif
