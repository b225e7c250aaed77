/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A library for LD_PRELOAD that measures how many bytes of the caller's stack each hooked call of a runtime writes. It
 * exports the functions of all calls.def under their names. Each function fills ("paints") the stack below its caller's
 * frame, calls the next library's function on that stack, and looks how deep the paint was overwritten. The library
 * itself uses another stack, and does not measure a call inside a measured one.
 *
 * At exit it writes a file to the folder $PAINTED. Each line has a symbol, its number of calls, the bytes of the first
 * calls in order, and the bytes of the deepest call.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* the assembly below calls them */
void painted_make_thread(void);
void *painted_begin(uint64_t call, uintptr_t *slot);
uintptr_t painted_end(void);

#define DEEP (192u << 10)      /* maximum painted bytes */
#define OWN (64u << 10)        /* bytes of the stack for the library itself */
#define EACH 64                /* number of calls per symbol that are listed individually */
#define PAINT 0xA5A5A5A5A5A5A5A5ull

/* For each table of Level Zero functions: the part that the table contributes to the names of its functions. */
#define LZ_Driver "Driver"
#define LZ_Context "Context"
#define LZ_Mem "Mem"
#define LZ_Module "Module"
#define LZ_Kernel "Kernel"
#define LZ_KernelExp "Kernel"
#define LZ_CommandList "CommandList"
#define LZ_CommandListExp "CommandList"
#define LZ_CommandQueue "CommandQueue"
#define LZ_Fence "Fence"
#define LZ_Event "Event"

enum call {
#define OCL_CALL(name) OPENCL_##name,
#include "hooks/opencl/calls.def"
#undef OCL_CALL
#define CUDA_CALL(symbol, parameters, arguments) CUDA_##symbol,
#include "hooks/cuda/calls.def"
#define HIP_CALL(result, name, symbol, parameters) HIP_##name,
#include "hooks/hip/calls.def"
#define LZ_CALL(table, member, parameters, arguments) ZE_##table##member,
#include "hooks/level_zero/calls.def"
#undef LZ_CALL
	CALLS,
};

static const char *const names[CALLS] = {
#define OCL_CALL(name) #name,
#include "hooks/opencl/calls.def"
#undef OCL_CALL
#define CUDA_CALL(symbol, parameters, arguments) #symbol,
#include "hooks/cuda/calls.def"
#define HIP_CALL(result, name, symbol, parameters) symbol,
#include "hooks/hip/calls.def"
#define LZ_CALL(table, member, parameters, arguments) "ze" LZ_##table #member,
#include "hooks/level_zero/calls.def"
#undef LZ_CALL
};

/* The assembly below uses the offsets of these members. */
struct thread {
	uint64_t registers[8];      /* offset 0: rdi, rsi, rdx, rcx, r8, r9, rax, rsp */
	uint64_t vectors[16];       /* 64: xmm0 to 7 */
	char *top;                  /* offset 192: top of the library's own stack */
	uintptr_t back;             /* return address of the measured call; 0: no call is measured */
	enum call call;
	uint64_t *low, *end;        /* bounds of the painted part of the stack */
	uintptr_t bottom;           /* lowest address of the thread's stack */
};

__attribute__((visibility("hidden"), tls_model("initial-exec"))) _Thread_local struct thread *painted_thread;

static struct {
	_Atomic(void *) next;
	atomic_uint calls, most, bytes[EACH];
} measured[CALLS];

void painted_enter(void) __attribute__((visibility("hidden")));
void painted_leave(void) __attribute__((visibility("hidden")));

__attribute__((used, visibility("hidden"))) void painted_make_thread(void)
{
	struct thread *t = calloc(1, sizeof(*t));
	pthread_attr_t attr;
	size_t size;
	void *low;

	pthread_getattr_np(pthread_self(), &attr);
	pthread_attr_getstack(&attr, &low, &size);
	pthread_attr_destroy(&attr);
	t->bottom = (uintptr_t)low;
	t->top = (char *)malloc(OWN) + OWN - 64;
	t->top -= (uintptr_t)t->top % 16;
	painted_thread = t;
}

