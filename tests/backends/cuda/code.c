/* SPDX-License-Identifier: Apache-2.0 */
/*
 * code CASES OBJECT: tests gpubpf-ptxas, the program that assembles the PTX text of twins. Its machine code must equal
 * the output of ptxas for the same text. Other cases put a program in place of ptxas that refuses the text, crashes,
 * hangs, or writes something else.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "case.h"
#include "core/model/diag.h"
#include "core/worker/job.h"
#include "tests/tap.h"

static struct gpubpf_device_caps caps = {
	.backend = "cuda", .arch = "sm_90", .bits = GPUBPF_CAP_ATOMIC64 | GPUBPF_CAP_SUBGROUPS | GPUBPF_CAP_EXIT_THREAD,
	.clock = GPUBPF_CLOCK_GLOBALTIMER, .compute_units = 132, .warp_size = 32, .address_bits = 64,
};
static char folder[] = "/tmp/gpubpf-code-XXXXXX";

/* Makes the twin of the kernel with the program of the object. On failure it prints a note and returns false. */
static bool twin_of(const char *text, size_t size, const struct gpubpf_lower_job *job, struct gpubpf_twin_image *twin)
{
	struct gpubpf_image image = { .data = text, .size = size, .kind = GPUBPF_IMAGE_PTX, .options = "", .cwd = "" };
	struct gpubpf_lower_job placed = *job;
	struct gpubpf_target_opts opts = { .opt_level = 2 };
	struct gpubpf_worker_opts how = { 0 };
	struct gpubpf_kernel_info *infos = NULL;
	struct gpubpf_worker *worker;
	struct gpubpf_diag diag;
	uint32_t n;
	int err;

	gpubpf_diag_init(&diag);
	if (gpubpf_worker_create(&how, &worker) < 0)
		return false;
	err = gpubpf_worker_inspect(worker, "ptx", &image, &caps, &infos, &n, &diag);
	if (!err) {
		insert_everywhere(&placed, infos, n);
		err = gpubpf_worker_inject(worker, "ptx", &image, &placed, &opts, twin, &diag);
	}
	gpubpf_worker_destroy(worker);
	free(infos);
	if (err < 0)
		note("%s", diag.what);
	return !err;
}

/*
 * Assembles the text as a session does. `which` identifies the program in the cache key, so that results of other cases
 * are not reused.
 */
static int make(struct gpubpf_worker *worker, const char *program, const char *which, const char *arch, const char *text, size_t size,
		struct gpubpf_twin_image *code, struct gpubpf_diag *diag)
{
	struct gpubpf_assembly what = { .path = program, .identity = which, .arch = arch, .text = { (void *)text, size } };
	char log[4096];
	int err;

	*code = (struct gpubpf_twin_image){ 0 };
	gpubpf_diag_init(diag);
	err = gpubpf_worker_assemble(worker, &what, code, log, sizeof(log), diag);
	if (log[0])
		note("%.*s", (int)strcspn(log, "\n"), log);
	return err;
}

/*
 * Writes a shell script into the test's folder and returns its path. A script finds this folder with `$(dirname $0)`.
 */
static const char *script(const char *name, const char *lines)
{
	static char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	f = fopen(path, "w");
	fprintf(f, "#!/bin/sh\n%s\n", lines);
	fclose(f);
	chmod(path, 0700);
	return path;
}

static char *read_output(const char *name, size_t *size)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return read_file(path, size);
}

static bool has_function(const char *data, size_t size, const char *name)
{
	Elf64_Ehdr head;
	bool found = false;

	memcpy(&head, data, sizeof(head));
	for (int i = 0; i < head.e_shnum; i++) {
		Elf64_Shdr table, names;
		Elf64_Sym symbol;

		memcpy(&table, data + head.e_shoff + i * sizeof(table), sizeof(table));
		if (table.sh_type != SHT_SYMTAB)
			continue;
		memcpy(&names, data + head.e_shoff + table.sh_link * sizeof(names), sizeof(names));
		for (size_t at = 0; at < table.sh_size; at += sizeof(symbol)) {
			memcpy(&symbol, data + table.sh_offset + at, sizeof(symbol));
			found |= ELF64_ST_TYPE(symbol.st_info) == STT_FUNC && !strcmp(data + names.sh_offset + symbol.st_name, name);
		}
	}
	return found && size > sizeof(head) && head.e_machine == EM_CUDA;
}

static char *run_ptxas(const char *arch, const char *text, size_t size, size_t *code_size)
{
	char path[128], command[1024];
	FILE *f;

	snprintf(path, sizeof(path), "%s/twin.ptx", folder);
	f = fopen(path, "w");
	fwrite(text, 1, size, f);
	fclose(f);
	snprintf(command, sizeof(command), "'%s' -arch=%s -o %s/twin.cubin %s >&2 && cat %s/twin.cubin", ptxas(), arch, folder, path, folder);
	return read_command(command, code_size);
}

