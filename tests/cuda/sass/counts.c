/* SPDX-License-Identifier: Apache-2.0 */
/*
 * counts EVERY FILE ARCH OBJECT: twins of FILE's kernels with OBJECT's program where blocks end, made by EVERY (sass-every), are
 * counted in by the checker as they are, and not with what counts a block's lanes made otherwise: the word, the meeting, who goes
 * on, who comes to it, and what the twin says of both. As TAP.
 */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backends/cuda/sass/check.h"
#include "backends/cuda/sass/count.h"
#include "core/diag.h"
#include "core/wire/name.h"
#include "tests/cuda/case.h"
#include "tests/tap.h"

struct twin {
	struct sass_cubin app, made;
	const struct sass_kernel *kernel;
	struct sass_code code;
	uint8_t *bytes, *text;
	size_t size;
	uint32_t n, first;         /* instructions; the first that was added */
};

static bool passes(const struct twin *t, bool counts)
{
	const struct sass_has has = { .entry = true, .exit = true, .counts = counts };
	const struct sass_twin twin = { .cubin = { t->bytes, t->size } };
	const struct sass_arounds none = { 0 };
	struct gpubpf_diag diag;

	gpubpf_diag_init(&diag);
	return !sass_check(&t->app, t->kernel, &t->code, &twin, &has, &none, &diag);
}

static struct sass_insn get(const struct twin *t, uint32_t i)
{
	return sass_read(t->text + (size_t)i * SASS_INSN);
}

static bool passes_with(const struct twin *t, uint32_t i, struct sass_insn insn)
{
	struct sass_insn was = get(t, i);
	bool passed;

	memcpy(t->text + (size_t)i * SASS_INSN, &insn, sizeof(insn));
	passed = passes(t, true);
	memcpy(t->text + (size_t)i * SASS_INSN, &was, sizeof(was));
	return passed;
}

static uint32_t find(const struct twin *t, uint32_t from, uint32_t opcode)
{
	while (from < t->n && sass_opcode(get(t, from)) != opcode)
		from++;
	return from;
}

/* What counts where lanes leave, of which there are two where a whole warp has code of its own. */
static void change_end(const struct twin *t, uint32_t adds)
{
	struct sass_insn add = get(t, adds), end = get(t, adds + 2);

	ok(!passes_with(t, adds, sass_with(add, 40, 24, 0)), "a word that the kernel has is none to count in");
	ok(!passes_with(t, adds, sass_with(add, 12, 4, 0)), "nor do some lanes alone count");
	ok(!passes_with(t, adds, sass_with(add, 24, 8, sass_field(add, 16, 8))), "nor at another address");
	ok(!passes_with(t, adds, sass_nop(0, 5)), "nor nobody");
	ok(sass_opcode(end) == SASS_OP_EXIT && !passes_with(t, adds + 2, sass_nop(0, 5)), "all but the last end");
	ok(!passes_with(t, adds + 2, sass_with(end, 15, 1, 1)), "and the last does not");
	ok(!passes_with(t, t->first, sass_end_if(SASS_PT)), "nobody ends who was not counted");
	ok(!passes_with(t, t->first, sass_bra(t->code.arch, ((int64_t)adds - t->first) * SASS_INSN)), "or goes past some of it");
}

static void change_begin(const struct twin *t)
{
	uint32_t puts = find(t, t->first, SASS_OP_STS), meets = find(t, puts, SASS_OP_BAR);
	struct sass_insn put = get(t, puts), meet = get(t, meets);

	if (!ok(meets == puts + 1, "lanes meet behind the word's first value"))
		return;
	ok(!passes_with(t, puts, sass_with(put, 40, 24, 0)), "which is not where the kernel has some");
	ok(!passes_with(t, puts, sass_with(put, 32, 8, SASS_RZ)), "nor of another number");
	ok(!passes_with(t, meets, sass_nop(0, 5)), "they do meet");
	ok(!passes_with(t, meets, sass_with(meet, 54, 4, 1)), "at no other barrier,");
	ok(!passes_with(t, meets, sass_with(meet, 12, 4, 0)), "all of them,");
	ok(!passes_with(t, meets, sass_with(meet, 77, 2, 1)), "and wait");
	ok(!passes_with(t, meets + 3, put) && !passes_with(t, meets + 3, meet), "once");
}

