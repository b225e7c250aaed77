/* SPDX-License-Identifier: Apache-2.0 */
/*
 * constants FILE.cu: for each architecture, nvcc compiles kernels that read __constant__ variables. Their twins have no
 * probe.
 * - No instruction of the twin reads c[0x3].
 * - An emulator runs each stub on random registers, with the constant bank in memory. The stub passes exactly the value
 *   in the bank to the instruction, reads nothing else, and preserves the kernel's registers and predicates.
 * - The replacement of a constant operand preserves the sign bits of both operands. nvdisasm prints the same text
 *   except for the register.
 * - The checker refuses each changed stub and each changed address.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backends/cuda/sass/check/check.h"
#include "backends/cuda/sass/isa/constant.h"
#include "backends/cuda/sass/rewrite/twin.h"
#include "core/model/diag.h"
#include "tests/backends/cuda/case.h"
#include "tests/tap.h"
#include "each_cubin.h"
#include "tests/backends/cuda/sass/isa/insn.h"

#define BANK_AT 0x7f0123456000ull /* address of the constant bank of the original kernel */
#define DISASSEMBLED 2048
#define CARRIED 0x1000             /* added to the opcode if the instruction reads a register in place of a constant */

struct thread {
	uint32_t r[256], u[64];
	bool p[8];
};

struct run {
	struct thread t;
	const uint8_t *bank;
	uint32_t size, loads;
	uint64_t address;
	struct sass_insn carried;          /* the kernel's instruction, with a register in place of the constant */
	bool wrong, is_carried;
};

static uint32_t reads, right, changed, seen, behind; /* behind: number of negative offsets from an index */
static struct sass_insn pairs[DISASSEMBLED]; /* pairs of an instruction before and after its replacement */
static uint32_t npairs;

static bool guard_of(struct sass_insn insn, const struct thread *t)
{
	return t->p[sass_field(insn, 12, 3)] != sass_field(insn, 15, 1);
}

/* -- a thread in a stub -- */

static void load(struct run *run, struct sass_insn insn)
{
	static const uint8_t bytes[] = { 1, 1, 2, 2, 4, 8, 16, 0 };
	uint32_t to = sass_field(insn, 16, 8), from = sass_field(insn, 24, 8), width = sass_field(insn, 73, 3), n = bytes[width];
	uint32_t value[4] = { 0 };

	run->loads++;
	run->address = run->t.r[from] | (uint64_t)run->t.r[from + 1] << 32;
	if (run->address < BANK_AT || run->address + n > BANK_AT + run->size || run->address % n) {
		run->wrong = true;
		return;
	}
	memcpy(value, run->bank + (run->address - BANK_AT), n);
	if (width == 1)
		value[0] = (int8_t)value[0];
	if (width == 3)
		value[0] = (int16_t)value[0];
	for (uint32_t i = 0; i < (n + 3) / 4; i++)
		run->t.r[to + i] = value[i];
}

static void compute(struct run *run, struct sass_insn insn)
{
	uint32_t to = sass_field(insn, 16, 8), a = sass_field(insn, 24, 8), b = sass_field(insn, 32, 8), c = sass_field(insn, 64, 8);
	struct thread *t = &run->t;
	uint64_t wide;

	switch (run->loads && sass_opcode(insn) != 0x2ca && sass_opcode(insn) != 0x3c2 ? sass_opcode(insn) | CARRIED : sass_opcode(insn)) {
	case 0x202:
		t->r[to] = t->r[b];
		break;
	case 0xc02:
		t->r[to] = t->u[b & 63];
		break;
	case 0x802:
		t->r[to] = sass_immediate(insn);
		break;
	case 0x812:
		t->r[to] = t->r[a] & sass_immediate(insn);
		break;
	case 0x212: /* LOP3 with the only truth table that stubs use */
		t->r[to] = t->r[a] & ~t->r[b];
		run->wrong |= sass_field(insn, 72, 8) != 0x30;
		break;
	case 0x810:
		t->r[to] = (sass_field(insn, 72, 1) ? -t->r[a] : t->r[a]) + (uint32_t)(sass_immediate(insn)) + t->r[c];
		break;
	case 0x819:
		t->r[to] = (int32_t)t->r[c] >> (sass_immediate(insn) & 31);
		break;
	case 0x825:
		wide = (int64_t)(int32_t)t->r[a] * (int32_t)(sass_immediate(insn)) +
		       (t->r[c] | (uint64_t)t->r[c + 1] << 32);
		t->r[to] = wide;
		t->r[to + 1] = wide >> 32;
		break;
	case 0x381:
		load(run, insn);
		break;
	case 0x2ca: case 0x3c2:
		t->u[to & 63] = t->r[a];
		break;
	case SASS_OP_NOP: case SASS_OP_NOP | CARRIED:
		break;
	default: /* the kernel's instruction, after the load of the constant; the caller checks its source */
		run->wrong |= run->is_carried;
		run->is_carried = true;
		run->carried = insn;
	}
	t->r[255] = t->u[63] = 0;
	t->p[7] = true;
}

