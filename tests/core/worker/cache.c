/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests the caches on disk with files that the caches did not write. The caches must ignore incomplete files, and files
 * that a user, a restored backup or an application has put into their folders.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/wire/files/blob_store.h"
#include "core/worker/result_cache.h"
#include "tests/tap.h"

#define BOUND (1u << 20)
#define HANG_S 60 /* seconds until SIGALRM ends the test, in case it blocks in open(2) */
#define STRANGER 65534

static char top[256], results[300], kept[320];

static void make_fifo(const char *path)
{
	mkfifo(path, 0600);
}

static void make_socket(const char *path)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0), back = open(".", O_PATH | O_DIRECTORY);
	char folder[PATH_MAX];

	snprintf(folder, sizeof(folder), "%.*s", (int)(strrchr(path, '/') - path), path);
	if (!chdir(folder)) {
		snprintf(name.sun_path, sizeof(name.sun_path), "%.100s", strrchr(path, '/') + 1);
		bind(fd, (struct sockaddr *)&name, sizeof(name));
	}
	if (fchdir(back) < 0)
		abort();
	close(back);
	close(fd);
}

static void make_folder(const char *path)
{
	mkdir(path, 0700);
}

static void make_dangling(const char *path)
{
	if (symlink("/nowhere", path) < 0)
		abort();
}

static void make_link_to_fifo(const char *path)
{
	char fifo[300];

	snprintf(fifo, sizeof(fifo), "%s/fifo", top);
	mkfifo(fifo, 0600);
	if (symlink(fifo, path) < 0)
		abort();
}

static void make_sparse(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT, 0600);

	if (ftruncate(fd, 1ll << 40) < 0) /* more bytes than a result may have */
		note("no sparse file here");
	close(fd);
}

static void make_empty(const char *path)
{
	close(open(path, O_WRONLY | O_CREAT, 0600));
}

static void make_device(const char *path)
{
	mknod(path, S_IFCHR | 0600, 5 << 8); /* /dev/tty */
}

static const struct odd {
	const char *what;
	void (*make)(const char *path);
} odds[] = {
	{ "a FIFO", make_fifo }, { "a socket", make_socket }, { "a folder", make_folder },
	{ "a dangling link", make_dangling }, { "a link to a FIFO", make_link_to_fifo },
	{ "a huge sparse file", make_sparse }, { "an empty file", make_empty }, { "a device", make_device },
};

static bool is_result(const uint8_t key[GPUBPF_RESULT_CACHE_KEY], const char *want)
{
	size_t size;
	char *got = gpubpf_result_cache_get(results, key, &size);
	bool is = got && size == strlen(want) && !memcmp(got, want, size);

	free(got);
	return is;
}

static bool is_kept(const char *want)
{
	size_t size;
	char *got = gpubpf_blob_cache_find(kept, "key", 3, &size);
	bool is = got && size == strlen(want) && !memcmp(got, want, size);

	free(got);
	return is;
}

static bool has_name(const char *want)
{
	size_t size;
	void *got = NULL;
	bool is = !gpubpf_blob_read(kept, "name", 100, &got, &size) && size == strlen(want) && !memcmp(got, want, size);

	free(got);
	return is;
}

/* Replace each file of the folder by an odd file, or remove it if odd is NULL. */
static void replace_all(const char *folder, const struct odd *odd)
{
	static const char script[] = "cd \"$1\" && for f in *; do [ -d \"$f\" ] || echo \"$f\"; done";
	char path[PATH_MAX], command[2 * PATH_MAX];
	FILE *list;

	snprintf(command, sizeof(command), "set - '%s'; %s", folder, script);
	list = popen(command, "r");
	while (list && fgets(path + snprintf(path, sizeof(path), "%s/", folder), 200, list)) {
		path[strcspn(path, "\n")] = 0;
		unlink(path);
		if (odd)
			odd->make(path);
	}
	if (list)
		pclose(list);
}

static void test_odd(const struct odd *odd)
{
	uint8_t key[GPUBPF_RESULT_CACHE_KEY] = { 7 };

	gpubpf_result_cache_put(results, key, "first", 5, BOUND);
	gpubpf_blob_cache_add(kept, "key", 3, "first", 5);
	gpubpf_blob_write(kept, "name", "first", 5);
	if (!ok(is_result(key, "first") && is_kept("first") && has_name("first"), "the caches keep"))
		return;
	replace_all(results, odd);
	replace_all(kept, odd);
	ok(!is_result(key, "first"), "%s is no result", odd->what);
	ok(!is_kept("first"), "%s is nothing kept", odd->what);
	ok(!has_name("first"), "%s is nothing kept by a name", odd->what);
	gpubpf_result_cache_put(results, key, "again", 5, BOUND);
	gpubpf_blob_cache_add(kept, "key", 3, "again", 5);
	gpubpf_blob_write(kept, "name", "again", 5);
	/* gpubpf_blob_write() may take an existing empty or sparse file for the cached one and keep it */
	ok(is_result(key, "again") && is_kept("again") && (has_name("again") || odd->make == make_empty || odd->make == make_sparse),
	   "a new file takes the place of %s", odd->what);
	replace_all(results, NULL);
	replace_all(kept, NULL);
}

/* -- temporary files -- */

static void write_temp(const char *folder, const char *name, size_t size, int *held)
{
	char path[PATH_MAX];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (ftruncate(fd, size) < 0)
		abort();
	if (held)
		flock(*held = fd, LOCK_EX);
	else
		close(fd);
}

static bool is_there(const char *folder, const char *name)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return !access(path, F_OK);
}

