/* SPDX-License-Identifier: Apache-2.0 */
/* Pins session objects in the session's folder. To loaders this folder looks like a BPF file system. */
#include "loader.h"

#include <errno.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "environ.h"

#define PATH_FD (1u << 14)         /* BPF_F_PATH_FD, which Linux has since 6.5 */

/*
 * Returns true if the caller's path is the session's folder or inside it. `is` receives the absolute path in this
 * process's file system.
 */
static bool is_within(const char *path, char is[PATH_MAX])
{
	char pins[GPUBPF_BPF_PINS_SIZE], folder[PATH_MAX], here[PATH_MAX];
	const char *session = loader_env_session();
	size_t n;

	if (!session || caller_path(path, here) < 0)
		return false;
	gpubpf_bpf_pins(session, pins);
	if (!realpath(pins, folder) || !realpath(here, is))
		return false;
	n = strlen(folder);
	return !strncmp(is, folder, n) && (!is[n] || is[n] == '/');
}

/*
 * Write the absolute path of a new file to `whole`. Returns false if the file's folder is not in the session's folder.
 */
static bool absolute_name(const char *path, char *whole, size_t size)
{
	const char *slash = strrchr(path, '/');
	char above[PATH_MAX], is[PATH_MAX];

	if (!slash)
		snprintf(above, sizeof(above), ".");
	else
		snprintf(above, sizeof(above), "%.*s/", (int)(slash - path), path);
	if (!is_within(above, is))
		return false;
	return (size_t)snprintf(whole, size, "%s/%s", is, slash ? slash + 1 : path) < size;
}

bool adapt_statfs(const char *path, struct statfs *buf)
{
	char is[PATH_MAX];
	int before = errno;
	bool ours = is_within(path, is);

	if (ours)
		buf->f_type = BPF_FS_MAGIC;
	errno = before;
	return ours;
}

static uint32_t pinnable_id(int fd)
{
	static const enum gpubpf_bpf_kind kinds[] = { GPUBPF_BPF_MAP, GPUBPF_BPF_PROG, GPUBPF_BPF_LINK };
	uint32_t id = 0;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]) && !id; i++)
		id = handle_of(fd, kinds[i]).id;
	return id;
}

/* Pin an object. If a kernel map is pinned in the session's folder, the session adopts the map. */
long obj_pin(struct call *c)
{
	uint32_t id = pinnable_id((int)c->attr.bpf_fd);
	char path[PATH_MAX], whole[PATH_MAX];
	bool within = !(c->attr.file_flags & PATH_FD) && !caller_text(path, c->attr.pathname, sizeof(path));
	struct gpubpf_writer w = { 0 };
	struct answer a;
	int64_t map;
	int err;

	within = within && absolute_name(path, whole, sizeof(whole));
	if (!id && within && (map = map_taken((int)c->attr.bpf_fd)) > 0)
		id = (uint32_t)map;
	if (!id)
		return pass(c);
	if (!within)
		return -EPERM; /* the Linux kernel returns the same errno outside a BPF file system */
	gpubpf_put_u32(&w, id);
	gpubpf_put_str(&w, whole);
	err = ask(GPUBPF_BPF_PIN, &w, &a);
	answer_close(&a);
	return err;
}

/*
 * If a kernel map is pinned at `path` and the session has adopted it, return a descriptor of the session map. Otherwise
 * return a negative errno value.
 */
static int session_map_for_pin(const char *path)
{
	union bpf_attr attr = { 0 };
	struct bpf_map_info info;
	char here[PATH_MAX];
	int ours = -ENOENT;
	long theirs;

	if (!have_session() || caller_path(path, here) < 0)
		return -ENOENT;
	attr.pathname = (uintptr_t)here;
	theirs = kernel_bpf(BPF_OBJ_GET, &attr, FIELD_END(bpf_fd));
	if (theirs < 0)
		return (int)theirs;
	if (!map_info((int)theirs, &info))
		ours = map_adopted_fd(info.id);
	close((int)theirs);
	return ours;
}

long obj_get(struct call *c)
{
	struct gpubpf_writer w = { 0 };
	char path[PATH_MAX], is[PATH_MAX];
	struct stat st;
	int ours;

	if (c->attr.file_flags & PATH_FD || caller_text(path, c->attr.pathname, sizeof(path)) < 0)
		return pass(c);
	if (!is_within(path, is) || stat(is, &st) < 0) {
		ours = session_map_for_pin(path);
		return ours < 0 ? pass(c) : ours;
	}
	gpubpf_put_u64(&w, st.st_dev);
	gpubpf_put_u64(&w, st.st_ino);
	return request_handle(GPUBPF_BPF_PINNED, &w, -1);
}