static bool is_half_of(const struct sass_patched_code *g, uint32_t i, uint32_t *number)
{
	for (uint32_t k = 0; k < g->naddresses; k++)
		if (g->addresses[k].at == i) {
			*number = (BANK_AT + g->addresses[k].off) >> (g->addresses[k].high ? 32 : 0);
			return true;
		}
	return false;
}

/*
 * Patches the addresses as the agent does. Runs the stub of the instruction at `at` until control returns to the
 * kernel.
 */
static void walk(const struct sass_code *code, const struct sass_patched_code *g, uint32_t at, struct run *run)
{
	uint32_t i = at + 1 + sass_branch(code->arch, g->insns[at]) / SASS_INSN, number;

	for (uint32_t steps = 0; i < g->n && i != at + 1 && steps < 100; steps++) {
		struct sass_insn insn = g->insns[i];

		if (is_half_of(g, i, &number))
			insn = sass_with_field(insn, 32, 32, number);
		if (sass_opcode(insn) == SASS_OP_BRA) {
			i += 1 + sass_branch(code->arch, insn) / SASS_INSN;
			continue;
		}
		if (guard_of(insn, &run->t) || sass_op(insn)->class != SASS_LOAD)
			compute(run, insn);
		i++;
	}
	run->wrong |= i != at + 1;
}

static void random_thread(struct thread *t)
{
	for (unsigned i = 0; i < 255; i++)
		t->r[i] = random_below(UINT32_MAX);
	for (unsigned i = 0; i < 63; i++)
		t->u[i] = random_below(UINT32_MAX);
	t->r[255] = t->u[63] = 0;
	for (unsigned i = 0; i < 7; i++)
		t->p[i] = random_below(2);
	t->p[7] = true;
}

/*
 * Returns the offset that the instruction reads. Sets the instruction's index register so that the offset lies inside
 * the bank or, if beyond is true, far beyond the bank.
 */
static uint32_t place_of(struct sass_insn own, const struct sass_constant *k, struct thread *t, uint32_t size, bool beyond)
{
	uint32_t op = sass_opcode(own) & 0x1ff, *index = NULL;
	uint32_t off = op == 0x1ac ? sass_field(own, 37, 17) : sass_field(own, 38, 16);

	if (op == 0x182 && sass_field(own, 24, 8) != 255)
		index = &t->r[sass_field(own, 24, 8)];
	else if (op == 0x0bb || (op == 0x1ac && sass_field(own, 24, 8) != 255))
		index = &t->u[sass_field(own, 24, 6)];
	if (!index)
		return off;
	if (off >> (op == 0x1ac ? 16 : 15)) /* a sign */
		off -= op == 0x1ac ? 0x20000 : 0x10000;
	behind += off > INT32_MAX;
	*index = random_below((size - k->bytes) / k->bytes + 1) * k->bytes - off;
	if (beyond)
		*index = random_below(2) ? random_below(UINT32_MAX) & -(uint32_t)k->bytes : -(random_below(4096) * k->bytes);
	return off + *index;
}