static void *next_of(enum call call)
{
	void *next = atomic_load(&measured[call].next);

	if (!next) {
		next = dlsym(RTLD_NEXT, names[call]);
		if (!next) {
			fprintf(stderr, "painted: no %s\n", names[call]);
			abort();
		}
		atomic_store(&measured[call].next, next);
	}
	return next;
}

/* Paint the stack. Returns the function to jump to. *slot holds the caller's return address. */
__attribute__((used, visibility("hidden"))) void *painted_begin(uint64_t call, uintptr_t *slot)
{
	struct thread *t = painted_thread;
	void *next = next_of(call);
	uintptr_t low = (uintptr_t)slot - DEEP;

	if (t->back)
		return next;
	if (t->bottom && low < t->bottom + 4096)
		low = t->bottom + 4096;
	t->low = (uint64_t *)(low & ~7ul);
	t->end = (uint64_t *)slot;
	for (volatile uint64_t *at = t->low; at < t->end; at++)
		*at = PAINT;
	t->call = call;
	t->back = *slot;
	*slot = (uintptr_t)painted_leave;
	return next;
}

static void raise_to(atomic_uint *most, unsigned n)
{
	unsigned had = atomic_load(most);

	while (had < n && !atomic_compare_exchange_weak(most, &had, n))
		;
}

__attribute__((used, visibility("hidden"))) uintptr_t painted_end(void)
{
	struct thread *t = painted_thread;
	uintptr_t back = t->back;
	const volatile uint64_t *at = t->low;
	unsigned n, i;

	while (at < t->end && *at == PAINT)
		at++;
	n = (const char *)t->end - (const char *)at;
	i = atomic_fetch_add(&measured[t->call].calls, 1);
	if (i < EACH)
		atomic_store(&measured[t->call].bytes[i], n);
	raise_to(&measured[t->call].most, n);
	t->back = 0;
	return back;
}

