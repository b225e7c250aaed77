/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a program in the interpreter on the host. Supplies the functions that the core loop (vm.h) calls, and the
 * diagnostics of failed runs.
 */
#include "interp.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/model/diag.h"
#include "host.h"
#include "vm.h" /* the core loop, which calls the functions above */

#define DEFAULT_INSNS (64ull << 20)

static struct host *host_of(struct gpubpf_vm *vm)
{
	return (struct host *)((char *)vm - offsetof(struct host, vm));
}

static inline u8 *gpubpf_vm_memory(struct gpubpf_vm *vm, u64 address, u64 size, int write)
{
	return gpubpf_interp_memory(host_of(vm), address, size, write);
}

static inline void gpubpf_vm_call(struct gpubpf_vm *vm, s32 helper)
{
	gpubpf_interp_call(host_of(vm), helper);
}

static inline int gpubpf_vm_element(struct gpubpf_vm *vm, struct gpubpf_vm_rounds *rounds)
{
	return gpubpf_interp_element(host_of(vm), rounds);
}

static inline void gpubpf_vm_imm64(struct gpubpf_vm *vm, const struct gpubpf_insn *insn)
{
	u64 *dst = &vm->reg[insn->dst];

	switch (insn->op) {
	case GPUBPF_IMM_MAP:
		*dst = GPUBPF_PTR_MAP + (u32)insn->imm;
		break;
	case GPUBPF_IMM_FUNC:
		*dst = insn->target;
		break;
	case GPUBPF_IMM_MAP_VALUE:
		*dst = gpubpf_array_address(&host_of(vm)->env,
					    GPUBPF_LAYOUT_PASS(&host_of(vm)->job->layout->maps[insn->imm]), 0) +
		       (u64)insn->imm64;
		break;
	default:
		*dst = (u64)insn->imm64;
	}
}

static inline void gpubpf_vm_step(struct gpubpf_vm *vm)
{
	const struct gpubpf_interp_job *job = host_of(vm)->job;
	struct gpubpf_interp_state state = { vm->pc, vm->depth, vm->reg, vm->stack };

	gpubpf_interp_prove(host_of(vm));
	if (job->observe)
		job->observe(job->observe_arg, &state);
}

int gpubpf_interp_refusal(const void *room, struct gpubpf_diag *diag)
{
	const struct host *h = room;
	const struct gpubpf_vm *vm = &h->vm;
	char text[96];

	if (h->violated)
		return gpubpf_diag_set(diag, GPUBPF_E_FACT, h->broken_pc, "before instruction %u: %s", h->broken_pc,
				       h->violated);
	if (vm->status == GPUBPF_VM_EXIT || vm->status == GPUBPF_VM_ENDED)
		return gpubpf_diag_set(diag, GPUBPF_E_REF_LEAK, vm->pc,
				       "%u ring-buffer records were reserved but neither submitted nor discarded",
				       h->nrecords);

	gpubpf_diag_where(diag, "%s", h->job->prog->name);
	if (vm->pc < vm->ninsns)
		gpubpf_insn_format(&vm->insns[vm->pc], vm->pc, text, sizeof(text));
	else
		snprintf(text, sizeof(text), "(no instruction)");
	switch (vm->status) {
	case GPUBPF_VM_ACCESS:
		return gpubpf_diag_set(diag, GPUBPF_E_MEM_BOUNDS, vm->pc,
				       "%s: %s of %llu bytes at 0x%llx is out of bounds", text,
				       vm->write ? "write" : "read", (unsigned long long)vm->size,
				       (unsigned long long)vm->address);
	case GPUBPF_VM_MISALIGNED:
		return gpubpf_diag_set(diag, GPUBPF_E_MISALIGNED, vm->pc, "%s: the address 0x%llx is misaligned", text,
				       (unsigned long long)vm->address);
	case GPUBPF_VM_HELPER:
		return gpubpf_diag_set(diag, h->why ? GPUBPF_E_HELPER_ARG : GPUBPF_E_BAD_HELPER, vm->pc, "helper %llu %s",
				       (unsigned long long)vm->address, h->why ? h->why : "does not exist here");
	case GPUBPF_VM_DEPTH:
		return gpubpf_diag_set(diag, GPUBPF_E_CALL_DEPTH, vm->pc, "%s: calls nest deeper than %d frames", text,
				       GPUBPF_MAX_FRAMES);
	case GPUBPF_VM_LIMIT:
		return gpubpf_diag_set(diag, GPUBPF_E_COST, vm->pc, "the run took more than %llu instructions",
				       (unsigned long long)vm->limit);
	}
	return gpubpf_diag_set(diag, GPUBPF_E_CFG, vm->pc, "execution continued past the program's last instruction");
}