/* Are all registers unchanged, except the ones that the kernel's load writes? */
static bool leaves_others(const struct run *run, const struct thread *before, struct sass_insn own, const struct sass_constant *k,
			  uint32_t regs)
{
	uint32_t to = sass_field(own, 16, 8), n = (k->bytes + 3) / 4;

	for (uint32_t i = 0; i < regs; i++)
		if (run->t.r[i] != before->r[i] && (k->way != SASS_CONSTANT_LOADED || i < to || i >= to + n))
			return false;
	for (uint32_t i = 0; i < 64; i++)
		if (run->t.u[i] != before->u[i] && (k->way != SASS_CONSTANT_UNIFORM || i < (to & 63) || i >= (to & 63) + n))
			return false;
	return !memcmp(run->t.p, before->p, sizeof(before->p));
}

/* Stores the value in the bank, extended to the width of the operand, in value. */
static void expect(const struct run *run, struct sass_insn own, const struct sass_constant *k, uint32_t at, uint32_t value[4])
{
	unsigned width = k->way <= SASS_CONSTANT_UNIFORM ? sass_field(own, 73, 3) : 4;

	memset(value, 0, 16);
	memcpy(value, run->bank + at, k->bytes);
	if (width == 1)
		value[0] = (int8_t)value[0];
	if (width == 3)
		value[0] = (int16_t)value[0];
}

/*
 * Compares the sign bits of the operands: bit 62 for the operand at bit 32, bit 74 for the operand at bit 64. The
 * replacement may have swapped the operands.
 */
static bool has_same_signs(struct sass_insn own, struct sass_insn carried, enum sass_constant_way way)
{
	unsigned constant = way == SASS_CONSTANT_B ? 62 : 74, other = way == SASS_CONSTANT_B ? 74 : 62;

	return sass_field(carried, constant, 2) == sass_field(own, 62, 2) && sass_field(carried, other, 2) == sass_field(own, 74, 2);
}

static bool has_right_value(const struct run *run, struct sass_insn own, const struct sass_constant *k, uint32_t at)
{
	uint32_t value[4], to = sass_field(own, 16, 8), reg, n = (k->bytes + 3) / 4;

	expect(run, own, k, at, value);
	switch (k->way) {
	case SASS_CONSTANT_LOADED:
		return !guard_of(own, &run->t) || !memcmp(run->t.r + to, value, 4 * n);
	case SASS_CONSTANT_UNIFORM:
		return !memcmp(run->t.u + (to & 63), value, 4 * n);
	default:
		reg = sass_field(run->carried, k->way == SASS_CONSTANT_B ? 32 : 64, 8);
		return run->is_carried && has_same_signs(own, run->carried, k->way) && !memcmp(run->t.r + reg, value, 4 * n);
	}
}

static bool runs_right(const struct sass_code *code, const struct sass_patched_code *g, uint32_t i, uint32_t regs, bool beyond)
{
	struct sass_insn own = sass_code_at(code, code->constants[i]);
	static uint8_t bank[SASS_CONSTANTS_MAX_BYTES];
	struct run run = { .bank = bank, .size = code->constants_size };
	struct thread before;
	struct sass_constant k;
	uint32_t at;

	for (uint32_t b = 0; b < run.size; b++)
		bank[b] = random_below(256);
	if (!sass_decode_constant_read(own, &k))
		return false;
	random_thread(&before);
	at = place_of(own, &k, &before, run.size, beyond);
	run.t = before;
	walk(code, g, code->constants[i], &run);
	if (run.wrong || run.loads != (k.way != SASS_CONSTANT_LOADED || guard_of(own, &before)) ||
	    !leaves_others(&run, &before, own, &k, regs))
		return false;
	if (run.is_carried && npairs + 2 <= DISASSEMBLED) {
		pairs[npairs++] = own;
		pairs[npairs++] = run.carried;
	}
	return (at > run.size - k.bytes) || has_right_value(&run, own, &k, at);
}

/* -- changes that the checker must refuse -- */

