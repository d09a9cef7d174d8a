// The part of the blocks runtime that metal-cpp's completion handlers use: blocks with one captured
// __block variable.  SPDX-License-Identifier: MIT
#include <cstdlib>
#include <cstring>

namespace {

enum { HAS_HELPERS = 1 << 25, IS_BYREF = 8, ONE_REFERENCE = 2, REFERENCES = 0xfffe };

struct Descriptor {
    unsigned long reserved, size;
    void (*copy)(void *to, const void *from);
    void (*dispose)(const void *block);
};

struct Block {
    void *isa;
    int flags, reserved;
    void (*invoke)(void *);
    Descriptor *descriptor;
};

struct Byref { // a __block variable
    void *isa;
    Byref *forwarding;
    int flags; // with the number of references, 0 on the stack
    int size;
    void (*keep)(Byref *to, Byref *from);
    void (*destroy)(Byref *variable);
};

} // namespace

extern "C" {

void *_NSConcreteStackBlock[32];
void *_NSConcreteGlobalBlock[32];

void *_Block_copy(const void *source) {
    auto *from = static_cast<const Block *>(source);
    auto *to = static_cast<Block *>(std::malloc(from->descriptor->size));
    std::memcpy(to, from, from->descriptor->size);
    if (to->flags & HAS_HELPERS)
        to->descriptor->copy(to, from);
    return to;
}

void _Block_release(const void *source) {
    auto *block = static_cast<const Block *>(source);
    if (block->flags & HAS_HELPERS)
        block->descriptor->dispose(block);
    std::free(const_cast<Block *>(block));
}

void _Block_object_assign(void *destination, const void *object, int kind) {
    if (!(kind & IS_BYREF))
        std::abort();
    auto *variable = static_cast<const Byref *>(object)->forwarding;
    if (!(variable->flags & REFERENCES)) { // still on the stack
        auto *moved = static_cast<Byref *>(std::malloc(static_cast<std::size_t>(variable->size)));
        std::memcpy(moved, variable, static_cast<std::size_t>(variable->size));
        moved->forwarding = variable->forwarding = moved;
        moved->flags += ONE_REFERENCE; // of the stack's scope
        if (moved->flags & HAS_HELPERS)
            moved->keep(moved, variable);
        variable = moved;
    }
    variable->flags += ONE_REFERENCE;
    *static_cast<Byref **>(destination) = variable;
}

void _Block_object_dispose(const void *object, int kind) {
    if (!(kind & IS_BYREF))
        std::abort();
    auto *variable = static_cast<const Byref *>(object)->forwarding;
    if (!(variable->flags & REFERENCES)) // never left the stack
        return;
    variable->flags -= ONE_REFERENCE;
    if (!(variable->flags & REFERENCES)) {
        if (variable->flags & HAS_HELPERS)
            variable->destroy(variable);
        std::free(variable);
    }
}
}
