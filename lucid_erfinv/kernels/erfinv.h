/* The contract between the kernels and their callers.  SPDX-License-Identifier: MIT
 *
 * A kernel writes y[i] = erfinv(x[i]), correctly rounded to nearest even, for any n.
 *   x, y     contiguous, aligned as their element type; y may be x, no other overlap.
 *   called   in the default floating-point environment (dispatch.c sees to it).
 *   returns  the flags to be raised.  What the hardware's status word gathers on the way is
 *            dropped by the caller, so that discarded lanes and steps need no care.
 * Out of domain is a quiet NaN with LUCID_INVALID, +-1 is +-inf with LUCID_DIVIDE, a quiet NaN
 * passes through bit for bit, a signalling one is quieted with LUCID_INVALID, and
 * LUCID_UNDERFLOW tells that a result is subnormal and inexact. */
#ifndef LUCID_ERFINV_H
#define LUCID_ERFINV_H

#include <stddef.h>
#include <stdint.h>

enum { LUCID_DIVIDE = 1, LUCID_INVALID = 2, LUCID_UNDERFLOW = 4, LUCID_OVERFLOW = 8 };

typedef unsigned lucid_kernel_f64(const double *x, double *y, size_t n);
typedef unsigned lucid_kernel_f32(const float *x, float *y, size_t n);
typedef unsigned lucid_kernel_u16(const uint16_t *x, uint16_t *y, size_t n); /* half, bfloat16 */

/* A level's symbols: LUCID_NAME(lucid_erfinv_f64) is lucid_erfinv_f64_avx2 where the build
 * says -DLUCID_LEVEL=avx2. */
#define LUCID_PASTE_(name, level) name##_##level
#define LUCID_PASTE(name, level) LUCID_PASTE_(name, level)
#define LUCID_NAME(name) LUCID_PASTE(name, LUCID_LEVEL)

#endif
