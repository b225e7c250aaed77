/* SPDX-License-Identifier: Apache-2.0 */
/* The device library as one translation unit. devlib.h describes its interface. */
#include "machine.h"
#include "atomics.h"
#include "words.h"
#ifdef GPUBPF_MACHINE_CODE
#include "divide.h"
#endif
#include "ctx.h"
#include "helpers.h"
#include "strings.h"
#include "external.h"
#include "allocations.h"
#include "maps/kinds/kinds.h"
#include "dynptr.h"
#include "print.h"
