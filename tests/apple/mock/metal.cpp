// A model of the Objective-C runtime and of Metal, for metal_host.cpp on Linux.
// SPDX-License-Identifier: MIT
// Kernels are the shader's text, compiled as C++ (../shader/host.cpp), and run on a thread of their
// own, in order.  What Metal's validation would object to, and what it would not notice but breaks
// (reference counts), ends the process with a message.  mock_set arranges for failures.
#include <objc/message.h>
#include <objc/runtime.h>

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

extern "C" {
void *_Block_copy(const void *block);
void _Block_release(const void *block);

void host_erfinv_f32(const std::uint32_t *x, std::uint32_t *y, std::size_t n, int flush);
void host_erfinv_f16(const std::uint16_t *x, std::uint16_t *y, std::size_t n, int flush);
void host_erfinv_bf16(const std::uint16_t *x, std::uint16_t *y, std::size_t n, int flush);
void host_erfinv_backward_f32(const std::uint32_t *g, const std::uint32_t *y, std::uint32_t *out,
                              std::size_t n, int flush);
void host_erfinv_backward_f16(const std::uint16_t *g, const std::uint16_t *y, std::uint16_t *out,
                              std::size_t n, int flush);
void host_erfinv_backward_bf16(const std::uint16_t *g, const std::uint16_t *y, std::uint16_t *out,
                               std::size_t n, int flush);
}

namespace {

[[noreturn]] void violation(const std::string &text) {
    std::fprintf(stderr, "mock Metal: %s\n", text.c_str());
    std::fflush(stderr);
    std::_Exit(70);
}

// What a test arranges ----------------------------------------------------------------------------

std::atomic<long> allocations; // buffers of their own memory, so far
std::atomic<long> no_device, no_default_device, old_system, no_memory, no_wrap, gpu_fails,
    longest{1l << 30}, delay_us{200};

// Classes and objects -----------------------------------------------------------------------------

using Method = void (*)();
template <typename Function>
Method method(Function *function) {
    return reinterpret_cast<Method>(function);
}

} // namespace

struct objc_class {
    std::string name;
    std::map<std::string, Method> methods;
    objc_class *isa = this; // a class is sent messages, too
};

namespace {

struct Object {
    objc_class *isa;
    std::atomic<long> references{1};

    explicit Object(objc_class *type) : isa(type) {
    }
    virtual void finish() {
    } // what a destructor does: the memory stays, to see what is done to it
    virtual ~Object() = default;
};

std::map<std::string, objc_class> &classes();

struct Live {
    std::mutex lock;
    std::map<std::string, long> count;
} live;

template <typename Type, typename... Arguments>
Type *make(const char *name, Arguments... given) {
    auto *object = new Type(&classes().at(name), given...);
    std::lock_guard<std::mutex> guard(live.lock);
    live.count[name]++;
    return object;
}

void retain(Object *object) {
    if (object->references.fetch_add(1) <= 0)
        violation("a " + object->isa->name + " is retained after its end");
}

void release(Object *object) {
    long left = object->references.fetch_sub(1) - 1;
    if (left < 0)
        violation("a " + object->isa->name + " is released too often");
    if (left == 0) {
        object->finish();
        std::lock_guard<std::mutex> guard(live.lock);
        live.count[object->isa->name]--;
    }
}

struct Pool : Object {
    std::vector<Object *> objects;
    Pool *outer;
    static thread_local Pool *innermost;

    explicit Pool(objc_class *type) : Object(type), outer(innermost) {
        innermost = this;
    }

    void finish() override {
        innermost = outer;
        for (Object *object : objects)
            release(object);
    }
};
thread_local Pool *Pool::innermost;

template <typename Type>
Type *autorelease(Type *object) {
    if (!Pool::innermost)
        violation("a " + object->isa->name + " is autoreleased without a pool");
    Pool::innermost->objects.push_back(object);
    return object;
}

struct String : Object {
    std::string text;
    String(objc_class *type, const char *value) : Object(type), text(value) {
    }
};

struct Error : Object {
    const char *text;
    long code;
    Error(objc_class *type, const char *value, long number)
        : Object(type), text(value), code(number) {
    }
};

struct Options : Object {
    bool safe = false; // fast math is Metal's default
    explicit Options(objc_class *type) : Object(type) {
    }
};

// Metal -------------------------------------------------------------------------------------------

struct Size {
    unsigned long width, height, depth;
};

enum { MOST_THREADS = 512, SAFE_MATH = 0, COMMITTED = 2, COMPLETED = 4, FAILED = 5, SLOTS = 3 };

struct Buffer : Object {
    void *memory;
    std::size_t length;
    bool owned;
    Buffer(objc_class *type, void *at, std::size_t bytes, bool ours)
        : Object(type), memory(at), length(bytes), owned(ours) {
    }
    void finish() override {
        if (owned)
            std::free(memory);
        memory = nullptr;
    }
};

void check_shared(unsigned long mode) {
    if (mode != 0)
        violation("a buffer's memory is not shared with the CPU");
}

using Arrays = std::array<void *, SLOTS>;

struct Kernel {
    unsigned buffers;
    std::size_t element;
    void (*run)(const Arrays &arrays, std::size_t n);
};

#define FORWARD(name, type)                                                                        \
    void run_##name(const Arrays &at, std::size_t n) {                                             \
        host_##name(static_cast<type *>(at[0]), static_cast<type *>(at[1]), n, 1);                 \
    }

