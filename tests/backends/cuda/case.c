/* SPDX-License-Identifier: Apache-2.0 */
#include "case.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/model/diag.h"
#include "core/load/load.h"
#include "core/session/twins/called_functions.h"
#include "maps/maps.h"
#include "tests/tap.h"

#define GUARDED (16u << 20) /* size of the largest text in bytes */

static char *read_all(FILE *f, size_t *size)
{
	char *data = NULL, buf[65536];
	FILE *out = open_memstream(&data, size);
	size_t n;

	if (!out)
		abort();
	while ((n = fread(buf, 1, sizeof(buf), f)) > 0)
		fwrite(buf, 1, n, out);
	fclose(out);
	return data;
}

char *read_file(const char *path, size_t *size)
{
	FILE *f = fopen(path, "rb");
	char *data;

	if (!f) {
		printf("Bail out! %s cannot be read\n", path);
		exit(1);
	}
	data = read_all(f, size);
	fclose(f);
	return data;
}

char *read_command(const char *command, size_t *size)
{
	FILE *f = popen(command, "r");
	char *data = f ? read_all(f, size) : NULL;

	if (!f || pclose(f)) {
		free(data);
		return NULL;
	}
	return data;
}

char *compiled_cubin(const char *source, const char *arch, const char *options, size_t *size)
{
	static const char *const places[] = { "/usr/local/cuda/bin/nvcc", "/usr/bin/nvcc" };
	const char *nvcc = getenv("GPUBPF_TEST_NVCC");
	char command[1024];

	for (size_t i = 0; !nvcc && i < sizeof(places) / sizeof(*places); i++)
		if (!access(places[i], X_OK))
			nvcc = places[i];
	if (!nvcc)
		return NULL;
	snprintf(command, sizeof(command), "f=$(mktemp) && '%s' %s -arch=%s -cubin -o $f '%s' 2>/dev/null >&2 && cat $f; r=$?; rm -f $f; exit $r",
		 nvcc, options, arch, source);
	return read_command(command, size);
}

const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

const char *guard(const void *data, size_t size)
{
	static char *memory;
	char *copy;

	if (!memory) {
		memory = mmap(NULL, GUARDED + sysconf(_SC_PAGESIZE), PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (memory == MAP_FAILED || mprotect(memory + GUARDED, sysconf(_SC_PAGESIZE), PROT_NONE))
			abort();
	}
	if (size > GUARDED)
		abort();
	copy = memory + GUARDED - size;
	memcpy(copy, data, size);
	return copy;
}

uint32_t random_below(uint32_t limit)
{
	static uint64_t state = 1;

	state = state * 6364136223846793005u + 1442695040888963407u;
	return (state >> 33) % limit;
}

void expect_line(const char *text, const char *key, char *value, size_t size)
{
	const char *at = strstr(text, key);

	value[0] = 0;
	if (at)
		snprintf(value, size, "%.*s", (int)strcspn(at + strlen(key), "\n"), at + strlen(key));
}

const char *ptxas(void)
{
	static const char *const places[] = { "/usr/local/cuda/bin/ptxas", "/usr/local/bin/ptxas", "/usr/bin/ptxas" };
	const char *named = getenv("GPUBPF_TEST_PTXAS");

	if (named && *named)
		return named;
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++)
		if (!access(places[i], X_OK))
			return places[i];
	return NULL;
}

int assembles(const char *text, size_t size, int sm)
{
	char path[] = "/tmp/gpubpf-twin-XXXXXX", command[512];
	int fd, status;

	if (!ptxas())
		return -1;
	fd = mkstemp(path);
	if (fd < 0 || write(fd, text, size) != (ssize_t)size)
		abort();
	close(fd);
	snprintf(command, sizeof(command), "'%s' -arch=sm_%d -o /dev/null %s 1>&2", ptxas(), sm, path);
	status = system(command);
	unlink(path);
	return !status;
}

