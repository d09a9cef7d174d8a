/* See metal_host.h.  SPDX-License-Identifier: MIT
 * By metal-cpp, whose objects are counted by hand: what a method named new..., alloc or retain
 * returns is ours to release, all else belongs to the autorelease pool around. */
#define NS_PRIVATE_IMPLEMENTATION
#define MTL_PRIVATE_IMPLEMENTATION
#define METALCPP_SYMBOL_VISIBILITY_HIDDEN
#include <Metal/Metal.hpp>

#include "metal_host.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <memory>
#include <mutex>
#include <new>

namespace {

const char EMBEDDED[] =
#include "erfinv_metal.inc"
    ;

const char *const NAMES[LUCID_METAL_KERNELS] = {
    "erfinv_f32",          "erfinv_f16",          "erfinv_bf16",
    "erfinv_backward_f32", "erfinv_backward_f16", "erfinv_backward_bf16",
};

using Pool = NS::SharedPtr<NS::AutoreleasePool>;

Pool make_pool() {
    return NS::TransferPtr(NS::AutoreleasePool::alloc()->init());
}

void fill(lucid_metal_error *error, lucid_metal_problem problem, const char *what,
          const NS::Error *cause = nullptr) {
    error->problem = problem;
    const char *text = cause ? cause->localizedDescription()->utf8String() : nullptr;
    std::snprintf(error->text, sizeof error->text, "%s%s%s", what, text ? ": " : "",
                  text ? text : "");
}

/* Every operation rounded as it is written: what the shader's accuracy rests on.  setMathMode came
 * with macOS 15, after the method that it replaces. */
void set_safe_math(MTL::CompileOptions *options) {
    Class type = object_getClass(reinterpret_cast<id>(options));
    if (class_respondsToSelector(type, sel_registerName("setMathMode:")))
        options->setMathMode(MTL::MathModeSafe);
    else
        options->setFastMathEnabled(false);
}

/* The first function gives nothing to programs that have not loaded CoreGraphics. */
NS::SharedPtr<MTL::Device> default_device() {
    auto device = NS::TransferPtr(MTL::CreateSystemDefaultDevice());
    if (!device) {
        auto all = NS::TransferPtr(MTL::CopyAllDevices());
        if (all && all->count() > 0)
            device = NS::RetainPtr(all->object<MTL::Device>(0));
    }
    return device;
}

MTL::Buffer *of(lucid_metal_buffer *buffer) {
    return reinterpret_cast<MTL::Buffer *>(buffer);
}

} // namespace

struct lucid_metal {
    NS::SharedPtr<MTL::Device> device;
    char name[128];
    NS::SharedPtr<MTL::CommandQueue> queue;
    NS::SharedPtr<MTL::Library> library;
    NS::SharedPtr<MTL::ComputePipelineState> pipelines[LUCID_METAL_KERNELS]; // made when needed
    std::mutex lock;                                                         // guards them

    MTL::ComputePipelineState *pipeline(lucid_metal_kernel kernel, lucid_metal_error *error) {
        std::lock_guard<std::mutex> guard(lock);
        auto &cached = pipelines[kernel];
        if (!cached) {
            auto name = NS::String::string(NAMES[kernel], NS::UTF8StringEncoding);
            auto function = NS::TransferPtr(library->newFunction(name));
            NS::Error *cause = nullptr;
            if (function)
                cached = NS::TransferPtr(device->newComputePipelineState(function.get(), &cause));
            if (!cached)
                fill(error, LUCID_METAL_COMPILE,
                     function ? "a kernel does not compile" : "the shader lacks a kernel", cause);
        }
        return cached.get();
    }
};

struct lucid_metal_call {
    NS::SharedPtr<MTL::CommandBuffer> commands;
    std::shared_ptr<std::atomic<bool>> finished; // shared with the completion handler
};

lucid_metal *lucid_metal_open(const char *source, lucid_metal_error *error) {
    Pool pool = make_pool();
    std::unique_ptr<lucid_metal> metal(new (std::nothrow) lucid_metal);
    if (!metal) {
        fill(error, LUCID_METAL_MEMORY, "no memory");
        return nullptr;
    }
    metal->device = default_device();
    if (!metal->device) {
        fill(error, LUCID_METAL_NO_DEVICE, "this system has no GPU that Metal can use");
        return nullptr;
    }
    std::snprintf(metal->name, sizeof metal->name, "%s", metal->device->name()->utf8String());
    metal->queue = NS::TransferPtr(metal->device->newCommandQueue());
    if (!metal->queue) {
        fill(error, LUCID_METAL_MEMORY, "no memory for a command queue");
        return nullptr;
    }
    auto options = NS::TransferPtr(MTL::CompileOptions::alloc()->init());
    set_safe_math(options.get());
    auto text = NS::String::string(source ? source : EMBEDDED, NS::UTF8StringEncoding);
    NS::Error *cause = nullptr;
    metal->library = NS::TransferPtr(metal->device->newLibrary(text, options.get(), &cause));
    if (!metal->library) {
        fill(error, LUCID_METAL_COMPILE, "the shader does not compile", cause);
        return nullptr;
    }
    return metal.release();
}

