/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stores complete twins on disk, one file per twin, in the folder of the workers' results (core/worker/result_cache.h).
 * The key of a twin covers all its inputs. So the session finds the twin without a worker. Refusals are not stored.
 *
 * Files that the source includes are not part of the key. Instead, the stored file lists each path that an #include
 * tries, with the state of the file at this path. The twin is valid while these states are unchanged.
 */
#include "twin_store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/wire/included.h"
#include "core/worker/codec.h"
#include "core/worker/installed.h"
#include "core/worker/job.h"
#include "core/worker/result_cache.h"
#include "core/worker/spawn.h"
#include "core/session/private.h"
#include "core/session/base/signature.h"

#define STORE_VERSION 2
#define MAX_TARGETS 64
#define PATH_SIZE 4096

/* -- the key -- */

/* Encode all programs that the twin may contain, as a worker's job that has one site per program. */
static int encode_programs(const struct gpubpf_session *s, const struct gpubpf_twin_req *req, struct gpubpf_writer *w)
{
	const struct gpubpf_layout *layout = &req->layout;
	const struct gpubpf_unit *unit = &req->unit;
	struct gpubpf_site_desc *sites = calloc(unit->nprogs + 1, sizeof(*sites));
	uint32_t *index = calloc(unit->nprogs + 1, sizeof(*index)), n = 0;
	struct gpubpf_job_request job = { .kind = GPUBPF_JOB_EMIT,
					  .job = {
						  .unit = unit,
						  .layouts = layout->maps,
						  .layout_hash = layout->hash,
						  .granules = gpubpf_layout_granules(layout),
						  .print_ring = layout->print_ring,
						  .caps = &req->caps,
						  .print_layout = layout->prints,
						  .registers = req->registers,
						  .run_in_maps = gpubpf_session_raw(s),
						  .plain_mem = gpubpf_session_raw(s),
						  .checked = gpubpf_session_raw(s) == GPUBPF_RAW_CHECKED,
					  } };
	int err = -ENOMEM;

	for (uint32_t i = 0; sites && index && i < unit->nprogs; i++)
		if (unit->progs[i].pattern[0]) {
			index[n] = i;
			sites[n] = (struct gpubpf_site_desc){ .site = unit->progs[i].site, .progs = &index[n], .nprogs = 1 };
			n++;
		}
	job.job.sites = sites;
	job.job.nsites = n;
	if (sites && index)
		err = gpubpf_job_request_encode(&job, w);
	free(sites);
	free(index);
	return err;
}

/* Encode the inputs of select_sites.c that the job lacks: patterns, and some facts about the programs. */
static void encode_selection(const struct gpubpf_twin_req *req, struct gpubpf_writer *w)
{
	bool numbered = false;

	for (uint32_t i = 0; i < req->unit.nprogs; i++) {
		const struct gpubpf_prog *prog = &req->unit.progs[i];
		const struct gpubpf_facts *facts = prog->pattern[0] ? prog->facts : NULL;

		gpubpf_put_str(w, prog->pattern);
		gpubpf_put_u32(w, !facts || !facts->stack_ids ? 0 : 0x10000 | facts->stack_skip << 8 | facts->stack_depth);
		numbered |= facts && (facts->ctx_kernel || facts->prints);
	}
	for (uint32_t i = 0; i < req->nlinks; i++)
		gpubpf_put_u32(w, req->links[i]);
	for (uint32_t i = 0; i < req->nkernels; i++) {
		gpubpf_put_str(w, req->kernels[i].whole);
		gpubpf_put_u32(w, numbered || req->kernels[i].id == UINT32_MAX ? req->kernels[i].id : 0);
	}
}

/* Encode the identity of the tools that build the twin (the worker programs and the user's assembler), and options. */
static void encode_tools(const struct gpubpf_session *s, struct gpubpf_writer *w)
{
	char path[512], identity[PATH_SIZE + 64];

	for (int kind = 0; kind < GPUBPF_NWORKERS; kind++) {
		if (s->opts.worker_dir)
			snprintf(path, sizeof(path), "%s/%s", s->opts.worker_dir, gpubpf_worker_program(kind));
		else
			gpubpf_worker_find(gpubpf_worker_program(kind), path, sizeof(path));
		gpubpf_worker_identity(path, identity, sizeof(identity));
		gpubpf_put_str(w, identity);
	}
	identity[0] = 0;
	if (gpubpf_session_assembler(s))
		gpubpf_worker_identity(gpubpf_session_assembler(s), identity, sizeof(identity));
	gpubpf_put_str(w, identity);
	gpubpf_put_str(w, s->opts.route ? s->opts.route : "");
	gpubpf_put_u8(w, s->opts.closed_libraries);
	gpubpf_put_u8(w, gpubpf_session_raw(s));
}