/* Fills the environment and the thread's indices, which the device library's functions read. */
static void fill_environment(struct host *h, const struct gpubpf_interp_job *job)
{
	static const struct gpubpf_ctx single_thread = { .work_dim = 1, .grid_dim = { 1, 1, 1 }, .block_dim = { 1, 1, 1 } };
	const struct gpubpf_ctx *ctx = job->ctx ? job->ctx : &single_thread;
	struct gpubpf_host_thread *t = &h->thread;

	h->env.arena = (uintptr_t)(job->arena ? job->arena : h->no_arena);
	h->env.launch = ctx->launch;
	h->env.pid_tgid = job->pid_tgid;
	h->env.kernel_id = ctx->kernel;
	h->env.device = ctx->device;
	h->env.arg_bytes = job->arg_bytes;
	memcpy(h->env.arg, ctx->arg, sizeof(h->env.arg));
	memcpy(t->grid_dim, ctx->grid_dim, sizeof(t->grid_dim));
	memcpy(t->block_dim, ctx->block_dim, sizeof(t->block_dim));
	memcpy(t->block_idx, ctx->block_idx, sizeof(t->block_idx));
	memcpy(t->thread_idx, ctx->thread_idx, sizeof(t->thread_idx));
	memcpy(t->offset, ctx->global_offset, sizeof(t->offset));
	t->dims = ctx->work_dim;
	t->sm = job->sm;
	t->warp = job->warp;
	t->lane = job->lane;
}

static void begin(struct host *h, const struct gpubpf_interp_job *job)
{
	struct gpubpf_vm *vm = &h->vm;

	/* the stack and the empty arena are large, and most runs do not need their zeros */
	memset(h, 0, offsetof(struct host, vm.stack));
	if (!job->is_verified)
		memset(vm->stack, 0, sizeof(vm->stack));
	memset((char *)h + sizeof(*vm), 0, (job->arena ? offsetof(struct host, no_arena) : sizeof(*h)) - sizeof(*vm));
	h->job = job;
	vm->insns = job->prog->insns;
	vm->ninsns = job->prog->ninsns;
	vm->limit = job->max_insns ? job->max_insns : DEFAULT_INSNS;
	vm->reg[GPUBPF_R1] = job->ctx ? GPUBPF_PTR_CTX : (uintptr_t)job->mem;
	vm->reg[GPUBPF_R2] = job->ctx ? 0 : job->mem_size;
	/* a program without facts is not verified, so all stack frames belong to the program */
	h->keys = job->prog->facts && job->prog->facts->frames ? job->prog->facts->frames : GPUBPF_MAX_FRAMES;
	fill_environment(h, job);
}

size_t gpubpf_interp_room(void)
{
	return sizeof(struct host);
}

static bool has_failed(const struct host *h)
{
	return h->violated || (h->vm.status != GPUBPF_VM_EXIT && h->vm.status != GPUBPF_VM_ENDED) || h->nrecords;
}

int gpubpf_interp_run_in(void *room, const struct gpubpf_interp_job *job, struct gpubpf_interp_result *result)
{
	struct host *h = room;

	begin(h, job);
	if (gpubpf_interp_prove_begin(h) < 0)
		return -ENOMEM;
	gpubpf_host_thread_set(&h->thread);
	gpubpf_vm_run(&h->vm);
	gpubpf_host_thread_set(NULL);
	gpubpf_interp_prove_end(h);
	if (has_failed(h))
		return -EINVAL;
	result->r0 = h->vm.reg[GPUBPF_R0];
	result->insns = h->vm.executed;
	result->ended_thread = h->vm.status == GPUBPF_VM_ENDED;
	return 0;
}

int gpubpf_interp_run(const struct gpubpf_interp_job *job, struct gpubpf_interp_result *result, struct gpubpf_diag *diag)
{
	struct host h;
	int err;

	if (job->unit->nmaps && (!job->arena || !job->layout))
		return gpubpf_diag_set(diag, GPUBPF_E_USAGE, GPUBPF_NOPC,
				       "a program with maps needs an arena and a map layout to run");
	err = gpubpf_interp_run_in(&h, job, result);
	if (err == -ENOMEM)
		return gpubpf_diag_set(diag, GPUBPF_E_NO_MEMORY, GPUBPF_NOPC, "no memory to run the program");
	return err < 0 ? gpubpf_interp_refusal(&h, diag) : 0;
}
