/* Is y the correctly rounded erfinv(x)?  Decided in 128-bit fixed point for bench/accuracy.py.
 * SPDX-License-Identifier: MIT
 *
 * Shares no code and no table with the kernels: accuracy.py computes the table with arb.
 * The answer is the error of y in ulps, D, known to within GUARD; y is right where |D| < 1/2
 * (1/4 below a power of two), and a point within GUARD of that limit is left open.
 * Bounds: central_error and small_error say how they follow, in ulps:
 *   fixed-point value < 2^-64 (erf to 117 bits or more), double-precision tail < 2^-46. */
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

__extension__ typedef __int128 int128;
__extension__ typedef unsigned __int128 uint128;

enum { DEGREE = 15, CELLS_PER_UNIT = 256, CELLS = 6 * CELLS_PER_UNIT + 1, SMALL_TERMS = 9 };

/* One centre a = i / CELLS_PER_UNIT, with c = sqrt(pi)/2 exp(a^2); unit 2^-126:
 *   q[k-1]    Taylor coefficients of integral_0^d exp(-2 a s - s^2) ds in t = d * CELLS_PER_UNIT
 *   c_erfc    c erfc(a)
 *   c         128-bit significand, and its exponent: c = c_significand 2^(c_exponent - 127) */
struct row {
    int128 q[DEGREE];
    uint128 c_erfc, c_significand;
    int64_t c_exponent, unused;
};

struct table {
    struct row rows[CELLS];
    uint128 small[SMALL_TERMS]; /* 1 / (k! (2k + 1)), unit 2^-127 */
    uint128 half_sqrt_pi;       /* unit 2^-127 */
};

struct result {
    uint64_t right, wrong, open;
    double worst;     /* largest |D| among the right points */
    uint64_t worst_i; /* and where */
};

#define GUARD 0x1p-40

size_t oracle_table_size(void) {
    return sizeof(struct table);
}

static inline uint128 multiply_high(uint128 a, uint128 b) {
    uint64_t ah = (uint64_t)(a >> 64), al = (uint64_t)a;
    uint64_t bh = (uint64_t)(b >> 64), bl = (uint64_t)b;
    uint128 low = (uint128)al * bl, m1 = (uint128)ah * bl, m2 = (uint128)al * bh;
    uint128 middle = (low >> 64) + (uint64_t)m1 + (uint64_t)m2;
    return (uint128)ah * bh + (m1 >> 64) + (m2 >> 64) + (middle >> 64);
}

/* a b / 2^64, rounded down */
static inline uint128 multiply_high_64(uint128 a, uint64_t b) {
    return (a >> 64) * b + (((uint128)(uint64_t)a * b) >> 64);
}

/* a t / 2^64, at most 3/2 low for |t| <= 2^63 */
static inline int128 multiply_high_signed(int128 a, int64_t t) {
    int64_t low = (int64_t)((uint64_t)a >> 1);
    return (a >> 64) * t + (((int128)low * t) >> 63);
}

/* D for y >= 2^-6.  With d = y - a and c = sqrt(pi)/2 exp(a^2),
 *     R = c (erf(y) - x) = integral_0^d exp(-2 a s - s^2) ds - c erfc(a) + c (1 - x),
 *     y - erfinv(x) = R exp(2 a d + d^2) (1 + r),  |r| <= 2.1 y |y - erfinv(x)| < 2^-46 near D = 1.
 * In units of 2^-126: each Horner step adds at most 2 and halves what was there, so 3.5 after the
 * last; the series' remainder is below 0.2 (|coefficient k| <= exp(2 a + 1) / k, |d| <= 2^-9);
 * c erfc(a) adds 0.5, c (1 - x) 2.5.  7 units are below 2^-64 ulp(y), since ulp(y) >= 2^-58. */
static double central_error(const struct table *table, double x, double y) {
    if (!(y < 6) || x < 0x1p-7)
        return INFINITY;
    int64_t i = (int64_t)(y * CELLS_PER_UNIT + 0.5);
    double a = (double)i / CELLS_PER_UNIT, d = y - a;
    const struct row *row = &table->rows[i];
    int64_t t = (int64_t)(d * (CELLS_PER_UNIT * 0x1p64)); /* exact, in [-2^63, 2^63) */

    uint64_t w = (UINT64_C(1) << 60) - (uint64_t)(x * 0x1p60); /* 1 - x, exact */
    int zeros = __builtin_clzll(w);
    int64_t shift = zeros - row->c_exponent - 3;
    if (shift < 1) /* c (1 - x) >= 1 > c erfc(a) + |integral|: y is far off */
        return INFINITY;
    int128 c_w = (int128)(multiply_high_64(row->c_significand, w << zeros) >> shift);

    int128 sum = row->q[DEGREE - 1];
    for (int k = DEGREE - 2; k >= 0; k--)
        sum = row->q[k] + multiply_high_signed(sum, t);
    int128 r = multiply_high_signed(sum, t) + (c_w - (int128)row->c_erfc);

    int exponent;
    frexp(y, &exponent);
    return ldexp((double)r * exp(d * (2 * a + d)), -126 - (exponent - 53));
}

