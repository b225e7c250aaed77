/* SPDX-License-Identifier: Apache-2.0 */
/* Pass: checks that the relocations of the twin's code equal the kernel's, with the twin's code in place of the
 * kernel's. Also checks that the twin's copies of called functions are unchanged. */
#include "work.h"

#include <string.h>

#include "backends/cuda/sass/analysis/callees.h"

struct relocation_check {
	struct checked *c;
	const struct sass_cubin *app;
	const struct sass_kernel *kernel;
	uint32_t text; /* index of the section of the twin that is being checked */
	uint32_t n, expected;
	const struct sass_relocation *wanted;
	bool found;
};

/* Does the symbol `is` of the twin stand for the symbol `was` of the application: the kernel itself, the same driver
 * function, or the same section? */
static bool is_same_symbol(const struct relocation_check *f, const struct sass_symbol *is, const struct sass_symbol *was)
{
	if (was->section == f->kernel->text)
		return is->section == f->c->twin.kernels[0].text;
	if (!was->section || was->section == SASS_NONE)
		return is->section == was->section && !strcmp(is->name, was->name);
	return is->section && is->section != SASS_NONE &&
	       !strcmp(f->c->twin.sections[is->section].name, f->app->sections[was->section].name);
}

static int match_relocation(void *arg, const struct sass_relocation *r)
{
	struct relocation_check *f = arg;
	const struct sass_cubin *twin = &f->c->twin;
	const struct sass_symbol *s, *was = &f->app->symbols[f->wanted->symbol];

	if (r->symbol >= twin->nsymbols || r->off != f->wanted->off || r->type != f->wanted->type ||
	    r->addend != f->wanted->addend)
		return 0;
	s = &twin->symbols[r->symbol];
	f->found |= s->head.st_value == was->head.st_value && is_same_symbol(f, s, was);
	return 0;
}

static int count_relocation(void *arg, const struct sass_relocation *r)
{
	(void)r;
	((struct relocation_check *)arg)->n++;
	return 0;
}

/* Checks that the twin has the same relocation, unless it is for the address of a variable, which the agent fills
 * in. */
static int check_relocation(void *arg, const struct sass_relocation *r)
{
	struct relocation_check *f = arg;

	if (ELF64_ST_TYPE(f->app->symbols[r->symbol].head.st_info) == STT_OBJECT)
		return 0;
	f->wanted = r;
	f->found = false;
	f->expected++;
	sass_relocations_each(&f->c->twin, f->text, match_relocation, f);
	return f->found ? 0 : sass_check_fail(f->c, r->off / SASS_INSN, "a relocation does not refer to the twin's code");
}

static int check_text(struct checked *c, const struct sass_cubin *app, const struct sass_kernel *kernel, uint32_t section)
{
	bool own = section == kernel->text;
	uint32_t text = own ? c->twin.kernels[0].text : sass_section_find(&c->twin, app->sections[section].name);
	struct relocation_check f = { .c = c, .app = app, .kernel = kernel, .text = text };
	const struct sass_section *was = &app->sections[section], *is = &c->twin.sections[text];
	int err;

	if (!own && (!text || is->size != was->size || memcmp(is->data, was->data, was->size)))
		return sass_check_fail_whole(c, "a function that it calls was changed");
	err = sass_relocations_each(app, section, check_relocation, &f);
	sass_relocations_each(&c->twin, text, count_relocation, &f);
	return !err && f.n != f.expected ? sass_check_fail_whole(c, "it has relocations that the kernel does not have") :
					   err;
}

int sass_check_texts(struct checked *c, const struct sass_kernel *kernel)
{
	struct sass_texts texts;
	int err = sass_texts_find(c->app, kernel, &texts, c->diag);

	if (err < 0)
		return err;
	for (uint32_t i = 0; !err && i < texts.n; i++)
		err = check_text(c, c->app, kernel, texts.section[i]);
	sass_texts_finish(&texts);
	return err;
}
