/* What metal-cpp and metal_host.cpp use of Apple's header of this name.
 * SPDX-License-Identifier: MIT */
#ifndef LUCID_MOCK_OBJC_RUNTIME_H
#define LUCID_MOCK_OBJC_RUNTIME_H

struct objc_class;
struct objc_object {
    objc_class *isa;
};
typedef objc_class *Class;
typedef objc_object *id;
typedef struct objc_selector *SEL;
typedef objc_object Protocol;

extern "C" {
Class objc_lookUpClass(const char *name);
Protocol *objc_getProtocol(const char *name);
SEL sel_registerName(const char *name);
Class object_getClass(id object);
bool class_respondsToSelector(Class type, SEL selector);
}

#endif
