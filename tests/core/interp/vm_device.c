/* SPDX-License-Identifier: Apache-2.0 */
/* The interpreter's core loop with the smallest possible host interface. vm_device.test compiles this file for GPUs. */
#include "core/interp/vm.h"

void gpubpf_vm_on_device(struct gpubpf_vm *vm);

static inline u8 *gpubpf_vm_memory(struct gpubpf_vm *vm, u64 address, u64 size, int write)
{
	if (address - GPUBPF_PTR_STACK <= sizeof(vm->stack) - size)
		return vm->stack + (address - GPUBPF_PTR_STACK);
	vm->address = address;
	vm->size = size;
	vm->write = write;
	vm->status = GPUBPF_VM_ACCESS;
	return 0;
}

static inline void gpubpf_vm_call(struct gpubpf_vm *vm, s32 helper)
{
	vm->address = (u32)helper;
	vm->status = GPUBPF_VM_HELPER;
}

static inline int gpubpf_vm_element(struct gpubpf_vm *vm, struct gpubpf_vm_rounds *rounds)
{
	(void)vm, (void)rounds;
	return 0;
}

static inline void gpubpf_vm_imm64(struct gpubpf_vm *vm, const struct gpubpf_insn *insn)
{
	vm->reg[insn->dst] = (u64)insn->imm64;
}

static inline void gpubpf_vm_step(struct gpubpf_vm *vm)
{
	(void)vm;
}

void gpubpf_vm_on_device(struct gpubpf_vm *vm)
{
	gpubpf_vm_run(vm);
}
