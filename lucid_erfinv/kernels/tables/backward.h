/* Tables of the float64 and float32 gradient kernels, written by gen_backward.py;
 * do not edit.  SPDX-License-Identifier: MIT */
#ifndef LUCID_TABLES_BACKWARD_H
#define LUCID_TABLES_BACKWARD_H

#include <stdint.h>

enum { LUCID_BACKWARD_F64_DEGREE = 12, LUCID_BACKWARD_F64_EXP_DEGREE = 5 };
extern const double lucid_backward_f64_power[2][16];
extern const double lucid_backward_f64_exp[6];
extern const uint8_t lucid_backward_f64_segment[64];
extern const double lucid_backward_f64_g[14][16];

enum { LUCID_BACKWARD_F32_DEGREE = 5, LUCID_BACKWARD_F32_EXP_DEGREE = 2 };
extern const float lucid_backward_f32_power[2][16];
extern const float lucid_backward_f32_exp[3];
extern const uint8_t lucid_backward_f32_segment[64];
extern const float lucid_backward_f32_g[7][16];

#endif
