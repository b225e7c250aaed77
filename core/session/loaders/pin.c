/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pins objects as files in the session's pin folder, which replaces a BPF file system. The session deletes the folder
 * when it ends. A pin is an empty file that the session keeps open. The pin keeps its object alive while the file has a
 * name below that folder.
 */
#include "private.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PINS_MAX 1024u

int gpubpf_pins_open(const struct gpubpf_session *s)
{
	char dir[GPUBPF_BPF_PINS_SIZE];

	gpubpf_bpf_pins(gpubpf_session__path(s), dir);
	return mkdir(dir, 0700) < 0 && errno != EEXIST ? -errno : 0;
}

static bool is_within(const char *path, const char *folder)
{
	size_t n = strlen(folder);

	return !strncmp(path, folder, n) && (!path[n] || path[n] == '/');
}

/*
 * Open the parent folder of a new pin, and set *name to the last component of the path. Returns -errno if the folder is
 * not inside the session's pin folder.
 */
static int open_folder(const struct gpubpf_session *s, const char *path, const char **name)
{
	const char *slash = strrchr(path, '/');
	char pins[GPUBPF_BPF_PINS_SIZE], folder[PATH_MAX], parent[PATH_MAX], resolved[PATH_MAX];
	int fd;

	*name = slash ? slash + 1 : "";
	gpubpf_bpf_pins(gpubpf_session__path(s), pins);
	if (path[0] != '/' || !**name || !realpath(pins, folder))
		return -EPERM;
	snprintf(parent, sizeof(parent), "%.*s", (int)(slash - path), path);
	if (!realpath(parent, resolved))
		return -errno;
	if (!is_within(resolved, folder))
		return -EPERM;
	fd = open(resolved, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static int add_pin(struct gpubpf_session *s, uint32_t id, const char *path)
{
	struct session_loaders *bpf = s->loaders;
	struct sys_pin *grown;
	const char *name;
	int dir = open_folder(s, path, &name), fd;

	if (dir < 0)
		return dir;
	grown = bpf->npins < PINS_MAX ? reallocarray(bpf->pins, bpf->npins + 1, sizeof(*grown)) : NULL;
	if (grown)
		bpf->pins = grown;
	fd = grown ? openat(dir, name, O_RDONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600) : -1;
	if (fd >= 0)
		bpf->pins[bpf->npins++] = (struct sys_pin){ fd, id };
	else
		fd = grown ? -errno : -ENOSPC;
	close(dir);
	return fd < 0 ? fd : 0;
}

static bool can_be_pinned(const struct sys_object *o)
{
	return o->kind == GPUBPF_BPF_MAP || o->kind == GPUBPF_BPF_PROG || o->kind == GPUBPF_BPF_LINK;
}

int sys_pin(struct sys_call *c)
{
	const struct sys_object *o = sys_object_find(c->s, gpubpf_get_u32(c->r));
	char path[PATH_MAX];

	gpubpf_get_str(c->r, path, sizeof(path));
	if (c->r->failed)
		return -EPROTO;
	if (!o)
		return -EBADF;
	return can_be_pinned(o) ? add_pin(c->s, o->id, path) : -EINVAL;
}

/* Returns the pin whose file has this device and inode, or NULL. */
static struct sys_pin *pin_of(struct session_loaders *bpf, dev_t device, ino_t inode)
{
	for (uint32_t i = 0; bpf && i < bpf->npins; i++) {
		struct stat st;

		if (!fstat(bpf->pins[i].fd, &st) && st.st_dev == device && st.st_ino == inode)
			return &bpf->pins[i];
	}
	return NULL;
}

int sys_pinned(struct sys_call *c)
{
	uint64_t device = gpubpf_get_u64(c->r), inode = gpubpf_get_u64(c->r);
	const struct sys_pin *pin = c->r->failed ? NULL : pin_of(c->s->loaders, device, inode);
	struct sys_object *o = pin ? sys_object_find(c->s, pin->id) : NULL;

	if (c->r->failed)
		return -EPROTO;
	if (!o)
		return -EACCES; /* as bpf(2), for a file that is not in a BPF file system */
	c->fd = sys_object_handle(o);
	return c->fd < 0 ? c->fd : 0;
}

/* Store the id of the loader's map with that name in *id. Fails if no map or several maps have the name. */
static int find_map_by_name(struct gpubpf_session *s, const char *name, uint32_t *id)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < s->loaders->n; i++)
		if (s->loaders->objects[i]->kind == GPUBPF_BPF_MAP && !strcmp(s->loaders->objects[i]->map.def.name, name)) {
			*id = s->loaders->objects[i]->id;
			n++;
		}
	if (n == 1)
		return 0;
	if (n)
		return gpubpf_session_fail(s, -EINVAL,
					   "%u maps of loaders have the name %s; pin one by its id: bpftool map pin "
					   "id ID PATH",
					   n, name);
	return gpubpf_session_fail(s, -ENOENT, "no loader of the session has a map %s; gpubpf map show lists all maps",
				   name);
}

static int unpin(struct gpubpf_session *s, const char *path)
{
	const char *name;
	int dir = open_folder(s, path, &name), err;
	struct stat st;

	if (dir < 0)
		return dir;
	err = fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0 ? -errno : 0;
	if (!err && !pin_of(s->loaders, st.st_dev, st.st_ino))
		err = -EINVAL;
	if (!err && unlinkat(dir, name, 0) < 0)
		err = -errno;
	close(dir);
	return err;
}

static const char *pin_error_text(int err)
{
	switch (err) {
	case -EPERM:
		return "a pin must be in the session's folder, which loaders find in GPUBPF_PIN; pass a "
		       "name without a slash";
	case -EINVAL:
		return "it is no pin";
	}
	return strerror(-err);
}

int gpubpf_pin_query(struct gpubpf_session *s, uint32_t what, const char *map, char *const *words, uint32_t nwords)
{
	uint32_t id = 0;
	int err;

	if (nwords != 1)
		return gpubpf_session_fail(s, -EINVAL, "one path");
	if (!s->loaders)
		return gpubpf_session_fail(s, -EOPNOTSUPP,
					   "only a loader (gpubpf bpf) can open pins, and the session has none; the "
					   "session's own maps exist until it ends");
	err = what == GPUBPF_QUERY_PIN ? find_map_by_name(s, map, &id) : 0;
	if (err < 0)
		return err;
	err = what == GPUBPF_QUERY_PIN ? add_pin(s, id, words[0]) : unpin(s, words[0]);
	return err ? gpubpf_session_fail(s, err, "%s: %s", words[0], pin_error_text(err)) : 0;
}

void sys_pins_sweep(struct gpubpf_session *s, void (*has)(struct gpubpf_session *s, uint32_t id))
{
	struct session_loaders *bpf = s->loaders;
	uint32_t n = 0;

	for (uint32_t i = 0; i < bpf->npins; i++) {
		struct stat st;

		if (fstat(bpf->pins[i].fd, &st) < 0 || !st.st_nlink) {
			close(bpf->pins[i].fd);
			continue;
		}
		has(s, bpf->pins[i].id);
		bpf->pins[n++] = bpf->pins[i];
	}
	bpf->npins = n;
}

void sys_pins_finish(struct session_loaders *bpf)
{
	for (uint32_t i = 0; i < bpf->npins; i++)
		close(bpf->pins[i].fd);
	free(bpf->pins);
}
