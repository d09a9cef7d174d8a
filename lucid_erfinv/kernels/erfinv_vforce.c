/* erfinv by vForce's logarithm and square root, correctly rounded: the accelerate level's stages.
 * SPDX-License-Identifier: MIT
 * M. Giles's polynomials give a first value y0; Newton's step, with y0's second-order term, refines
 * it by the residual D (erf(y0) - |x|), D = sqrt(pi)/2 exp(n^2), from the Taylor series of erf at
 * the nearest n = j/64.  docs/accuracy-accelerate.md has the bounds: binary64 as in
 * tables/vforce.h, binary32 2^-39.  A lane whose step is too long for them, or whose rounding they
 * leave open, is the second phase's, as are special values and tiny ones. */
#include "erfinv_vforce.h"
#include "tables/vforce.h"
#include "vec_f64.h"

#include <math.h>

#define BREAK 6.25    /* of w: beyond, the polynomials in s */
#define CENTRAL 3.125 /* centres of the two */
#define TAIL 4.25
#define LARGEST 6.0 /* the last row's node, beyond the largest result */
#define TINY 0x1p-900
#define TINY_F32 0x1p-100f
#define BELOW_ONE 0x1.fffffffffffffp-1
#define BELOW_ONE_F32 0x1.fffffep-1f
#define STEP 0x1p-28 /* Newton's, relative to y0: what the bounds assume */
#define STEP_F32 0x1p-16
#define EPS_F32 0x1p-39

void lucid_vforce_argument_f64(const double *x, double *u, int n) {
    for (int i = 0; i < n; i++) {
        double t = fabs(x[i]);
        t = t < BELOW_ONE ? t : BELOW_ONE;
        u[i] = (1 - t) * (1 + t);
    }
}

void lucid_vforce_argument_f32(const float *x, float *u, int n) {
    for (int i = 0; i < n; i++) {
        float t = fabsf(x[i]);
        t = t < BELOW_ONE_F32 ? t : BELOW_ONE_F32;
        u[i] = (1 - t) * (1 + t);
    }
}

void lucid_vforce_magnitude_f64(double *w, int n) {
    for (int i = 0; i < n; i++) {
        w[i] = fabs(w[i]);
    }
}

void lucid_vforce_magnitude_f32(float *w, int n) {
    for (int i = 0; i < n; i++) {
        w[i] = fabsf(w[i]);
    }
}

VEC_INLINE vec horner(const double *p, int degree, vec x) {
    vec value = vec_set(p[degree]);
    for (int k = degree - 1; k >= 0; k--) {
        value = vec_madd(value, x, vec_set(p[k]));
    }
    return value;
}

/* high + low = erfinv(t), but for `bound`, where |step| is as short as assumed. */
VEC_INLINE void refine(vec t, vec y0, vec *high, vec *low, vec *bound, vec *step) {
    enum { NODE, BASE, C, C_LOW, D, D_LOW, LAST = 13 };
    const double *table = lucid_vforce_rows[0];
    uint64_t at[LANES];
    vec c[LUCID_VFORCE_ROW];
    vec_bits row = vec_to_bits(vec_madd(y0, vec_set(LUCID_VFORCE_PER_UNIT), vec_set(0x1.8p52)));
    row = vec_bits_and(row, vec_bits_set(0x1ff));
    vec_bits_store(at, vec_bits_left(row, 4)); /* times LUCID_VFORCE_ROW */
    vec_columns(table, at, LUCID_VFORCE_ROW, c);
    vec n = c[NODE], scale = c[D];

    vec d = vec_sub(y0, n); /* exact, |d| <= 1/128 */
    vec q = c[LAST];
    for (int k = LAST - 1; k > D_LOW; k--) {
        q = vec_madd(q, d, c[k]);
    }
    vec m = vec_mul(vec_mul(d, d), vec_sub(vec_mul(d, q), n));

    /* The residual (d - D v) + m; where y0 is good, D v is near d, and both are exact. */
    vec v = vec_sub(vec_sub(t, c[BASE]), c[C]), p, p_low;
    vec_product(v, scale, &p, &p_low);
    p_low = vec_sub(vec_madd(v, c[D_LOW], p_low), vec_mul(c[C_LOW], scale));
    vec r = vec_add(vec_sub(vec_sub(d, p), p_low), m);

    /* Times 1 / exp(n^2 - y0^2). */
    vec g = vec_mul(d, vec_add(vec_add(n, n), d));
    static const double EXP[] = {1,        1,        1. / 2,    1. / 6,    1. / 24,
                                 1. / 120, 1. / 720, 1. / 5040, 1. / 40320};
    vec growth = horner(EXP, 8, g);
    *step = vec_mul(r, growth);
    vec change = vec_sub(*step, vec_mul(y0, vec_mul(*step, *step)));
    *high = vec_sub(y0, change);
    *low = vec_sub(vec_sub(y0, *high), change);
    *bound = vec_madd(vec_abs(m), vec_set(LUCID_VFORCE_EPS_M),
                      vec_mul(*high, vec_set(LUCID_VFORCE_EPS)));
}

