/* SPDX-License-Identifier: Apache-2.0 */
/* Compares the fields of a launch with the condition of a gate. */
#include "count.h"
#include "gate.h"

#include "core/wire/match.h"

static uint64_t blocks(const struct gpubpf_hook_launch *l, uint32_t i)
{
	return l->block[i] ? (l->grid[i] + l->block[i] - 1) / l->block[i] : 0;
}

static uint64_t size_of(const struct gpubpf_hook_launch *l, uint32_t field, uint32_t i)
{
	return field == GPUBPF_GATE_THREADS ? l->grid[i] : field == GPUBPF_GATE_BLOCK ? l->block[i] : blocks(l, i);
}

static uint64_t size_field(const struct gpubpf_hook_launch *l, const struct gpubpf_gate_term *t)
{
	uint64_t n = 1;

	if (t->index)
		return size_of(l, t->field, (t->index - 1) % 3);
	for (uint32_t i = 0; i < 3; i++)
		n *= size_of(l, t->field, i);
	return n;
}

static bool argument_field(const struct gpubpf_hook_launch *l, uint32_t index, uint64_t *value)
{
	const struct gpubpf_hook_ops *ops = l->kernel->program->ops;

	if (ops->argument && !ops->argument(l, index, value))
		return true;
	gpubpf_log_once("kernel %s: a condition of session set is never true, because the %s runtime does not report "
			"arg%u; use another field",
			l->kernel->name, ops->backend, index);
	return false;
}

static bool number_field(const struct gpubpf_hook_launch *l, const struct gpubpf_gate_term *t, uint64_t *value)
{
	switch (t->field) {
	case GPUBPF_GATE_LAUNCH:
		*value = l->number;
		return true;
	case GPUBPF_GATE_PID:
		*value = gpubpf_launch_pid_tgid() >> 32;
		return true;
	case GPUBPF_GATE_TID:
		*value = gpubpf_launch_pid_tgid() & UINT32_MAX;
		return true;
	case GPUBPF_GATE_ARGUMENT:
		return argument_field(l, t->index, value);
	default:
		*value = size_field(l, t);
		return true;
	}
}

static bool compare(uint64_t a, uint32_t how, uint64_t b)
{
	const bool results[GPUBPF_GATE_COMPARES] = {
		[GPUBPF_GATE_EQ] = a == b,
		[GPUBPF_GATE_NE] = a != b,
		[GPUBPF_GATE_LT] = a<b, [GPUBPF_GATE_LE] = a <= b, [GPUBPF_GATE_GT] = a> b,
		[GPUBPF_GATE_GE] = a >= b,
	};

	return how < GPUBPF_GATE_COMPARES && results[how];
}

static bool is_true(const struct gpubpf_gate_term *t, const struct gpubpf_hook_launch *l)
{
	uint64_t value;

	if (t->field == GPUBPF_GATE_KERNEL)
		return gpubpf_pattern_matches(t->name, l->kernel->full_name) == (t->compare == GPUBPF_GATE_EQ);
	return number_field(l, t, &value) && compare(value, t->compare, t->value);
}

bool gpubpf_gate_matches(const struct gpubpf_gate_term *terms, uint32_t n, const struct gpubpf_hook_launch *l)
{
	bool group = true;

	for (uint32_t i = 0; i < n && i < GPUBPF_GATE_TERMS; i++) {
		struct gpubpf_gate_term term = terms[i];

		term.name[sizeof(term.name) - 1] = 0;
		if (i && term.begins) {
			if (group)
				return true;
			group = true;
		}
		group = group && is_true(&term, l);
	}
	return group;
}