__asm__(".text\n"
	".type painted_enter, @function\n"
	"painted_enter:\n"
	"	mov painted_thread@gottpoff(%rip), %r10\n"
	"	mov %fs:(%r10), %r10\n"
	"	test %r10, %r10\n"
	"	jnz 1f\n"
	"	push %rdi; push %rsi; push %rdx; push %rcx; push %r8; push %r9; push %rax; push %r11\n"
	"	sub $136, %rsp\n"
	"	movups %xmm0, (%rsp); movups %xmm1, 16(%rsp); movups %xmm2, 32(%rsp); movups %xmm3, 48(%rsp)\n"
	"	movups %xmm4, 64(%rsp); movups %xmm5, 80(%rsp); movups %xmm6, 96(%rsp); movups %xmm7, 112(%rsp)\n"
	"	call painted_make_thread\n"
	"	movups (%rsp), %xmm0; movups 16(%rsp), %xmm1; movups 32(%rsp), %xmm2; movups 48(%rsp), %xmm3\n"
	"	movups 64(%rsp), %xmm4; movups 80(%rsp), %xmm5; movups 96(%rsp), %xmm6; movups 112(%rsp), %xmm7\n"
	"	add $136, %rsp\n"
	"	pop %r11; pop %rax; pop %r9; pop %r8; pop %rcx; pop %rdx; pop %rsi; pop %rdi\n"
	"	mov painted_thread@gottpoff(%rip), %r10\n"
	"	mov %fs:(%r10), %r10\n"
	"1:	mov %rdi, (%r10); mov %rsi, 8(%r10); mov %rdx, 16(%r10); mov %rcx, 24(%r10)\n"
	"	mov %r8, 32(%r10); mov %r9, 40(%r10); mov %rax, 48(%r10); mov %rsp, 56(%r10)\n"
	"	movups %xmm0, 64(%r10); movups %xmm1, 80(%r10); movups %xmm2, 96(%r10); movups %xmm3, 112(%r10)\n"
	"	movups %xmm4, 128(%r10); movups %xmm5, 144(%r10); movups %xmm6, 160(%r10); movups %xmm7, 176(%r10)\n"
	"	mov %r11, %rdi\n"
	"	mov %rsp, %rsi\n"
	"	mov 192(%r10), %rsp\n"
	"	call painted_begin\n"
	"	mov %rax, %r11\n"
	"	mov painted_thread@gottpoff(%rip), %r10\n"
	"	mov %fs:(%r10), %r10\n"
	"	movups 64(%r10), %xmm0; movups 80(%r10), %xmm1; movups 96(%r10), %xmm2; movups 112(%r10), %xmm3\n"
	"	movups 128(%r10), %xmm4; movups 144(%r10), %xmm5; movups 160(%r10), %xmm6; movups 176(%r10), %xmm7\n"
	"	mov (%r10), %rdi; mov 8(%r10), %rsi; mov 16(%r10), %rdx; mov 24(%r10), %rcx\n"
	"	mov 32(%r10), %r8; mov 40(%r10), %r9; mov 48(%r10), %rax; mov 56(%r10), %rsp\n"
	"	jmp *%r11\n"
	".size painted_enter, . - painted_enter\n"
	".type painted_leave, @function\n"
	"painted_leave:\n"
	"	mov painted_thread@gottpoff(%rip), %r10\n"
	"	mov %fs:(%r10), %r10\n"
	"	mov %rax, 48(%r10); mov %rdx, 16(%r10); mov %rsp, 56(%r10)\n"
	"	movups %xmm0, 64(%r10); movups %xmm1, 80(%r10)\n"
	"	mov 192(%r10), %rsp\n"
	"	call painted_end\n"
	"	mov %rax, %r11\n"
	"	mov painted_thread@gottpoff(%rip), %r10\n"
	"	mov %fs:(%r10), %r10\n"
	"	mov 48(%r10), %rax; mov 16(%r10), %rdx; mov 56(%r10), %rsp\n"
	"	movups 64(%r10), %xmm0; movups 80(%r10), %xmm1\n"
	"	jmp *%r11\n"
	".size painted_leave, . - painted_leave\n");

/* The assembly numbers its symbols: the n-th symbol here must be the n-th of the lists above. */
#define STUB(symbol) \
	__asm__(".globl " symbol "\n.type " symbol ", @function\n" symbol ":\n\tmov $painted_count, %r11d\n\tjmp painted_enter\n" \
		".size " symbol ", . - " symbol "\n.set painted_count, painted_count + 1\n");
__asm__(".text\n.set painted_count, 0\n");
#define OCL_CALL(name) STUB(#name)
#include "hooks/opencl/calls.def"
#undef OCL_CALL
#define CUDA_CALL(symbol, parameters, arguments) STUB(#symbol)
#include "hooks/cuda/calls.def"
#define HIP_CALL(result, name, symbol, parameters) STUB(symbol)
#include "hooks/hip/calls.def"
#define LZ_CALL(table, member, parameters, arguments) STUB("ze" LZ_##table #member)
#include "hooks/level_zero/calls.def"
#undef LZ_CALL

__attribute__((destructor)) static void write_measured(void)
{
	const char *folder = getenv("PAINTED");
	char path[4096];
	FILE *f;

	if (!folder)
		return;
	snprintf(path, sizeof(path), "%s/%d", folder, (int)getpid());
	f = fopen(path, "w");
	for (size_t i = 0; f && i < CALLS; i++) {
		if (!measured[i].calls)
			continue;
		fprintf(f, "%s %u", names[i], measured[i].calls);
		for (size_t k = 0; k < EACH && k < measured[i].calls; k++)
			fprintf(f, " %u", measured[i].bytes[k]);
		fprintf(f, " %u\n", measured[i].most);
	}
	if (f)
		fclose(f);
}
