/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of helpers, map operations and map types must agree with each other. */
#include <string.h>

#include "core/model/prog.h"
#include "maps/impl.h"
#include "tests/tap.h"

static void test_type(const struct gpubpf_map_type *type)
{
	uint32_t known = 0;

	for (uint32_t op = 0; op < GPUBPF_OPS; op++)
		if (type->ops & GPUBPF_OP_BIT(op))
			known += gpubpf_op_row(op)->function[0] != 0;
	ok(gpubpf_map_type_complete(type), "%s has what its kind, %s, must have", type->name, type->impl->name);
	ok(known && gpubpf_map_type_find(type->number) == type, "%s: %u operations on devices, and a number of its own",
	   type->name, known);
}

static void test_incomplete(void)
{
	struct gpubpf_map_impl impl = *gpubpf_map_type_find(1)->impl;
	struct gpubpf_map_type type = *gpubpf_map_type_find(1);

	type.impl = &impl;
	ok(gpubpf_map_type_complete(&type), "a copy of HASH is complete");
	impl.op[GPUBPF_OP_DELETE] = NULL;
	ok(!gpubpf_map_type_complete(&type), "and is not without deleting");
	impl = *gpubpf_map_type_find(1)->impl;
	impl.size = NULL;
	ok(!gpubpf_map_type_complete(&type), "nor without a size");
}

/*
 * Check a helper: it takes at most one map, some map type has its operation, and the operation has a function if the
 * helper runs on devices.
 */
static void test_helper(const struct gpubpf_helper *helper)
{
	bool on_map = gpubpf_helper_map_arg(helper) != 0, found = !on_map || helper->class == GPUBPF_CLASS_KERNEL;
	const struct gpubpf_map_type *type;

	for (size_t i = 0; (type = gpubpf_map_type_at(i)); i++)
		found |= type->ops & GPUBPF_OP_BIT(helper->op);
	if (helper->class == GPUBPF_CLASS_MAP || (helper->class == GPUBPF_CLASS_LOOP && on_map))
		found &= gpubpf_op_row(helper->op)->function[0] != 0;
	else
		found &= !on_map || helper->class == GPUBPF_CLASS_KERNEL || helper->class == GPUBPF_CLASS_TAIL;
	ok(found && gpubpf_helper_find(helper->id) == helper, "helper %u, %s", helper->id, helper->name);
}

static void test_list(void)
{
	char list[160], few[12];

	gpubpf_helper_list(list, sizeof(list));
	ok(!strncmp(list, "1 to 8, 12, 14, 25, 27, 45, ", 24) && strstr(list, "501 to 512, 520"), "all that run: %s", list);
	gpubpf_helper_list(few, sizeof(few));
	ok(!strcmp(few, "1 to 8, 12,"), "and as many as there is room for");
}

int main(void)
{
	const struct gpubpf_helper *helper;
	const struct gpubpf_map_type *type;

	for (size_t i = 0; (type = gpubpf_map_type_at(i)); i++)
		test_type(type);
	test_incomplete();
	for (size_t i = 0; (helper = gpubpf_helper_at(i)); i++)
		test_helper(helper);
	test_list();
	return done();
}
