/* What metal-cpp uses of Apple's header of this name.  SPDX-License-Identifier: MIT */
#ifndef LUCID_MOCK_OBJC_MESSAGE_H
#define LUCID_MOCK_OBJC_MESSAGE_H

#include "runtime.h"

extern "C" {
void objc_msgSend();
void objc_msgSend_fpret();
void objc_msgSend_stret();
}

#endif