#define BACKWARD(name, type)                                                                       \
    void run_##name(const Arrays &at, std::size_t n) {                                             \
        host_##name(static_cast<type *>(at[0]), static_cast<type *>(at[1]),                        \
                    static_cast<type *>(at[2]), n, 1);                                             \
    }

FORWARD(erfinv_f32, std::uint32_t)
FORWARD(erfinv_f16, std::uint16_t)
FORWARD(erfinv_bf16, std::uint16_t)
BACKWARD(erfinv_backward_f32, std::uint32_t)
BACKWARD(erfinv_backward_f16, std::uint16_t)
BACKWARD(erfinv_backward_bf16, std::uint16_t)

const std::map<std::string, Kernel> KERNELS = {
    {"erfinv_f32", {2, 4, run_erfinv_f32}},
    {"erfinv_f16", {2, 2, run_erfinv_f16}},
    {"erfinv_bf16", {2, 2, run_erfinv_bf16}},
    {"erfinv_backward_f32", {3, 4, run_erfinv_backward_f32}},
    {"erfinv_backward_f16", {3, 2, run_erfinv_backward_f16}},
    {"erfinv_backward_bf16", {3, 2, run_erfinv_backward_bf16}},
};

// The text that ../shader/host.cpp was compiled from: any other is said not to compile.
const char SHADER_TEXT[] =
#include "erfinv_metal.inc"
    ;

struct Function : Object {
    const Kernel *kernel;
    Function(objc_class *type, const Kernel *what) : Object(type), kernel(what) {
    }
};

struct Dispatch {
    const Kernel *kernel;
    std::array<Buffer *, SLOTS> buffers;
    std::array<std::size_t, SLOTS> offsets;
    std::size_t n;
};

struct Commands : Object {
    std::vector<Dispatch> dispatches;
    std::vector<const void *> handlers;
    std::atomic<long> status{0};
    bool encoding = false;
    bool over = false; // the handlers have been called
    std::mutex lock;   // guards it
    std::condition_variable changed;
    Error *error = nullptr;

    explicit Commands(objc_class *type) : Object(type) {
    }
    void finish() override {
        for (Dispatch &dispatch : dispatches)
            for (Buffer *buffer : dispatch.buffers)
                if (buffer)
                    release(buffer);
        for (const void *handler : handlers)
            _Block_release(handler);
        if (error)
            release(error);
    }
};

struct Encoder : Object {
    Commands *commands;
    Function *pipeline = nullptr;
    std::array<Buffer *, SLOTS> buffers{};
    std::array<std::size_t, SLOTS> offsets{};
    bool ended = false;
    Encoder(objc_class *type, Commands *of) : Object(type), commands(of) {
    }
    void finish() override {
        if (!ended)
            violation("an encoder is given up without its end");
    }
};

// The GPU: one thread, one command buffer after the other.
struct Gpu {
    std::mutex lock;
    std::condition_variable arrived;
    std::deque<Commands *> queue;
    bool started = false;

    void add(Commands *commands) {
        std::lock_guard<std::mutex> guard(lock);
        queue.push_back(commands);
        if (!started)
            std::thread([this] { work(); }).detach();
        started = true;
        arrived.notify_one();
    }

    void work() {
        for (;;) {
            std::unique_lock<std::mutex> guard(lock);
            arrived.wait(guard, [this] { return !queue.empty(); });
            Commands *commands = queue.front();
            queue.pop_front();
            guard.unlock();
            run(commands);
        }
    }

