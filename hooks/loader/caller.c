/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Passes each call of caller.h to the current struct caller_ops. The initial operations are a static initializer
 * (own_process.c), because the library's interposed functions can run before any constructor.
 */
#include "caller.h"

static const struct caller_ops *ops = &caller_own_process;

void caller_set_ops(const struct caller_ops *of)
{
	ops = of;
}

struct caller_state *caller_state(void)
{
	return ops->state();
}

int caller_read(void *to, uint64_t from, size_t size)
{
	return ops->read(to, from, size);
}

int caller_write(uint64_t to, const void *from, size_t size)
{
	return ops->write(to, from, size);
}

int caller_text(char *to, uint64_t from, size_t room)
{
	return ops->text(to, from, room);
}

void caller_proc(const char *what, char path[PROC_SIZE])
{
	ops->proc(what, path);
}

void caller_link(int fd, char path[PROC_SIZE])
{
	ops->link(fd, path);
}

int caller_borrow(int fd)
{
	return ops->borrow(fd);
}

void caller_return_fd(int borrowed)
{
	ops->return_fd(borrowed);
}

int caller_replace(int fd, int by)
{
	return ops->replace(fd, by);
}

int caller_lend(int fd)
{
	return ops->lend(fd);
}

void caller_close_lent(int lent)
{
	ops->close_lent(lent);
}

int caller_path(const char *path, char out[PATH_MAX])
{
	return ops->path(path, out);
}

long caller_mmap(const long arg[6])
{
	return ops->mmap(arg);
}

long pass(struct call *c)
{
	return ops->pass(c);
}

long pass_map_of(struct call *c)
{
	return ops->pass_map_of(c);
}

long pass_unknown(int cmd, uint64_t attr, unsigned int size)
{
	return ops->pass_unknown(cmd, attr, size);
}

long pass_perf(const long arg[6], const struct perf_event_attr *attr, const char *function)
{
	return ops->pass_perf(arg, attr, function);
}

long pass_uprobe(const long arg[6], const struct perf_event_attr *attr)
{
	return ops->pass_uprobe(arg, attr);
}

long kernel_bpf(int cmd, const void *attr, size_t size)
{
	return ops->bpf(cmd, attr, size);
}
