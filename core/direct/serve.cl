/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The resident kernel of executors (core/wire/direct.h). The build makes SPIR-V of this text. gpubpf-runner also contains
 * the text.
 */
#define DATA 4096ul   /* offset of the queues in the block */
#define STOP 1024ul   /* offsets of the control words */
#define BEAT 1032ul
#define LIMIT 1040ul
#define QUEUE 2048ul  /* bytes of a queue */
#define SLOTS 64
#define STATE 512ul   /* offsets in a queue */
#define ANSWERS 576ul
#define PART 0xffffffful /* mask of an offset or a size in a request */

/* Programs run at the entry of this function. */
__attribute__((noinline)) void gpubpf_serve_step(ulong memory, ulong size, ulong key, ulong to)
{
}

ulong gpubpf_serve_load(ulong at)
{
	return *(volatile global ulong *)at;
}

void gpubpf_serve_store(ulong at, ulong value)
{
	*(volatile global ulong *)at = value;
}

/* Wait for the request with this number. Returns 0 if the launch must end. */
ulong gpubpf_serve_wait(ulong block, ulong slot, ulong number)
{
	ulong limit = gpubpf_serve_load(block + LIMIT), beat = gpubpf_serve_load(block + BEAT), polls = 0, request;

	while ((request = gpubpf_serve_load(slot)) >> 56 != number) {
		if (gpubpf_serve_load(block + STOP) || polls++ > limit)
			return 0;
		if (gpubpf_serve_load(block + BEAT) != beat) {
			beat = gpubpf_serve_load(block + BEAT);
			polls = 0;
		}
	}
	return request;
}

kernel void gpubpf_direct_serve(global ulong *block, ulong size, ulong key)
{
	local ulong next;
	ulong base = (ulong)block, queue = base + DATA + get_group_id(0) * QUEUE, number = 1;
	uint slot = 0;
	int leads = !(get_local_id(0) | get_local_id(1) | get_local_id(2));

	if (leads)
		gpubpf_serve_store(queue + STATE, 1);
	for (;;) {
		ulong request;

		if (leads)
			next = gpubpf_serve_wait(base, queue + 8 * slot, number);
		barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
		request = next;
		if (!request)
			break;
		gpubpf_serve_step(base + size + ((request >> 28 & PART) << 3), (request & PART) << 3, key,
				  queue + ANSWERS + 16 * slot + 8);
		barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
		if (leads) {
			mem_fence(CLK_GLOBAL_MEM_FENCE);
			gpubpf_serve_store(queue + ANSWERS + 16 * slot, number);
		}
		if (++slot == SLOTS) {
			slot = 0;
			number = number == 255 ? 1 : number + 1;
		}
	}
	if (leads)
		gpubpf_serve_store(queue + STATE, 2);
}