/* Run fn in a child process, since a process scans the folder only at its first write. */
static void run_in_child(void (*fn)(void))
{
	pid_t pid = fork();

	if (!pid) {
		fn();
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

static void put_some(void)
{
	uint8_t key[GPUBPF_RESULT_CACHE_KEY] = { 9 };

	gpubpf_result_cache_put(results, key, "some", 4, BOUND);
	gpubpf_blob_write(kept, "some", "some", 4);
}

static void put_more(void)
{
	uint8_t key[GPUBPF_RESULT_CACHE_KEY] = { 10 };

	gpubpf_result_cache_put(results, key, "more", 4, BOUND);
	gpubpf_blob_write(kept, "more", "more", 4);
}

static void test_temporary(void)
{
	uint8_t some[GPUBPF_RESULT_CACHE_KEY] = { 9 };
	int held[2];

	run_in_child(put_some);
	ok(is_result(some, "some"), "a result is kept");
	write_temp(results, ".tmp.0123456789abcdef", 2 * BOUND, NULL);
	write_temp(kept, ".tmp.0123456789abcdef", 100, NULL);
	write_temp(kept, ".0123.77", 100, NULL);
	write_temp(kept, ".tmp.1111111111111111", 100, &held[0]);
	run_in_child(put_more);
	ok(!is_there(results, ".tmp.0123456789abcdef") && !is_there(kept, ".tmp.0123456789abcdef") && !is_there(kept, ".0123.77"),
	   "temporary files that nobody writes are removed");
	ok(is_there(kept, ".tmp.1111111111111111"), "one that a process writes stays");
	ok(is_result(some, "some"), "what is kept stays");
	write_temp(results, ".tmp.2222222222222222", 2 * BOUND, &held[1]);
	run_in_child(put_more);
	ok(!is_result(some, "some"), "one that a process writes counts for the bound");
	ok(is_there(results, ".tmp.2222222222222222"), "and stays");
	close(held[0]);
	close(held[1]);
	run_in_child(put_more);
	ok(!is_there(results, ".tmp.2222222222222222"), "after its process ends it is removed");
}

/* -- owners of folders -- */

static int open_kept(const char *below, bool make)
{
	char path[400];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", top, below);
	fd = gpubpf_blob_open_dir(path, make);
	if (fd >= 0)
		close(fd);
	return fd < 0 ? fd : 0;
}

static void folder(const char *below, mode_t mode, uid_t owner)
{
	char path[400];

	snprintf(path, sizeof(path), "%s/%s", top, below);
	mkdir(path, mode);
	chmod(path, mode);
	if (lchown(path, owner, -1) < 0)
		abort();
}

static void link_to(const char *target, const char *below, uid_t owner)
{
	char path[400];

	snprintf(path, sizeof(path), "%s/%s", top, below);
	if (symlink(target, path) < 0 || lchown(path, owner, -1) < 0)
		abort();
}

static void test_own_folders(void)
{
	uid_t us = geteuid();

	ok(!open_kept("new/cache/gpubpf/devices", true), "folders are made");
	ok(open_kept("new/cache/gpubpf/other", false) == -ENOENT, "or are missing");
	folder("open", 0755, us);
	folder("open/gpubpf", 0755, us);
	ok(open_kept("open/gpubpf/devices", true) == -EPERM && !is_there(top, "open/gpubpf/devices"),
	   "nothing is made in a cache that others read");
	folder("open/gpubpf/devices", 0700, us);
	ok(open_kept("open/gpubpf/devices", false) == -EPERM, "nor is what is there taken");
	folder("linked", 0755, us);
	link_to("../new/cache/gpubpf", "linked/gpubpf", us);
	ok(open_kept("linked/gpubpf/devices", true) < 0, "the cache is no link");
	link_to("new", "ours", us);
	ok(!open_kept("ours/cache/gpubpf/devices", true), "a link of the user's may stand above it");
	ok(!open_kept("new//cache/gpubpf//devices/", true), "slashes are as many as they are");
}

static void test_others_folders(void)
{
	if (geteuid()) {
		skip("folders of another user", "needs root");
		return;
	}
	folder("other", 0755, STRANGER);
	ok(open_kept("other/gpubpf", true) == -EPERM && open_kept("other/gpubpf", false) == -EPERM && !is_there(top, "other/gpubpf"),
	   "nothing is made in another user's folder");
	ok(open_kept("other/a/b/gpubpf", true) == -EPERM && !is_there(top, "other/a"), "nor above the cache");
	folder("other/gpubpf", 0700, STRANGER);
	ok(open_kept("other/gpubpf/devices", true) == -EPERM && !is_there(top, "other/gpubpf/devices"), "nor in another user's cache");
	folder("other/gpubpf/devices", 0700, 0);
	ok(open_kept("other/gpubpf/devices", false) == -EPERM, "nor is what is there taken");
	folder("mine", 0700, 0);
	link_to("../mine", "other/link", STRANGER);
	ok(open_kept("other/link/gpubpf", true) == -EPERM && !is_there(top, "mine/gpubpf"), "another user's link is not followed");
	folder("other/own", 0700, 0);
	ok(!open_kept("other/own/gpubpf", true), "a folder of the user's own in another's is taken");
}

int main(void)
{
	char command[300];

	snprintf(top, sizeof(top), "%s/gpubpf-cache-XXXXXX", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
	if (!mkdtemp(top))
		return 2;
	snprintf(results, sizeof(results), "%s/gpubpf", top);
	snprintf(kept, sizeof(kept), "%s/devices", results);
	alarm(HANG_S);
	test_temporary(); /* must be the first test, before this process writes to the folders */
	for (size_t i = 0; i < sizeof(odds) / sizeof(odds[0]); i++)
		if (odds[i].make != make_device || !geteuid())
			test_odd(&odds[i]);
	test_own_folders();
	test_others_folders();
	snprintf(command, sizeof(command), "rm -rf '%s'", top);
	return system(command) ? 2 : done();
}
