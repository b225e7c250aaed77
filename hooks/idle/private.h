/* SPDX-License-Identifier: Apache-2.0 */
/* Private to hooks/idle: the idle library's thunks, slots and look-ups. */
#ifndef GPUBPF_HOOKS_IDLE_PRIVATE_H
#define GPUBPF_HOOKS_IDLE_PRIVATE_H

#define IDLE_THUNK_SIZE 24

#ifndef __ASSEMBLER__

#include <link.h>

#include "idle.h"

enum idle_function {
#define IDLE_FUNCTION(runtime, name) IDLE_##name,
#include "functions.def"
	IDLE_FUNCTIONS
};

enum idle_runtime { IDLE_CUDA, IDLE_OPENCL };

/* thunks_x86_64.S: IDLE_FUNCTIONS thunks, and the address in the slot of each. A thunk with an empty slot resolves it. */
extern char idle_thunks[];
extern void *idle_slots[IDLE_FUNCTIONS];

/* The functions that the recorders call. They are the slots of these functions, since their thunks jump to recorders. */
extern struct idle_next {
#define IDLE_RECORDER(result, name, parameters) result(*name) parameters;
#include "recorders.def"
} idle_next;

#define IDLE_RECORDER(result, name, parameters) result idle_##name parameters;
#include "recorders.def"

/* lookup.c */
typedef void *(*idle_dlsym_fn)(void *handle, const char *name);
struct idle_answer { /* two words, so that the structure is returned in registers */
	void *address;
	uint64_t found; /* 0: there is no answer, and the caller jumps to the C library's dlsym() */
};
struct idle_answer idle_answer_dlsym(void *handle, const char *name, const void *caller);
idle_dlsym_fn idle_next_dlsym(void);
/* Find the runtime's function for a thunk with an empty slot, and fill the slot. Returns the address to jump to. */
void *idle_resolve(uint32_t function, const void *caller);
/* Find the runtime's function, for calls of the recorders. Returns NULL if the runtime is not loaded. */
void *idle_find(enum idle_runtime runtime, const char *symbol, const void *caller);

/* symbols.c: exported functions of loaded files */
void *idle_symbol(ElfW(Addr) bias, const ElfW(Dyn) * dynamic, const char *name);
int idle_function_of(const char *name); /* returns the number of the function, or -1 */
const char *idle_name_of(uint32_t function);

/* modules.c, arguments.c */
bool idle_use_module(void *handle, void (*fn)(const struct gpubpf_idle_module *module, void *arg), void *arg);
const struct gpubpf_idle_kernel *idle_find_kernel(void *handle);

#endif
#endif
