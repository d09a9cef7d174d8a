/* Tables of the binary32 kernels: see f32.c.  SPDX-License-Identifier: MIT */
#ifndef LUCID_TABLES_F32_H
#define LUCID_TABLES_F32_H

extern const double lucid_f32_double[208][10];
extern const float lucid_f32_rows[97][8];
extern const float lucid_f32_permute[2 * 8][32];
extern const float lucid_f32_permute_c1_low;
extern const float lucid_f32_last[2048 + 1];

#endif
