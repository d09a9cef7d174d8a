/* Tables of the 16-bit kernels: see half.c.  SPDX-License-Identifier: MIT */
#ifndef LUCID_TABLES_HALF_H
#define LUCID_TABLES_HALF_H

#include <stdint.h>

extern const uint16_t lucid_f16[0x3c00 + 1];
extern const uint16_t lucid_bf16[0x3f80 + 1];
extern const float lucid_half_permute[6][16];

#endif
