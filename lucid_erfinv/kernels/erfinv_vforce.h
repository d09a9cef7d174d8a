/* The accelerate level's own stages; between them the caller has vForce take the logarithm of the
 * argument, then the square root of its magnitude.  SPDX-License-Identifier: MIT
 * n is at most LUCID_VFORCE_BLOCK.  Nothing here relies on vForce's digits: a first value that is
 * off leaves its lane open. */
#ifndef LUCID_ERFINV_VFORCE_H
#define LUCID_ERFINV_VFORCE_H

#include <stdint.h>

enum { LUCID_VFORCE_BLOCK = 512 };

/* u = 1 - x^2, kept in [2^-52, 1] (binary32: 2^-23). */
void lucid_vforce_argument_f64(const double *x, double *u, int n);
void lucid_vforce_argument_f32(const float *x, float *u, int n);

/* w = |w|: the logarithm, less its sign. */
void lucid_vforce_magnitude_f64(double *w, int n);
void lucid_vforce_magnitude_f32(float *w, int n);

/* From w = -log(u) and s = sqrt(w): y = erfinv(x) where its rounding is sure, and x in the lanes
 * that are listed in `open`, of which the number is returned.  y may be x. */
int lucid_vforce_refine_f64(const double *x, const double *w, const double *s, double *y,
                            uint16_t *open, int n);
int lucid_vforce_refine_f32(const float *x, const float *w, const float *s, float *y,
                            uint16_t *open, int n);

#endif
