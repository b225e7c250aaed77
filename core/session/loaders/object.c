/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Objects and their handles. A handle is a memfd, or a pipe if the object can be polled. Each process that requests a
 * handle gets an open file description with a shared flock(2) lock. The kernel releases the lock when the last
 * descriptor of that description closes, including copies by dup(2), fork(2) and SCM_RIGHTS. If the session can take an
 * exclusive lock, no process has the object open.
 */
#include "loaders.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

int sys_check_room(struct gpubpf_session *s)
{
	if (!s->bpf)
		s->bpf = calloc(1, sizeof(*s->bpf));
	if (!s->bpf)
		return -ENOMEM;
	if (!s->bpf->next)
		s->bpf->next = GPUBPF_BPF_FIRST_ID;
	return s->bpf->n < GPUBPF_BPF_MAX_OBJECTS && s->bpf->next ? 0 : -ENOSPC;
}

struct sys_object *sys_object_new(struct gpubpf_session *s, enum gpubpf_bpf_kind kind, const struct sys_object_ops *ops,
				  int *err)
{
	struct sys_object **grown, *o;

	*err = sys_check_room(s);
	if (*err < 0)
		return NULL;
	grown = reallocarray(s->bpf->objects, s->bpf->n + 1, sizeof(*grown));
	if (grown)
		s->bpf->objects = grown;
	o = grown ? calloc(1, sizeof(*o)) : NULL;
	if (!o) {
		*err = -ENOMEM;
		return NULL;
	}
	*o = (struct sys_object){ .id = s->bpf->next++, .kind = kind, .ops = ops, .fd = -1 };
	s->bpf->objects[s->bpf->n++] = o;
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

/* Creates a FIFO as the object's file and removes its path at once: loaders get their own file descriptions through
 * /proc. */
int sys_object_fifo(const struct gpubpf_session *s, struct sys_object *o, uint32_t key, uint32_t value)
{
	char path[sizeof(s->dir) + 64];
	int err;

	snprintf(path, sizeof(path), "%s/" GPUBPF_BPF_HANDLE, s->dir, gpubpf_bpf_kinds[o->kind], o->id, key, value,
		 get_value_kind(o));
	unlink(path);
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

	if (s->bpf && s->bpf->n)
		at = bsearch(&id, s->bpf->objects, s->bpf->n, sizeof(struct sys_object *), compare_ids);
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

	for (uint32_t i = 0; i < s->bpf->n; i++)
		all += s->bpf->objects[i]->charged;
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
	if (flock(fd, LOCK_SH | LOCK_NB) < 0) { /* a process with a handle may hold an exclusive lock */
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
	struct gpubpf_bpf *bpf = s->bpf;

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

/* Mark the object and everything that it refers to. */
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
	struct gpubpf_bpf *bpf = s->bpf;
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
	for (uint32_t i = 0; s->bpf && i < s->bpf->n; i++)
		destroy_object(s, s->bpf->objects[i]);
	for (uint32_t i = 0; s->bpf && i < s->bpf->nretained; i++)
		close(s->bpf->retained_fds[i]);
	if (s->bpf) {
		sys_pins_finish(s->bpf);
		free(s->bpf->objects);
		free(s->bpf->inners);
	}
	free(s->bpf);
	s->bpf = NULL;
}
