/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps the objects of loaders and their handles. A handle is a memfd, or a pipe if the object can be polled.
 *
 * Each process that requests a handle gets an open file description with a shared flock(2) lock. The Linux kernel
 * releases the lock when the last descriptor of that description closes. Descriptors that dup(2), fork(2) and
 * SCM_RIGHTS copied also count. If the session can take an exclusive lock, no process has the object open.
 */
#include "private.h"

#include <errno.h>
#include <limits.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

int sys_check_room(struct gpubpf_session *s)
{
	if (!s->loaders)
		s->loaders = calloc(1, sizeof(*s->loaders));
	if (!s->loaders)
		return -ENOMEM;
	if (!s->loaders->next)
		s->loaders->next = GPUBPF_BPF_FIRST_ID;
	return s->loaders->n < GPUBPF_BPF_MAX_OBJECTS && s->loaders->next ? 0 : -ENOSPC;
}

struct sys_object *sys_object_new(struct gpubpf_session *s, enum gpubpf_bpf_kind kind, const struct sys_object_ops *ops,
				  int *err)
{
	struct sys_object **grown, *o;

	*err = sys_check_room(s);
	if (*err < 0)
		return NULL;
	grown = reallocarray(s->loaders->objects, s->loaders->n + 1, sizeof(*grown));
	if (grown)
		s->loaders->objects = grown;
	o = grown ? calloc(1, sizeof(*o)) : NULL;
	if (!o) {
		*err = -ENOMEM;
		return NULL;
	}
	*o = (struct sys_object){ .id = s->loaders->next++, .kind = kind, .ops = ops, .fd = -1 };
	s->loaders->objects[s->loaders->n++] = o;
	return o;
}

static uint32_t get_value_kind(const struct sys_object *o)
{
	return o->ops->value_kind ? o->ops->value_kind(o) : 0;
}

int sys_object_file(struct sys_object *o, size_t size, uint32_t key, uint32_t value)
{
	char name[64];

	snprintf(name, sizeof(name), GPUBPF_BPF_HANDLE, gpubpf_bpf_kinds[o->kind], o->id, key, value, get_value_kind(o));
	o->fd = gpubpf_memfd_shared(name, size);
	return o->fd < 0 ? o->fd : 0;
}

/*
 * Creates a FIFO as the object's file, and removes its path at once. Processes of loaders get their own open file
 * descriptions of it through /proc. The path is in the session's own folder, because other sessions of this user create
 * FIFOs of the same names.
 */
int sys_object_fifo(const struct gpubpf_session *s, struct sys_object *o, uint32_t key, uint32_t value)
{
	char folder[GPUBPF_BPF_PINS_SIZE], path[PATH_MAX];
	int err;

	gpubpf_bpf_pins(gpubpf_session__path(s), folder);
	snprintf(path, sizeof(path), "%s/" GPUBPF_BPF_HANDLE, folder, gpubpf_bpf_kinds[o->kind], o->id, key, value,
		 get_value_kind(o));
	if (mkfifo(path, 0600) < 0)
		return -errno;
	o->fd = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	err = o->fd < 0 ? -errno : 0;
	unlink(path);
	return err;
}

static int compare_ids(const void *key, const void *element)
{
	const uint32_t id = *(const uint32_t *)key, has = (*(struct sys_object *const *)element)->id;

	return (id > has) - (id < has);
}

struct sys_object *sys_object_find(const struct gpubpf_session *s, uint32_t id)
{
	struct sys_object **at = NULL;

	if (s->loaders && s->loaders->n)
		at = bsearch(&id, s->loaders->objects, s->loaders->n, sizeof(struct sys_object *), compare_ids);
	return at ? *at : NULL;
}

struct sys_object *sys_object_find_kind(const struct gpubpf_session *s, enum gpubpf_bpf_kind kind, uint32_t id)
{
	struct sys_object *o = sys_object_find(s, id);

