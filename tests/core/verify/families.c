/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs families of test programs: files with many Linux kernel programs of type kprobe each, in the assembler of asm.h.
 * gpubpf's verifier must give the stated verdict. The running Linux kernel (BPF_F_STRICT_ALIGNMENT) must agree, if
 * bpf(2) is permitted and its verifier deduces as much as Linux 6.18.44. Lines of a file:
 *
 *   map NAME TYPE KEY VALUE MAX [FLAGS ["TEXT"]]   a map for all programs of the file; with TEXT it is read-only
 *   == accept|reject NAME                 starts a program
 *   @lookup MAP                           r0 is the value of key 0, or NULL; r10 - 8 holds the key
 *   @value MAP                            the same, but the program returns 0 if r0 is NULL
 *   @zero FROM TO                         writes zeros to r10 - FROM up to r10 - TO, 8 bytes each
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "asm.h"
#include "core/model/diag.h"
#include "core/model/facts.h"
#include "linux.h"
#include "tests/tap.h"

#define MAX_MAPS 8
#define LOG_SIZE (1 << 20)

struct family {
	char name[64];
	struct gpubpf_map maps[MAX_MAPS];
	char text[MAX_MAPS][64];  /* their initial content */
	uint32_t nmaps;
	struct linux_verifier kernel;
	int no_kernel;            /* 0, or -errno if the Linux kernel's verifier cannot be used */
	char program[128];        /* name of the current program, or "" */
	bool accept;
	struct assembly assembly;
	uint32_t nlabels;
	bool bad;
};

static char log_text[LOG_SIZE];

static bool ours(struct family *f, struct gpubpf_diag *diag)
{
	static const struct gpubpf_verify_opts opts = {
		.max_cost = UINT64_MAX, .any_ctx = true, .allow_kernel_helpers = true, .allow_ptr_leaks = true,
	};
	static struct gpubpf_insn insns[ASM_MAX];
	struct gpubpf_prog prog = { .name = "family", .insns = insns, .ninsns = f->assembly.n };
	struct gpubpf_unit unit = { .maps = f->maps, .nmaps = f->nmaps, .progs = &prog, .nprogs = 1 };
	int err;

	gpubpf_diag_init(diag);
	if (gpubpf_insn_decode(f->assembly.insns, f->assembly.n, insns, diag) < 0)
		return false;
	err = gpubpf_verify(&unit, &prog, &opts, diag);
	gpubpf_facts_destroy(prog.facts);
	return err == 0;
}

static void judge(struct family *f)
{
	struct gpubpf_diag diag;
	bool we;

	if (!f->program[0])
		return;
	if (f->bad || !asm_finish(&f->assembly)) {
		ok(false, "%s: %s is assembled", f->name, f->program);
		note("%s", f->assembly.error);
		return;
	}
	we = ours(f, &diag);
	if (!ok(we == f->accept, "%s: %s", f->name, f->program) && !we)
		note("%s: %s (at %u)", gpubpf_error_name(diag.code), diag.what, diag.pc);
	if (f->no_kernel)
		return;
	if (!ok((linux_judge(&f->kernel, f->assembly.insns, f->assembly.n, log_text, LOG_SIZE) == 0) == f->accept,
		"%s: %s, as the kernel", f->name, f->program))
		for (char *line = strtok(log_text, "\n"); line; line = strtok(NULL, "\n"))
			note("%s", line);
}

static bool add_map(struct family *f, const char *line)
{
	struct gpubpf_map *m = &f->maps[f->nmaps];
	const char *text = strchr(line, '"');
	uint32_t type;

	if (f->nmaps == MAX_MAPS || sscanf(line, "map %63s %u %u %u %u %u", m->name, &type, &m->key_size, &m->value_size,
					   &m->max_entries, &m->map_flags) < 5)
		return false;
	m->type = gpubpf_map_type_find(type);
	if (text && m->value_size <= sizeof(f->text[0])) {
		snprintf(f->text[f->nmaps], sizeof(f->text[0]), "%.*s", (int)strcspn(text + 1, "\""), text + 1);
		m->init = f->text[f->nmaps];
		m->rdonly = true;
	}
	f->nmaps++;
	return m->type != NULL;
}

