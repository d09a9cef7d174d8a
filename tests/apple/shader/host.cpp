// The kernels of the shader text SHADER, run over arrays by the CPU.  SPDX-License-Identifier: MIT
// Each function takes its kernel's buffers, their length, and whether subnormals are flushed.
#include SHADER

#include <cstddef>

#if defined(__SSE2__)
#include <xmmintrin.h>
enum : unsigned { FLUSH = 0x8040 }; // FTZ, DAZ

static unsigned set_control(unsigned control) {
    unsigned before = _mm_getcsr();
    _mm_setcsr(control);
    return before;
}

static unsigned control() {
    return _mm_getcsr();
}
#elif defined(__aarch64__)
enum : unsigned { FLUSH = 1u << 24 }; // FZ

static unsigned control() {
    std::uint64_t word;
    __asm__ __volatile__("mrs %0, fpcr" : "=r"(word));
    return static_cast<unsigned>(word);
}

static unsigned set_control(unsigned word) {
    unsigned before = control();
    __asm__ __volatile__("msr fpcr, %0" : : "r"(static_cast<std::uint64_t>(word)) : "memory");
    return before;
}
#endif

// Not inlined: no arithmetic may move across the control word's setting.
#define FORWARD(name, type)                                                                        \
    __attribute__((noinline)) static void name##_all(const type *x, type *y, std::size_t n) {      \
        for (std::size_t i = 0; i < n; i++)                                                        \
            name(x, y, static_cast<uint>(i));                                                      \
    }                                                                                              \
    extern "C" void host_##name(const type *x, type *y, std::size_t n, int flush) {                \
        unsigned before = set_control(flush ? control() | FLUSH : control() & ~FLUSH);             \
        name##_all(x, y, n);                                                                       \
        set_control(before);                                                                       \
    }

#define BACKWARD(name, type)                                                                       \
    __attribute__((noinline)) static void name##_all(const type *g, const type *y, type *out,      \
                                                     std::size_t n) {                              \
        for (std::size_t i = 0; i < n; i++)                                                        \
            name(g, y, out, static_cast<uint>(i));                                                 \
    }                                                                                              \
    extern "C" void host_##name(const type *g, const type *y, type *out, std::size_t n,            \
                                int flush) {                                                       \
        unsigned before = set_control(flush ? control() | FLUSH : control() & ~FLUSH);             \
        name##_all(g, y, out, n);                                                                  \
        set_control(before);                                                                       \
    }

FORWARD(erfinv_f32, uint)
FORWARD(erfinv_f16, ushort)
FORWARD(erfinv_bf16, ushort)
BACKWARD(erfinv_backward_f32, uint)
BACKWARD(erfinv_backward_f16, ushort)
BACKWARD(erfinv_backward_bf16, ushort)
