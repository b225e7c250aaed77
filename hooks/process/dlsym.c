/* SPDX-License-Identifier: Apache-2.0 */
#include "dlsym.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

/*
 * For functions that a sanitizer's library calls through dlsym() before it has initialized itself. These functions must
 * not be instrumented, and must not call functions that the sanitizer intercepts.
 */
#define EARLY __attribute__((no_sanitize_address, no_sanitize_thread, no_sanitize_undefined))

/* Start and end of the section that GPUBPF_DLSYM_USER() fills. */
extern const struct gpubpf_dlsym_user *const users[] __asm__("__start_gpubpf_dlsym") __attribute__((visibility("hidden")));
extern const struct gpubpf_dlsym_user *const users_end[] __asm__("__stop_gpubpf_dlsym")
	__attribute__((visibility("hidden")));

struct answer { /* two words, so that the structure is returned in registers */
	void *address;
	uint64_t found; /* 0: there is no answer, and the caller jumps to the C library's dlsym() */
};

struct answer gpubpf_dlsym_answer(void *handle, const char *name, const void *caller);

EARLY gpubpf_dlsym_fn gpubpf_dlsym_next(void)
{
	static _Atomic(gpubpf_dlsym_fn) real;
	gpubpf_dlsym_fn fn = atomic_load_explicit(&real, memory_order_relaxed);

	if (!fn) {
		fn = (gpubpf_dlsym_fn)dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34");
		if (!fn)
			fn = (gpubpf_dlsym_fn)dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
		if (!fn)
			abort(); /* cannot happen: every supported C library has dlsym() */
		atomic_store_explicit(&real, fn, memory_order_relaxed);
	}
	return fn;
}

/*
 * Returns the function that dlsym(handle, name) would return without the agent. *hidden receives true if the agent
 * exports a function of the same name, which hides the real function.
 */
static void *real_function(void *handle, const char *name, const void *caller, bool *hidden)
{
	void *real = gpubpf_dlsym_next()(handle, name);

	*hidden = real && gpubpf_dlsym_is_hook(real);
	return *hidden ? gpubpf_dlsym_visible(name, handle == RTLD_DEFAULT ? caller : NULL) : real;
}

EARLY static bool begins_with(const char *name, const char *prefix)
{
	while (*prefix && *name == *prefix) {
		name++;
		prefix++;
	}
	return !*prefix;
}

/*
 * If the handle provides the runtime's symbol `name`, returns the agent's function. If dlsym() would return a function
 * of the agent that must not be used, returns the runtime's function. Otherwise `found` is 0.
 */
EARLY struct answer gpubpf_dlsym_answer(void *handle, const char *name, const void *caller)
{
	if (!name || handle == RTLD_NEXT)
		return (struct answer){ 0 };
	for (const struct gpubpf_dlsym_user *const *at = users; at < users_end; at++) {
		const struct gpubpf_dlsym_user *user = *at;
		void *ours, *real;
		bool hidden;

		if (!begins_with(name, user->prefix))
			continue;
		ours = user->find(name);
		real = ours ? real_function(handle, name, caller, &hidden) : NULL;
		if (real && user->stand_in)
			ours = user->stand_in(name, real);
		if (real && ours && user->init() && (!user->take || user->take(name, real)))
			return (struct answer){ ours, true };
		if (ours && hidden)
			return (struct answer){ real, true };
	}
	return (struct answer){ 0 };
}

/*
 * The results for RTLD_NEXT and RTLD_DEFAULT depend on the caller, which the C library finds by the return address.
 * Therefore this code enters the C library's dlsym() by a jump, with the caller's stack unchanged.
 */
#ifdef __x86_64__
__asm__(".text\n"
	".globl dlsym\n"
	".type dlsym, @function\n"
	"dlsym:\n"
	"	mov (%rsp), %rdx\n"
	"	push %rdi\n"
	"	push %rsi\n"
	"	sub $8, %rsp\n"
	"	call gpubpf_dlsym_answer\n"
	"	test %rdx, %rdx\n"
	"	jnz 1f\n"
	"	call gpubpf_dlsym_next\n"
	"	add $8, %rsp\n"
	"	pop %rsi\n"
	"	pop %rdi\n"
	"	jmp *%rax\n"
	"1:	add $24, %rsp\n"
	"	ret\n"
	".size dlsym, . - dlsym\n");
#else
__attribute__((visibility("default"), optimize("O2"))) void *dlsym(void *handle, const char *name)
{
	struct answer answer = gpubpf_dlsym_answer(handle, name, __builtin_return_address(0));

	return answer.found ? answer.address : gpubpf_dlsym_next()(handle, name);
}
#endif
