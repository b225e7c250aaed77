/* SPDX-License-Identifier: Apache-2.0 */
/* Generates random numbers, and emits single instructions of random programs. */
#include "state.h"

uint64_t gen_random(struct gen_rng *rng)
{
	uint64_t z = rng->state += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

uint32_t random_pick(struct gen *g, uint32_t n)
{
	return gen_random(g->rng) % n;
}

void random_emit(struct gen *g, uint8_t code, int dst, int src, int off, int32_t imm)
{
	if (g->n < GEN_INSNS)
		g->out[g->n++] = (struct gpubpf_raw_insn){ code, (uint8_t)(dst | src << 4), (int16_t)off, imm };
}

int32_t random_interesting(struct gen *g)
{
	static const int32_t values[] = { 0, 1, -1, 2, 7, 31, 32, 63, 64, 255, 256, 0x7fff, INT32_MAX, INT32_MIN };

	return random_pick(g, 3) ? values[random_pick(g, sizeof(values) / sizeof(values[0]))] :
				   (int32_t)gen_random(g->rng);
}

int random_number_reg(struct gen *g)
{
	static const int regs[] = { 0, 1, 2, 3, 4, 8, 9, 7 };

	return regs[random_pick(g, g->r7_bytes ? 7 : 8)];
}

void random_imm64(struct gen *g, int dst, int src, int32_t low, int32_t high)
{
	random_emit(g, 0x18, dst, src, 0, low);
	random_emit(g, 0, 0, 0, 0, high);
}

void random_call(struct gen *g, int32_t helper)
{
	random_emit(g, OP_CALL, 0, 0, 0, helper);
}

void random_set_registers(struct gen *g)
{
	for (int r = 1; r <= 4; r++)
		if (random_pick(g, 2))
			random_emit(g, 0xb7, r, 0, 0, random_interesting(g));
		else
			random_emit(g, 0xbf, r, random_pick(g, 2) ? 8 : 9, 0, 0);
}

void random_set_all_registers(struct gen *g)
{
	random_emit(g, 0xb7, 0, 0, 0, random_interesting(g));
	random_set_registers(g);
}

void random_use(struct gen *g, int off, int bytes)
{
	for (int i = off / 8; i < (off + bytes + 7) / 8; i++)
		g->used |= 1u << i;
}

/* Patch the forward jump at index `jump` so that it jumps to the current position. */
void random_end_skip(struct gen *g, uint32_t jump)
{
	if (jump < GEN_INSNS && g->n <= GEN_INSNS)
		g->out[jump].off = (int16_t)(g->n - jump - 1);
}
