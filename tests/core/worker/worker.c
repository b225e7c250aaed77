/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests the client of workers that crash, hang, send invalid data or refuse a job. Also tests the cache and the
 * encoding.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/model/diag.h"
#include "core/worker/result_cache.h"
#include "core/worker/job.h"
#include "codec.h"
#include "misbehave.h"
#include "tests/tap.h"

static const char *worker_path;
static char dir[] = "/tmp/gpubpf-worker-XXXXXX";

static struct gpubpf_worker *make_worker(uint32_t timeout_ms, const char *cache)
{
	struct gpubpf_worker_opts opts = { .path = worker_path, .timeout_ms = timeout_ms, .cache_dir = cache };
	struct gpubpf_worker *w = NULL;

	gpubpf_worker_create(&opts, &w);
	return w;
}

static int emit_for(struct gpubpf_worker *w, const char *target, uint64_t behaviour, char *text, size_t size,
		    struct gpubpf_diag *diag)
{
	struct gpubpf_lower_job job = make_job(behaviour);
	struct gpubpf_target_opts opts = { .opt_level = 2 };
	struct gpubpf_blob blob;
	int err;

	gpubpf_diag_init(diag);
	err = gpubpf_worker_emit(w, target, &job, &opts, &blob, diag);
	if (!err) {
		snprintf(text, size, "%.*s", (int)blob.size, (char *)blob.data);
		if (behaviour == MISBEHAVE_OPEN)
			snprintf(text, size, "%zu", blob.size);
		free(blob.data);
	}
	return err;
}

static int emit(struct gpubpf_worker *w, uint64_t behaviour, char *text, size_t size, struct gpubpf_diag *diag)
{
	return emit_for(w, "t", behaviour, text, size, diag);
}

static bool runs(const char *pid, const char *program)
{
	char link[300], exe[512];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/%s/exe", pid);
	n = readlink(link, exe, sizeof(exe) - 1);
	exe[n < 0 ? 0 : n] = 0;
	return !strcmp(exe, program);
}

static bool runs_anywhere(const char *program)
{
	DIR *d = opendir("/proc");
	struct dirent *e;
	bool found = false;

	while (d && (e = readdir(d)))
		found |= atoi(e->d_name) && runs(e->d_name, program);
	if (d)
		closedir(d);
	return found;
}

/*
 * Wait until no process runs the program, because a process whose parent died ends only a moment later. Returns false
 * after 10 s.
 */
static bool nobody_runs(const char *program)
{
	char path[PATH_MAX];

	for (int i = 0; realpath(program, path) && i < 1000; i++) {
		if (!runs_anywhere(path))
			return true;
		usleep(10000);
	}
	return false;
}

static void *cancel_soon(void *w)
{
	usleep(100000);
	gpubpf_worker_cancel(w);
	return NULL;
}

/* The target "once" needs a new process for each job. Its answer is "program instructions process". */
static void test_once(void)
{
	struct gpubpf_worker *w = make_worker(60000, NULL);
	struct gpubpf_diag diag;
	char text[3][64];
	pthread_t thread;

	for (int i = 0; i < 3; i++)
		ok(!emit_for(w, "once", MISBEHAVE_NOT, text[i], sizeof(text[i]), &diag) && !strncmp(text[i], "p 4 ", 4),
		   "a job that needs a process of its own is answered");
	ok(strcmp(text[0], text[1]) && strcmp(text[1], text[2]), "and has had one");
	ok(emit_for(w, "once", MISBEHAVE_CRASH, text[0], sizeof(text[0]), &diag) == -EPIPE &&
		   strstr(diag.what, "signal 11"),
	   "its crash is reported: %s", diag.what);
	ok(emit_for(w, "once", MISBEHAVE_GARBAGE, text[0], sizeof(text[0]), &diag) < 0 && diag.code == GPUBPF_E_PROTOCOL,
	   "so is a packet that is none: %s", diag.what);
	ok(emit_for(w, "once", MISBEHAVE_OPEN, text[0], sizeof(text[0]), &diag) == 0 && atoi(text[0]) == EPERM,
	   "it is in the sandbox too");
	gpubpf_worker_destroy(w);
	w = make_worker(60000, NULL); /* a timeout of 60 s, so that the worker cannot end before it is cancelled */
	pthread_create(&thread, NULL, cancel_soon, w);
	ok(emit_for(w, "once", MISBEHAVE_HANG, text[0], sizeof(text[0]), &diag) == -ECANCELED, "it can be cancelled");
	pthread_join(thread, NULL);
	gpubpf_worker_destroy(w);
	ok(nobody_runs(worker_path), "and nothing of it is left");
}