static bool passes(const struct sass_cubin *app, const struct sass_kernel *k, const struct sass_code *code, const struct sass_twin *twin)
{
	const struct sass_insn_probes none = { 0 };
	struct gpubpf_diag diag;

	gpubpf_diag_init(&diag);
	return !sass_check(app, k, code, twin, &(struct sass_twin_contents){ 0 }, &none, &diag);
}

static void try_change(const struct sass_cubin *app, const struct sass_kernel *k, const struct sass_code *code, const struct sass_twin *twin)
{
	changed++;
	seen += !passes(app, k, code, twin);
}

/*
 * Replaces instructions of stubs by NOPs, flips bits of these instructions, and changes addresses. The checker must
 * refuse each change. The NOPs of stubs stay unchanged.
 */
static void change(const struct sass_cubin *app, const struct sass_kernel *k, const struct sass_code *code, struct sass_twin *twin)
{
	struct sass_insn nop = sass_nop(0, SASS_STALL_MAX);
	struct sass_cubin made;
	struct gpubpf_diag diag;
	uint8_t *text;
	uint32_t n;

	gpubpf_diag_init(&diag);
	if (sass_cubin_open(twin->cubin.data, twin->cubin.size, &made, &diag) < 0)
		abort();
	text = (uint8_t *)made.sections[made.kernels[0].text].data;
	n = made.sections[made.kernels[0].text].size / SASS_INSN;
	for (uint32_t i = (code->n + 7) / 8 * 8; i < n; i++) {
		struct sass_insn was = sass_read(text + i * SASS_INSN), other = was;
		uint32_t bit = 12 + random_below(92);

		if (sass_opcode(was) == SASS_OP_BRA && sass_branch(code->arch, was) == -SASS_INSN) /* end of section */
			break;
		if (sass_opcode(was) == SASS_OP_NOP)
			continue;
		sass_write(text + i * SASS_INSN, nop);
		try_change(app, k, code, twin);
		other = sass_with_field(other, bit, 1, !sass_field(was, bit, 1));
		sass_write(text + i * SASS_INSN, other);
		try_change(app, k, code, twin);
		sass_write(text + i * SASS_INSN, was);
	}
	for (uint32_t i = 0; i < twin->nbindings; i++) {
		twin->bindings[i].addend += 4;
		try_change(app, k, code, twin);
		twin->bindings[i].addend -= 4;
		twin->bindings[i].part ^= CUDA_TWIN_LOW ^ CUDA_TWIN_HIGH;
		try_change(app, k, code, twin);
		twin->bindings[i].part ^= CUDA_TWIN_LOW ^ CUDA_TWIN_HIGH;
	}
	sass_cubin_finish(&made);
}

static bool reads_none(const struct sass_patched_code *g)
{
	for (uint32_t i = 0; i < g->n; i++)
		if (sass_constant_bank(g->insns[i]) == 3)
			return false;
	return true;
}

static void try_kernel(const struct sass_cubin *app, const struct sass_kernel *k)
{
	static struct sass_section nothing;
	const struct sass_cubin probes = { .sections = &nothing, .nsections = 1 };
	const struct sass_insn_probes none = { 0 };
	const char *name = app->symbols[k->symbol].name;
	struct sass_patched_code grafted = { 0 };
	struct sass_twin twin = { 0 };
	struct sass_code code;
	struct gpubpf_diag diag;

	gpubpf_diag_init(&diag);
	if (sass_code_read(app, k, &code, &diag) < 0) {
		ok(false, "%s is taken: %s", name, diag.what);
		return;
	}
	if (sass_patch_kernel(&code, k->regs, NULL, NULL, &none, &grafted, &diag) < 0 ||
	    sass_twin_write(app, k, &code, &probes, &grafted, &twin, &diag) < 0 || !passes(app, k, &code, &twin) || !reads_none(&grafted)) {
		gpubpf_diag_init(&diag);
		sass_check(app, k, &code, &twin, &(struct sass_twin_contents){ 0 }, &none, &diag);
		ok(false, "%s has a twin that passes and reads no bank of its own: %s", name, diag.what);
	}
	for (uint32_t i = 0; i < code.nconstants; i++, reads++)
		for (int again = 0; again < 8; again++)
			if (runs_right(&code, &grafted, i, k->regs, again % 2))
				right++;
			else
				note("%s at 0x%x: not what it read", name, code.constants[i] * SASS_INSN);
	change(app, k, &code, &twin);
	sass_twin_finish(&twin);
	sass_patched_code_finish(&grafted);
	sass_code_finish(&code);
}

