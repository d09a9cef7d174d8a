/* threads.c for systems without POSIX threads.  SPDX-License-Identifier: MIT */
#include "threads.h"

unsigned lucid_parallel(lucid_task *task, void *context, size_t n, size_t grain) {
    (void)grain;
    return task(context, 0, n);
}

void lucid_set_num_threads(int n) {
    (void)n;
}

int lucid_get_num_threads(void) {
    return 1;
}
