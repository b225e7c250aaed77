/* SPDX-License-Identifier: Apache-2.0 */
/* Pass: checks that .nv.info.<kernel> of the twin lists the offset of each EXIT once, in code order. Tools that stop
 * threads at exits rely on this list. */
#include "work.h"

#include <string.h>

static bool next_exit(const struct checked *c, uint32_t *i)
{
	while (*i < c->ninsns && sass_opcode(insn_at(c, *i)) != SASS_OP_EXIT)
		++*i;
	return *i < c->ninsns;
}

static int check_exits(struct checked *c, const struct sass_item *item)
{
	uint32_t i = 0;

	for (uint32_t k = 0; item->data && k + 4 <= item->size; k += 4, i++)
		if (!next_exit(c, &i) || sass_get32(item->data + k) != i * SASS_INSN)
			return sass_check_fail(c, i, "its list of exits does not match its EXIT instructions");
	return item->data && item->size % 4 == 0 && !next_exit(c, &i) ?
		       0 :
		       sass_check_fail(c, i, "its list of exits is incomplete");
}

/* Finds the item with the list of exits in .nv.info.<kernel>. False: the section has no list. */
static bool find_exits(const struct sass_section *info, struct sass_item *item)
{
	size_t at = 0;

	while (sass_item_next(info->data, info->size, &at, item))
		if (item->attr == SASS_ATTR_EXIT_OFFSETS)
			return true;
	return false;
}

int sass_check_exit_list(struct checked *c)
{
	struct sass_item was, is;

	if (!find_exits(&c->app->sections[c->info], &was))
		return 0;
	if (!find_exits(&c->twin.sections[c->twin.kernels[0].info], &is))
		return sass_check_fail_whole(c, "it has no list of exits");
	return check_exits(c, &is);
}