static void compare_with_ptxas(struct gpubpf_worker *worker, const char *name, const struct gpubpf_twin_piece *twin)
{
	struct gpubpf_twin_image code;
	struct gpubpf_diag diag;
	size_t size;
	char *whole;

	if (!ok(!make(worker, ptxas(), "", twin->arch, twin->blob.data, twin->blob.size, &code, &diag) && code.npieces == 1 &&
		code.piece[0].kind == GPUBPF_IMAGE_CUBIN, "%s: ptxas makes machine code of its twin", name)) {
		note("%s", diag.what);
		return;
	}
	ok(has_function(code.piece[0].blob.data, code.piece[0].blob.size, "gpubpf_twin_kernel"), "%s: the kernel is in it", name);
	whole = run_ptxas(twin->arch, twin->blob.data, twin->blob.size, &size);
	ok(whole && size == code.piece[0].blob.size && !memcmp(whole, code.piece[0].blob.data, size),
	   "%s: it is what ptxas makes of the whole program", name);
	free(whole);
	gpubpf_twin_image_finish(&code);
}

static void refused_by_ptxas(struct gpubpf_worker *worker)
{
	static const char *const texts[][2] = {
		{ "newer than ptxas", ".version 99.0\n.target sm_90\n.address_size 64\n.visible .entry kernel() { ret; }\n" },
		{ "no PTX", "nothing" },
		{ "a function that is elsewhere", ".version 7.0\n.target sm_75\n.address_size 64\n.extern .func other();\n"
						  ".visible .entry kernel() { call other; ret; }\n" },
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		struct gpubpf_twin_image code;
		struct gpubpf_diag diag;

		ok(!make(worker, ptxas(), "", "sm_90", texts[i][1], strlen(texts[i][1]), &code, &diag) && !code.npieces,
		   "%s: ptxas refuses it, and nothing comes of it", texts[i][0]);
		gpubpf_twin_image_finish(&code);
	}
}

/* Checks the architecture that the twin's machine code declares. */
static void test_architecture(const char *name, const char *text, const char *device, const char *expected)
{
	struct gpubpf_twin_image twin;
	struct gpubpf_lower_job job;
	static const char *object;

	if (!text) {
		object = name;
		return;
	}
	snprintf(caps.arch, sizeof(caps.arch), "%s", device);
	if (!ok(job_of(object, false, &caps, &job) && twin_of(text, strlen(text), &job, &twin), "%s has a twin", name))
		return;
	if (!ok(!strcmp(twin.piece[0].arch, expected), "%s on %s: '%s'", name, device, expected))
		note("%s", twin.piece[0].arch);
	gpubpf_twin_image_finish(&twin);
}

static void fails(struct gpubpf_worker *worker, const char *what, const char *program, const char *says)
{
	struct gpubpf_twin_image code;
	struct gpubpf_diag diag;
	int err = make(worker, program, "", "sm_90", "//", 2, &code, &diag);

	if (!ok(err < 0 && strstr(diag.what, says), "%s: %s", what, says))
		note("%d %s", err, diag.what);
	gpubpf_twin_image_finish(&code);
}

static void test_fake_tools(struct gpubpf_worker *worker)
{
	struct gpubpf_twin_image code;
	struct gpubpf_diag diag;
	size_t size;
	char *text;

	ok(!make(worker, script("refuses", "exit 1"), "", "sm_90", "//", 2, &code, &diag) && !code.npieces,
	   "a program that refuses all");
	fails(worker, "a program that is killed", script("killed", "kill -9 $$"), "was killed by signal 9");
	fails(worker, "a program that makes nothing", script("idle", "exit 0"), "made no machine code");
	fails(worker, "a program that makes something else", script("other", "seq 100 >$3"), "made no machine code");
	fails(worker, "a program that is not there", "/nowhere/ptxas", "cannot be run");
	fails(worker, "a program without its whole path", "ptxas", "needs an absolute path");
	ok(!make(worker, script("copies", "ls -l /proc/$$/fd >$(dirname \"$0\")/open; { printf '\\177ELF'; cat \"$4\" \"$4\" \"$4\"; } >\"$3\""),
		 "", "sm_90", "0123456789012345678901234567890", 31, &code, &diag) && code.npieces == 1 &&
	   code.piece[0].blob.size == 97 && !memcmp(code.piece[0].blob.data, "\177ELF0123", 8), "what a program makes is taken as it is");
	gpubpf_twin_image_finish(&code);
	make(worker, script("reaches", "python3 -c 'import socket; socket.socket(socket.AF_INET)' 2>$(dirname \"$0\")/reached"), "", "sm_90",
	     "//", 2, &code, &diag);
	gpubpf_twin_image_finish(&code);
	text = read_output("reached", &size);
	ok(strstr(text, "Operation not permitted"), "it has no network");
	free(text);
	text = read_output("open", &size);
	if (!ok(strstr(text, "gpubpf-twin.ptx") && strstr(text, "gpubpf-twin.cubin") && !strstr(text, "socket:") && !strstr(text, "gpubpf-job"),
		"it has its text and its code open, and nothing of ours"))
		note("%s", text);
	free(text);
}