static void begin(struct family *f, const char *line)
{
	char verdict[16];

	judge(f);
	memset(&f->assembly, 0, sizeof(f->assembly));
	f->assembly.maps = f->maps;
	f->assembly.nmaps = f->nmaps;
	f->bad = sscanf(line, "== %15s %127[^\n]", verdict, f->program) != 2;
	f->accept = !strcmp(verdict, "accept");
	if (!f->no_kernel && !linux_is_new())
		f->no_kernel = -EOPNOTSUPP;
	if (!f->no_kernel && f->kernel.nmaps < f->nmaps)
		f->no_kernel = linux_open(&f->kernel, f->maps, f->nmaps);
}

__attribute__((format(printf, 2, 3)))
static bool lines(struct family *f, const char *fmt, ...)
{
	char text[512];
	bool good = true;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	for (char *save, *line = strtok_r(text, "\n", &save); line && good; line = strtok_r(NULL, "\n", &save))
		good = asm_line(&f->assembly, line);
	return good;
}

static bool expand(struct family *f, const char *line)
{
	char map[64];
	bool good;
	int from, to;

	if (sscanf(line, "@zero %d %d", &from, &to) == 2) {
		for (good = true; good && from >= to; from -= 8)
			good = lines(f, "*(u64 *)(r10 -%d) = 0", from);
		return good;
	}
	if (sscanf(line, "@lookup %63s", map) != 1 && sscanf(line, "@value %63s", map) != 1)
		return false;
	good = lines(f, "*(u64 *)(r10 -8) = 0\nr2 = r10\nr2 += -8\nr1 = map[%s]\ncall map_lookup_elem", map);
	if (strncmp(line, "@value", 6))
		return good;
	f->nlabels++;
	return good && lines(f, "if r0 != 0 goto there%u\nr0 = 0\nexit\nthere%u:", f->nlabels, f->nlabels);
}

static void read_family(struct family *f, FILE *file)
{
	char line[512];

	while (fgets(line, sizeof(line), file)) {
		if (line[0] == '#')
			continue;
		if (!strncmp(line, "map ", 4))
			f->bad |= !add_map(f, line);
		else if (!strncmp(line, "== ", 3))
			begin(f, line);
		else if (line[0] == '@')
			f->bad |= !expand(f, line);
		else
			f->bad |= !asm_line(&f->assembly, line);
	}
	judge(f);
}

static int is_family(const struct dirent *d)
{
	const char *dot = strrchr(d->d_name, '.');

	return dot && !strcmp(dot, ".family");
}

/* Run the programs of a file. Returns 0, or -errno if the Linux kernel cannot create the maps. */
static int run_family(const char *folder, const char *name)
{
	static struct family f;
	char path[1024];
	FILE *file;

	memset(&f, 0, sizeof(f));
	snprintf(f.name, sizeof(f.name), "%.*s", (int)strcspn(name, "."), name);
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "r");
	if (!ok(file != NULL, "%s is read", name))
		return 0;
	read_family(&f, file);
	fclose(file);
	linux_close(&f.kernel);
	return f.no_kernel;
}

int main(int argc, char **argv)
{
	struct dirent **names;
	int n = argc > 1 ? scandir(argv[1], &names, is_family, alphasort) : -1, no_kernel = 0;

	ok(n > 0, "there are families");
	for (int i = 0; i < n; i++) {
		int err = run_family(argv[1], names[i]->d_name);

		no_kernel = err ? err : no_kernel;
		free(names[i]);
	}
	if (n >= 0)
		free(names);
	if (no_kernel)
		skip("verdicts of the running kernel", "%s", no_kernel == -EOPNOTSUPP ? "it is older than Linux 6.18.44" :
		     strerror(-no_kernel));
	return done();
}
