/* erfinv and its gradient on Apple's GPUs, for C.  SPDX-License-Identifier: MIT
 * All functions may be called by any thread; none throws.  Where one has an `error`, a null (or
 * false) result tells that it has been filled. */
#ifndef LUCID_METAL_HOST_H
#define LUCID_METAL_HOST_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum lucid_metal_kernel {
    LUCID_METAL_ERFINV_F32,
    LUCID_METAL_ERFINV_F16,
    LUCID_METAL_ERFINV_BF16,
    LUCID_METAL_BACKWARD_F32, /* from here on two inputs: g and y */
    LUCID_METAL_BACKWARD_F16,
    LUCID_METAL_BACKWARD_BF16,
    LUCID_METAL_KERNELS
};

enum lucid_metal_problem {
    LUCID_METAL_NO_DEVICE,
    LUCID_METAL_COMPILE,
    LUCID_METAL_MEMORY,
    LUCID_METAL_EXECUTION
};

struct lucid_metal_error {
    enum lucid_metal_problem problem;
    char text[2048]; /* Metal's own, where it has one */
};

struct lucid_metal;        /* a device, its queue, its compiled kernels */
struct lucid_metal_buffer; /* memory that CPU and GPU share */
struct lucid_metal_call;   /* a kernel's run, perhaps not finished */

/* The system's GPU, and the kernels of the shader text, the embedded one where `source` is null. */
struct lucid_metal *lucid_metal_open(const char *source, struct lucid_metal_error *error);
void lucid_metal_close(struct lucid_metal *metal); /* its calls must have been dropped */
const char *lucid_metal_device_name(const struct lucid_metal *metal);
size_t lucid_metal_longest(const struct lucid_metal *metal); /* bytes in a buffer */

struct lucid_metal_buffer *lucid_metal_allocate(struct lucid_metal *metal, size_t bytes,
                                                struct lucid_metal_error *error);
/* Whole pages of the caller's, which must outlive the calls that use them; null if Metal does not
 * take them. */
struct lucid_metal_buffer *lucid_metal_wrap(struct lucid_metal *metal, void *pages, size_t bytes);
void *lucid_metal_contents(struct lucid_metal_buffer *buffer);
void lucid_metal_release(struct lucid_metal_buffer *buffer); /* calls that use it keep it */

/* Starts a kernel on n elements of its inputs, then its output, each from that many bytes on in
 * its buffer, and does not wait. */
struct lucid_metal_call *lucid_metal_submit(struct lucid_metal *metal,
                                            enum lucid_metal_kernel kernel,
                                            struct lucid_metal_buffer *const *buffers,
                                            const size_t *offsets, size_t n,
                                            struct lucid_metal_error *error);
int lucid_metal_finished(const struct lucid_metal_call *call);
/* Waits; whether the call has succeeded.  May be repeated. */
int lucid_metal_wait(struct lucid_metal_call *call, struct lucid_metal_error *error);
void lucid_metal_drop(struct lucid_metal_call *call); /* the GPU may still be at it */

#ifdef __cplusplus
}
#endif
#endif
