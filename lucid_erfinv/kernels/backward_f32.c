/* Gradient of erfinv, binary32, by the algorithm of backward_lanes.h: within 0.84 ulp of the
 * derivative at x, 0.66 where |y| >= 1/2 (docs/accuracy-backward.md).  SPDX-License-Identifier: MIT
 * All levels run the same operations, each rounded once, and give the same bits. */
#include "backward.h"
#include "tables/backward.h"
#include "vec_f32.h"

#define REAL float
#define PATTERN int32_t
#define FRACTION 23
#define DEGREE LUCID_BACKWARD_F32_DEGREE
#define EXP_DEGREE LUCID_BACKWARD_F32_EXP_DEGREE
#define POWER lucid_backward_f32_power
#define EXP lucid_backward_f32_exp
#define SEGMENT lucid_backward_f32_segment
#define G lucid_backward_f32_g

#define INVERSE_LN2 0x1.715476p+0f
#define LN2_HIGH 0x1.62cp-1f /* 11 bits: its product with n is exact */
#define LN2_LOW 0x1.217f7ep-12f
#define ROUND_TO_16TH 0x1.8p19f
#define LARGEST_OUTPUT 3.875f
#define LEAST 0x1p-40f /* exp(y^2) = 1 from here down, and subnormal products would be slow */

/* exp(y^2) from here on overflows the product: with any g, with |g| > TINY. */
#define CUTOFF_TINY 14.5f
#define CUTOFF 12.5f
#define TINY 0x1p-60f
#define TINY_SCALE 0x1p96f
#define TINY_SHIFT 96

#include "backward_lanes.h"

unsigned LUCID_NAME(lucid_backward_f32)(const float *g, const float *y, float *out, size_t n) {
    return backward(g, y, out, n);
}
