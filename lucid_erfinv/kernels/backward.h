/* The contract of the gradient kernels.  SPDX-License-Identifier: MIT
 *
 * A kernel writes out[i] = g[i] * sqrt(pi)/2 * exp(y_exact^2), below 1 ulp, for any n; y_exact is
 * erfinv(x) where y[i] is the correctly rounded erfinv(x) and |y[i]| >= 1/2, else y[i].
 *   g, y, out  contiguous, aligned as their element type; out may be g or y, no other overlap.
 *   called     in the default floating-point environment, flags returned, as in erfinv.h.
 * g = +-0 gives g, but for a NaN y; a NaN g comes back quiet, else a NaN y.  LUCID_OVERFLOW: g and
 * y are finite, the result is not; LUCID_UNDERFLOW: a result is subnormal or zero and g is not
 * zero; LUCID_INVALID: a signalling NaN. */
#ifndef LUCID_BACKWARD_H
#define LUCID_BACKWARD_H

#include "erfinv.h"

typedef unsigned lucid_backward_kernel_f64(const double *g, const double *y, double *out, size_t n);
typedef unsigned lucid_backward_kernel_f32(const float *g, const float *y, float *out, size_t n);
typedef unsigned lucid_backward_kernel_u16(const uint16_t *g, const uint16_t *y, uint16_t *out,
                                           size_t n);

#endif