/* Of what vForce has made of x, in [0, LARGEST] whatever that is. */
VEC_INLINE vec first_value(vec t, vec w, vec s) {
    vec central =
        horner(lucid_vforce_f64_central, LUCID_VFORCE_F64_CENTRAL, vec_sub(w, vec_set(CENTRAL)));
    vec tail = horner(lucid_vforce_f64_tail, LUCID_VFORCE_F64_TAIL, vec_sub(s, vec_set(TAIL)));
    vec y0 = vec_mul(t, vec_choose(vec_at_most(w, vec_set(BREAK)), central, tail));
    return vec_min(vec_set(LARGEST), vec_max(y0, vec_set(0)));
}

/* Returns the lanes left open. */
VEC_INLINE unsigned lanes_f64(const double *x, const double *w, const double *s, double *y) {
    vec in = vec_load(x), t = vec_abs(in), high, low, bound, step;
    vec y0 = first_value(t, vec_load(w), vec_load(s));
    refine(t, y0, &high, &low, &bound, &step);
    vec_mask usable = vec_both(vec_usable(t, TINY), vec_at_most(t, vec_set(BELOW_ONE)));
    usable = vec_both(usable, vec_at_most(vec_abs(step), vec_mul(y0, vec_set(STEP))));
    vec above = vec_add(high, vec_add(low, bound)), below = vec_add(high, vec_sub(low, bound));
    return vec_finish(y, in, above, below, usable);
}

static int list_open(unsigned lanes, int first, uint16_t *open) {
    int count = 0;
    for (int i = 0; lanes; i++, lanes >>= 1) {
        if (lanes & 1) {
            open[count++] = (uint16_t)(first + i);
        }
    }
    return count;
}

int lucid_vforce_refine_f64(const double *x, const double *w, const double *s, double *y,
                            uint16_t *open, int n) {
    int count = 0, i = 0;
    for (; i + LANES <= n; i += LANES) {
        count += list_open(lanes_f64(x + i, w + i, s + i, y + i), i, open + count);
    }
    if (i < n) {
        double padded[3][LANES] = {{0}, {0}, {0}};
        size_t bytes = (size_t)(n - i) * sizeof *x;
        memcpy(padded[0], x + i, bytes);
        memcpy(padded[1], w + i, bytes);
        memcpy(padded[2], s + i, bytes);
        unsigned lanes = lanes_f64(padded[0], padded[1], padded[2], padded[0]);
        count += list_open(lanes & ((1u << (n - i)) - 1), i, open + count);
        memcpy(y + i, padded[0], bytes);
    }
    return count;
}

/* In binary32: what the compiler makes vectors of. */
static void first_values_f32(const float *x, const float *w, const float *s, double *y0, int n) {
    for (int i = 0; i < n; i++) {
        float v = w[i] - (float)CENTRAL,
              central = lucid_vforce_f32_central[LUCID_VFORCE_F32_CENTRAL];
        for (int k = LUCID_VFORCE_F32_CENTRAL - 1; k >= 0; k--) {
            central = central * v + lucid_vforce_f32_central[k];
        }
        v = s[i] - (float)TAIL;
        float tail = lucid_vforce_f32_tail[LUCID_VFORCE_F32_TAIL];
        for (int k = LUCID_VFORCE_F32_TAIL - 1; k >= 0; k--) {
            tail = tail * v + lucid_vforce_f32_tail[k];
        }
        y0[i] = (double)(fabsf(x[i]) * (w[i] <= (float)BREAK ? central : tail));
    }
}

int lucid_vforce_refine_f32(const float *x, const float *w, const float *s, float *y,
                            uint16_t *open, int n) {
    double t[LUCID_VFORCE_BLOCK], y0[LUCID_VFORCE_BLOCK];
    double above[LUCID_VFORCE_BLOCK], below[LUCID_VFORCE_BLOCK];
    int padded = (n + LANES - 1) / LANES * LANES, count = 0;
    first_values_f32(x, w, s, y0, n);
    for (int i = 0; i < n; i++) {
        t[i] = (double)fabsf(x[i]);
    }
    for (int i = n; i < padded; i++) {
        t[i] = y0[i] = 0;
    }
    for (int i = 0; i < padded; i += LANES) {
        vec start = vec_min(vec_set(LARGEST), vec_max(vec_load(y0 + i), vec_set(0)));
        vec high, low, bound, step;
        refine(vec_load(t + i), start, &high, &low, &bound, &step);
        vec_mask good = vec_at_most(vec_abs(step), vec_mul(start, vec_set(STEP_F32)));
        vec slack = vec_mul(high, vec_set(EPS_F32));
        vec_store(above + i, vec_add(high, slack));
        vec_store(below + i, vec_choose(good, vec_sub(high, slack), vec_set((double)NAN)));
    }
    for (int i = 0; i < n; i++) {
        float t32 = fabsf(x[i]), up = (float)above[i], down = (float)below[i];
        int sure = (up == down) & (t32 <= BELOW_ONE_F32) & ((t32 >= TINY_F32) | (t32 == 0));
        open[count] = (uint16_t)i;
        count += !sure;
        y[i] = sure ? copysignf(up, x[i]) : x[i];
    }
    return count;
}
