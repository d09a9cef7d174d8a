/* See dispatch.h.  SPDX-License-Identifier: MIT */
#include "dispatch.h"

#include <fenv.h>
#include <string.h>

#include "fpenv.h"
#include "threads.h"

lucid_kernel_f64 lucid_erfinv_f64_rows_baseline;
lucid_kernel_f32 lucid_erfinv_f32_scalar;
lucid_kernel_u16 lucid_erfinv_f16, lucid_erfinv_bf16;

static int always(void) {
    return 1;
}

#ifdef LUCID_HAVE_AVX2
lucid_kernel_f64 lucid_erfinv_f64_lines_avx2;
lucid_kernel_f32 lucid_erfinv_f32_rows_avx2;

static int avx2_usable(void) {
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}
#endif

#ifdef LUCID_HAVE_AVX512
lucid_kernel_f64 lucid_erfinv_f64_lines_avx512;
lucid_kernel_f32 lucid_erfinv_f32_permute_avx512;

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
#endif

static const struct lucid_level built[] = {
    {"baseline", always, lucid_erfinv_f64_rows_baseline, lucid_erfinv_f32_scalar},
#ifdef LUCID_HAVE_AVX2
    {"avx2", avx2_usable, lucid_erfinv_f64_lines_avx2, lucid_erfinv_f32_rows_avx2},
#endif
#ifdef LUCID_HAVE_AVX512
    {"avx512", avx512_usable, lucid_erfinv_f64_lines_avx512, lucid_erfinv_f32_permute_avx512},
#endif
#ifdef LUCID_HAVE_NEON
    {"neon", always, lucid_erfinv_f64_lines_neon, lucid_erfinv_f32_rows_neon},
#endif
};

const struct lucid_level *const lucid_levels = built;
const size_t lucid_level_count = sizeof built / sizeof built[0];

struct lucid_op lucid_erfinv_op(const struct lucid_level *level, enum lucid_type type) {
    struct lucid_op op = {.type = type};
    switch (type) {
    case LUCID_F64:
        op.kernel.f64 = level->erfinv_f64;
        break;
    case LUCID_F32:
        op.kernel.f32 = level->erfinv_f32;
        break;
    case LUCID_F16:
        op.kernel.u16 = lucid_erfinv_f16;
        break;
    default:
        op.kernel.u16 = lucid_erfinv_bf16;
        break;
    }
    return op;
}

/* log2 of the element size in bytes. */
static unsigned size_log2(enum lucid_type type) {
    return type == LUCID_F64 ? 3 : type == LUCID_F32 ? 2 : 1;
}

static unsigned run_kernel(const struct lucid_op *op, const void *x, void *y, size_t n) {
    lucid_fpenv callers = lucid_enter_default();
    unsigned flags;
    switch (op->type) {
    case LUCID_F64:
        flags = op->kernel.f64(x, y, n);
        break;
    case LUCID_F32:
        flags = op->kernel.f32(x, y, n);
        break;
    default:
        flags = op->kernel.u16(x, y, n);
        break;
    }
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

struct piecewise {
    const struct lucid_op *op;
    const char *x;
    char *y;
};

static unsigned run_piece(void *context, size_t begin, size_t end) {
    const struct piecewise *whole = context;
    size_t offset = begin << size_log2(whole->op->type);
    return run_kernel(whole->op, whole->x + offset, whole->y + offset, end - begin);
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

void lucid_run(const struct lucid_op *op, const char *x, ptrdiff_t x_step, char *y,
               ptrdiff_t y_step, size_t n) {
    unsigned log2 = size_log2(op->type);
    ptrdiff_t size = (ptrdiff_t)1 << log2;
    unsigned flags = 0;
    if (n == 1 || (x_step == size && y_step == size)) {
        struct piecewise whole = {op, x, y};
        flags = lucid_parallel(run_piece, &whole, n, (size_t)PIECE_BYTES >> log2);
    } else {
        enum { BLOCK = 512 };
        union {
            double f64[BLOCK];
            float f32[BLOCK];
            uint16_t u16[BLOCK];
        } buffer;
        while (n > 0) {
            size_t block = n < BLOCK ? n : BLOCK;
            copy_strided((char *)&buffer, size, x, x_step, (size_t)size, block);
            flags |= run_kernel(op, &buffer, &buffer, block);
            copy_strided(y, y_step, (const char *)&buffer, size, (size_t)size, block);
            x += x_step * (ptrdiff_t)block;
            y += y_step * (ptrdiff_t)block;
            n -= block;
        }
    }
    raise_flags(flags);
}