bool gpubpf_twin_store_key(const struct gpubpf_session *s, const struct gpubpf_twin_req *req, uint8_t key[32])
{
	struct gpubpf_writer w = { 0 };
	bool good;

	if (!s->opts.cache_dir || s->opts.inspect || !req->copy)
		return false;
	gpubpf_put_u32(&w, STORE_VERSION);
	encode_tools(s, &w);
	gpubpf_put_u32(&w, req->kind);
	gpubpf_put_raw(&w, req->digest, sizeof(req->digest));
	gpubpf_put_str(&w, req->options);
	gpubpf_put_str(&w, req->cwd);
	gpubpf_put_str(&w, req->from);
	gpubpf_put_u32(&w, req->unloadable);
	gpubpf_put_u8(&w, req->built_ns != 0);
	for (uint32_t i = 0; i < req->copy->image.nheaders; i++) {
		const struct gpubpf_header *h = &req->copy->image.headers[i];

		gpubpf_put_str(&w, h->name);
		gpubpf_put_bytes(&w, h->data, h->size);
	}
	encode_selection(req, &w);
	good = !encode_programs(s, req, &w) && !w.failed;
	if (good)
		gpubpf_result_cache_key(GPUBPF_VERSION " twin", w.data, w.size, key);
	gpubpf_writer_finish(&w);
	return good;
}

/* -- files that a source includes -- */

static uint64_t to_ns(const struct timespec *t)
{
	return t->tv_sec * 1000000000ull + t->tv_nsec;
}

struct file_state {
	uint64_t exists, device, inode, size, written, changed;
};

/*
 * Read the state of a file. Sets *newer if the file has changed since the application was built. Then it is not known
 * which version of the file the application includes.
 */
static struct file_state stat_file(const char *path, uint64_t built_ns, bool *newer)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return (struct file_state){ 0 };
	*newer |= S_ISREG(st.st_mode) && to_ns(&st.st_ctim) > built_ns;
	return (struct file_state){ 1 + S_ISREG(st.st_mode),
				    st.st_dev,
				    st.st_ino,
				    S_ISREG(st.st_mode) ? st.st_size : 0,
				    S_ISREG(st.st_mode) ? to_ns(&st.st_mtim) : 0,
				    S_ISREG(st.st_mode) ? to_ns(&st.st_ctim) : 0 };
}

static const char *next_line(const char *at, const char *end, const char *begin)
{
	const size_t n = strlen(begin);

	while (at < end && (at = memmem(at, end - at, begin, n)))
		if (at[-1] == '\n')
			return at + n;
		else
			at++;
	return NULL;
}

/*
 * Encode the paths that the pieces list (core/wire/included.h), each with the state of its file. Returns false if the
 * list is incomplete, or if a file is newer than the build.
 */
static bool encode_included(const struct gpubpf_twin_image *pieces, uint64_t built_ns, struct gpubpf_writer *w)
{
	bool known = false, newer = false;

	for (uint32_t i = 0; i < pieces->npieces; i++) {
		const char *text = pieces->piece[i].blob.data, *end = text + pieces->piece[i].blob.size, *at = text + 1;

		if (pieces->piece[i].blob.size < 2)
			continue;
		if (next_line(at, end, GPUBPF_INCLUDED_UNKNOWN))
			return false;
		known |= next_line(at, end, GPUBPF_INCLUDED_KNOWN) != NULL;
		while ((at = next_line(at, end, GPUBPF_INCLUDED_PATH))) {
			char path[PATH_SIZE];
			struct file_state file_state;
			size_t n = strcspn(at, "\n");

			if (n >= sizeof(path))
				return false;
			memcpy(path, at, n);
			path[n] = 0;
			file_state = stat_file(path, built_ns, &newer);
			gpubpf_put_str(w, path);
			gpubpf_put_raw(w, &file_state, sizeof(file_state));
		}
	}
	return known && !newer;
}

