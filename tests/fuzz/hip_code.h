/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Common code of fuzzers for AMD code objects with arbitrary instructions and descriptors: a mutator, and a guard
 * against crashes of LLVM itself.
 */
#ifndef GPUBPF_TESTS_FUZZ_HIP_CODE_H
#define GPUBPF_TESTS_FUZZ_HIP_CODE_H

#include <dlfcn.h>
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include <sanitizer/lsan_interface.h>

#include "backends/hip/amdgpu/inject.h"
#include "backends/hip/amdgpu/isa/isa.h"
#include "core/worker/sandbox/in_fork.h"
#include "hip.h"

#define MOST 256 /* maximum number of bytes that one mutation changes */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);

static sigjmp_buf died;

static void on_segv(int signal, siginfo_t *info, void *context)
{
	void *pc = (void *)((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
	Dl_info in;

	(void)info;
	if (dladdr(pc, &in) && strstr(in.dli_fname, "LLVM"))
		siglongjmp(died, signal);
	abort(); /* a bug of ours */
}

/*
 * Run fn in this process, so that the fuzzer sees its faults; the worker runs fn in a fork. Crashes of LLVM 22 itself
 * are ignored: it crashes on operands that no instruction has, for example in 0xe0501000 0xff260801 on gfx90a. In the
 * worker the fork then dies, and the kernel is refused. Memory that LLVM did not free is ignored, too.
 */
int gpubpf_in_fork(int (*fn)(void *arg), void *arg, int *status)
{
	const struct sigaction look = { .sa_sigaction = on_segv, .sa_flags = SA_SIGINFO };
	struct sigaction was;
	int err = 0;

	sigaction(SIGSEGV, &look, &was);
	__lsan_disable();
	*status = sigsetjmp(died, 1);
	if (!*status)
		err = fn(arg);
	__lsan_enable();
	sigaction(SIGSEGV, &was, NULL);
	return err;
}

/*
 * Returns the bytes to change: the code, or for one seed of four the descriptor of kernel k. Returns NULL if there are
 * none.
 */
static const uint8_t *changing(const struct hip_elf *elf, unsigned seed, size_t *size)
{
	struct hip_symbols symbols = hip_elf_symbols(elf, SHT_DYNSYM);
	const uint8_t *bytes;
	Elf64_Sym symbol;
	Elf64_Shdr head;

	*size = 64;
	if (seed % 4 == 0 && hip_elf_find(&symbols, "k.kd", &symbol))
		return hip_elf_at(elf, symbol.st_value, 64);
	for (uint32_t i = 0; hip_elf_section(elf, i, &head, &bytes); i++)
		if (bytes && head.sh_size && head.sh_flags & SHF_EXECINSTR) {
			*size = head.sh_size;
			return bytes;
		}
	return NULL;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed)
{
	struct gpubpf_diag diag;
	const uint8_t *bytes;
	struct hip_elf elf;
	size_t n, from;

	gpubpf_diag_init(&diag);
	if (hip_elf_open(data, size, &elf, &diag) < 0 || !(bytes = changing(&elf, seed, &n)))
		return LLVMFuzzerMutate(data, size, most);
	from = seed / 4 % n / 4 * 4;
	n = n - from < MOST ? n - from : MOST;
	LLVMFuzzerMutate(data + (bytes - data) + from, n, n);
	return size;
}

/* Returns the device for which the code object is built, by the flags in its ELF header. */
static struct gpubpf_device_caps hip_caps_of(const uint8_t *data)
{
	struct gpubpf_device_caps caps = { .backend = "hip", .warp_size = 64, .address_bits = 64 };
	const struct hip_isa *isa;
	Elf64_Ehdr head;

	memcpy(&head, data, sizeof(head));
	isa = hip_isa_of_flags(head.e_flags);
	snprintf(caps.arch, sizeof(caps.arch), "%s", isa ? isa->name : "gfx90a");
	return caps;
}

/* a code object and its places of all kinds */
struct hip_looked {
	struct gpubpf_image image;
	struct gpubpf_device_caps caps;
	struct gpubpf_kernel_info *kernels;
	struct gpubpf_diag diag;
	uint8_t *file;
	uint32_t n;
	int err;
};

static bool hip_look(struct hip_looked *l, const uint8_t *data, size_t size)
{
	*l = (struct hip_looked){ .image = { .kind = GPUBPF_IMAGE_AMDGPU, .places = gpubpf_places_of(GPUBPF_WHERE_INSN), .size = size } };
	if (size < sizeof(Elf64_Ehdr) || !(l->file = malloc(size)))
		return false;
	memcpy(l->file, data, size);
	l->caps = hip_caps_of(data);
	l->image.data = l->file;
	gpubpf_diag_init(&l->diag);
	l->err = hip_inspect(&l->image, &l->caps, &l->kernels, &l->n, &l->diag);
	return true;
}

static void hip_looked_finish(struct hip_looked *l)
{
	free(l->kernels);
	free(l->file);
}

#endif
