/* SPDX-License-Identifier: Apache-2.0 */
// SOURCES: backends/hip/amdgpu/access.c backends/hip/amdgpu/bundle.c backends/hip/amdgpu/code.c backends/hip/amdgpu/compressed.c
// SOURCES: backends/hip/amdgpu/descriptor.c backends/hip/amdgpu/elf.c backends/hip/amdgpu/found_kernel.c backends/hip/amdgpu/inspect.c
// SOURCES: backends/hip/amdgpu/isa.c backends/hip/amdgpu/live.c backends/hip/amdgpu/meta.c backends/hip/amdgpu/moves.c
// SOURCES: backends/hip/amdgpu/msgpack.c backends/hip/amdgpu/named.c backends/hip/amdgpu/operands.c
// SOURCES: core/diag.c core/places.c core/wire/name.c core/wire/wire.c core/worker/lines.c
// LIBS: -lLLVM-22 -ldw -lelf -lzstd
// KERNELS: --target=amdgcn-amd-amdhsa -mcpu=gfx90a -nogpulib -mcode-object-version=4 -include tests/hip/kernels/prelude.h
// KERNELS: --target=amdgcn-amd-amdhsa -mcpu=gfx942 -nogpulib -mcode-object-version=5 -include tests/hip/kernels/prelude.h
// KERNELS: --target=amdgcn-amd-amdhsa -mcpu=gfx1100 -nogpulib -mcode-object-version=5 -include tests/hip/kernels/prelude.h
// KERNELS: --target=amdgcn-amd-amdhsa -mcpu=gfx1201 -nogpulib -mcode-object-version=5 -include tests/hip/kernels/prelude.h
/* Code objects whose instructions and descriptors are any bytes: their places of all kinds are listed, or there is a reason. */
#include <dlfcn.h>
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <ucontext.h>

#include <sanitizer/lsan_interface.h>

#include "hip.h"

#include "backends/hip/amdgpu/inject.h"
#include "backends/hip/amdgpu/isa.h"
#include "core/worker/in_fork.h"

#define MOST 256 /* bytes that are changed at once */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);

static sigjmp_buf died;

static void look_where(int signal, siginfo_t *info, void *context)
{
	void *pc = (void *)((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
	Dl_info in;

	(void)info;
	if (dladdr(pc, &in) && strstr(in.dli_fname, "LLVM"))
		siglongjmp(died, signal);
	abort(); /* of ours */
}

/* What happens in a copy of the process in the worker is to be seen here, but for what LLVM 22 dies of by itself: operands that
 * no instruction has, such as those of 0xe0501000 0xff260801 on gfx90a. There the copy dies, and the kernel is refused. What
 * it has not freed goes with it. */
int gpubpf_in_fork(int (*fn)(void *arg), void *arg, int *status)
{
	const struct sigaction look = { .sa_sigaction = look_where, .sa_flags = SA_SIGINFO };
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

/* The code, or one time in four the descriptor of the first kernel; NULL: there is none. */
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gpubpf_image image = { .kind = GPUBPF_IMAGE_AMDGPU, .places = gpubpf_places_of(GPUBPF_WHERE_INSN), .size = size };
	struct gpubpf_device_caps caps = { .backend = "hip", .warp_size = 64, .address_bits = 64 };
	struct gpubpf_kernel_info *kernels = NULL;
	const struct hip_isa *isa;
	struct gpubpf_diag diag;
	Elf64_Ehdr head;
	uint32_t n = 0;
	uint8_t *file;

	if (size < sizeof(head) || !(file = malloc(size)))
		return -1;
	memcpy(file, data, size);
	memcpy(&head, data, sizeof(head));
	isa = hip_isa_of_flags(head.e_flags);
	snprintf(caps.arch, sizeof(caps.arch), "%s", isa ? isa->name : "gfx90a");
	image.data = file;
	gpubpf_diag_init(&diag);
	if (hip_inspect(&image, &caps, &kernels, &n, &diag) == -EINVAL && !diag.what[0])
		abort();
	for (uint32_t i = 0; kernels && i < n; i++) {
		if (!kernels[i].nplaces && !kernels[i].reason[0])
			abort();
		for (uint32_t j = 0; j < kernels[i].nplaces; j++)
			if (kernels[i].places[j].name)
				hip_touch(kernels[i].places[j].name, strlen(kernels[i].places[j].name) + 1);
	}
	free(kernels);
	free(file);
	return 0;
}