uint32_t count(const char *text, size_t size, const char *word)
{
	uint32_t n = 0;

	for (const char *at = text; (at = memmem(at, text + size - at, word, strlen(word))); at += strlen(word))
		n++;
	return n;
}

bool job_of(const char *object, bool ends_threads, const struct gpubpf_device_caps *caps, struct gpubpf_lower_job *job)
{
	static struct gpubpf_site_desc sites[2];
	static const uint32_t progs[] = { 0 };
	static struct gpubpf_layout layout;
	struct gpubpf_load_opts load = { .npaths = 1, .all_gpu = true, .paths = &object };
	struct gpubpf_verify_opts how = { .allow_exit_thread = ends_threads };
	struct gpubpf_layout_opts place = { .replicas = caps->compute_units, .threads = 1 << 16 };
	struct gpubpf_loaded *loaded;
	struct gpubpf_diag diag;

	gpubpf_diag_init(&diag);
	if (gpubpf_load(&load, &loaded, &diag) < 0 ||
	    gpubpf_verify(&loaded->unit, loaded->unit.progs, &how, &diag) < 0) {
		note("%s", diag.what);
		return false;
	}
	place.map_use = loaded->unit.progs->facts->map_use;
	if (gpubpf_layout_compute(&loaded->unit, &place, &layout, &diag) < 0)
		return false;
	for (int i = 0; i < 2; i++)
		sites[i] = (struct gpubpf_site_desc){ .site = i ? GPUBPF_SITE_EXIT : GPUBPF_SITE_ENTRY, .kernel = "kernel",
						      .kernel_id = 1, .progs = progs, .nprogs = 1 };
	*job = (struct gpubpf_lower_job){ .unit = &loaded->unit, .layouts = layout.maps, .layout_hash = layout.hash,
					  .sites = sites, .nsites = 2, .caps = caps };
	return true;
}

/* Skips blanks and comments. */
static const char *skip_blank(const char *at, const char *end)
{
	while (at < end && (isspace((unsigned char)*at) || (end - at > 1 && !memcmp(at, "//", 2))))
		if (*at == '/')
			while (at < end && *at != '\n')
				at++;
		else
			at++;
	return at;
}

bool are_alike(const char *a, size_t a_size, const char *b, size_t b_size)
{
	const char *a_end = a + a_size, *b_end = b + b_size;

	for (;; a++, b++) {
		a = skip_blank(a, a_end);
		b = skip_blank(b, b_end);
		if (a == a_end || b == b_end || *a != *b)
			return a == a_end && b == b_end;
	}
}

/* Insert the site also in each function that the kernel calls, because a thread may exit inside a called function. */
static int insert_calls(struct gpubpf_insertions *to, uint32_t site, enum gpubpf_site kind,
			const struct gpubpf_kernel_info *infos, uint32_t n, const struct gpubpf_kernel_info *kernel)
{
	bool *calls = gpubpf_calls_find(infos, n, kernel);
	int err = calls ? 0 : -1;

	for (uint32_t i = 0; !err && i < n; i++)
		if (calls[i])
			err = gpubpf_insert(to, site, kind, &infos[i]);
	free(calls);
	return err;
}

void insert_everywhere(struct gpubpf_lower_job *job, const struct gpubpf_kernel_info *infos, uint32_t n)
{
	static struct gpubpf_insertions to;
	int err = 0;

	to.n = 0;
	for (uint32_t s = 0; s < job->nsites; s++) {
		const struct gpubpf_site_desc *site = &job->sites[s];
		bool function = site->function[0];

		for (uint32_t i = 0; !err && i < n; i++) {
			if (strcmp(infos[i].name, function ? site->function : site->kernel) ||
			    function != !!(infos[i].flags & GPUBPF_KINFO_FUNCTION))
				continue;
			err = gpubpf_insert(&to, s, site->site, &infos[i]);
			if (!err && !function)
				err = insert_calls(&to, s, site->site, infos, n, &infos[i]);
		}
	}
	if (err < 0)
		abort();
	job->insertions = to.list;
	job->ninsertions = to.n;
}
