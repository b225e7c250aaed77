/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loads one object: reads and checks the file, selects its GPU programs, lets libbpf load them, and adds the result to
 * the unit.
 */
#include "internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <nettle/sha2.h>

#include "core/wire/files/file_size.h"
#include "core/wire/files/open_file.h"
#include "core/model/diag.h"
#include "ctx_btf.h"

static int refuse_system_error(struct gpubpf_loading *l, const char *what, int err)
{
	char text[512];

	if (err == ENOENT || err == EISDIR || err == EINVAL)
		gpubpf_diag_remedy(l->diag, "pass the path of a .bpf.o file");
	snprintf(text, sizeof(text), "%s %.400s", what, l->path);
	if (err == EINVAL)
		return gpubpf_diag_refuse(l->diag, SYSTEM, "%s: the path is not a regular file", text);
	return gpubpf_load_system(l->diag, text, -err);
}

static int read_all(struct gpubpf_loading *l, int fd)
{
	struct stat st;
	ssize_t n;

	if (fstat(fd, &st) < 0)
		return refuse_system_error(l, "cannot read", errno);
	if (st.st_size > GPUBPF_MAX_OBJECT_SIZE)
		return gpubpf_diag_set(l->diag, GPUBPF_E_BAD_ELF, GPUBPF_NOPC,
				       "%.300s has %lld bytes; objects may have up to %u", l->path,
				       (long long)st.st_size, GPUBPF_MAX_OBJECT_SIZE);
	l->image = malloc(st.st_size + 1);
	if (!l->image)
		return refuse_system_error(l, "cannot read", ENOMEM);
	while (l->size < (size_t)st.st_size) {
		n = read(fd, (char *)l->image + l->size, st.st_size - l->size);
		if (n < 0 && errno != EINTR)
			return refuse_system_error(l, "cannot read", errno);
		if (n == 0)
			break;
		l->size += n > 0 ? n : 0;
	}
	return 0;
}

static int copy_image(struct gpubpf_loading *l, const struct gpubpf_load_image *image)
{
	if (image->size > GPUBPF_MAX_OBJECT_SIZE)
		return gpubpf_diag_set(l->diag, GPUBPF_E_BAD_ELF, GPUBPF_NOPC,
				       "%.300s has %zu bytes; objects may have up to %u", l->path, image->size,
				       GPUBPF_MAX_OBJECT_SIZE);
	l->image = malloc(image->size + 1);
	if (!l->image)
		return refuse_system_error(l, "cannot store", ENOMEM);
	memcpy(l->image, image->data, image->size);
	l->size = image->size;
	return 0;
}

static int read_image(struct gpubpf_loading *l)
{
	int fd = gpubpf_open_regular(AT_FDCWD, l->path, 0), err;

	if (fd < 0)
		return refuse_system_error(l, fd == -EISDIR || fd == -EINVAL ? "cannot read" : "cannot open", -fd);
	err = read_all(l, fd);
	close(fd);
	return err;
}

/* Fills the object's entry in out->objects: its path, and the hash of its content. */
static void describe(struct gpubpf_loading *l)
{
	struct gpubpf_loaded_object *o = &l->out->objects[l->index];
	uint8_t digest[SHA256_DIGEST_SIZE];
	struct sha256_ctx sha;

	snprintf(o->path, sizeof(o->path), "%s", l->path);
	sha256_init(&sha);
	sha256_update(&sha, l->size, l->image);
	sha256_digest(&sha, sizeof(digest), digest);
	for (size_t i = 0; i < sizeof(digest); i++)
		snprintf(o->sha256 + 2 * i, 3, "%02x", digest[i]);
	l->out->nobjects = l->index + 1;
}

/*
 * Returns a file descriptor with the BTF against which libbpf relocates CO-RE accesses: struct gpubpf_ctx and struct
 * pt_regs.
 */
static int open_target_btf(void)
{
	int fd;

	if (!gpubpf_file_size_allowed(sizeof(gpubpf_ctx_btf)))
		return -EFBIG;
	fd = memfd_create("gpubpf-ctx.btf", MFD_CLOEXEC);
	if (fd >= 0 && write(fd, gpubpf_ctx_btf, sizeof(gpubpf_ctx_btf)) != sizeof(gpubpf_ctx_btf)) {
		close(fd);
		return -EIO;
	}
	return fd < 0 ? -errno : fd;
}

void gpubpf_object_name(const char *path, char *name, size_t size)
{
	const char *slash = strrchr(path, '/');

	snprintf(name, size, "%s", slash ? slash + 1 : path);
	if (name[0])
		name[1 + strcspn(name + 1, ".")] = '\0';
}

