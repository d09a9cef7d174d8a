/* What metal-cpp uses of Apple's header of this name.  SPDX-License-Identifier: MIT */
#ifndef LUCID_MOCK_DISPATCH_H
#define LUCID_MOCK_DISPATCH_H

typedef struct dispatch_data_s *dispatch_data_t;
typedef struct dispatch_queue_s *dispatch_queue_t;

#endif
