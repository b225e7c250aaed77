/* SPDX-License-Identifier: Apache-2.0 */
/* Includes the headers of all kinds of maps. meson.build compiles the .c file of the same name for each. */
#ifndef GPUBPF_MAPS_KINDS_H
#define GPUBPF_MAPS_KINDS_H

#include "array.h"
#include "thread_array.h"
#include "hash.h"
#include "queue.h"
#include "stack.h"
#include "ring.h"
#include "bloom.h"
#include "lpm.h"
#include "of_maps.h"
#include "prog_array.h"
#include "stack_trace.h"
#include "host_call.h"
#include "launches.h"

#endif
