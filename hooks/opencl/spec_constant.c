/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Specialization constants of SPIR-V modules. A value that the application sets becomes the default value in the
 * layer's copy of the module. So the twin is built from the same program as the original. Citations are from the SPIR-V
 * specification 1.6.
 */
#include "opencl.h"

#include <spirv/unified1/spirv.h>
#include <stdlib.h>
#include <string.h>

#define HEADER 5 /* words of a module's header, section 2.3 */

/* A SPIR-V module as a sequence of words. Callers check that an index is in range. */
struct module {
	unsigned char *bytes;
	size_t nwords;
	bool swapped;
};

static uint32_t word(const struct module *m, size_t at)
{
	uint32_t w;

	memcpy(&w, m->bytes + 4 * at, 4);
	return m->swapped ? __builtin_bswap32(w) : w;
}

static void set_word(struct module *m, size_t at, uint32_t w)
{
	w = m->swapped ? __builtin_bswap32(w) : w;
	memcpy(m->bytes + 4 * at, &w, 4);
}

/*
 * Find the next instruction with this opcode, from word *at up to the first function. Stores the instruction's index in
 * *at. Returns the instruction's number of words, or 0 if there is none.
 */
static size_t find_insn(const struct module *m, size_t *at, uint32_t op)
{
	while (*at < m->nwords) {
		uint32_t first = word(m, *at);
		size_t n = first >> SpvWordCountShift;

		if (!n || n > m->nwords - *at || (first & SpvOpCodeMask) == SpvOpFunction)
			return 0;
		if ((first & SpvOpCodeMask) == op)
			return n;
		*at += n;
	}
	return 0;
}

/*
 * Store a value in an instruction's literal. A value that is narrower than a word is padded. A value of two words has
 * the low-order word first (section 2.2.1).
 */
static bool set_number(struct module *m, size_t at, size_t n, size_t size, const void *value)
{
	unsigned char padded[8] = { 0 };

	if (n < 4 || !size || size > 4 * (n - 3) || size > sizeof(padded))
		return false;
	memcpy(padded, value, size);
	for (size_t i = 0; i < n - 3 && i < 2; i++) {
		uint32_t w;

		memcpy(&w, padded + 4 * i, 4);
		set_word(m, at + 3 + i, w);
	}
	return true;
}

static bool set_constant(struct module *m, uint32_t id, size_t size, const void *value)
{
	static const uint32_t ops[] = { SpvOpSpecConstant, SpvOpSpecConstantTrue, SpvOpSpecConstantFalse };
	size_t n;

	for (size_t i = 0; i < sizeof(ops) / sizeof(*ops); i++)
		for (size_t at = HEADER; (n = find_insn(m, &at, ops[i])); at += n) {
			if (n < 3 || word(m, at + 2) != id)
				continue;
			if (ops[i] == SpvOpSpecConstant)
				return set_number(m, at, n, size, value);
			set_word(m, at, n << SpvWordCountShift | ops[*(const unsigned char *)value ? 1 : 2]);
			return size == 1;
		}
	return false;
}

/* Set all constants with this SpecId, since a compiler may have duplicated a constant. */
static bool specialize(struct module *m, uint32_t spec, size_t size, const void *value)
{
	size_t found = 0, n;

	for (size_t at = HEADER; (n = find_insn(m, &at, SpvOpDecorate)); at += n) {
		if (n != 4 || word(m, at + 2) != SpvDecorationSpecId || word(m, at + 3) != spec)
			continue;
		if (!set_constant(m, word(m, at + 1), size, value))
			return false;
		found++;
	}
	return found;
}

/* Copy the code and set the value of the constant in the copy. Returns NULL if out of memory. */
static struct ocl_code *specialized_copy(const struct ocl_code *from, cl_uint spec, size_t size, const void *value,
					 bool built)
{
	struct ocl_code *code = ocl_code_new(from->kind, from->data, from->size, from->options);
	struct module m;

	if (!code)
		return NULL;
	code->reason = from->reason;
	m = (struct module){ .bytes = code->data, .nwords = code->size / 4 };
	m.swapped = m.nwords > HEADER && word(&m, 0) != SpvMagicNumber;
	if (built) /* Intel's CPU runtime still uses the values of the first build, contrary to the standard */
		code->reason = "the application sets specialization constants after a build, which runtimes handle "
			       "differently";
	else if (m.nwords <= HEADER || word(&m, 0) != SpvMagicNumber || !specialize(&m, spec, size, value))
		code->reason = "the application sets a specialization constant that its SPIR-V module does not contain";
	return code;
}

/* The call affects the next build, as in the runtime. Existing builds do not change. */
CL_API_ENTRY cl_int CL_API_CALL ocl_clSetProgramSpecializationConstant(cl_program program, cl_uint id, size_t size,
								       const void *value)
{
	cl_int err = ocl->clSetProgramSpecializationConstant(program, id, size, value);
	struct ocl_program *p = err ? NULL : gpubpf_records_find(&ocl_programs, program);
	struct ocl_code *before = NULL, *code;

	if (!p)
		return err;
	pthread_mutex_lock(&p->lock);
	code = p->code ? specialized_copy(p->code, id, size, value, p->builds) : NULL;
	if (code) {
		before = p->code;
		p->code = code;
	} else if (p->code) {
		p->code->reason = "out of memory for the program's specialization constants";
	}
	pthread_mutex_unlock(&p->lock);
	ocl_code_put(before);
	return err;
}