static void test_conversation(void)
{
	struct gpubpf_worker *w = make_worker(60000, NULL);
	struct gpubpf_diag diag;
	char text[64] = "", again[64] = "";
	int err = emit(w, MISBEHAVE_NOT, text, sizeof(text), &diag), pid = 0;

	ok(!err && sscanf(text, "p 4 %d", &pid) == 1 && pid > 1, "a job is answered: %d, %s%s", err, text, diag.what);
	err = emit(w, MISBEHAVE_NOT, again, sizeof(again), &diag);
	ok(!err && !strcmp(text, again), "by the same process: %d, %s%s", err, again, diag.what);
	if (pid > 1)
		kill(pid, SIGKILL);
	ok(!emit(w, MISBEHAVE_NOT, again, sizeof(again), &diag) && strcmp(text, again),
	   "killed after an answer, it is replaced: %s", diag.what);
	strcpy(text, again);
	ok(emit(w, MISBEHAVE_REFUSE, text, sizeof(text), &diag) == -EINVAL && diag.code == GPUBPF_E_INJECT &&
		   diag.pc == 7 && strstr(diag.what, "not to my taste"),
	   "a refusal comes with its diagnostic");
	ok(emit(w, MISBEHAVE_CRASH, text, sizeof(text), &diag) == -EPIPE && diag.code == GPUBPF_E_WORKER_DIED &&
		   strstr(diag.what, "signal 11"),
	   "a crash is reported: %s", diag.what);
	ok(!emit(w, MISBEHAVE_NOT, text, sizeof(text), &diag) && strcmp(text, again), "the next job gets a new process");
	ok(emit(w, MISBEHAVE_GARBAGE, text, sizeof(text), &diag) < 0 && diag.code == GPUBPF_E_PROTOCOL,
	   "a packet that is none ends the worker: %s", diag.what);
	ok(!emit(w, MISBEHAVE_OPEN, text, sizeof(text), &diag) && atoi(text) == EPERM, "the sandbox refuses to open files");
	gpubpf_worker_destroy(w);
}

/* Create a worker and run a job. Returns the number of its process; the worker is then cancelled and destroyed. */
static int process_of(uint64_t memory)
{
	struct gpubpf_worker_opts opts = { .path = worker_path, .timeout_ms = 60000, .memory = memory };
	struct gpubpf_worker *w = NULL;
	struct gpubpf_diag diag;
	char text[64] = "";
	int pid = 0;

	if (!gpubpf_worker_create(&opts, &w) && !emit(w, MISBEHAVE_NOT, text, sizeof(text), &diag))
		sscanf(text, "p 4 %d", &pid);
	gpubpf_worker_cancel(w);
	if (emit(w, MISBEHAVE_NOT, text, sizeof(text), &diag) != -ECANCELED)
		pid = -1;
	gpubpf_worker_destroy(w);
	return pid;
}

static bool has_another_after_fork(int pid)
{
	pid_t child = fork();
	int status = 1;

	if (!child) {
		int other = process_of(0);

		_exit(other <= 0 || other == pid);
	}
	return waitpid(child, &status, 0) == child && status == 0;
}