void gpubpf_twin_store_set_includes(struct gpubpf_twin *twin, const struct gpubpf_twin_req *req,
				    const struct gpubpf_twin_image *pieces)
{
	struct gpubpf_writer w = { 0 };

	gpubpf_twin_store_clear_includes(twin);
	twin->storable = !req->built_ns || encode_included(pieces, req->built_ns, &w);
	twin->storable &= !w.failed;
	twin->included = w.data;
	twin->included_size = w.size;
}

void gpubpf_twin_store_clear_includes(struct gpubpf_twin *twin)
{
	free(twin->included);
	twin->included = NULL;
	twin->included_size = 0;
	twin->storable = false;
}

static bool is_included_unchanged(const void *included, size_t size, uint64_t built_ns)
{
	struct gpubpf_reader r;
	bool same = true, newer = false;

	gpubpf_reader_init(&r, included, size);
	while (same && r.at < r.end) {
		char path[PATH_SIZE];
		const void *stored;
		struct file_state current;

		gpubpf_get_str(&r, path, sizeof(path));
		stored = gpubpf_get_raw(&r, sizeof(current));
		current = stat_file(path, built_ns, &newer);
		same = stored && !memcmp(stored, &current, sizeof(current)) && !newer;
	}
	return same && !r.failed;
}

/* -- the twin -- */

static void encode_kernel(const struct gpubpf_twin_kernel *k, struct gpubpf_writer *w)
{
	const struct gpubpf_typed_param *params;
	uint32_t n;

	gpubpf_put_str(w, k->twin);
	gpubpf_put_u32(w, k->flags);
	gpubpf_put_u32(w, k->nparams);
	gpubpf_put_str(w, k->reason);
	gpubpf_put_u8(w, k->entry_only);
	gpubpf_put_u8(w, k->recurses);
	gpubpf_put_u32(w, k->stack);
	gpubpf_put_raw(w, k->named, sizeof(k->named));
	gpubpf_put_u8(w, k->functions != NULL);
	gpubpf_put_bytes(w, k->functions ? k->functions : "", k->functions ? strlen(k->functions) : 0);
	params = gpubpf_signature_params(k->signature, &n);
	gpubpf_put_u8(w, k->signature != NULL);
	gpubpf_put_u32(w, n);
	for (uint32_t i = 0; i < n; i++) {
		gpubpf_put_str(w, params[i].name);
		gpubpf_put_str(w, params[i].type);
		gpubpf_put_u32(w, params[i].size);
		gpubpf_put_u32(w, params[i].how);
	}
}

void gpubpf_twin_store_put(const struct gpubpf_session *s, const uint8_t key[32], const struct gpubpf_twin *twin)
{
	struct gpubpf_writer w = { 0 };

	if (!twin->storable || !twin->image || !twin->route || twin->transient_failure || twin->is_session_only ||
	    twin->reason[0])
		return;
	gpubpf_put_bytes(&w, twin->included ? twin->included : "", twin->included_size);
	gpubpf_put_u32(&w, twin->kind);
	gpubpf_put_str(&w, twin->route);
	gpubpf_put_str(&w, twin->instead);
	gpubpf_put_str(&w, twin->options);
	gpubpf_put_str(&w, twin->assembler);
	gpubpf_put_u32(&w, twin->nkernels);
	for (uint32_t i = 0; i < twin->nkernels; i++)
		encode_kernel(&twin->kernels[i], &w);
	gpubpf_put_bytes(&w, twin->image, twin->size);
	gpubpf_put_bytes(&w, twin->code.data ? twin->code.data : "", twin->code.size);
	if (!w.failed)
		gpubpf_result_cache_put(s->opts.cache_dir, key, w.data, w.size, GPUBPF_RESULT_CACHE_BOUND);
	gpubpf_writer_finish(&w);
}

