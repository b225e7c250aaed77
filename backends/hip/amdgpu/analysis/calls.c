/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tracks constants in scalar registers across calls. The calling convention is described in AMDGPU Usage, "Non-Kernel
 * Functions". A callee returns no values in scalar registers, and it receives its return address in s[30:31].
 *
 * Compilers know which registers a callee preserves, from the convention or from the callee's code. So the
 * value of a scalar register from before a call is still valid if code reads the register after the call.
 */
#include "calls.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/hip/amdgpu/isa/access.h"

#define REGISTERS 106          /* number of scalar registers that code can name: s0 to s105 */
#define MAX_STATE_BYTES (64u << 20) /* limit for all states; for larger code, all values stay unknown */

enum { NOTHING, LOW, HIGH, DESCRIPTOR };

/* The known value of a register. LOW, HIGH: the lower or upper half of the virtual address `at` in the file.
 * DESCRIPTOR: word number `at` of the descriptor of private memory. */
struct known {
	uint64_t half : 2, at : 62;
};

/* the known register values before an instruction */
struct state {
	struct known reg[REGISTERS];
	bool visited, has_sum;
	uint8_t sum;      /* if has_sum: register with the result of the last add; SCC is the carry of this add */
	uint64_t at;      /* if has_sum: the first operand of the add is the low half of this address */
	uint32_t literal; /* if has_sum: the second operand of the add */
};

struct trace {
	struct hip_steps *steps;
	uint64_t address;
	const struct hip_elf *elf;
	uint32_t *number; /* [offset / 4] index + 1 of the step that begins at this offset; 0: none */
	struct state *at; /* known values at each branch target; a step's entry is at[order[step] - 1] */
	/* [step] number of the branch target, counted from 1; 0: the step is not a target */
	uint32_t *order;
	uint32_t *pending, npending; /* stack of the steps from which the analysis has to continue */
};

