/* SPDX-License-Identifier: Apache-2.0 */
/* Text for programs in checked mode (core/lower/lower.h), which may access only the live stack frames and MEM. */
struct gpubpf_checked {
	u64 run;        /* address of struct gpubpf_run */
	u64 stack, mem; /* addresses */
	u64 mem_size;
	u64 budget;
	u32 depth;      /* live frames - 1 */
	u32 may_left[8]; /* by depth: number of further may_goto that do not jump */
};

static inline int gpubpf_within(u64 address, u64 width, u64 base, u64 size)
{
	return size >= width && address - base <= size - width;
}

static inline int gpubpf_legal(GPUBPF_PRIVATE const struct gpubpf_checked *k, u64 address, u64 width)
{
	return gpubpf_within(address, width, k->stack, (k->depth + 1) * 512) ||
	       gpubpf_within(address, width, k->mem, k->mem_size);
}

static u64 gpubpf_fail(GPUBPF_PRIVATE const struct gpubpf_checked *k, u64 status, u64 pc, u64 address)
{
	GPUBPF_GLOB(gpubpf_w8a8, k->run + GPUBPF_RUN_STATUS) = status;
	GPUBPF_GLOB(gpubpf_w8a8, k->run + GPUBPF_RUN_PC) = pc;
	GPUBPF_GLOB(gpubpf_w8a8, k->run + GPUBPF_RUN_ADDRESS) = address;
	return 0;
}

#define GPUBPF_FAIL(status, pc, address) return gpubpf_fail(&k, status, pc, address)
