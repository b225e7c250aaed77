/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Computes the memory layout of types. OpenCL C and the CPU runtimes use the same layout (SPIR-V section 2.18, OpenCL C
 * 6.1).
 */
#include "spv.h"

#define MAX_DEPTH 32
#define MAX_STEPS 65536      /* maximum number of visited members: a malicious type may nest exponentially */
#define MAX_SIZE (1u << 30)

struct walk {
	const struct gpubpf_spv *m;
	uint32_t steps;
};

static bool layout(struct walk *w, uint32_t type, unsigned depth, uint64_t *size, uint32_t *align);

/*
 * Read the value of a constant. For a specialization constant, read its default value: the agent has replaced the
 * default by the application's value.
 */
static bool read_constant(const struct gpubpf_spv *m, uint32_t id, uint32_t *value)
{
	const struct gpubpf_spv_insn *c = gpubpf_spv_def(m, id);

	if (!c || (c->op != SpvOpConstant && c->op != SpvOpSpecConstant) || (c->n > 4 && gpubpf_spv_word(m, c, 4)))
		return false;
	*value = gpubpf_spv_word(m, c, 3);
	return true;
}

static bool layout_struct(struct walk *w, const struct gpubpf_spv_insn *t, unsigned depth, uint64_t *size, uint32_t *align)
{
	bool is_packed = w->m->packed[gpubpf_spv_word(w->m, t, 1)];
	uint64_t at = 0, member;
	uint32_t most = 1, one;

	for (uint32_t i = 2; i < t->n; i++) {
		if (!layout(w, gpubpf_spv_word(w->m, t, i), depth + 1, &member, &one))
			return false;
		if (is_packed)
			one = 1;
		at = ((at + one - 1) & ~(uint64_t)(one - 1)) + member;
		most = one > most ? one : most;
		if (at > MAX_SIZE)
			return false;
	}
	*size = (at + most - 1) & ~(uint64_t)(most - 1);
	*align = most;
	return true;
}

static bool layout_array(struct walk *w, const struct gpubpf_spv_insn *t, unsigned depth, uint64_t *size, uint32_t *align)
{
	uint32_t count;
	uint64_t element;

	if (!layout(w, gpubpf_spv_word(w->m, t, 2), depth + 1, &element, align) ||
	    !read_constant(w->m, gpubpf_spv_word(w->m, t, 3), &count))
		return false;
	*size = element * count;
	return *size <= MAX_SIZE;
}

/* A vector of three elements occupies as much memory as one of four. */
static bool layout_vector(struct walk *w, const struct gpubpf_spv_insn *t, unsigned depth, uint64_t *size, uint32_t *align)
{
	uint32_t count = gpubpf_spv_word(w->m, t, 3);

	if (count < 2 || count > 16 || !layout(w, gpubpf_spv_word(w->m, t, 2), depth + 1, size, align))
		return false;
	*size *= count == 3 ? 4 : count;
	*align = *size;
	return *size <= 128 && (*size & (*size - 1)) == 0;
}

static bool layout_scalar(uint32_t bits, uint64_t *size, uint32_t *align)
{
	if (bits != 8 && bits != 16 && bits != 32 && bits != 64)
		return false;
	*size = *align = bits / 8;
	return true;
}

static bool layout(struct walk *w, uint32_t type, unsigned depth, uint64_t *size, uint32_t *align)
{
	const struct gpubpf_spv_insn *t = gpubpf_spv_def(w->m, type);

	if (!t || depth > MAX_DEPTH || ++w->steps > MAX_STEPS)
		return false;
	switch (t->op) {
	case SpvOpTypeBool:
		return layout_scalar(8, size, align);
	case SpvOpTypeInt:
	case SpvOpTypeFloat:
		return layout_scalar(gpubpf_spv_word(w->m, t, 2), size, align);
	case SpvOpTypePointer:
		return layout_scalar(64, size, align);
	case SpvOpTypeVector:
		return layout_vector(w, t, depth, size, align);
	case SpvOpTypeArray:
		return layout_array(w, t, depth, size, align);
	case SpvOpTypeStruct:
		return layout_struct(w, t, depth, size, align);
	default:
		return false;
	}
}

bool gpubpf_spv_layout(const struct gpubpf_spv *m, uint32_t type, uint32_t *size, uint32_t *align)
{
	struct walk w = { .m = m };
	uint64_t bytes;

	if (!layout(&w, type, 0, &bytes, align))
		return false;
	*size = bytes;
	return true;
}