static void change_said(struct twin *t)
{
	uint32_t section = sass_section_of(&t->made, ".nv.shared.", t->made.kernels[0].text);
	Elf64_Shdr *heads = (Elf64_Shdr *)(t->bytes + t->made.head.e_shoff);
	const struct sass_section *info = &t->made.sections[t->made.kernels[0].info];
	struct sass_item item = { 0 };
	size_t at = 0, before = 0;
	uint8_t *attr;

	if (!ok(section, "the twin has shared memory"))
		return;
	heads[section].sh_size -= SASS_COUNT_BYTES;
	ok(!passes(t, true), "not of the kernel's");
	heads[section].sh_size += SASS_COUNT_BYTES;
	while (sass_item_next(info->data, info->size, &at, &item) && item.attr != SASS_ATTR_NUM_BARRIERS)
		before = at;
	attr = (uint8_t *)info->data + before + 1;
	if (!ok(item.attr == SASS_ATTR_NUM_BARRIERS, "it says of a barrier"))
		return;
	*attr = 0x46;
	ok(!passes(t, true), "which it has to");
	*attr = SASS_ATTR_NUM_BARRIERS;
	ok(!passes(t, false), "where nobody is to be counted, nobody is");
	ok(passes(t, true), "as it was it passes");
}

static const char *open_twin(struct twin *t, const char *file, char *app, size_t size)
{
	static struct gpubpf_diag diag;

	*t = (struct twin){ 0 };
	t->bytes = (uint8_t *)read_file(file, &t->size);
	gpubpf_diag_init(&diag);
	if (sass_cubin_open(app, size, &t->app, &diag) < 0 || sass_cubin_open(t->bytes, t->size, &t->made, &diag) < 0)
		return diag.what;
	t->kernel = sass_kernel_find(&t->app, t->made.symbols[t->made.kernels[0].symbol].name + strlen(GPUBPF_TWIN_PREFIX));
	if (!t->kernel || sass_code_read(&t->app, t->kernel, &t->code, &diag) < 0)
		return t->kernel ? diag.what : "of no kernel that is there";
	t->text = (uint8_t *)t->made.sections[t->made.kernels[0].text].data;
	t->n = t->made.sections[t->made.kernels[0].text].size / SASS_INSN;
	t->first = t->code.tail != SASS_NONE ? t->code.tail : (t->code.n + 7) / 8 * 8;
	return NULL;
}

static void try_twin(const char *file, char *app, size_t size)
{
	const char *why;
	struct twin t;

	why = open_twin(&t, file, app, size);
	if (!ok(!why, "%s is a twin of one of its kernels", base_name(file))) {
		note("%s", why);
		return;
	}
	ok(passes(&t, true), "%s passes", t.app.symbols[t.kernel->symbol].name);
	change_begin(&t);
	change_said(&t);
	for (uint32_t adds = find(&t, t.first, SASS_OP_ATOMS); adds < t.n; adds = find(&t, adds + 1, SASS_OP_ATOMS))
		change_end(&t, adds);
	sass_code_finish(&t.code);
	sass_cubin_finish(&t.made);
	sass_cubin_finish(&t.app);
	free(t.bytes);
}

int main(int argc, char **argv)
{
	char folder[] = "/tmp/gpubpf-counts-XXXXXX", command[4096], path[300];
	struct dirent *entry;
	size_t size;
	char *app;
	DIR *dir;
	int status;

	if (argc != 5 || !mkdtemp(folder))
		return 2;
	snprintf(command, sizeof(command), "'%s' '%s' %s '%s' 1 '%s' >&2", argv[1], argv[2], argv[3], argv[4], folder);
	status = system(command);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		skip(argv[3], "no libnvJitLink.so here");
	else
		ok(!status, "twins are made");
	app = read_file(argv[2], &size);
	dir = opendir(folder);
	while (dir && app && (entry = readdir(dir))) {
		snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
		if (entry->d_name[0] != '.' && strncmp(entry->d_name, "probes", 6))
			try_twin(path, app, size);
		if (entry->d_name[0] != '.')
			unlink(path);
	}
	if (dir)
		closedir(dir);
	rmdir(folder);
	free(app);
	ran("sass", "block_end");
	return done();
}