static void test_kept(void)
{
	int first = process_of(0), second = process_of(0), other;
	struct gpubpf_worker *w;
	struct gpubpf_diag diag;
	pthread_t thread;
	char text[64];

	ok(first > 0 && second > 0 && first != second, "each worker has a process of its own");
	gpubpf_workers_reuse(true);
	first = process_of(0);
	ok(first > 0 && process_of(0) == first && process_of(0) == first, "or that of an earlier one, where they are kept");
	other = process_of(1ull << 30);
	ok(other > 0 && other != first, "but not with other limits");
	ok(has_another_after_fork(first), "nor in a process that was forked");
	kill(first, SIGKILL);
	second = process_of(0);
	ok(second > 0 && second != first, "one that was killed meanwhile is replaced");
	w = make_worker(60000, NULL);
	pthread_create(&thread, NULL, cancel_soon, w);
	ok(emit(w, MISBEHAVE_HANG, text, sizeof(text), &diag) == -ECANCELED, "a job can be cancelled as before");
	pthread_join(thread, NULL);
	gpubpf_worker_destroy(w);
	ok(process_of(0) != second, "and its process is not kept");
	first = process_of(0);
	for (int i = 0; i < 200 && process_of(0) == first; i++)
		;
	ok(process_of(0) != first, "after many jobs another process takes over");
	gpubpf_workers_reuse(false);
	ok(nobody_runs(worker_path), "none is left where no more are kept");
}

static void test_time(void)
{
	struct gpubpf_worker *w = make_worker(1000, NULL);
	struct gpubpf_diag diag;
	pthread_t thread;
	char text[64];
	int err = -ETIMEDOUT;

	ok(emit(w, MISBEHAVE_HANG, text, sizeof(text), &diag) == -ETIMEDOUT && diag.code == GPUBPF_E_TIMEOUT,
	   "a job that takes too long is ended: %s", diag.what);
	/* The timeout includes the start of the worker's process, which takes longer on a busy machine. */
	for (int i = 0; i < 60 && err == -ETIMEDOUT; i++)
		err = emit(w, MISBEHAVE_NOT, text, sizeof(text), &diag);
	ok(!err, "and the next one is answered: %s", diag.what);
	gpubpf_worker_destroy(w);
	w = make_worker(60000, NULL);
	pthread_create(&thread, NULL, cancel_soon, w);
	ok(emit(w, MISBEHAVE_HANG, text, sizeof(text), &diag) == -ECANCELED, "a job can be cancelled: %s", diag.what);
	pthread_join(thread, NULL);
	ok(emit(w, MISBEHAVE_NOT, text, sizeof(text), &diag) == -ECANCELED, "a cancelled worker stays so");
	gpubpf_worker_destroy(w);
	worker_path = "/nonexistent/worker";
	w = make_worker(200, NULL);
	ok(emit(w, MISBEHAVE_NOT, text, sizeof(text), &diag) < 0 && strstr(diag.what, "/nonexistent/worker"),
	   "a worker that is not there: %s", diag.what);
	gpubpf_worker_destroy(w);
}

