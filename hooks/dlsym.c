/* SPDX-License-Identifier: Apache-2.0 */
#include "dlsym.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static const struct gpubpf_dlsym_user *const users[] = {
	&gpubpf_dlsym_cuda, &gpubpf_dlsym_nvjitlink, &gpubpf_dlsym_hip, &gpubpf_dlsym_hip_register,
};

void *gpubpf_dlsym_answer(void *handle, const char *name);

gpubpf_dlsym_fn gpubpf_dlsym_next(void)
{
	static _Atomic(gpubpf_dlsym_fn) real;
	gpubpf_dlsym_fn fn = atomic_load_explicit(&real, memory_order_relaxed);

	if (!fn) {
		fn = (gpubpf_dlsym_fn)dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34");
		if (!fn)
			fn = (gpubpf_dlsym_fn)dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
		if (!fn)
			abort(); /* no program could have been linked against such a C library */
		atomic_store_explicit(&real, fn, memory_order_relaxed);
	}
	return fn;
}

/* Our function for a name of a runtime's that the handle really has; NULL: let the C library answer. */
void *gpubpf_dlsym_answer(void *handle, const char *name)
{
	if (!name || handle == RTLD_NEXT)
		return NULL;
	for (size_t i = 0; i < sizeof(users) / sizeof(*users); i++) {
		const struct gpubpf_dlsym_user *user = users[i];
		void *ours, *real;

		if (strncmp(name, user->prefix, strlen(user->prefix)))
			continue;
		ours = user->find(name);
		real = ours ? gpubpf_dlsym_next()(handle, name) : NULL;
		if (real && user->init() && (!user->take || user->take(name, real)))
			return ours;
	}
	return NULL;
}

/*
 * RTLD_NEXT and RTLD_DEFAULT mean something relative to the caller, which the C library finds by the return
 * address: so its dlsym is entered by a jump, with the stack as our caller left it.
 */
#ifdef __x86_64__
__asm__(".text\n"
	".globl dlsym\n"
	".type dlsym, @function\n"
	"dlsym:\n"
	"	push %rdi\n"
	"	push %rsi\n"
	"	sub $8, %rsp\n"
	"	call gpubpf_dlsym_answer\n"
	"	test %rax, %rax\n"
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
	void *ours = gpubpf_dlsym_answer(handle, name);

	return ours ? ours : gpubpf_dlsym_next()(handle, name);
}
#endif
