/* The chosen kernels, and how callers run them.  SPDX-License-Identifier: MIT */
#ifndef LUCID_DISPATCH_H
#define LUCID_DISPATCH_H

#include "backward.h"
#include "counters.h"
#include "erfinv.h"

enum lucid_type { LUCID_F64, LUCID_F32, LUCID_F16, LUCID_BF16, LUCID_TYPES };

struct lucid_level {
    const char *name;
    int (*usable)(void);
    lucid_kernel_f64 *erfinv_f64;
    lucid_kernel_f32 *erfinv_f32;
    lucid_kernel_u16 *erfinv_f16;
    lucid_kernel_u16 *erfinv_bf16;
    lucid_backward_kernel_f64 *backward_f64;
    lucid_backward_kernel_f32 *backward_f32;
};

/* One function, one element type, at one level. */
struct lucid_op {
    enum lucid_type type;
    int inputs; /* 1: erfinv, 2: its gradient */
    union {
        lucid_kernel_f64 *f64;
        lucid_kernel_f32 *f32;
        lucid_kernel_u16 *u16;
        lucid_backward_kernel_f64 *backward_f64;
        lucid_backward_kernel_f32 *backward_f32;
        lucid_backward_kernel_u16 *backward_u16;
    } kernel;
};

/* The levels that were built, the best last.  baseline is always usable. */
extern const struct lucid_level *const lucid_levels;
extern size_t lucid_level_count;

/* What a level of another module leaves to this one. */
struct lucid_second_phase {
    lucid_kernel_f64 *erfinv_f64;
    lucid_kernel_f32 *erfinv_f32;
    void (*count)(enum lucid_stage stage, size_t lanes);
};

/* Adds a level that any CPU of this build can run and that has kernels of erfinv in these two types
 * only; the rest is that of the best such level so far.  `best` puts it last, else it comes first.
 * To be called once, before a level is chosen. */
typedef struct lucid_second_phase lucid_add_level_function(const char *name,
                                                           lucid_kernel_f64 *erfinv_f64,
                                                           lucid_kernel_f32 *erfinv_f32, int best);
lucid_add_level_function lucid_add_level;

struct lucid_op lucid_erfinv_op(const struct lucid_level *level, enum lucid_type type);
struct lucid_op lucid_backward_op(const struct lucid_level *level, enum lucid_type type);

/* n elements of the operands, inputs first, `steps` bytes from one to the next, one after the other
 * as far as one can tell: a later input may be an earlier output, as in a ufunc's reduce and
 * accumulate.  Runs in the default floating-point environment whatever the caller's is, then
 * raises the result's flags in the caller's.  Long contiguous arrays go over the worker threads. */
void lucid_run(const struct lucid_op *op, char *const *operands, const ptrdiff_t *steps, size_t n);

#endif
