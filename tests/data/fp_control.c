/* The floating-point control and status words, for tests.  SPDX-License-Identifier: MIT */
#include <fenv.h>

#if defined(__SSE2__)
#include <immintrin.h>

enum { STATUS_BITS = 0x3f, FLUSH_BITS = 0x8040 }; /* DAZ, FTZ */

unsigned long fp_control(void) {
    return _mm_getcsr() & ~(unsigned long)STATUS_BITS;
}

void fp_flush_subnormals(void) {
    _mm_setcsr(_mm_getcsr() | FLUSH_BITS);
}

#elif defined(__aarch64__)

enum { FLUSH_BITS = 1 << 24 };

unsigned long fp_control(void) {
    unsigned long control;
    __asm__ volatile("mrs %0, fpcr" : "=r"(control));
    return control;
}

void fp_flush_subnormals(void) {
    __asm__ volatile("msr fpcr, %0" ::"r"(fp_control() | FLUSH_BITS));
}

#else

unsigned long fp_control(void) {
    return (unsigned long)fegetround();
}

void fp_flush_subnormals(void) {
}

#endif

int fp_set_rounding(int direction) {
    static const int modes[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
    return fesetround(modes[direction]);
}

int fp_reset(void) {
    return fesetenv(FE_DFL_ENV);
}

/* The order of the bits is lucid_erfinv/kernels/erfinv.h's. */
int fp_flags(void) {
    int raised = fetestexcept(FE_ALL_EXCEPT);
    return !!(raised & FE_DIVBYZERO) | !!(raised & FE_INVALID) << 1 |
           !!(raised & FE_UNDERFLOW) << 2 | !!(raised & FE_OVERFLOW) << 3;
}
