/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reports the walk line by line (`gpubpf prog verify -v`). The trace shows each instruction with its changes, and the
 * known state at the start of a path. It also shows where a path ends because an earlier state covers its state. The
 * trace is similar to the Linux kernel's log of level 2 (Documentation/bpf/verifier.rst, "Understanding eBPF verifier
 * messages").
 */
#include "verify.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct trace {
	struct reg regs[GPUBPF_NREGS]; /* registers before the instruction */
	const struct state *state;     /* the path's state */
	uint32_t nframes, pc;
	const struct gpubpf_line *line;
};

int trace_init(struct verifier *v)
{
	if (!v->opts.trace)
		return 0;
	v->trace = calloc(1, sizeof(*v->trace));
	return v->trace ? 0 : -1;
}

static void emit_line(struct verifier *v, const char *text)
{
	v->opts.trace(v->opts.trace_arg, text);
}

static size_t add(char *text, size_t used, size_t size, const char *name, const char *value)
{
	int n = snprintf(text + used, size - used, " %s=%s", name, value);

	return n < 0 || used + (size_t)n >= size ? size - 1 : used + (size_t)n;
}

static bool reg_differs(const struct reg *a, const struct reg *b)
{
	return a->type != b->type || a->or_null != b->or_null || a->map != b->map || a->frame != b->frame ||
	       (a->type != R_SCALAR && a->off != b->off) || !scalar_equal(&a->s, &b->s);
}

static bool writes_reg(const struct gpubpf_insn *insn, int r)
{
	return insn->dst == r && (insn->kind == GPUBPF_INSN_ALU || insn->kind == GPUBPF_INSN_LOAD);
}

/*
 * Appends the registers of the current frame to the text. With an instruction, appends only the registers that the
 * instruction wrote or changed.
 */
static size_t add_regs(struct verifier *v, char *text, size_t used, size_t size, const struct gpubpf_insn *insn)
{
	const struct reg *regs = cur_regs(v);
	char name[8], value[256];

	for (int r = 0; r < GPUBPF_R10; r++) {
		if (insn ? !writes_reg(insn, r) && !reg_differs(&regs[r], &v->trace->regs[r]) : regs[r].type == R_UNINIT)
			continue;
		snprintf(name, sizeof(name), "r%d", r);
		reg_format(v, &regs[r], value, sizeof(value));
		used = add(text, used, size, name, value);
	}
	return used;
}

/* Appends the content of the stack slot to which the instruction stored. */
static void add_slot(struct verifier *v, char *text, size_t used, size_t size, const struct gpubpf_insn *insn)
{
	const struct reg *p = &v->trace->regs[insn->dst];
	char name[16], value[256] = "";
	const struct stack_slot *s;
	int64_t lo, hi;

	if (p->type != R_STACK || ptr_offset(p, insn->off, &lo, &hi) < 0 || lo != hi || lo >= 0)
		return;
	s = slot_of(v->cur->frame[p->frame], (int)lo);
	if (!s)
		return;
	snprintf(name, sizeof(name), "fp%d", (int)(lo & ~7ll));
	if (s->kind[0] == B_SPILL && s->kind[7] == B_SPILL)
		reg_format(v, &s->reg, value, sizeof(value));
	for (int k = 0; k < 8 && !value[k] && s->kind[7] != B_SPILL; k++) {
		value[k] = "?m0rr"[s->kind[k]];
		value[k + 1] = 0;
	}
	add(text, used, size, name, value);
}

static void emit_state(struct verifier *v, const char *what, uint32_t pc)
{
	char text[2048];
	size_t used = (size_t)snprintf(text, sizeof(text), "%5u: %s, frame %u:", pc, what, v->cur->nframes - 1);

	add_regs(v, text, used, sizeof(text), NULL);
	emit_line(v, text);
}

void trace_path(struct verifier *v, uint32_t from)
{
	char what[48];

	if (!v->trace)
		return;
	snprintf(what, sizeof(what), "the other side of the branch at %u", from);
	emit_state(v, what, v->pc);
	v->trace->line = NULL;
}

void trace_covered(struct verifier *v)
{
	if (v->trace)
		emit_state(v, "covered by an earlier state", v->pc);
}

static bool same_line(const struct gpubpf_line *a, const struct gpubpf_line *b)
{
	return a && b && a->line == b->line && a->file && b->file && !strcmp(a->file, b->file);
}

/* Reports the source line, and records the state before the instruction at v->pc. */
void trace_before(struct verifier *v)
{
	const struct gpubpf_line *line;
	char text[512];

	if (!v->trace)
		return;
	line = gpubpf_prog_line(v->prog, v->pc);
	if (line && !same_line(line, v->trace->line)) {
		snprintf(text, sizeof(text), "; %s:%u %s", line->file ? line->file : "", line->line,
			 line->text ? line->text : "");
		emit_line(v, text);
	}
	v->trace->line = line ? line : v->trace->line;
	v->trace->pc = v->pc;
	v->trace->state = v->cur;
	v->trace->nframes = v->cur->nframes;
	memcpy(v->trace->regs, cur_regs(v), sizeof(v->trace->regs));
}

/* Reports the instruction's changes. If a call or return changed the frame, reports the complete frame. */
void trace_after(struct verifier *v, bool ended)
{
	struct trace *t = v->trace;
	const struct gpubpf_insn *insn;
	char text[2048], code[128];
	size_t used;

	if (!t)
		return;
	insn = &v->insns[t->pc];
	gpubpf_insn_format(insn, t->pc, code, sizeof(code));
	used = (size_t)snprintf(text, sizeof(text), "%5u: %-36s ;", t->pc, code);
	if (v->cur->nframes == t->nframes)
		used = add_regs(v, text, used, sizeof(text), insn);
	if (v->cur->nframes == t->nframes && (insn->kind == GPUBPF_INSN_STORE || insn->kind == GPUBPF_INSN_ATOMIC))
		add_slot(v, text, used, sizeof(text), insn);
	if (insn->kind == GPUBPF_INSN_JCOND && v->pc != t->pc + 1)
		add(text, used, sizeof(text), "goes to", (snprintf(code, sizeof(code), "%u", v->pc), code));
	emit_line(v, text);
	if (ended)
		emit_line(v, "the path ends");
	else if (v->cur->nframes != t->nframes)
		emit_state(v, v->cur->nframes > t->nframes ? "enters" : "returns to", v->pc);
}