/* significand in [2^63, 2^64), v = significand 2^(exponent - 63) */
static uint64_t split(double v, int *exponent) {
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    uint64_t significand = bits & ((UINT64_C(1) << 52) - 1);
    int biased = (int)(bits >> 52);
    if (biased)
        significand |= UINT64_C(1) << 52;
    else
        biased = 1;
    int zeros = __builtin_clzll(significand);
    *exponent = biased - 1012 - zeros;
    return significand << zeros;
}

/* D for 0 < y < 2^-6: y S(y^2) - x sqrt(pi)/2, S(z) = sum (-z)^k / (k! (2k + 1)), in units of
 * 2^-73 last places of a 53-bit y.  S is off by at most 2 units of 2^-127 (z by 1 unit of 2^-128,
 * each step by less than 2, times z < 2^-12; remainder z^9 / (9! 19) < 2^-130), which is 1 unit
 * here; sqrt(pi)/2 adds 1 and the two products 1 and 2: below 2^-70 ulp.  exp(y^2), which turns
 * the difference of erf into one of y, is taken to 2^-52, the second order is below 2^-57. */
static double small_error(const struct table *table, double x, double y) {
    int ex, ey;
    uint64_t mx = split(x, &ex), my = split(y, &ey);
    if (ex - ey < 0 || ex - ey > 1) /* 0.88 x <= erfinv(x) < x here */
        return INFINITY;
    int shift = -2 * ey - 2; /* y^2 = my^2 2^(2 ey - 126), wanted in units of 2^-128 */
    uint128 z = shift < 128 ? ((uint128)my * my) >> shift : 0;
    uint128 sum = table->small[SMALL_TERMS - 1];
    for (int k = SMALL_TERMS - 2; k >= 0; k--)
        sum = table->small[k] - multiply_high(z, sum);
    int128 r = (int128)(multiply_high_64(sum, my) >> 1) -
               (int128)((multiply_high_64(table->half_sqrt_pi, mx) >> 1) << (ex - ey));
    int lost = ey < -1022 ? -1022 - ey : 0; /* bits that a subnormal y lacks */
    double zd = y * y;
    return ldexp((double)r * (1 + zd * (1 + zd / 2 * (1 + zd / 3))), -73 - lost);
}

/* Error of y in ulps of y, sign as that of |y| - |erfinv(x)|; infinite where y is far off. */
static double error_in_ulps(const struct table *table, double x, double y) {
    if (signbit(x) != signbit(y) || isnan(y))
        return INFINITY;
    x = fabs(x);
    y = fabs(y);
    if (x == 0 || x == 1)
        return y == (x == 0 ? 0 : INFINITY) ? 0 : INFINITY;
    if (y == 0)
        return INFINITY;
    return y < 0x1p-6 ? small_error(table, x, y) : central_error(table, x, y);
}

void oracle_errors(const struct table *table, const double *x, const double *y, double *d,
                   size_t n) {
    for (size_t i = 0; i < n; i++)
        d[i] = error_in_ulps(table, x[i], y[i]);
}

/* Checks n points with |x| <= 1; the first `room` indices that are wrong or open go to `index`. */
void oracle_check(const struct table *table, const double *x, const double *y, size_t n,
                  struct result *result, uint64_t *index, size_t room) {
    struct result all = {0, 0, 0, -1.0, 0};
    for (size_t i = 0; i < n; i++) {
        double error = error_in_ulps(table, x[i], y[i]), size = fabs(error), limit = 0.5;
        if (error > 0.2) {
            int exponent;
            if (frexp(fabs(y[i]), &exponent) == 0.5 && exponent > -1021)
                limit = 0.25; /* ulps are half as large below a power of two */
        }
        if (size < limit - GUARD) {
            all.right++;
            if (size > all.worst) {
                all.worst = size;
                all.worst_i = i;
            }
            continue;
        }
        if (all.wrong + all.open < room)
            index[all.wrong + all.open] = i;
        if (size > limit + GUARD)
            all.wrong++;
        else
            all.open++;
    }
    *result = all;
}
