/* SPDX-License-Identifier: Apache-2.0 */
/* The device library as one translation unit; see devlib.h. */
#include "machine.h"
#include "atomics.h"
#include "words.h"
#ifdef GPUBPF_MACHINE_CODE
#include "divide.h"
#endif
#include "ctx.h"
#include "helpers.h"
#include "elsewhere.h"
#include "allocations.h"
#include "kinds.h"
#include "print.h"