void lucid_metal_close(lucid_metal *metal) {
    Pool pool = make_pool();
    delete metal;
}

const char *lucid_metal_device_name(const lucid_metal *metal) {
    return metal->name;
}

size_t lucid_metal_longest(const lucid_metal *metal) {
    return metal->device->maxBufferLength();
}

lucid_metal_buffer *lucid_metal_allocate(lucid_metal *metal, size_t bytes,
                                         lucid_metal_error *error) {
    Pool pool = make_pool();
    auto *buffer = metal->device->newBuffer(bytes, MTL::ResourceStorageModeShared);
    if (!buffer)
        fill(error, LUCID_METAL_MEMORY, "no memory for a buffer");
    return reinterpret_cast<lucid_metal_buffer *>(buffer);
}

lucid_metal_buffer *lucid_metal_wrap(lucid_metal *metal, void *pages, size_t bytes) {
    Pool pool = make_pool();
    return reinterpret_cast<lucid_metal_buffer *>(
        metal->device->newBuffer(pages, bytes, MTL::ResourceStorageModeShared, nullptr));
}

void *lucid_metal_contents(lucid_metal_buffer *buffer) {
    return of(buffer)->contents();
}

void lucid_metal_release(lucid_metal_buffer *buffer) {
    Pool pool = make_pool();
    of(buffer)->release();
}

lucid_metal_call *lucid_metal_submit(lucid_metal *metal, lucid_metal_kernel kernel,
                                     lucid_metal_buffer *const *buffers, const size_t *offsets,
                                     size_t n, lucid_metal_error *error) {
    Pool pool = make_pool();
    auto *pipeline = metal->pipeline(kernel, error);
    if (!pipeline)
        return nullptr;
    std::unique_ptr<lucid_metal_call> call(new (std::nothrow) lucid_metal_call);
    auto *commands = call ? metal->queue->commandBuffer() : nullptr;
    auto *encoder = commands ? commands->computeCommandEncoder() : nullptr;
    if (!encoder) {
        fill(error, LUCID_METAL_MEMORY, "no memory for a command buffer");
        return nullptr;
    }
    encoder->setComputePipelineState(pipeline);
    NS::UInteger count = kernel < LUCID_METAL_BACKWARD_F32 ? 2 : 3;
    for (NS::UInteger i = 0; i < count; i++)
        encoder->setBuffer(of(buffers[i]), offsets[i], i);
    NS::UInteger group = std::min<NS::UInteger>(n, pipeline->maxTotalThreadsPerThreadgroup());
    encoder->dispatchThreads(MTL::Size(n, 1, 1), MTL::Size(group, 1, 1));
    encoder->endEncoding();

    try {
        auto finished = std::make_shared<std::atomic<bool>>(false);
        commands->addCompletedHandler(MTL::HandlerFunction([finished](MTL::CommandBuffer *) {
            finished->store(true, std::memory_order_release);
        }));
        call->finished = finished;
    } catch (const std::bad_alloc &) {
        fill(error, LUCID_METAL_MEMORY, "no memory");
        return nullptr;
    }
    call->commands = NS::RetainPtr(commands);
    commands->commit();
    return call.release();
}

int lucid_metal_finished(const lucid_metal_call *call) {
    return call->finished->load(std::memory_order_acquire);
}

int lucid_metal_wait(lucid_metal_call *call, lucid_metal_error *error) {
    Pool pool = make_pool();
    call->commands->waitUntilCompleted();
    if (call->commands->status() == MTL::CommandBufferStatusCompleted)
        return 1;
    const NS::Error *cause = call->commands->error();
    bool memory = cause && cause->code() == NS::Integer{MTL::CommandBufferErrorOutOfMemory};
    fill(error, memory ? LUCID_METAL_MEMORY : LUCID_METAL_EXECUTION, "the GPU has failed", cause);
    return 0;
}

void lucid_metal_drop(lucid_metal_call *call) {
    Pool pool = make_pool();
    delete call;
}
