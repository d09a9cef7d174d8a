/* See dispatch.h.  SPDX-License-Identifier: MIT */
#include "dispatch.h"

#include <fenv.h>
#include <stdbool.h>
#include <string.h>

#include "fpenv.h"
#include "threads.h"

lucid_kernel_f64 lucid_erfinv_f64_rows_baseline;
lucid_kernel_f32 lucid_erfinv_f32_scalar;
lucid_kernel_u16 lucid_erfinv_f16, lucid_erfinv_bf16;
lucid_backward_kernel_f64 lucid_backward_f64_baseline;
lucid_backward_kernel_f32 lucid_backward_f32_baseline;
lucid_backward_kernel_u16 lucid_backward_f16, lucid_backward_bf16;

static int always(void) {
    return 1;
}

#ifdef LUCID_HAVE_AVX2
lucid_kernel_f64 lucid_erfinv_f64_lines_avx2;
lucid_kernel_f32 lucid_erfinv_f32_rows_avx2;
lucid_backward_kernel_f64 lucid_backward_f64_avx2;
lucid_backward_kernel_f32 lucid_backward_f32_avx2;

static int avx2_usable(void) {
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}
#endif

#ifdef LUCID_HAVE_AVX512
lucid_kernel_f64 lucid_erfinv_f64_lines_avx512;
lucid_kernel_f32 lucid_erfinv_f32_permute_avx512;
lucid_kernel_u16 lucid_erfinv_f16_permute_avx512, lucid_erfinv_bf16_permute_avx512;
lucid_backward_kernel_f64 lucid_backward_f64_avx512;
lucid_backward_kernel_f32 lucid_backward_f32_avx512;

static int avx512_usable(void) {
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("avx2") &&
           __builtin_cpu_supports("fma");
}
#endif

#ifdef LUCID_HAVE_NEON
lucid_kernel_f64 lucid_erfinv_f64_lines_neon;
lucid_kernel_f32 lucid_erfinv_f32_rows_neon;
lucid_backward_kernel_f64 lucid_backward_f64_neon;
lucid_backward_kernel_f32 lucid_backward_f32_neon;
#endif

static struct lucid_level built[] = {
    {"baseline", always, lucid_erfinv_f64_rows_baseline, lucid_erfinv_f32_scalar, lucid_erfinv_f16,
     lucid_erfinv_bf16, lucid_backward_f64_baseline, lucid_backward_f32_baseline},
#ifdef LUCID_HAVE_AVX2
    {"avx2", avx2_usable, lucid_erfinv_f64_lines_avx2, lucid_erfinv_f32_rows_avx2, lucid_erfinv_f16,
     lucid_erfinv_bf16, lucid_backward_f64_avx2, lucid_backward_f32_avx2},
#endif
#ifdef LUCID_HAVE_AVX512
    {"avx512", avx512_usable, lucid_erfinv_f64_lines_avx512, lucid_erfinv_f32_permute_avx512,
     lucid_erfinv_f16_permute_avx512, lucid_erfinv_bf16_permute_avx512, lucid_backward_f64_avx512,
     lucid_backward_f32_avx512},
#endif
#ifdef LUCID_HAVE_NEON
    {"neon", always, lucid_erfinv_f64_lines_neon, lucid_erfinv_f32_rows_neon, lucid_erfinv_f16,
     lucid_erfinv_bf16, lucid_backward_f64_neon, lucid_backward_f32_neon},
#endif
    {0}, /* room for one more */
};

const struct lucid_level *const lucid_levels = built;
size_t lucid_level_count = sizeof built / sizeof built[0] - 1;