/* The worker must kill a hanging assembler together with its child processes. */
static void hanging(void)
{
	struct gpubpf_worker_opts how = { .kind = GPUBPF_WORKER_PTXAS, .timeout_ms = 1000 };
	struct gpubpf_twin_image code;
	struct gpubpf_worker *worker;
	struct gpubpf_diag diag;
	char *pids;
	size_t size;
	bool left = false;
	int err;

	if (gpubpf_worker_create(&how, &worker) < 0)
		abort();
	err = make(worker, script("hangs", "sleep 1000 & echo $$ $! >$(dirname \"$0\")/pids; wait"), "", "sm_90", "//", 2, &code, &diag);
	ok(err == -ETIMEDOUT, "a program that hangs is ended");
	pids = read_output("pids", &size);
	for (char *at = pids, *end; strtol(at, &end, 10) && end != at; at = end) {
		char path[64];
		int tries = 600;

		/* a zombie process has no exe link */
		snprintf(path, sizeof(path), "/proc/%ld/exe", strtol(at, NULL, 10));
		while (readlink(path, (char[8]){ 0 }, 8) > 0 && tries--)
			usleep(10000);
		left |= tries < 0;
	}
	ok(size > 3 && !left, "with what it has started");
	free(pids);
	ok(!make(worker, script("refuses", "exit 1"), "", "sm_90", "//", 2, &code, &diag), "and the next has its turn");
	gpubpf_worker_destroy(worker);
}

/* Counts the runs of the program. */
static int runs(void)
{
	size_t size;
	char *text = read_output("runs", &size);
	int n = count(text, size, "\n");

	free(text);
	return n;
}

static void cached(void)
{
	const char *program = script("counts", "echo >>$(dirname \"$0\")/runs; { printf '\\177ELF'; seq 100; } >\"$3\"");
	struct gpubpf_worker_opts how = { .kind = GPUBPF_WORKER_PTXAS, .cache_dir = folder };
	static const struct {
		const char *what, *which, *arch, *text;
		int runs;
	} cases[] = {
		{ "a twin", "13.0", "sm_90", "//1", 1 }, { "the same again", "13.0", "sm_90", "//1", 1 },
		{ "by another version of the program", "13.1", "sm_90", "//1", 2 },
		{ "for another architecture", "13.0", "sm_80", "//1", 3 }, { "another text", "13.0", "sm_90", "//2", 4 },
		{ "the first once more", "13.0", "sm_90", "//1", 4 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct gpubpf_twin_image code;
		struct gpubpf_worker *worker;
		struct gpubpf_diag diag;

		if (gpubpf_worker_create(&how, &worker) < 0)
			abort();
		ok(!make(worker, program, cases[i].which, cases[i].arch, cases[i].text, 3, &code, &diag) && code.npieces == 1 &&
		   runs() == cases[i].runs, "%s: the program has run %d times", cases[i].what, cases[i].runs);
		gpubpf_twin_image_finish(&code);
		gpubpf_worker_destroy(worker);
	}
}

static void each_kernel(struct gpubpf_worker *worker, const char *cases, const char *object)
{
	static const char *const names[] = { "variables", "exits", "switch", "shared", "scope-names" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		struct gpubpf_twin_image twin;
		struct gpubpf_lower_job job;
		char path[512], *text;
		size_t size;

		snprintf(path, sizeof(path), "%s/kernels/%s.ptx", cases, names[i]);
		text = read_file(path, &size);
		if (!ok(job_of(object, false, &caps, &job) && twin_of(text, size, &job, &twin), "%s has a twin", names[i]))
			continue;
		if (ptxas())
			compare_with_ptxas(worker, names[i], &twin.piece[0]);
		else
			skip(names[i], "no ptxas here; GPUBPF_TEST_PTXAS names one");
		gpubpf_twin_image_finish(&twin);
		free(text);
	}
}

int main(int argc, char **argv)
{
	static const char plain[] = ".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry kernel() { ret; }\n",
			  own[] = ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry kernel() { ret; }\n";
	struct gpubpf_worker_opts how = { .kind = GPUBPF_WORKER_PTXAS };
	struct gpubpf_worker *worker;
	char command[128];

	if (argc != 3 || !mkdtemp(folder) || gpubpf_worker_create(&how, &worker) < 0)
		return 2;
	each_kernel(worker, argv[1], argv[2]);
	if (ptxas())
		refused_by_ptxas(worker);
	test_architecture(argv[2], NULL, NULL, NULL);
	test_architecture("PTX for sm_75 and later", plain, "sm_90", "sm_90");
	test_architecture("PTX for sm_90 alone", own, "sm_90", "sm_90a");
	test_architecture("PTX for sm_90 alone", own, "sm_100", "");
	test_fake_tools(worker);
	gpubpf_worker_destroy(worker);
	hanging();
	cached();
	snprintf(command, sizeof(command), "rm -rf %s", folder);
	return system(command) || done();
}
