/* See counters.h.  SPDX-License-Identifier: MIT */
#include "counters.h"

#include <stdatomic.h>

static _Atomic uint64_t total[LUCID_STAGES];

void lucid_count(enum lucid_stage stage, size_t lanes) {
    atomic_fetch_add_explicit(&total[stage], lanes, memory_order_relaxed);
}

void lucid_counters(uint64_t counts[LUCID_STAGES]) {
    for (int i = 0; i < LUCID_STAGES; i++)
        counts[i] = atomic_load_explicit(&total[i], memory_order_relaxed);
}