    static void run(Commands *commands) {
        std::this_thread::sleep_for(std::chrono::microseconds(delay_us.load()));
        long fails = gpu_fails; // with this code
        for (Dispatch &dispatch : commands->dispatches) {
            Arrays at{};
            for (unsigned i = 0; i < dispatch.kernel->buffers; i++)
                at[i] = static_cast<char *>(dispatch.buffers[i]->memory) + dispatch.offsets[i];
            if (!fails)
                dispatch.kernel->run(at, dispatch.n);
        }
        if (fails)
            commands->error = make<Error>("NSError", "Caused GPU Hang Error (mock)", fails);
        commands->status = fails ? FAILED : COMPLETED;
        for (const void *handler : commands->handlers) {
            auto *block = static_cast<void *const *>(handler);
            auto invoke = reinterpret_cast<void (*)(const void *, Commands *)>(block[2]);
            invoke(handler, commands);
        }
        release(commands); // before anybody looks what is left
        std::lock_guard<std::mutex> guard(commands->lock);
        commands->over = true;
        commands->changed.notify_all();
    }
};

// Not ended with the process: its thread still runs then.
Gpu &gpu = *new Gpu;

struct Devices : Object { // one, or none
    Object *only;
    explicit Devices(objc_class *type)
        : Object(type), only(no_device ? nullptr : make<Object>("MTLDevice")) {
    }
    void finish() override {
        if (only)
            release(only);
    }
};

// Methods -----------------------------------------------------------------------------------------

