/* SPDX-License-Identifier: Apache-2.0 */
/* The folder for the sockets of sessions, which only this user can use. */
#include "core/session/session.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/session/loaders/loaders.h"

static void default_dir(char *buf, size_t size)
{
	struct stat st;

	snprintf(buf, size, "/run/user/%u", geteuid());
	if (!stat(buf, &st) && S_ISDIR(st.st_mode) && st.st_uid == geteuid())
		snprintf(buf, size, "/run/user/%u/gpubpf", geteuid());
	else
		snprintf(buf, size, "/tmp/gpubpf-%u", geteuid());
}

/* Is it a folder of this user that is closed to others? Another user may have created the name in /tmp. */
static int check_dir(const char *dir)
{
	struct stat st;

	if (lstat(dir, &st) < 0)
		return -errno;
	if (!S_ISDIR(st.st_mode))
		return -ENOTDIR;
	return st.st_uid == geteuid() && !(st.st_mode & 077) ? 0 : -EPERM;
}

#define OVERFLOW_UID 65534

/* In a user namespace, owners without a mapping, such as root of the host, show as 65534 (user_namespaces(7)). Returns
 * false if 65534 is mapped, so that a file with that owner belongs to a real user. */
static bool is_overflow_unmapped(void)
{
	unsigned long long inside, outside, count;
	FILE *map = fopen("/proc/self/uid_map", "re");
	bool known = !map;

	while (map && fscanf(map, "%llu %llu %llu", &inside, &outside, &count) == 3)
		known |= inside <= OVERFLOW_UID && OVERFLOW_UID - inside < count;
	if (map)
		fclose(map);
	return !known;
}

/* A user who can write to a parent folder can replace the folder in it. So each parent must belong to this user or to
 * root, and others must not be able to write to it unless it is sticky, like /tmp. */
static int check_parents(const char *dir)
{
	char path[PATH_MAX], *slash;
	struct stat st;

	if (!realpath(dir, path))
		return -errno;
	while ((slash = strrchr(path, '/'))) {
		slash[slash == path] = 0;
		if (stat(path, &st) < 0)
			return -errno;
		if (st.st_uid != geteuid() && st.st_uid != 0 && (st.st_uid != OVERFLOW_UID || !is_overflow_unmapped()))
			return -EPERM;
		if ((st.st_mode & 022) && !(st.st_mode & S_ISVTX))
			return -EPERM;
		if (slash == path)
			return 0;
	}
	return 0;
}

int gpubpf_session_dir(struct gpubpf_session *s)
{
	static unsigned int count;
	size_t room = sizeof(((struct sockaddr_un *)0)->sun_path);
	char newest[512];
	int err;

	if (s->opts.runtime_dir)
		snprintf(s->dir, sizeof(s->dir), "%s", s->opts.runtime_dir);
	else
		default_dir(s->dir, sizeof(s->dir));
	if (mkdir(s->dir, 0700) < 0 && errno != EEXIST)
		return gpubpf_session_fail(s, -errno,
					   "%s: cannot make the folder for the session: %s; "
					   "set XDG_RUNTIME_DIR to a folder of yours",
					   s->dir, strerror(errno));
	err = check_dir(s->dir);
	if (err < 0)
		return gpubpf_session_fail(s, err,
					   "%s: must be a folder of your own with mode 0700: %s; "
					   "remove it or set XDG_RUNTIME_DIR",
					   s->dir, strerror(-err));
	err = check_parents(s->dir);
	if (err < 0)
		return gpubpf_session_fail(s, err,
					   "%s: other users may write to a folder above it, and could "
					   "replace it: %s; close that folder (chmod go-w) or set "
					   "XDG_RUNTIME_DIR",
					   s->dir, strerror(-err));
	gpubpf_newest_session(s->dir, newest, sizeof(newest)); /* this call also removes the sockets of killed tools */
	if ((size_t)snprintf(s->path, sizeof(s->path), "%s/%d-%u.sock", s->dir, getpid(),
			     __atomic_fetch_add(&count, 1, __ATOMIC_RELAXED)) >= room) {
		s->path[0] = 0;
		return gpubpf_session_fail(s, -ENAMETOOLONG,
					   "%s: too long for a socket's path (%zu bytes); "
					   "set XDG_RUNTIME_DIR to a shorter one",
					   s->dir, room - 1);
	}
	return 0;
}

/* Does no process listen at the socket? Its tool was killed, or does not listen yet. */
static bool is_dead_socket(const char *path)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int sock = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	bool dead = false;

	if (sock < 0)
		return false;
	if (strlen(path) < sizeof(addr.sun_path)) {
		strcpy(addr.sun_path, path);
		dead = connect(sock, (struct sockaddr *)&addr, sizeof(addr)) < 0 && errno == ECONNREFUSED;
	}
	close(sock);
	return dead;
}

static bool is_newer(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec > b->tv_sec || (a->tv_sec == b->tv_sec && a->tv_nsec > b->tv_nsec);
}

static bool is_socket_name(const char *name)
{
	size_t n = strlen(name);

	return n > 5 && !strcmp(name + n - 5, ".sock");
}

int gpubpf_newest_session(const char *dir, char *buf, size_t size)
{
	struct timespec newest = { 0 };
	char chosen[256], path[520];
	struct dirent *entry;
	int n = 0;
	DIR *d;

	if (dir)
		snprintf(chosen, sizeof(chosen), "%s", dir);
	else
		default_dir(chosen, sizeof(chosen));
	if (check_dir(chosen) < 0 || !(d = opendir(chosen)))
		return -ENOENT;
	while ((entry = readdir(d))) {
		struct stat st;

		snprintf(path, sizeof(path), "%s/%s", chosen, entry->d_name);
		if (!is_socket_name(entry->d_name) || lstat(path, &st) < 0 || !S_ISSOCK(st.st_mode))
			continue;
		if (is_dead_socket(path)) {
			if (kill(atoi(entry->d_name), 0) < 0 && errno == ESRCH) {
				unlink(path);
				gpubpf_pins_remove(path);
			}
			continue;
		}
		if (strlen(path) >= size)
			continue;
		n++;
		if (!is_newer(&st.st_mtim, &newest))
			continue;
		newest = st.st_mtim;
		strcpy(buf, path);
	}
	closedir(d);
	return n ? n : -ENOENT;
}
