/* Worker threads for long arrays (docs/threads.md).  SPDX-License-Identifier: MIT */
#ifndef LUCID_THREADS_H
#define LUCID_THREADS_H

#include <stddef.h>

/* Does elements begin..end-1 and returns the LUCID_* flags to be raised.  It runs on any thread,
 * sets its own floating-point environment and keeps to 64 KiB of stack. */
typedef unsigned lucid_task(void *context, size_t begin, size_t end);

/* Runs task over [0, n) on up to lucid_get_num_threads() threads, the caller's among them, and
 * returns the flags of all, or-ed.  Every begin is a multiple of grain (> 0), which should be some
 * 5 us of work and whole cache lines; below 8 grains the caller does it all, in one call.
 * Any number of threads may call at once, tasks included; it is safe to fork at any time. */
unsigned lucid_parallel(lucid_task *task, void *context, size_t n, size_t grain);

void lucid_set_num_threads(int n); /* below 1 counts as 1, the default */
int lucid_get_num_threads(void);

#endif
