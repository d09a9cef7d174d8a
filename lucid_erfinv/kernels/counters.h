/* How many lanes went where: for tests and for docs/accuracy.md.  SPDX-License-Identifier: MIT */
#ifndef LUCID_COUNTERS_H
#define LUCID_COUNTERS_H

#include <stddef.h>
#include <stdint.h>

enum lucid_stage {
    LUCID_F32_SECOND,     /* binary32 lanes whose rounding the first phase left open */
    LUCID_F64_SECOND,     /* binary64 lanes handed by the first phase to the rows kernel */
    LUCID_F64_EXACT,      /* binary64 lanes decided in 128-bit integers */
    LUCID_F64_EXACT_WIDE, /* ... in multi-word integers */
    LUCID_F64_EXACT_LAST, /* ... that the last stage left open */
    LUCID_STAGES
};

/* Thread-safe; kernels call it at most once per block, and not with 0 lanes. */
void lucid_count(enum lucid_stage stage, size_t lanes);
void lucid_counters(uint64_t counts[LUCID_STAGES]);

#endif