static int open_object(struct gpubpf_loading *l, int btf_fd)
{
	char name[64], btf_path[64];
	LIBBPF_OPTS(bpf_object_open_opts, opts, .object_name = name, .btf_custom_path = btf_path);

	gpubpf_object_name(l->path, name, sizeof(name));
	snprintf(btf_path, sizeof(btf_path), "/proc/self/fd/%d", btf_fd);
	if (access(btf_path, F_OK) < 0) {
		gpubpf_diag_remedy(l->diag, "mount /proc (mount -t proc proc /proc)");
		return gpubpf_load_system(l->diag, "cannot open /proc/self/fd, which libbpf needs", -errno);
	}
	l->obj = bpf_object__open_mem(l->linked, l->size, &opts);
	if (l->obj)
		return 0;
	return gpubpf_log_refuse(l->diag, "the object cannot be opened", -errno);
}

static bool ends_in(const char *name, const char *end)
{
	size_t n = strlen(name), m = strlen(end);

	return n >= m && !strcmp(name + n - m, end);
}

static struct bpf_map *find_data(const struct gpubpf_loading *l, const char *end)
{
	struct bpf_map *map;

	bpf_object__for_each_map(map, l->obj) if (end[0] == '.' && bpf_map__is_internal(map) &&
						  ends_in(bpf_map__name(map), end)) return map;
	return NULL;
}

static int set_value(struct gpubpf_loading *l, const struct gpubpf_load_value *value)
{
	struct bpf_map *map = find_data(l, value->map);

	if (!map)
		return gpubpf_diag_set(l->diag, GPUBPF_E_USAGE, GPUBPF_NOPC, "the object has no global data in %s",
				       value->map);
	if (bpf_map__value_size(map) != value->size || bpf_map__set_initial_value(map, value->data, value->size))
		return gpubpf_diag_set(l->diag, GPUBPF_E_USAGE, GPUBPF_NOPC,
				       "%zu bytes were passed as the initial value of %s, which has %u bytes",
				       value->size, value->map, bpf_map__value_size(map));
	return 0;
}

static int set_values(struct gpubpf_loading *l)
{
	int err = 0;

	for (uint32_t i = 0; i < l->opts->nvalues && err >= 0; i++)
		if (!strcmp(l->opts->values[i].object, l->path))
			err = set_value(l, &l->opts->values[i]);
	return err;
}

static int load_object(struct gpubpf_loading *l)
{
	int err = bpf_object__load(l->obj);

	return err < 0 ? gpubpf_log_refuse(l->diag, "the object cannot be loaded", err) : 0;
}

/*
 * Runs the stages for an object. The caller has called gpubpf_sys_enter(), so bpf(2) calls are executed in this
 * process.
 */
static int load_stages(struct gpubpf_loading *l, int btf_fd)
{
	int err = open_object(l, btf_fd);

	if (err >= 0)
		err = set_values(l);
	if (err >= 0)
		err = gpubpf_object_choose(l);
	if (err >= 0)
		err = load_object(l);
	if (err >= 0)
		err = gpubpf_object_import(l);
	bpf_object__close(l->obj);
	return err;
}

/*
 * Stores the file's bytes, for callers that load the object's remaining programs into the Linux kernel, or that write
 * the object to a file.
 */
static void store_image(struct gpubpf_loading *l)
{
	struct gpubpf_loaded_object *o = &l->out->objects[l->index];

	o->host = l->host;
	o->nhost = l->nhost;
	o->image = l->image;
	o->size = l->size;
	l->host = NULL;
	l->image = NULL;
}

static int load_image(struct gpubpf_loading *l)
{
	int err, btf_fd = open_target_btf();

	if (btf_fd < 0)
		return refuse_system_error(l, "cannot create a memfd with the types of the context for", -btf_fd);
	gpubpf_log_begin();
	gpubpf_sys_enter(&l->sys);
	err = load_stages(l, btf_fd);
	gpubpf_sys_leave();
	gpubpf_log_end();
	close(btf_fd);
	return err;
}

int gpubpf_object_load(struct gpubpf_loading *l)
{
	const struct gpubpf_load_image *image = l->opts->images ? &l->opts->images[l->index] : NULL;
	int err = image && image->data ? copy_image(l, image) : read_image(l);
	bool was_read = err >= 0; /* if the image was not read, the diagnostic has the path already */

	if (err >= 0)
		err = gpubpf_precheck(l->image, l->size, l->diag);
	if (err >= 0) {
		describe(l);
		gpubpf_note_uncalled(l);
		err = gpubpf_kfuncs_replace(l);
	}
	if (err >= 0)
		err = load_image(l);
	if (err < 0 && was_read)
		gpubpf_diag_where(l->diag, "%s", l->path);
	if (err >= 0)
		store_image(l);
	free(l->host);
	gpubpf_sys_finish(&l->sys);
	gpubpf_kallsyms_finish(&l->kallsyms);
	free(l->unit_map);
	free(l->types);
	free(l->linked);
	free(l->image);
	return err;
}