static bool has_prefix(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

static int step_kind(const char *name)
{
	static const struct {
		const char *name;
		int what;
	} known[] = {
		{ "s_getpc_b64", HIP_STEP_PC },
		{ "s_add_u32", HIP_STEP_ADD },
		{ "s_add_co_u32", HIP_STEP_ADD },
		{ "s_addc_u32", HIP_STEP_ADD_CARRY },
		{ "s_add_co_ci_u32", HIP_STEP_ADD_CARRY },
		{ "s_sext_i32_i16", HIP_STEP_EXTEND },
		{ "s_mov_b32", HIP_STEP_MOVE },
		{ "s_mov_b64", HIP_STEP_MOVE },
		{ "s_load_dwordx2", HIP_STEP_LOAD },
		{ "s_load_b64", HIP_STEP_LOAD },
		{ "s_swappc_b64", HIP_STEP_CALL },
		{ "s_setpc_b64", HIP_STEP_CALL },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (!strcmp(name, known[i].name))
			return known[i].what;
	if (has_prefix(name, "buffer_"))
		return HIP_STEP_BUFFER;
	return has_prefix(name, "s_nop") || has_prefix(name, "s_wait") || has_prefix(name, "s_delay_alu") ?
		       HIP_STEP_WAIT :
		       HIP_STEP_OTHER;
}

static void read_register(const char *text, uint8_t *first, uint8_t *n)
{
	struct hip_reg reg;

	if (text && hip_reg_read(text + strspn(text, " "), &reg) && reg.file == 's' && reg.first + reg.n <= REGISTERS) {
		*first = reg.first;
		*n = reg.n;
	}
}

/* Parses a number in the notation of LLVM's disassembler; "null" is 0. Returns false if the text is not a number. */
static bool parse_number(const char *text, uint32_t *value)
{
	char *end;

	text += strspn(text, " ");
	*value = 0;
	if (!strcmp(text, "null"))
		return true;
	text += has_prefix(text, "lit(") ? 4 : 0;
	*value = strtoul(text, &end, 0);
	return end > text && strchr(",) ", *end);
}

static bool has_literal(int what)
{
	return what == HIP_STEP_ADD || what == HIP_STEP_ADD_CARRY || what == HIP_STEP_LOAD;
}

/* Returns true for the two instructions with which a kernel's prologue adds the wave's scratch offset to the descriptor
 * of private memory. The destination register still holds a word of the descriptor afterwards. */
static bool completes_descriptor(const char *name, const char *operands)
{
	unsigned to, from;
	int at = 0;

	return (!strcmp(name, "s_add_u32") && sscanf(operands, " s%3u, s%3u, s%n", &to, &from, &at) == 2 && at &&
		to == from) ||
	       (!strcmp(name, "s_addc_u32") && sscanf(operands, " s%3u, s%3u, 0%n", &to, &from, &at) == 2 && at &&
		to == from);
}

static void find_descriptor(const char *operands, struct hip_step *step)
{
	for (const char *at = operands; at && *at && step->nfrom != 4; at = strchr(at + 1, ','))
		read_register(at + (*at == ','), &step->from, &step->nfrom);
	step->nto = 0;
}

int hip_steps_add(struct hip_steps *steps, const char *name, const char *operands, uint32_t off, enum hip_flow flow,
		  uint32_t target)
{
	struct hip_step step = { .off = off, .target = target, .flow = flow, .what = step_kind(name), .callee = UINT64_MAX };
	const char *second = strchr(operands, ','), *third = second ? strchr(second + 1, ',') : NULL;
	bool vector = has_prefix(name, "v_");

	if (steps->n == steps->room) {
		uint32_t room = steps->room ? 2 * steps->room : 256;
		struct hip_step *grown = realloc(steps->list, room * sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		steps->list = grown;
		steps->room = room;
	}
	read_register(operands, &step.to, &step.nto);
	if (step.what == HIP_STEP_BUFFER)
		find_descriptor(operands, &step);
	if (completes_descriptor(name, operands))
		step.what = HIP_STEP_COMPLETE;
	if (has_prefix(name, "s_movreld"))
		step.nto = REGISTERS - step.to;
	if (vector && second)
		read_register(second + 1, &step.second_to, &step.nsecond_to);
	if (step.what == HIP_STEP_BUFFER) {
		step.second_to = 0;
	} else if (step.what == HIP_STEP_CALL && !second) {
		step.from = step.to; /* s_setpc_b64 writes nothing */
		step.nfrom = step.nto;
		step.nto = 0;
	} else if (second) {
		read_register(second + 1, &step.from, &step.nfrom);
	}
	if (has_literal(step.what) && (!third || !parse_number(third + 1, &step.literal)))
		step.what = HIP_STEP_OTHER;
	steps->list[steps->n++] = step;
	return 0;
}

static void clear_registers(struct state *s, uint32_t first, uint32_t n)
{
	memset(&s->reg[first], 0, n * sizeof(s->reg[0]));
}

static void set_address(struct state *s, uint32_t first, uint64_t at)
{
	s->reg[first] = (struct known){ LOW, at };
	s->reg[first + 1] = (struct known){ HIGH, at };
}

/* Returns the address in the two source registers of the step, or UINT64_MAX if it is unknown. */
static uint64_t get_address(const struct state *s, const struct hip_step *step)
{
	const struct known *low = &s->reg[step->from];

	return step->nfrom == 2 && low[0].half == LOW && low[1].half == HIGH && low[0].at == low[1].at ? low[0].at :
													 UINT64_MAX;
}

static bool descriptor_in(const struct state *s, const struct hip_step *step)
{
	for (uint32_t i = 0; i < 4; i++)
		if (step->nfrom != 4 || s->reg[step->from + i].half != DESCRIPTOR || s->reg[step->from + i].at != i)
			return false;
	return true;
}

/* Returns true if section i contains the address and never changes after loading: .got or .data.rel.ro. */
static bool is_fixed(const struct hip_elf *elf, uint32_t i, uint64_t address)
{
	const uint8_t *bytes;
	const char *name;
	Elf64_Shdr head;

	if (!hip_elf_section(elf, i, &head, &bytes) || address < head.sh_addr || address - head.sh_addr >= head.sh_size)
		return false;
	name = hip_elf_string(elf, elf->head.e_shstrndx, head.sh_name);
	return head.sh_flags & SHF_ALLOC && (!strcmp(name, ".got") || !strcmp(name, ".data.rel.ro"));
}

/* Returns the address (virtual, in the file) that a relocation of this section stores into the 8 bytes at `address`, or
 * UINT64_MAX. */
static uint64_t find_relocated_address(const struct hip_elf *elf, const uint8_t *bytes, uint64_t size, uint64_t address)
{
	struct hip_symbols symbols = hip_elf_symbols(elf, SHT_DYNSYM);
	Elf64_Sym symbol;
	Elf64_Rela rela;
	const char *name;

	for (uint64_t at = 0; at + sizeof(rela) <= size; at += sizeof(rela)) {
		memcpy(&rela, bytes + at, sizeof(rela));
		if (rela.r_offset != address)
			continue;
		if (ELF64_R_TYPE(rela.r_info) == HIP_R_RELATIVE64)
			return rela.r_addend;
		if (ELF64_R_TYPE(rela.r_info) == HIP_R_ABS64 &&
		    hip_elf_symbol(&symbols, ELF64_R_SYM(rela.r_info), &symbol, &name) && symbol.st_shndx)
			return symbol.st_value + rela.r_addend;
	}
	return UINT64_MAX;
}

/* Returns the address (virtual, in the file) that the loader stores into the 8 bytes at `address`, or UINT64_MAX. */
static uint64_t find_loaded_address(const struct trace *t, uint64_t address)
{
	uint64_t value = UINT64_MAX;
	const uint8_t *bytes;
	bool fixed = false;
	Elf64_Shdr head;

	for (uint32_t i = 0; t->elf && hip_elf_section(t->elf, i, &head, &bytes); i++) {
		fixed |= is_fixed(t->elf, i, address);
		if (bytes && head.sh_type == SHT_RELA && value == UINT64_MAX)
			value = find_relocated_address(t->elf, bytes, head.sh_size, address);
	}
	return fixed ? value : UINT64_MAX;
}

static void add_carry(struct state *s, const struct hip_step *step, const struct known *from, const struct state *before)
{
	uint64_t distance = (uint64_t)step->literal << 32 | before->literal;

	if (before->has_sum && from->half == HIGH && from->at == before->at && step->to == before->sum + 1)
		set_address(s, before->sum, (before->at + distance) & (UINT64_MAX >> 2));
}

/* Returns true if the sign extension leaves the register unchanged. The register holds the upper half of an address,
 * and addresses have 48 bits. */
static bool is_noop_extension(const struct hip_step *step, const struct state *s)
{
	return step->what == HIP_STEP_EXTEND && step->nto == 1 && step->nfrom == 1 && step->to == step->from &&
	       s->reg[step->to].half == HIGH;
}

static void apply_step(const struct trace *t, struct hip_step *step, struct state *s)
{
	const struct state before = *s;
	uint64_t at;

	if (step->what == HIP_STEP_CALL)
		step->callee = get_address(s, step);
	if (step->what == HIP_STEP_BUFFER)
		step->is_private = descriptor_in(s, step);
	if (step->what == HIP_STEP_WAIT || step->what == HIP_STEP_BUFFER || is_noop_extension(step, s))
		return;
	if (step->what == HIP_STEP_COMPLETE) {
		s->has_sum = false;
		if (s->reg[step->to].half != DESCRIPTOR)
			clear_registers(s, step->to, step->nto);
		return;
	}
	s->has_sum = false;
	clear_registers(s, step->to, step->nto);
	clear_registers(s, step->second_to, step->nsecond_to);
	if (step->what == HIP_STEP_PC && step->nto == 2) {
		set_address(s, step->to, t->address + step->off + 4);
	} else if (step->what == HIP_STEP_ADD && step->nto == 1 && step->nfrom == 1 && before.reg[step->from].half == LOW) {
		s->has_sum = true;
		s->sum = step->to;
		s->at = before.reg[step->from].at;
		s->literal = step->literal;
	} else if (step->what == HIP_STEP_ADD_CARRY && step->nto == 1 && step->nfrom == 1) {
		add_carry(s, step, &before.reg[step->from], &before);
	} else if (step->what == HIP_STEP_MOVE && step->nfrom == step->nto) {
		memcpy(&s->reg[step->to], &before.reg[step->from], step->nto * sizeof(s->reg[0]));
	} else if (step->what == HIP_STEP_LOAD && step->nto == 2 && (at = get_address(&before, step)) != UINT64_MAX &&
		   (at = find_loaded_address(t, at + step->literal)) != UINT64_MAX) {
		set_address(s, step->to, at);
	}
}

/* Merges the state at the end of a path into the state at a branch target. Registers whose values differ become
 * unknown. */
static void merge_state(struct trace *t, uint32_t step, const struct state *s)
{
	struct state *at = &t->at[t->order[step] - 1];
	bool changed = !at->visited;

	if (!at->visited)
		*at = *s;
	for (uint32_t i = 0; i < REGISTERS; i++)
		if (at->reg[i].half && (at->reg[i].half != s->reg[i].half || at->reg[i].at != s->reg[i].at)) {
			at->reg[i] = (struct known){ 0 };
			changed = true;
		}
	at->visited = true;
	at->has_sum = false;
	if (changed)
		t->pending[t->npending++] = step;
}

/* Applies the steps from `step` to the end of its basic block. */
static void walk_block(struct trace *t, uint32_t step)
{
	struct state s = t->at[t->order[step] - 1];

	for (uint32_t i = step; i < t->steps->n; i++) {
		struct hip_step *at = &t->steps->list[i];

		if (i > step && t->order[i]) {
			merge_state(t, i, &s);
			return;
		}
		apply_step(t, at, &s);
		if (at->flow == HIP_BRANCHES || at->flow == HIP_MAY_BRANCH)
			merge_state(t, t->number[at->target / 4] - 1, &s);
		if (at->flow == HIP_ENDS || at->flow == HIP_BRANCHES)
			return;
	}
}

static int by_offset(const void *a, const void *b)
{
	const struct hip_step *x = a, *y = b;

	return (x->off > y->off) - (x->off < y->off);
}

/* Sets `number` and `order` for all steps. Returns the number of branch targets. */
static uint32_t number_steps(struct trace *t, uint32_t start)
{
	struct hip_step *list = t->steps->list;
	uint32_t n = 0;

	for (uint32_t i = 0; i < t->steps->n; i++)
		t->number[list[i].off / 4] = i + 1;
	t->order[t->number[start / 4] - 1] = ++n;
	for (uint32_t i = 0; i < t->steps->n; i++)
		if (list[i].flow == HIP_BRANCHES || list[i].flow == HIP_MAY_BRANCH) {
			uint32_t *order = &t->order[t->number[list[i].target / 4] - 1];

			if (!*order)
				*order = ++n;
		}
	return n;
}

static int run_analysis(struct trace *t, uint32_t start, int descriptor)
{
	uint32_t n = number_steps(t, start);
	struct state first = { 0 };

	if (n * sizeof(*t->at) > MAX_STATE_BYTES)
		return 0; /* all values stay unknown */
	t->at = calloc(n, sizeof(*t->at));
	t->pending = malloc((uint64_t)n * (REGISTERS + 1) * sizeof(*t->pending));
	if (!t->at || !t->pending)
		return -ENOMEM;
	for (uint32_t i = 0; descriptor >= 0 && i < 4; i++)
		first.reg[descriptor + i] = (struct known){ DESCRIPTOR, i };
	merge_state(t, t->number[start / 4] - 1, &first);
	while (t->npending)
		walk_block(t, t->pending[--t->npending]);
	return 0;
}

int hip_steps_follow(struct hip_steps *steps, uint32_t start, uint64_t address, int descriptor, const struct hip_elf *elf)
{
	struct trace t = { .steps = steps, .address = address, .elf = elf };
	int err = -ENOMEM;

	qsort(steps->list, steps->n, sizeof(*steps->list), by_offset);
	t.number = calloc(steps->list[steps->n - 1].off / 4 + 1, sizeof(*t.number));
	t.order = calloc(steps->n, sizeof(*t.order));
	if (t.number && t.order)
		err = run_analysis(&t, start, descriptor);
	free(t.number);
	free(t.order);
	free(t.at);
	free(t.pending);
	return err;
}
