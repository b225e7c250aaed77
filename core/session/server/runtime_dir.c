/* SPDX-License-Identifier: Apache-2.0 */
/* Creates and checks the folder for the sockets of sessions. Only this user can use the folder. */
#include "private.h"

#include <dirent.h>
#include <errno.h>
#include <ftw.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/wire/loader.h"

static void find_default_dir(char *buf, size_t size)
{
	struct stat st;

	snprintf(buf, size, "/run/user/%u", geteuid());
	if (!stat(buf, &st) && S_ISDIR(st.st_mode) && st.st_uid == geteuid())
		snprintf(buf, size, "/run/user/%u/gpubpf", geteuid());
	else
		snprintf(buf, size, "/tmp/gpubpf-%u", geteuid());
}

/*
 * Check that dir is a folder of this user to which others have no access. Another user may have created this name in
 * /tmp.
 */
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

/*
 * In a user namespace, owners without a mapping, such as root of the host, show as 65534 (user_namespaces(7)). Returns
 * true if 65534 is such an owner. Returns false if the namespace maps 65534, so that a file with that owner belongs to
 * a user.
 */
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

/*
 * A user who can write to a parent folder can replace the folder in it. So each parent must belong to this user or to
 * root. Others must not be able to write to it, unless it is sticky, as /tmp is.
 */
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

#define PINS_DEPTH 16 /* maximum open descriptors of nftw(3) */

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path) < 0 && errno != ENOENT;
}

/* Remove the pin folder of the session with that socket. */
void gpubpf_pins_remove(const char *session)
{
	char dir[GPUBPF_BPF_PINS_SIZE];

	gpubpf_bpf_pins(session, dir);
	nftw(dir, remove_one, PINS_DEPTH, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}

int gpubpf_session_dir(struct gpubpf_session *s)
{
	static unsigned int count;
	size_t room = sizeof(((struct sockaddr_un *)0)->sun_path);
	int err;

	if (s->opts.runtime_dir)
		snprintf(s->server->dir, sizeof(s->server->dir), "%s", s->opts.runtime_dir);
	else
		find_default_dir(s->server->dir, sizeof(s->server->dir));
	if (mkdir(s->server->dir, 0700) < 0 && errno != EEXIST)
		return gpubpf_session_fail(s, -errno,
					   "%s: cannot make the folder for the session's socket: %s; set "
					   "XDG_RUNTIME_DIR to a folder of your own",
					   s->server->dir, strerror(errno));
	err = check_dir(s->server->dir);
	if (err < 0)
		return gpubpf_session_fail(
			s, err, "%s: must be a folder of your own with mode 0700: %s; remove it or set XDG_RUNTIME_DIR",
			s->server->dir, strerror(-err));
	err = check_parents(s->server->dir);
	if (err < 0)
		return gpubpf_session_fail(s, err,
					   "%s: other users can write to a parent folder, and could replace it: %s; "
					   "use chmod go-w on the parent, or set XDG_RUNTIME_DIR",
					   s->server->dir, strerror(-err));
	gpubpf_sessions_find(s->server->dir, NULL, NULL, NULL); /* removes the sockets of killed tools */
	if ((size_t)snprintf(s->server->path, sizeof(s->server->path), "%s/%d-%u.sock", s->server->dir, getpid(),
			     __atomic_fetch_add(&count, 1, __ATOMIC_RELAXED)) >= room) {
		s->server->path[0] = 0;
		return gpubpf_session_fail(s, -ENAMETOOLONG,
					   "%s: the path is too long for a socket (%zu bytes); set XDG_RUNTIME_DIR "
					   "to a shorter one",
					   s->server->dir, room - 1);
	}
	return 0;
}

/* Returns true if no process listens at the socket: its tool was killed, or is about to listen. */
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

static bool is_socket_name(const char *name)
{
	size_t n = strlen(name);

	return n > 5 && !strcmp(name + n - 5, ".sock");
}

/* Remove the socket and the pin folder of a dead session, unless its process is about to listen. */
static bool remove_dead(const char *path, pid_t pid)
{
	if (kill(pid, 0) == 0 || errno != ESRCH)
		return false;
	unlink(path);
	gpubpf_pins_remove(path);
	return true;
}

int gpubpf_sessions_find(const char *dir, gpubpf_session_path_fn found, gpubpf_session_path_fn removed, void *arg)
{
	char chosen[256], path[520];
	struct dirent *entry;
	int n = 0;
	DIR *d;

	if (dir)
		snprintf(chosen, sizeof(chosen), "%s", dir);
	else
		find_default_dir(chosen, sizeof(chosen));
	if (check_dir(chosen) < 0 || !(d = opendir(chosen)))
		return 0;
	while ((entry = readdir(d))) {
		struct stat st;

		snprintf(path, sizeof(path), "%s/%s", chosen, entry->d_name);
		if (!is_socket_name(entry->d_name) || lstat(path, &st) < 0 || !S_ISSOCK(st.st_mode))
			continue;
		if (is_dead_socket(path)) {
			if (remove_dead(path, atoi(entry->d_name)) && removed)
				removed(path, arg);
			continue;
		}
		n++;
		if (found)
			found(path, arg);
	}
	closedir(d);
	return n;
}
