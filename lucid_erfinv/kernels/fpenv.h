/* The floating-point environment around a kernel call.  SPDX-License-Identifier: MIT
 *
 * lucid_enter_default saves the caller's control and status and sets the default environment:
 * round to nearest, subnormals kept, nothing trapped.  lucid_leave_default puts the caller's
 * back, status flags included, so that what a kernel raised on the way is dropped. */
#ifndef LUCID_FPENV_H
#define LUCID_FPENV_H

#if defined(__SSE2__)
#include <immintrin.h>

typedef unsigned lucid_fpenv;

static inline lucid_fpenv lucid_enter_default(void) {
    unsigned saved = _mm_getcsr(); /* 2 cycles on Golden Cove, 20 on Zen; setting it up to 80 */
    if ((saved | _MM_EXCEPT_MASK) != (0x1f80 | _MM_EXCEPT_MASK))
        _mm_setcsr(0x1f80);
    return saved;
}

static inline void lucid_leave_default(lucid_fpenv saved) {
    if (_mm_getcsr() != saved)
        _mm_setcsr(saved);
}

#elif defined(__aarch64__) && defined(__GNUC__)
#include <stdint.h>

typedef struct {
    uint64_t control, status;
} lucid_fpenv;

static inline lucid_fpenv lucid_enter_default(void) {
    lucid_fpenv saved;
    __asm__ volatile("mrs %0, fpcr" : "=r"(saved.control)::"memory");
    __asm__ volatile("mrs %0, fpsr" : "=r"(saved.status)::"memory");
    if (saved.control != 0)
        __asm__ volatile("msr fpcr, %0" ::"r"((uint64_t)0) : "memory");
    return saved;
}

static inline void lucid_leave_default(lucid_fpenv saved) {
    if (saved.control != 0)
        __asm__ volatile("msr fpcr, %0" ::"r"(saved.control) : "memory");
    __asm__ volatile("msr fpsr, %0" ::"r"(saved.status) : "memory");
}

#else
#include <fenv.h>

typedef fenv_t lucid_fpenv;

static inline lucid_fpenv lucid_enter_default(void) {
    fenv_t saved;
    fegetenv(&saved);
    fesetenv(FE_DFL_ENV);
    return saved;
}

static inline void lucid_leave_default(lucid_fpenv saved) {
    fesetenv(&saved);
}

#endif
#endif