static bool get_signature(struct gpubpf_reader *r, struct gpubpf_twin_kernel *k)
{
	bool has = gpubpf_get_u8(r);
	uint32_t n = gpubpf_get_count(r, 16);
	struct gpubpf_typed_param *params = calloc(n + 1, sizeof(*params));
	struct {
		char name[256], type[256];
	} *texts = calloc(n + 1, sizeof(*texts));

	for (uint32_t i = 0; params && texts && i < n; i++) {
		gpubpf_get_str(r, texts[i].name, sizeof(texts[i].name));
		gpubpf_get_str(r, texts[i].type, sizeof(texts[i].type));
		params[i] = (struct gpubpf_typed_param){ texts[i].name, texts[i].type, gpubpf_get_u32(r),
							 gpubpf_get_u32(r) };
	}
	if (has && params && texts && !r->failed)
		k->signature = gpubpf_signature_copy(params, n);
	free(params);
	free(texts);
	return !has || k->signature;
}

static bool get_kernel(struct gpubpf_reader *r, struct gpubpf_twin_kernel *k)
{
	const void *named, *functions;
	bool has;
	size_t n;

	gpubpf_get_str(r, k->twin, sizeof(k->twin));
	k->flags = gpubpf_get_u32(r);
	k->nparams = gpubpf_get_u32(r);
	gpubpf_get_str(r, k->reason, sizeof(k->reason));
	k->entry_only = gpubpf_get_u8(r);
	k->recurses = gpubpf_get_u8(r);
	k->stack = gpubpf_get_u32(r);
	named = gpubpf_get_raw(r, sizeof(k->named));
	if (named)
		memcpy(k->named, named, sizeof(k->named));
	has = gpubpf_get_u8(r);
	functions = gpubpf_get_bytes(r, &n);
	k->functions = has && functions ? strndup(functions, n) : NULL;
	return get_signature(r, k) && (!has || k->functions) && !r->failed;
}

/* Returns the name of the target as a string in static memory, or NULL if there is no such target. */
static const char *find_route_name(const char *name)
{
	const struct gpubpf_target_info *t;

	for (size_t i = 0; i < MAX_TARGETS && (t = gpubpf_target_at(i)); i++)
		if (!strcmp(t->name, name))
			return t->name;
	return NULL;
}

static bool get_twin(struct gpubpf_reader *r, struct gpubpf_twin *twin)
{
	char route[32];
	const void *image, *code;
	size_t size, code_size;

	twin->kind = gpubpf_get_u32(r);
	gpubpf_get_str(r, route, sizeof(route));
	twin->route = find_route_name(route);
	gpubpf_get_str(r, twin->instead, sizeof(twin->instead));
	gpubpf_get_str(r, twin->options, sizeof(twin->options));
	gpubpf_get_str(r, twin->assembler, sizeof(twin->assembler));
	if (gpubpf_get_u32(r) != twin->nkernels || !twin->route || r->failed)
		return false;
	for (uint32_t i = 0; i < twin->nkernels; i++)
		if (!get_kernel(r, &twin->kernels[i]))
			return false;
	image = gpubpf_get_bytes(r, &size);
	code = gpubpf_get_bytes(r, &code_size);
	if (!image || !code || !size || !gpubpf_reader_done(r) || !(twin->image = malloc(size)) ||
	    (code_size && !(twin->code.data = malloc(code_size))))
		return false;
	memcpy(twin->image, image, size);
	twin->size = size;
	if (code_size)
		memcpy(twin->code.data, code, code_size);
	twin->code.size = code_size;
	return true;
}

bool gpubpf_twin_store_get(const struct gpubpf_session *s, const uint8_t key[32], const struct gpubpf_twin_req *req,
			   struct gpubpf_twin *twin)
{
	uint64_t from = gpubpf_now_ns();
	struct gpubpf_reader r;
	const void *included;
	size_t size, n;
	void *data = gpubpf_result_cache_get(s->opts.cache_dir, key, &size);
	bool found;

	if (!data)
		return false;
	gpubpf_reader_init(&r, data, size);
	included = gpubpf_get_bytes(&r, &n);
	found = included && is_included_unchanged(included, n, req->built_ns) && get_twin(&r, twin);
	free(data);
	if (found) {
		twin->from_disk = true;
		twin->lower_ns = gpubpf_now_ns() - from;
	} else {
		gpubpf_twin_clear(twin);
	}
	return found;
}
