/* Tables of the 16-bit gradient kernels, written by gen_backward_half.py; do not edit.
 * SPDX-License-Identifier: MIT */
#ifndef LUCID_TABLES_BACKWARD_HALF_H
#define LUCID_TABLES_BACKWARD_HALF_H

enum { LUCID_BACKWARD_F16_FIRST = 0x12d9, LUCID_BACKWARD_F16_LAST = 0x4547 };
extern const double lucid_backward_f16_table[12911];

enum { LUCID_BACKWARD_BF16_FIRST = 0x3a5b, LUCID_BACKWARD_BF16_LAST = 0x4158 };
extern const double lucid_backward_bf16_table[1790];

#endif
