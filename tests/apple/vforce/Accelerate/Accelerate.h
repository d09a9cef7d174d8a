/* The part of Apple's header of this name that the accelerate level uses.
 * SPDX-License-Identifier: MIT */
#ifndef LUCID_STANDIN_ACCELERATE_H
#define LUCID_STANDIN_ACCELERATE_H

void vvlog(double *y, const double *x, const int *n);
void vvlogf(float *y, const float *x, const int *n);
void vvsqrt(double *y, const double *x, const int *n);
void vvsqrtf(float *y, const float *x, const int *n);

#endif
