/* SPDX-License-Identifier: Apache-2.0 */
#include "twin_work.h"

#include <errno.h>
#include <stdlib.h>

static void set_data(struct writer *w, uint32_t section, const void *data, size_t size)
{
	w->sections[section].data = data;
	w->sections[section].head.sh_size = size;
}

static int make_contents(struct writer *w, uint32_t bank)
{
	uint32_t graph = sass_section_find(w->app, ".nv.callgraph");
	size_t info = 0, general = 0, calls = 0, names = 1;
	int err = sass_twin_make_symbols(w, bank);

	if (!err)
		err = sass_twin_general(w, &general);
	if (!err)
		err = sass_twin_info(w, &info);
	if (!err)
		err = sass_twin_calls(w, graph, &calls);
	if (err < 0)
		return err;
	if (graph)
		set_data(w, w->section[graph], w->calls, calls);
	set_data(w, w->section[w->kernel->info], w->info, info);
	set_data(w, w->section[sass_section_find(w->app, ".nv.info")], w->general, general);
	set_data(w, w->section[w->kernel->text], w->words, w->patched->n * SASS_INSN);
	set_data(w, SECTION_SYMBOLS, w->symbols, w->nsymbols * sizeof(*w->symbols));
	set_data(w, SECTION_STRINGS, w->strings, w->strings_size);
	for (uint32_t i = 1; i < w->nsections; i++)
		names += strlen(w->sections[i].name) + 1;
	w->names = calloc(1, names);
	if (!w->names)
		return -ENOMEM;
	w->names_size = 1;
	for (uint32_t i = 1; i < w->nsections; i++)
		w->sections[i].head.sh_name = sass_twin_add_string(w->names, &w->names_size, w->sections[i].name);
	set_data(w, SECTION_NAMES, w->names, w->names_size);
	sass_twin_fix_heads(w);
	return 0;
}

/* Adds the file offset of the section to each binding. sass_twin_write_file() must have laid out the file. */
static void finish_bindings(struct writer *w)
{
	for (uint32_t i = 0; i < w->twin->nbindings; i++) {
		struct sass_binding *b = &w->twin->bindings[i];

		b->off += w->sections[w->section[b->section]].head.sh_offset;
	}
}

static int check(struct writer *w)
{
	uint32_t constants = sass_section_of(w->app, ".nv.constant2.", w->kernel->text);

	if (w->app->nsections + 8 > SHN_LORESERVE)
		return refuse(w, "its image has too many sections");
	if (!sass_section_find(w->app, ".nv.info"))
		return refuse(w, "the image does not state the number of registers of the kernel");
	if (constants && sass_relocations_of(w->app, constants))
		return refuse(w, "its constants have relocations, which twins do not support");
	return 0;
}

static int make(struct writer *w)
{
	uint32_t bank = sass_section_find(w->probes, ".nv.constant3");
	int err = check(w);

	if (!err)
		err = sass_twin_check_attrs(w->app, w->kernel, w->diag);
	if (!err)
		err = sass_texts_find(w->app, w->kernel, &w->texts, w->diag);
	if (!err)
		err = sass_twin_find_copied(w);
	if (!err)
		err = sass_twin_choose_sections(w, bank);
	if (!err)
		err = make_contents(w, bank);
	if (!err)
		err = sass_twin_write_file(w);
	if (!err)
		finish_bindings(w);
	return err;
}

int sass_twin_write(const struct sass_cubin *app, const struct sass_kernel *kernel, const struct sass_code *code,
		    const struct sass_cubin *probes, const struct sass_patched_code *patched, struct sass_twin *twin,
		    struct gpubpf_diag *diag)
{
	struct writer w = {
		.app = app, .probes = probes, .kernel = kernel, .code = code, .patched = patched, .diag = diag, .twin = twin
	};
	int err = -ENOMEM;

	*twin = (struct sass_twin){ 0 };
	strcpy(w.twin_name, GPUBPF_TWIN_PREFIX);
	gpubpf_name_short(app->symbols[kernel->symbol].name, strlen(app->symbols[kernel->symbol].name),
			  w.twin_name + strlen(GPUBPF_TWIN_PREFIX));
	w.section = calloc(app->nsections, sizeof(*w.section));
	w.symbol = calloc(app->nsymbols + 1, sizeof(*w.symbol));
	w.is_selected = calloc(app->nsymbols + 1, sizeof(*w.is_selected));
	w.selected = malloc((app->nsymbols + 1) * sizeof(*w.selected));
	w.words = calloc(patched->n, sizeof(*w.words));
	for (uint32_t i = 0; w.words && i < patched->n; i++)
		w.words[i] = sass_encode(patched->insns[i]);
	if (w.section && w.symbol && w.is_selected && w.selected && w.words)
		err = make(&w);
	free(w.words);
	free(w.sections);
	free(w.section);
	free(w.symbol);
	free(w.is_selected);
	free(w.selected);
	free(w.copied);
	free(w.symbols);
	free(w.strings);
	free(w.names);
	free(w.info);
	free(w.general);
	free(w.calls);
	free(w.relocations);
	free(w.code_relocations);
	sass_texts_finish(&w.texts);
	free(w.addresses);
	while (w.nrenamed)
		free(w.renamed[--w.nrenamed]);
	if (err < 0)
		sass_twin_finish(twin);
	return err;
}

void sass_twin_finish(struct sass_twin *twin)
{
	free(twin->cubin.data);
	free(twin->bindings);
	*twin = (struct sass_twin){ 0 };
}
