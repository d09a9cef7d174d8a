# cython: language_level=3, freethreading_compatible=True
# cython: boundscheck=False, wraparound=False, initializedcheck=False
"""Metal's device, buffers and calls as Python objects; `backends.metal` is what one uses."""

cimport cython
from cpython.buffer cimport PyBuffer_FillInfo
from libc.string cimport memcpy
from posix.unistd cimport getpid, pid_t

cdef extern from "metal_host.h":
    enum lucid_metal_kernel:
        LUCID_METAL_BACKWARD_F32
        LUCID_METAL_KERNELS
    enum lucid_metal_problem:
        LUCID_METAL_MEMORY
    struct lucid_metal_error:
        lucid_metal_problem problem
        char *text
    struct lucid_metal
    struct lucid_metal_buffer
    struct lucid_metal_call
    lucid_metal *lucid_metal_open(const char *source, lucid_metal_error *error) nogil
    void lucid_metal_close(lucid_metal *metal) nogil
    const char *lucid_metal_device_name(const lucid_metal *metal) nogil
    size_t lucid_metal_longest(const lucid_metal *metal) nogil
    lucid_metal_buffer *lucid_metal_allocate(
        lucid_metal *metal, size_t bytes, lucid_metal_error *error
    ) nogil
    lucid_metal_buffer *lucid_metal_wrap(lucid_metal *metal, void *pages, size_t bytes) nogil
    void *lucid_metal_contents(lucid_metal_buffer *buffer) nogil
    void lucid_metal_release(lucid_metal_buffer *buffer) nogil
    lucid_metal_call *lucid_metal_submit(
        lucid_metal *metal, lucid_metal_kernel kernel, lucid_metal_buffer **buffers,
        const size_t *offsets, size_t n, lucid_metal_error *error
    ) nogil
    int lucid_metal_finished(const lucid_metal_call *call) nogil
    int lucid_metal_wait(lucid_metal_call *call, lucid_metal_error *error) nogil
    void lucid_metal_drop(lucid_metal_call *call) nogil

# In the order of metal_host.h.
KERNELS = {
    ("erfinv", "float32"): 0,
    ("erfinv", "float16"): 1,
    ("erfinv", "bfloat16"): 2,
    ("erfinv_backward", "float32"): 3,
    ("erfinv_backward", "float16"): 4,
    ("erfinv_backward", "bfloat16"): 5,
}


# In a process forked off this one, nothing of Metal may be touched.
cdef pid_t process = getpid()


cdef bint is_here() noexcept:
    return process == getpid()


cdef int check_process() except -1:
    if not is_here():
        raise RuntimeError("Metal does not work in a forked process: start it with 'spawn'")
    return 0


cdef object exception(lucid_metal_error *error):
    kind = MemoryError if error.problem == LUCID_METAL_MEMORY else RuntimeError
    return kind(f"Metal: {error.text.decode(errors='replace')}")