static void test_images(void)
{
	struct gpubpf_worker *w = make_worker(60000, NULL);
	struct gpubpf_lower_job job = make_job(0);
	struct gpubpf_target_opts opts = { 0 };
	struct gpubpf_site_desc site = { .kernel = "image" };
	struct gpubpf_image image = { .data = "image", .size = 5, .kind = GPUBPF_IMAGE_SPIRV };
	struct gpubpf_twin_image twin = { 0 };
	struct gpubpf_kernel_info *kernels;
	struct gpubpf_diag diag;
	uint32_t n;

	gpubpf_diag_init(&diag);
	ok(!gpubpf_worker_inject(w, "t", &image, &job, &opts, &twin, &diag) && twin.npieces == 2 &&
		   twin.piece[1].blob.size == 5 && !memcmp(twin.piece[1].blob.data, "image", 5) &&
		   !strcmp(twin.piece[1].options, "-O2") && twin.piece[0].kind == GPUBPF_IMAGE_SPIRV &&
		   twin.nrefused == 1 && !strcmp(twin.refused[0].reason, "it is too large"),
	   "twins come back whole");
	gpubpf_twin_image_finish(&twin);
	ok(!gpubpf_worker_inspect(w, "t", &image, &caps, &kernels, &n, &diag) && n == 1 &&
		   !strcmp(kernels[0].name, "image") && !strcmp(kernels[0].params[1].name, "dev") &&
		   kernels[0].nplaces == 2 && kernels[0].places[1].kind == GPUBPF_SITE_EXIT &&
		   kernels[0].places[1].id == 3 && kernels[0].places[1].line == 40 &&
		   kernels[0].places[1].operands == GPUBPF_GIVES_ARG,
	   "kernels come back whole");
	free(kernels);
	image.places = GPUBPF_SITE_BIT(BLOCK_BEGIN);
	kernels = NULL;
	gpubpf_diag_init(&diag);
#ifdef NDEBUG
	ok(!gpubpf_worker_inspect(w, "short", &image, &caps, &kernels, &n, &diag) && n == 1 &&
		   strstr(kernels[0].reason, "short did not list all places that it supports"),
	   "a place that is not listed is refused");
	free(kernels);
#else
	ok(gpubpf_worker_inspect(w, "short", &image, &caps, &kernels, &n, &diag) < 0,
	   "a place that is not listed ends the worker: %s", diag.what);
#endif
	image.places = 0;
	image.size = strlen(MISBEHAVE_INVALID);
	image.data = MISBEHAVE_INVALID;
	opts.validate = true;
	gpubpf_diag_init(&diag);
	ok(gpubpf_worker_inject(w, "t", &image, &job, &opts, &twin, &diag) == -EINVAL && strstr(diag.what, "is not valid"),
	   "a twin that is not valid is refused where that is checked: %s", diag.what);
	site.site = GPUBPF_SITE_CALL;
	job.sites = &site;
	job.nsites = 1;
	job.ninsertions = 0;
	gpubpf_diag_init(&diag);
	ok(gpubpf_worker_inject(w, "t", &image, &job, &opts, &twin, &diag) < 0 && diag.code == GPUBPF_E_TARGET_LACKS &&
		   strstr(diag.what, "gpu/call/ cannot be probed on dev: "),
	   "no place that the target has not: %s", diag.what);
	gpubpf_diag_init(&diag);
	ok(gpubpf_worker_inspect(w, "once", &image, &caps, &kernels, &n, &diag) == -EOPNOTSUPP,
	   "no image of a kind that the target does not take: %s", diag.what);
	gpubpf_diag_init(&diag);
	ok(gpubpf_worker_inspect(w, "other", &image, &caps, &kernels, &n, &diag) == -EOPNOTSUPP &&
		   diag.code == GPUBPF_E_TARGET_LACKS,
	   "an unknown target is refused: %s", diag.what);
	gpubpf_worker_destroy(w);
}

/* The client sends an image to a worker once for consecutive jobs, and again after the worker was restarted. */
static void test_known_image(void)
{
	static const char *const bytes[] = { "first", "other", "other", "first" };
	static const char *const got[] = { "first", "first", "other", "first" };
	static const uint8_t digest[][GPUBPF_IMAGE_DIGEST] = { { 1 }, { 1 }, { 2 }, { 1 } };
	struct gpubpf_worker *w = make_worker(60000, NULL);
	struct gpubpf_lower_job job = make_job(0);
	struct gpubpf_target_opts opts = { 0 };
	struct gpubpf_image image = { .size = 5, .kind = GPUBPF_IMAGE_SPIRV };
	struct gpubpf_twin_image twin = { 0 };
	struct gpubpf_diag diag;
	uint32_t good = 0;
	char text[64];

	for (int i = 0; i < 4; i++) {
		image.data = bytes[i];
		image.digest = digest[i];
		gpubpf_diag_init(&diag);
		good += !gpubpf_worker_inject(w, "t", &image, &job, &opts, &twin, &diag) && twin.npieces == 2 &&
			twin.piece[1].blob.size == 5 && !memcmp(twin.piece[1].blob.data, got[i], 5);
		gpubpf_twin_image_finish(&twin);
	}
	ok(good == 4, "an image by its digest: it is sent with the first job of it alone");
	emit(w, MISBEHAVE_CRASH, text, sizeof(text), &diag);
	gpubpf_diag_init(&diag);
	ok(!gpubpf_worker_inject(w, "t", &image, &job, &opts, &twin, &diag) && !memcmp(twin.piece[1].blob.data, "first", 5),
	   "and to a worker that died since, again");
	gpubpf_twin_image_finish(&twin);
	gpubpf_worker_destroy(w);
}