std::map<std::string, objc_class> &classes() {
    static auto &all = *new std::map<std::string, objc_class>([] {
        std::map<std::string, objc_class> table;
        auto define = [&](const char *name, std::map<std::string, Method> methods) {
            objc_class &type = table[name];
            type.name = name;
            type.methods = std::move(methods);
            type.methods["retain"] = method(+[](Object *self, SEL) {
                retain(self);
                return self;
            });
            type.methods["release"] = method(+[](Object *self, SEL) { release(self); });
            type.methods["init"] = method(+[](Object *self, SEL) { return self; });
        };
        define("NSAutoreleasePool", {{"alloc", method(+[](objc_class *, SEL) -> Object * {
                                          return make<Pool>("NSAutoreleasePool");
                                      })}});
        define("NSString",
               {{"stringWithCString:encoding:",
                 method(+[](objc_class *, SEL, const char *text, unsigned long) {
                     return autorelease(make<String>("NSString", text));
                 })},
                {"UTF8String", method(+[](String *self, SEL) { return self->text.c_str(); })}});
        define("NSError", {{"localizedDescription", method(+[](Error *self, SEL) {
                                return autorelease(make<String>("NSString", self->text));
                            })},
                           {"code", method(+[](Error *self, SEL) { return self->code; })}});
        define("NSArray", {{"count", method(+[](Devices *self, SEL) -> unsigned long {
                                return self->only != nullptr;
                            })},
                           {"objectAtIndex:", method(+[](Devices *self, SEL, unsigned long index) {
                                if (index != 0 || !self->only)
                                    violation("an index beyond an array's end");
                                return self->only;
                            })}});
        define("MTLCompileOptions",
               {{"alloc", method(+[](objc_class *, SEL) -> Object * {
                     return make<Options>("MTLCompileOptions");
                 })},
                {"setMathMode:",
                 method(+[](Options *self, SEL, long mode) { self->safe = mode == SAFE_MATH; })},
                {"setFastMathEnabled:",
                 method(+[](Options *self, SEL, bool fast) { self->safe = !fast; })}});
        define("MTLDevice",
               {{"name", method(+[](Object *, SEL) {
                     return autorelease(make<String>("NSString", "Mock GPU"));
                 })},
                {"maxBufferLength",
                 method(+[](Object *, SEL) { return static_cast<unsigned long>(longest); })},
                {"newCommandQueue",
                 method(+[](Object *, SEL) { return make<Object>("MTLCommandQueue"); })},
                {"newLibraryWithSource:options:error:",
                 method(+[](Object *, SEL, String *source, Options *options,
                            Error **error) -> Object * {
                     if (source->text != SHADER_TEXT) {
                         *error = autorelease(
                             make<Error>("NSError", "program_source:1:1: error: unknown text", 3l));
                         return nullptr;
                     }
                     if (!options || !options->safe)
                         violation("the library is compiled with fast math");
                     return make<Object>("MTLLibrary");
                 })},
                {"newComputePipelineStateWithFunction:error:",
                 method(+[](Object *, SEL, Function *function, Error **) {
                     return make<Function>("MTLComputePipelineState", function->kernel);
                 })},
                {"newBufferWithLength:options:",
                 method(+[](Object *, SEL, unsigned long length, unsigned long mode) -> Buffer * {
                     check_shared(mode);
                     if (no_memory || length == 0 || length > static_cast<unsigned long>(longest))
                         return nullptr;
                     allocations++;
                     return make<Buffer>("MTLBuffer", std::calloc(length, 1), length, true);
                 })},
                {"newBufferWithBytesNoCopy:length:options:deallocator:",
                 method(+[](Object *, SEL, void *pages, unsigned long length, unsigned long mode,
                            void *) -> Buffer * {
                     check_shared(mode);
                     if (reinterpret_cast<std::uintptr_t>(pages) % 4096 || length % 4096)
                         violation("a buffer without a copy must be of whole pages");
                     if (no_memory || no_wrap || length == 0 ||
                         length > static_cast<unsigned long>(longest))
                         return nullptr;
                     return make<Buffer>("MTLBuffer", pages, length, false);
                 })}});
        define("MTLLibrary",
               {{"newFunctionWithName:", method(+[](Object *, SEL, String *name) -> Function * {
                     auto found = KERNELS.find(name->text);
                     if (found == KERNELS.end())
                         return nullptr;
                     return make<Function>("MTLFunction", &found->second);
                 })}});
        define("MTLFunction", {});
        define("MTLComputePipelineState",
               {{"maxTotalThreadsPerThreadgroup",
                 method(+[](Object *, SEL) -> unsigned long { return MOST_THREADS; })}});
        define("MTLBuffer",
               {{"contents", method(+[](Buffer *self, SEL) { return self->memory; })}});
        define("MTLCommandQueue", {{"commandBuffer", method(+[](Object *, SEL) {
                                        return autorelease(make<Commands>("MTLCommandBuffer"));
                                    })}});
        define("MTLCommandBuffer",
               {{"computeCommandEncoder", method(+[](Commands *self, SEL) {
                     if (self->encoding || self->status)
                         violation("an encoder is asked for while another one is open, or after "
                                   "commit");
                     self->encoding = true;
                     return autorelease(make<Encoder>("MTLComputeCommandEncoder", self));
                 })},
                {"addCompletedHandler:", method(+[](Commands *self, SEL, const void *block) {
                     if (self->status)
                         violation("a completion handler is added after commit");
                     self->handlers.push_back(_Block_copy(block));
                 })},
                {"commit", method(+[](Commands *self, SEL) {
                     if (self->encoding)
                         violation("commit while an encoder has not ended");
                     if (self->status)
                         violation("a command buffer is committed twice");
                     self->status = COMMITTED;
                     retain(self);
                     gpu.add(self);
                 })},
                {"waitUntilCompleted", method(+[](Commands *self, SEL) {
                     if (!self->status)
                         violation("a wait for a command buffer that is not committed");
                     std::unique_lock<std::mutex> guard(self->lock);
                     self->changed.wait(guard, [self] { return self->over; });
                 })},
                {"status", method(+[](Commands *self, SEL) { return self->status.load(); })},
                {"error", method(+[](Commands *self, SEL) { return self->error; })}});
        define(
            "MTLComputeCommandEncoder",
            {{"setComputePipelineState:",
              method(+[](Encoder *self, SEL, Function *state) { self->pipeline = state; })},
             {"setBuffer:offset:atIndex:", method(+[](Encoder *self, SEL, Buffer *buffer,
                                                      unsigned long offset, unsigned long index) {
                  if (index >= SLOTS)
                      violation("a buffer is set for a slot that no kernel has");
                  self->buffers[index] = buffer;
                  self->offsets[index] = offset;
              })},
             {"dispatchThreads:threadsPerThreadgroup:",
              method(+[](Encoder *self, SEL, Size grid, Size group) {
                  if (self->ended || !self->pipeline)
                      violation("a dispatch without a pipeline state, or after the end");
                  if (group.width * group.height * group.depth > MOST_THREADS || group.width == 0)
                      violation("a thread group has too many threads, or none");
                  const Kernel *kernel = self->pipeline->kernel;
                  for (unsigned i = 0; i < SLOTS; i++) {
                      Buffer *buffer = self->buffers[i];
                      if ((i < kernel->buffers) != (buffer != nullptr))
                          violation("the buffers set are not those that the kernel has");
                      if (!buffer)
                          continue;
                      if (self->offsets[i] % kernel->element)
                          violation("an offset is none of an element");
                      if (buffer->length < self->offsets[i] + grid.width * kernel->element)
                          violation("a buffer is shorter than the grid");
                      retain(buffer);
                  }
                  self->commands->dispatches.push_back(
                      {kernel, self->buffers, self->offsets, grid.width});
              })},
             {"endEncoding", method(+[](Encoder *self, SEL) {
                  self->ended = true;
                  self->commands->encoding = false;
              })}});
        return table;
    }());
    return all;
}

} // namespace