cdef class Device:
    """The system's GPU with the compiled shader; RuntimeError says why there is none."""

    cdef lucid_metal *metal

    def __cinit__(self, source=None):
        cdef lucid_metal_error error
        cdef bytes text = None if source is None else source.encode()
        cdef const char *given = NULL if text is None else <const char *>text
        check_process()
        with nogil:
            self.metal = lucid_metal_open(given, &error)
        if self.metal is NULL:
            raise exception(&error)

    def __dealloc__(self):
        if self.metal is not NULL and is_here():
            lucid_metal_close(self.metal)

    @property
    def longest(self):
        """The most bytes that a buffer can have."""
        check_process()
        return lucid_metal_longest(self.metal)

    def allocate(self, size_t nbytes):
        """A buffer of its own memory."""
        cdef lucid_metal_error error
        cdef Buffer buffer = Buffer.__new__(Buffer)
        check_process()
        with nogil:
            buffer.handle = lucid_metal_allocate(self.metal, nbytes, &error)
        if buffer.handle is NULL:
            raise exception(&error)
        buffer.device, buffer.nbytes = self, nbytes
        return buffer

    def wrap(self, size_t address, size_t nbytes, owner):
        """A buffer of whole pages that `owner` keeps; None if Metal does not take them."""
        cdef Buffer buffer = Buffer.__new__(Buffer)
        check_process()
        with nogil:
            buffer.handle = lucid_metal_wrap(self.metal, <void *>address, nbytes)
        if buffer.handle is NULL:
            return None
        buffer.device, buffer.nbytes, buffer.owner = self, nbytes, owner
        return buffer

    def submit(self, kernel, parts, size_t n):
        """Start a kernel on n elements of inputs, then the output: a buffer and an offset each."""
        cdef lucid_metal_error error
        cdef lucid_metal_buffer *handles[3]
        cdef size_t offsets[3]
        cdef Call call = Call.__new__(Call)
        cdef int number = KERNELS[kernel]
        if len(parts) != (2 if number < LUCID_METAL_BACKWARD_F32 else 3) or n == 0:
            raise ValueError(f"kernel {kernel} cannot run on {len(parts)} buffers of {n}")
        check_process()
        held = []
        try:
            for i, (buffer, offset) in enumerate(parts):
                offsets[i] = offset
                handles[i] = (<Buffer?>buffer).hold()
                held.append(buffer)
            call.device, call.buffers = self, tuple(held)
            with nogil:
                call.handle = lucid_metal_submit(
                    self.metal, <lucid_metal_kernel>number, handles, offsets, n, &error
                )
        finally:
            for buffer in held:
                (<Buffer>buffer).let_go()
        if call.handle is NULL:
            raise exception(&error)
        return call

    def __repr__(self):
        return f"<Metal device {lucid_metal_device_name(self.metal).decode()}>"


@cython.no_gc_clear
cdef class Buffer:
    """Bytes that CPU and GPU share; a closed one ends with the last that holds it."""

    cdef lucid_metal_buffer *handle
    cdef Device device
    cdef object owner
    cdef int holders  # views, and whoever uses it at the moment
    cdef readonly size_t nbytes
    cdef readonly bint closed

    cdef lucid_metal_buffer *hold(self) except NULL:
        check_process()
        with cython.critical_section(self):
            if self.closed:
                raise ValueError("the buffer is closed")
            self.holders += 1
            return self.handle

    cdef void let_go(self) noexcept:
        with cython.critical_section(self):
            self.holders -= 1
            if self.closed and self.holders == 0:
                self.release()

    cdef void release(self) noexcept:
        if self.handle is not NULL and is_here():
            lucid_metal_release(self.handle)
        self.handle = NULL

    def copy_from(self, const unsigned char[::1] source):
        """Take over a contiguous array's bytes."""
        cdef size_t n = source.shape[0]
        if n > self.nbytes:
            raise ValueError(f"{n} bytes do not fit into {self.nbytes}")
        cdef void *to = lucid_metal_contents(self.hold())
        with nogil:
            memcpy(to, &source[0], n)
        self.let_go()

    def close(self):
        """Give the memory back, now or when nobody holds it any longer."""
        with cython.critical_section(self):
            self.closed = True
            if self.holders == 0:
                self.release()

    def __getbuffer__(self, Py_buffer *view, int flags):
        cdef void *memory = lucid_metal_contents(self.hold())
        try:
            PyBuffer_FillInfo(view, self, memory, self.nbytes, False, flags)
        except BaseException:
            self.let_go()
            raise

    def __releasebuffer__(self, Py_buffer *view):
        self.let_go()

    def __dealloc__(self):
        self.release()


@cython.no_gc_clear  # the buffers stay until __dealloc__ has waited
cdef class Call:
    """A kernel's run, perhaps not finished; it keeps its buffers till then."""

    cdef lucid_metal_call *handle
    cdef Device device
    cdef tuple buffers

    def finished(self):
        """Whether the GPU is through with it."""
        return bool(lucid_metal_finished(self.handle))

    def wait(self):
        """Return when it is finished; RuntimeError if it failed."""
        cdef lucid_metal_error error
        cdef int succeeded
        check_process()
        with nogil:
            succeeded = lucid_metal_wait(self.handle, &error)
        if not succeeded:
            raise exception(&error)

    def __dealloc__(self):
        cdef lucid_metal_error error
        if self.handle is not NULL and is_here():
            with nogil:
                lucid_metal_wait(self.handle, &error)  # the GPU may be writing to an array
                lucid_metal_drop(self.handle)