	return o && o->kind == kind ? o : NULL;
}

int sys_object_charge(struct gpubpf_session *s, struct sys_object *o, size_t size)
{
	size_t all = size;

	for (uint32_t i = 0; i < s->loaders->n; i++)
		all += s->loaders->objects[i]->charged;
	if (all > GPUBPF_BPF_MAX_BYTES)
		return -ENOMEM;
	o->charged += size;
	return 0;
}

int sys_object_handle(struct sys_object *o)
{
	int fd = o->fd < 0 ? sys_object_file(o, 0, 0, 0) : 0;
	char path[64];

	if (fd < 0)
		return fd;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", o->fd);
	fd = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	/* fails if a process that has a handle of the object holds an exclusive lock */
	if (flock(fd, LOCK_SH | LOCK_NB) < 0) {
		int err = -errno;

		close(fd);
		return err;
	}
	return fd;
}

static bool is_open(const struct sys_object *o)
{
	if (flock(o->fd, LOCK_EX | LOCK_NB) < 0)
		return true;
	flock(o->fd, LOCK_UN);
	return false;
}

static void destroy_object(struct gpubpf_session *s, struct sys_object *o)
{
	o->ops->finish(s, o);
	if (o->fd >= 0)
		close(o->fd);
	free(o);
}

void sys_object_drop(struct gpubpf_session *s, struct sys_object *o)
{
	struct session_loaders *bpf = s->loaders;

	for (uint32_t i = 0; i < bpf->n; i++)
		if (bpf->objects[i] == o) {
			memmove(&bpf->objects[i], &bpf->objects[i + 1], (--bpf->n - i) * sizeof(o));
			destroy_object(s, o);
			return;
		}
}

int sys_object_answer(struct sys_call *c, struct sys_object *o, int err)
{
	int fd = err < 0 ? err : sys_object_handle(o);

	c->fd = fd < 0 ? -1 : fd;
	if (fd >= 0)
		return 0;
	sys_object_drop(c->s, o);
	return fd;
}

static void mark_id(struct gpubpf_session *s, uint32_t id);

/* Mark the object and all objects that it refers to, directly or not. */
static void mark_object(struct gpubpf_session *s, struct sys_object *o)
{
	if (o->live)
		return;
	o->live = true;
	mark_id(s, o->btf);
	if (o->ops->mark_references)
		o->ops->mark_references(s, o, mark_id);
}

static void mark_id(struct gpubpf_session *s, uint32_t id)
{
	struct sys_object *o = id ? sys_object_find(s, id) : NULL;

	if (o)
		mark_object(s, o);
}

void gpubpf_bpf_sweep(struct gpubpf_session *s)
{
	struct session_loaders *bpf = s->loaders;
	uint32_t n = 0;

	for (uint32_t i = 0; bpf && i < bpf->n; i++)
		bpf->objects[i]->live = false;
	for (uint32_t i = 0; bpf && i < bpf->n; i++)
		if (is_open(bpf->objects[i]))
			mark_object(s, bpf->objects[i]);
	if (bpf)
		sys_pins_sweep(s, mark_id);
	for (uint32_t i = 0; bpf && i < bpf->n; i++)
		if (bpf->objects[i]->live)
			bpf->objects[n++] = bpf->objects[i];
		else
			destroy_object(s, bpf->objects[i]);
	if (bpf)
		bpf->n = n;
}

void gpubpf_bpf_finish(struct gpubpf_session *s)
{
	for (uint32_t i = 0; s->loaders && i < s->loaders->n; i++)
		destroy_object(s, s->loaders->objects[i]);
	for (uint32_t i = 0; s->loaders && i < s->loaders->nretained; i++)
		close(s->loaders->retained_fds[i]);
	if (s->loaders) {
		sys_pins_finish(s->loaders);
		free(s->loaders->objects);
		free(s->loaders->inners);
	}
	free(s->loaders);
	s->loaders = NULL;
}