/* Damage each file of the cache by flipping one bit near its end. Returns the number of files. */
static int damage_cache(void)
{
	DIR *d = opendir(dir);
	struct dirent *e;
	int n = 0;

	while ((e = readdir(d))) {
		int fd = openat(dirfd(d), e->d_name, O_RDWR);
		char c;

		if (e->d_name[0] == '.' || fd < 0)
			continue;
		if (pread(fd, &c, 1, lseek(fd, 0, SEEK_END) - 1) == 1) {
			c ^= 1;
			n += pwrite(fd, &c, 1, lseek(fd, 0, SEEK_END) - 1) == 1;
		}
		close(fd);
	}
	closedir(d);
	return n;
}

static void test_cache(void)
{
	struct gpubpf_worker *w = make_worker(60000, dir);
	struct gpubpf_diag diag;
	char text[64], again[64];

	emit(w, MISBEHAVE_NOT, text, sizeof(text), &diag);
	gpubpf_worker_destroy(w);
	w = make_worker(60000, dir);
	ok(!emit(w, MISBEHAVE_NOT, again, sizeof(again), &diag) && !strcmp(text, again), "a job answered before is cached");
	ok(damage_cache() == 1 && !emit(w, MISBEHAVE_NOT, again, sizeof(again), &diag) && strcmp(text, again),
	   "a damaged file is a miss");
	gpubpf_worker_destroy(w);
}

static struct gpubpf_worker *make_leaving(void)
{
	struct gpubpf_worker_opts opts = { .path = worker_path, .timeout_ms = 60000, .cache_dir = dir, .leaves = true };
	struct gpubpf_worker *w = NULL;

	gpubpf_worker_create(&opts, &w);
	return w;
}

static void *emit_slowly(void *w)
{
	struct gpubpf_diag diag;
	char text[64];

	return (void *)(intptr_t)emit(w, MISBEHAVE_SLOW, text, sizeof(text), &diag);
}

static bool has_lock(void)
{
	DIR *d = opendir(dir);
	struct dirent *e;
	bool found = false;

	while (d && (e = readdir(d)))
		found |= strstr(e->d_name, ".lock") != NULL;
	if (d)
		closedir(d);
	return found;
}

/* A cancelled worker leaves its job. An equal job waits for the result. */
static void test_left(void)
{
	struct gpubpf_worker *w = make_leaving();
	uint64_t hits = 0, misses = 0;
	struct gpubpf_diag diag;
	pthread_t thread;
	char text[64];
	void *result;

	pthread_create(&thread, NULL, emit_slowly, w);
	while (!has_lock())
		usleep(1000);
	usleep(100000);
	gpubpf_worker_cancel(w);
	pthread_join(thread, &result);
	ok((intptr_t)result == -ECANCELED, "a worker that leaves its job is cancelled: %d", (int)(intptr_t)result);
	gpubpf_worker_destroy(w);
	w = make_leaving();
	ok(!emit(w, MISBEHAVE_SLOW, text, sizeof(text), &diag), "an equal job has a result");
	gpubpf_worker_cache_use(w, &hits, &misses);
	ok(hits == 1 && !misses, "it waited for that of the job that was left: %d hits, %d misses", (int)hits, (int)misses);
	gpubpf_worker_destroy(w);
	ok(nobody_runs(worker_path) && !has_lock(), "no process and no lock is left");
	w = make_leaving();
	ok(!emit(w, MISBEHAVE_NOT, text, sizeof(text), &diag) && !has_lock(), "a job that is not left leaves no lock");
	gpubpf_worker_cancel(w);
	gpubpf_worker_destroy(w);
	ok(nobody_runs(worker_path), "an idle worker is ended");
}