// The runtime -------------------------------------------------------------------------------------

extern "C" {

// What a message calls: found by the receiver's class, entered with the arguments as they are.
__attribute__((used)) Method mock_find(Object *receiver, const char *selector) {
    if (!receiver) // nil answers every message with nil
        return method(+[]() -> void * { return nullptr; });
    objc_class *type = receiver->isa;
    for (auto &[name, known] : classes()) // a class is no Object: its own first member is its name
        if (reinterpret_cast<void *>(&known) == receiver)
            type = &known;
    auto found = type->methods.find(selector);
    if (found == type->methods.end())
        violation(type->name + " does not respond to " + selector);
    return found->second;
}

__asm__(R"(
.globl objc_msgSend
.type objc_msgSend, @function
objc_msgSend:
    push %rbp
    mov %rsp, %rbp
    push %rdi
    push %rsi
    push %rdx
    push %rcx
    push %r8
    push %r9
    sub $128, %rsp
    movups %xmm0, (%rsp)
    movups %xmm1, 16(%rsp)
    movups %xmm2, 32(%rsp)
    movups %xmm3, 48(%rsp)
    movups %xmm4, 64(%rsp)
    movups %xmm5, 80(%rsp)
    movups %xmm6, 96(%rsp)
    movups %xmm7, 112(%rsp)
    call mock_find@PLT
    mov %rax, %r11
    movups (%rsp), %xmm0
    movups 16(%rsp), %xmm1
    movups 32(%rsp), %xmm2
    movups 48(%rsp), %xmm3
    movups 64(%rsp), %xmm4
    movups 80(%rsp), %xmm5
    movups 96(%rsp), %xmm6
    movups 112(%rsp), %xmm7
    add $128, %rsp
    pop %r9
    pop %r8
    pop %rcx
    pop %rdx
    pop %rsi
    pop %rdi
    pop %rbp
    jmp *%r11
)");

void objc_msgSend_fpret() {
    violation("no method of this model returns a floating-point number");
}

void objc_msgSend_stret() {
    violation("no method of this model returns a structure");
}

Class objc_lookUpClass(const char *name) {
    auto found = classes().find(name);
    return found == classes().end() ? nullptr : &found->second;
}

Protocol *objc_getProtocol(const char *) {
    return nullptr;
}

SEL sel_registerName(const char *name) {
    static std::mutex lock;
    static std::set<std::string> names;
    std::lock_guard<std::mutex> guard(lock);
    return reinterpret_cast<SEL>(const_cast<char *>(names.insert(name).first->c_str()));
}

Class object_getClass(id object) {
    return reinterpret_cast<Object *>(object)->isa;
}

bool class_respondsToSelector(Class type, SEL selector) {
    std::string name = reinterpret_cast<const char *>(selector);
    return type->methods.count(name) && !(old_system && name == "setMathMode:");
}

void *MTLCreateSystemDefaultDevice() {
    return no_device || no_default_device ? nullptr : make<Object>("MTLDevice");
}

void *MTLCopyAllDevices() {
    return make<Devices>("NSArray");
}

// metal-cpp has functions that call these; metal_host.cpp calls none of them.
void MTLCopyAllDevicesWithObserver() {
    violation("no list of devices in this model");
}

void MTLRemoveDeviceObserver() {
    violation("no observers in this model");
}

// For tests ---------------------------------------------------------------------------------------

__attribute__((visibility("default"))) void mock_set(const char *what, long value) {
    const std::map<std::string, std::atomic<long> *> known = {
        {"no device", &no_device},
        {"macOS 14", &old_system},
        {"no default device", &no_default_device},
        {"no memory", &no_memory},
        {"no wrap", &no_wrap},
        {"gpu fails", &gpu_fails},
        {"longest", &longest},
        {"delay", &delay_us}};
    *known.at(what) = value;
}

__attribute__((visibility("default"))) long mock_allocations() {
    return allocations;
}

// Objects that are alive, of a class or (by "") in all.
__attribute__((visibility("default"))) long mock_live(const char *name) {
    std::lock_guard<std::mutex> guard(live.lock);
    long sum = 0;
    for (auto &[type, count] : live.count)
        sum += *name == 0 || type == name ? count : 0;
    return sum;
}
}