struct lucid_second_phase lucid_add_level(const char *name, lucid_kernel_f64 *erfinv_f64,
                                          lucid_kernel_f32 *erfinv_f32, int best) {
    struct lucid_level level = built[0];
    for (size_t i = 1; i < lucid_level_count; i++)
        level = built[i].usable == always ? built[i] : level;
    struct lucid_second_phase second = {level.erfinv_f64, level.erfinv_f32, lucid_count};
    level.name = name;
    level.erfinv_f64 = erfinv_f64;
    level.erfinv_f32 = erfinv_f32;
    size_t place = best ? lucid_level_count : 0;
    memmove(built + place + 1, built + place, (lucid_level_count - place) * sizeof *built);
    built[place] = level;
    lucid_level_count++;
    return second;
}

struct lucid_op lucid_erfinv_op(const struct lucid_level *level, enum lucid_type type) {
    struct lucid_op op = {.type = type, .inputs = 1};
    switch (type) {
    case LUCID_F64:
        op.kernel.f64 = level->erfinv_f64;
        break;
    case LUCID_F32:
        op.kernel.f32 = level->erfinv_f32;
        break;
    default:
        op.kernel.u16 = type == LUCID_F16 ? level->erfinv_f16 : level->erfinv_bf16;
        break;
    }
    return op;
}

struct lucid_op lucid_backward_op(const struct lucid_level *level, enum lucid_type type) {
    struct lucid_op op = {.type = type, .inputs = 2};
    switch (type) {
    case LUCID_F64:
        op.kernel.backward_f64 = level->backward_f64;
        break;
    case LUCID_F32:
        op.kernel.backward_f32 = level->backward_f32;
        break;
    default:
        op.kernel.backward_u16 = type == LUCID_F16 ? lucid_backward_f16 : lucid_backward_bf16;
        break;
    }
    return op;
}

/* log2 of the element size in bytes. */
static unsigned size_log2(enum lucid_type type) {
    return type == LUCID_F64 ? 3 : type == LUCID_F32 ? 2 : 1;
}

/* The operands are the inputs, then the output. */
static unsigned run_kernel(const struct lucid_op *op, void *const *at, size_t n) {
    lucid_fpenv callers = lucid_enter_default();
    unsigned flags;
    if (op->inputs == 1)
        flags = op->type == LUCID_F64   ? op->kernel.f64(at[0], at[1], n)
                : op->type == LUCID_F32 ? op->kernel.f32(at[0], at[1], n)
                                        : op->kernel.u16(at[0], at[1], n);
    else
        flags = op->type == LUCID_F64   ? op->kernel.backward_f64(at[0], at[1], at[2], n)
                : op->type == LUCID_F32 ? op->kernel.backward_f32(at[0], at[1], at[2], n)
                                        : op->kernel.backward_u16(at[0], at[1], at[2], n);
    lucid_leave_default(callers);
    return flags;
}

static void raise_flags(unsigned flags) {
    if (flags)
        feraiseexcept((flags & LUCID_DIVIDE ? FE_DIVBYZERO : 0) |
                      (flags & LUCID_INVALID ? FE_INVALID : 0) |
                      (flags & LUCID_OVERFLOW ? FE_OVERFLOW | FE_INEXACT : 0) |
                      (flags & LUCID_UNDERFLOW ? FE_UNDERFLOW | FE_INEXACT : 0));
}

/* Some 5 to 10 us of work at the fastest level. */
enum { PIECE_BYTES = 64 * 1024 };

enum { MAX_OPERANDS = 3 };

struct piecewise {
    const struct lucid_op *op;
    char *const *operands;
};

static unsigned run_piece(void *context, size_t begin, size_t end) {
    const struct piecewise *whole = context;
    void *at[MAX_OPERANDS];
    for (int i = 0; i <= whole->op->inputs; i++)
        at[i] = whole->operands[i] + (begin << size_log2(whole->op->type));
    return run_kernel(whole->op, at, end - begin);
}