static void test_eviction(void)
{
	uint8_t key[GPUBPF_RESULT_CACHE_KEY] = { 0 };
	char data[1000] = { 0 };
	void *got;
	size_t size, kept = 0;

	for (int i = 0; i < 8; i++) {
		key[0] = i;
		gpubpf_result_cache_put(dir, key, data, sizeof(data), 4200);
		usleep(10000);
	}
	ok((got = gpubpf_result_cache_get(dir, key, &size)) && size == sizeof(data), "the newest file stays");
	free(got);
	for (int i = 0; i < 8; i++) {
		key[0] = i;
		got = gpubpf_result_cache_get(dir, key, &size);
		kept += got != NULL;
		free(got);
	}
	ok(kept >= 3 && kept <= 4, "the folder keeps to its bound: %zu of 8 files left", kept);
}

static bool cached(const uint8_t key[GPUBPF_RESULT_CACHE_KEY], const char *want)
{
	size_t size;
	char *got = gpubpf_result_cache_get(dir, key, &size);
	bool is = got && size == strlen(want) && !memcmp(got, want, size);

	free(got);
	return is;
}

/* A cached file renamed to another key must not be used, and other users must not be able to store files. */
static void test_cache_of_others(void)
{
	uint8_t one[GPUBPF_RESULT_CACHE_KEY] = { 1 }, two[GPUBPF_RESULT_CACHE_KEY] = { 2 };
	char from[600], to[600], hex[2 * GPUBPF_RESULT_CACHE_KEY + 1] = "";
	struct stat st;

	gpubpf_result_cache_put(dir, one, "first", 5, 1 << 20);
	gpubpf_result_cache_put(dir, two, "second", 6, 1 << 20);
	ok(cached(one, "first") && cached(two, "second"), "two results are kept");
	for (int i = 1; i < GPUBPF_RESULT_CACHE_KEY; i++)
		strcat(hex, "00");
	snprintf(from, sizeof(from), "%s/01%s.gpubpf", dir, hex);
	snprintf(to, sizeof(to), "%s/02%s.gpubpf", dir, hex);
	ok(!rename(from, to) && !cached(two, "first"), "one under the name of another is none");
	chmod(dir, 0770);
	gpubpf_result_cache_put(dir, one, "first", 5, 1 << 20);
	ok(gpubpf_result_cache_check(dir) == -EPERM && lstat(from, &st) < 0,
	   "nothing is put into a folder that others may write");
	chmod(dir, 0700);
	gpubpf_result_cache_put(dir, one, "first", 5, 1 << 20);
	chmod(dir, 0755);
	ok(!cached(one, "first"), "nor read from one that others see");
	chmod(dir, 0700);
	ok(!gpubpf_result_cache_check(dir) && cached(one, "first"), "closed again it is used");
	if (geteuid()) {
		skip("a folder of another user", "needs root");
		return;
	}
	ok(!chown(dir, 65534, 65534) && gpubpf_result_cache_check(dir) == -EPERM && !cached(one, "first"),
	   "nor is that of another user");
	ok(!chown(dir, 0, 0) && cached(one, "first"), "ours again");
}

/* The folder of the cache contains only files, so the test can remove the folder. */
static void test_leaves_nothing(void)
{
	DIR *d = opendir(dir);
	struct dirent *e;

	while (d && (e = readdir(d)))
		if (strcmp(e->d_name, ".") && strcmp(e->d_name, ".."))
			unlinkat(dirfd(d), e->d_name, 0);
	if (d)
		closedir(d);
	ok(!rmdir(dir), "the cache's folder is removed");
}

int main(int argc, char **argv)
{
	worker_path = argv[1];
	if (argc != 2 || !mkdtemp(dir))
		return 1;
	test_alike();
	test_codec();
	test_bare();
	test_insertions();
	test_conversation();
	test_once();
	test_images();
	test_known_image();
	test_cache();
	test_left();
	test_cache_of_others();
	test_eviction();
	test_kept();
	test_time();
	test_leaves_nothing();
	return done();
}