/* -- comparison by nvdisasm -- */

/* Copies the text of an instruction, which stands between its offset and the semicolon, without reuse flags. */
static bool text_of(char *line, char *text)
{
	char *from = strstr(line, "*/"), *to = from ? strchr(from, ';') : NULL, *out = text;

	if (!to)
		return false;
	for (from += 2; from < to; from++) {
		if (!strncmp(from, ".reuse", 6))
			from += 5;
		else if (*from != ' ')
			*out++ = *from;
	}
	*out = 0;
	return true;
}

/*
 * Are both texts equal apart from the replaced operand? The replacement may turn a multiplication by a constant into a
 * move.
 */
static bool is_same_text(char *was, char *is)
{
	char *constant = strstr(was, "c[0x3][0x"), *rest, *move = strstr(was, "IMAD.MOV.U32");
	size_t n;

	if (!constant)
		return false;
	if (move)
		return !strncmp(is, was, move - was) && strstr(is, "RZ,RZ,R");
	rest = strchr(strchr(constant, ']') + 1, ']') + 1;
	n = constant - was;
	if (strncmp(was, is, n) || is[n] != 'R')
		return false;
	for (is += n + 1; *is >= '0' && *is <= '9'; is++)
		;
	return !strcmp(is, rest);
}

static void disassemble(uint32_t sm)
{
	const char *tool = getenv("GPUBPF_TEST_NVDISASM");
	char command[256], line[512], path[] = "/tmp/constants-XXXXXX", texts[2][512];
	uint32_t n = 0, same = 0;
	int fd = mkstemp(path);
	FILE *out;

	if (fd < 0 || write(fd, pairs, npairs * sizeof(*pairs)) < 0)
		abort();
	close(fd);
	snprintf(command, sizeof(command), "'%s' -b SM%u %s 2>/dev/null", tool ? tool : "nvdisasm", sm, path);
	out = popen(command, "r");
	while (out && fgets(line, sizeof(line), out))
		if (text_of(line, texts[n % 2]) && n++ % 2) {
			same += is_same_text(texts[0], texts[1]);
			if (!is_same_text(texts[0], texts[1]))
				note("%s became %s", texts[0], texts[1]);
		}
	if (out)
		pclose(out);
	unlink(path);
	if (n)
		ok(n == npairs && same == npairs / 2, "sm_%u: %u of %u instructions are the same with a register", sm, same, npairs / 2);
	else
		skip("what became of operands, by its text", "no nvdisasm here; GPUBPF_TEST_NVDISASM names one");
}

static void try_file(const char *name, const char *data, size_t size)
{
	struct gpubpf_diag diag;
	struct sass_cubin app;

	gpubpf_diag_init(&diag);
	reads = right = changed = seen = npairs = 0;
	if (!ok(!sass_cubin_open(data, size, &app, &diag), "%s is read", name))
		return;
	for (uint32_t k = 0; k < app.nkernels; k++)
		try_kernel(&app, &app.kernels[k]);
	ok(reads > 20 && right == 8 * reads, "%s: %u reads of constants, right %u of %u times", name, reads, right, 8 * reads);
	ok(changed > 100 && seen == changed, "%s: %u of %u changes are seen", name, seen, changed);
	if (npairs)
		disassemble(app.sm);
	sass_cubin_finish(&app);
}

int main(int argc, char **argv)
{
	static const char *const arches[] = { "sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120", NULL };

	if (argc > 1)
		compiled_each(argv[1], arches, "-O3", try_file);
	if (reads)
		ok(behind, "%u times of an index from which something is taken", behind);
	return done();
}