static void copy_strided(char *to, ptrdiff_t to_step, const char *from, ptrdiff_t from_step,
                         size_t size, size_t n) {
    /* A memcpy of constant size is one move, whatever the alignment. */
    switch (size) {
    case 8:
        for (size_t i = 0; i < n; i++, to += to_step, from += from_step)
            memcpy(to, from, 8);
        break;
    case 4:
        for (size_t i = 0; i < n; i++, to += to_step, from += from_step)
            memcpy(to, from, 4);
        break;
    default:
        for (size_t i = 0; i < n; i++, to += to_step, from += from_step)
            memcpy(to, from, 2);
        break;
    }
}

static unsigned run_strided(const struct lucid_op *op, char *const *operands,
                            const ptrdiff_t *steps, size_t n) {
    enum { BLOCK = 512 };
    union {
        double f64[BLOCK];
        float f32[BLOCK];
        uint16_t u16[BLOCK];
    } buffers[MAX_OPERANDS - 1];
    void *const at[MAX_OPERANDS] = {&buffers[0], &buffers[op->inputs - 1], &buffers[0]};
    ptrdiff_t size = (ptrdiff_t)1 << size_log2(op->type);
    unsigned flags = 0;
    for (size_t done = 0, block; done < n; done += block) {
        block = n - done < BLOCK ? n - done : BLOCK;
        for (int i = 0; i < op->inputs; i++)
            copy_strided(at[i], size, operands[i] + (ptrdiff_t)done * steps[i], steps[i],
                         (size_t)size, block);
        flags |= run_kernel(op, at, block);
        int out = op->inputs;
        copy_strided(operands[out] + (ptrdiff_t)done * steps[out], steps[out], at[out], size,
                     (size_t)size, block);
    }
    return flags;
}

/* Whether an output may be a later input: NumPy passes such operands for reduce, accumulate and
 * reduceat, and for nothing else. */
static bool feeds_back(const struct lucid_op *op, char *const *operands, const ptrdiff_t *steps,
                       size_t n) {
    int out = op->inputs;
    if (out == 1 || n == 1)
        return false;
    if (steps[out] == 0)
        return true;
    uintptr_t begin[MAX_OPERANDS], end[MAX_OPERANDS];
    for (int i = 0; i <= out; i++) {
        uintptr_t first = (uintptr_t)operands[i];
        uintptr_t last = first + (uintptr_t)(steps[i] * (ptrdiff_t)(n - 1));
        begin[i] = first < last ? first : last;
        end[i] = first < last ? last : first;
    }
    bool found = false;
    for (int i = 0; i < out; i++) {
        bool same = operands[i] == operands[out] && steps[i] == steps[out];
        found |= !same && begin[i] <= end[out] && begin[out] <= end[i];
    }
    return found;
}

static unsigned run_one_by_one(const struct lucid_op *op, char *const *operands,
                               const ptrdiff_t *steps, size_t n) {
    unsigned flags = 0;
    for (size_t i = 0; i < n; i++) {
        char *at[MAX_OPERANDS];
        for (int k = 0; k <= op->inputs; k++)
            at[k] = operands[k] + (ptrdiff_t)i * steps[k];
        flags |= run_strided(op, at, steps, 1);
    }
    return flags;
}

void lucid_run(const struct lucid_op *op, char *const *operands, const ptrdiff_t *steps, size_t n) {
    unsigned log2 = size_log2(op->type);
    uintptr_t size = (uintptr_t)1 << log2;
    bool contiguous = true, aligned = true;
    for (int i = 0; i <= op->inputs; i++) {
        contiguous &= steps[i] == (ptrdiff_t)size;
        aligned &= (uintptr_t)operands[i] % size == 0;
    }
    if (feeds_back(op, operands, steps, n)) {
        raise_flags(run_one_by_one(op, operands, steps, n));
    } else if (aligned && (contiguous || n == 1)) {
        struct piecewise whole = {op, operands};
        raise_flags(lucid_parallel(run_piece, &whole, n, (size_t)PIECE_BYTES >> log2));
    } else {
        raise_flags(run_strided(op, operands, steps, n));
    }
}
