/* Gradient of erfinv, binary64, by the algorithm of backward_lanes.h: within 0.84 ulp of the
 * derivative at x, 0.66 where |y| >= 1/2 (docs/accuracy-backward.md).
 * SPDX-License-Identifier: MIT */
#include "backward.h"
#include "tables/backward.h"
#include "vec_f64.h"

#define REAL double
#define PATTERN int64_t
#define FRACTION 52
#define DEGREE LUCID_BACKWARD_F64_DEGREE
#define EXP_DEGREE LUCID_BACKWARD_F64_EXP_DEGREE
#define POWER lucid_backward_f64_power
#define EXP lucid_backward_f64_exp
#define SEGMENT lucid_backward_f64_segment
#define G lucid_backward_f64_g

#define INVERSE_LN2 0x1.71547652b82fep+0
#define LN2_HIGH 0x1.62e42fefap-1 /* 36 bits: its product with n is exact */
#define LN2_LOW 0x1.cf79abc9e3b3ap-40
#define ROUND_TO_16TH 0x1.8p48
#define LARGEST_OUTPUT 5.875
#define LEAST 0x1p-100 /* exp(y^2) = 1 from here down, and subnormal products would be slow */

/* exp(y^2) from here on overflows the product: with any g, with |g| > TINY. */
#define CUTOFF_TINY 38.5
#define CUTOFF 37.0
#define TINY 0x1p-100
#define TINY_SCALE 0x1p600
#define TINY_SHIFT 600

#include "backward_lanes.h"

unsigned LUCID_NAME(lucid_backward_f64)(const double *g, const double *y, double *out, size_t n) {
    return backward(g, y, out, n);
}
