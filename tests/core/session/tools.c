/* SPDX-License-Identifier: Apache-2.0 */
/* Requests of other tools to a session, and the folder in which tools find sessions. */
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "fixture.h"

static void *query_session(void *path)
{
	char why[256], *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	struct gpubpf_writer w = { 0 };
	int err;

	gpubpf_put_str(&w, "");
	err = gpubpf_query_request(path, GPUBPF_QUERY_DUMP, GPUBPF_QUERY_JSON, &w, out, why, sizeof(why));

	fclose(out);
	if (err < 0)
		note("%s", why);
	return err < 0 ? NULL : text;
}

static void agent_pulled(struct agent *a, uint32_t device, uint32_t number)
{
	struct gpubpf_writer w = { 0 };

	gpubpf_put_u32(&w, device);
	gpubpf_put_u32(&w, number);
	agent_send(a, GPUBPF_MSG_PULLED, &w, NULL, 0);
}

/* Answer the messages PULL for device 1; device 0 never answers. Returns the number of PULLs for device 1. */
static uint32_t answer_pulls(struct agent *a)
{
	uint32_t n = 0, device;

	while (!gpubpf_msg_recv(a->sock, MSG_DONTWAIT, a->buffer, &a->packet)) {
		if (a->packet.type != GPUBPF_MSG_PULL || (device = gpubpf_get_u32(&a->packet.payload)) != 1)
			continue;
		n++;
		agent_pulled(a, device, gpubpf_get_u32(&a->packet.payload));
	}
	return n;
}

/*
 * A query waits for an answer to its own PULL. Other answers may describe copies of the maps that started before the
 * query.
 */
static void test_fresh(void)
{
	struct gpubpf_session *s = start("/nonexistent");
	uint32_t number = 0;
	pthread_t thread;
	void *text = NULL;
	struct agent a;
	bool early = false;

	agent_connect(&a, s);
	agent_hello(&a);
	agent_device(&a, 1, 0);
	pthread_create(&thread, NULL, query_session, (void *)gpubpf_session__path(s));
	for (int i = 0; i < 100; i++) { /* the session also sends other PULLs, which drain the ring buffers */
		gpubpf_session__poll(s, 5);
		if (!gpubpf_msg_recv(a.sock, MSG_DONTWAIT, a.buffer, &a.packet) && a.packet.type == GPUBPF_MSG_PULL) {
			gpubpf_get_u32(&a.packet.payload);
			number = gpubpf_get_u32(&a.packet.payload);
		}
	}
	for (uint32_t unasked = 0; unasked < number; unasked++)
		agent_pulled(&a, 1, unasked);
	for (int i = 0; i < 40 && !early; i++) {
		gpubpf_session__poll(s, 5);
		early = !pthread_tryjoin_np(thread, &text);
	}
	ok(number && !early, "a copy that was not made for a question does not answer it");
	agent_pulled(&a, 1, number);
	for (int i = 0; i < 1000 && !early && pthread_tryjoin_np(thread, &text); i++)
		gpubpf_session__poll(s, 5);
	ok(text && strstr(text, "\"maps\""), "and one that was does");
	free(text);
	agent_close(&a);
	gpubpf_session__free(s);
}

static char *query_while_serving(struct gpubpf_session *s, struct agent *a, uint32_t *pulls)
{
	pthread_t thread;
	void *text = NULL;
	bool done = false;

	pthread_create(&thread, NULL, query_session, (void *)gpubpf_session__path(s));
	for (int i = 0; i < 4000 && !done; i++) {
		gpubpf_session__poll(s, 5);
		if (a)
			*pulls += answer_pulls(a);
		done = !pthread_tryjoin_np(thread, &text);
	}
	return text;
}

static void copy_path(const char *path, void *arg)
{
	snprintf(arg, 300, "%s", path);
}

static void test_query(void)
{
	struct gpubpf_session *s = start("/nonexistent");
	uint32_t pulls[2] = { 0 };
	char path[300], *text;
	struct agent a;

	text = query_while_serving(s, NULL, NULL);
	ok(text && strstr(text, "\"maps\""), "a running session answers another tool");
	free(text);
	agent_connect(&a, s);
	agent_hello(&a);
	agent_device(&a, 0, 0);
	agent_device(&a, 1, 0);
	for (int i = 0; i < 2; i++) {
		text = query_while_serving(s, &a, &pulls[i]);
		ok(text != NULL, "even when a device never sends its mirror");
		free(text);
	}
	ok(pulls[0] && pulls[1], "and the other device is asked for its mirror each time: %u, %u", pulls[0], pulls[1]);
	ok(gpubpf_sessions_find(dir, copy_path, NULL, path) == 1 && !strcmp(path, gpubpf_session__path(s)),
	   "the session is found");
	agent_close(&a);
	gpubpf_session__free(s);
	ok(!gpubpf_sessions_find(dir, NULL, NULL, NULL), "and not after its end");
}

struct attach_query {
	const char *session, *path, *prog;
	int n, err;
};

static void *query_attach(void *arg)
{
	struct attach_query *q = arg;
	struct gpubpf_writer w = { 0 };
	FILE *null = fopen("/dev/null", "w");
	char why[4096];

	gpubpf_put_str(&w, q->path);
	gpubpf_put_u32(&w, q->n);
	for (int i = 0; i < q->n && i < 1; i++) {
		gpubpf_put_str(&w, q->prog);
		gpubpf_put_str(&w, "");
	}
	q->err = gpubpf_query_request(q->session, GPUBPF_QUERY_ATTACH, 0, &w, null, why, sizeof(why));
	fclose(null);
	return NULL;
}

static int attached(struct gpubpf_session *s, const char *path, const char *prog, int n)
{
	struct attach_query q = { gpubpf_session__path(s), path, prog, n, 1 };
	pthread_t thread;
	bool done = false;

	pthread_create(&thread, NULL, query_attach, &q);
	for (int i = 0; i < 4000 && !done; i++) {
		gpubpf_session__poll(s, 5);
		done = !pthread_tryjoin_np(thread, NULL);
	}
	return q.err;
}

/*
 * Another tool asks the session to load and attach a file. An invalid file, list or name leaves the session unchanged.
 */
static void test_attach_queries(void)
{
	struct gpubpf_session *s = start("/nonexistent");
	uint32_t nmaps = gpubpf_session_unit(s)->nmaps;
	char fifo[128];

	snprintf(fifo, sizeof(fifo), "%s/fifo", dir);
	ok(!mkfifo(fifo, 0600) && attached(s, fifo, "joined", 1) < 0, "a pipe that nobody writes to");
	unlink(fifo);
	ok(attached(s, "/dev/zero", "joined", 1) < 0 && attached(s, dir, "joined", 1) < 0, "a device and a folder");
	ok(attached(s, "session.bpf.o", "count", 1) < 0 &&
		   strstr(notes, "sent an invalid message and gets no answer; use only") &&
		   !strstr(notes, "unknown program"),
	   "a path that is not whole");
	ok(attached(s, joins, "joined", 5000) < 0, "more programs than there can be links");
	ok(gpubpf_session_unit(s)->nmaps == nmaps, "none of them has joined");
	ok(attached(s, joins, "joined", 2) < 0 && gpubpf_session__next_link(s, NULL) &&
		   !gpubpf_session__next_link(s, gpubpf_session__next_link(s, NULL)),
	   "a list that is too short: none is attached");
	ok(!attached(s, joins, "", 0) && !attached(s, joins, "", 0), "all of an object, and again");
	gpubpf_session__free(s);
}

static void test_killed(void)
{
	char path[300];
	int ready[2];
	pid_t pid;

	if (pipe(ready) < 0)
		return;
	pid = fork();
	if (!pid) {
		struct gpubpf_session *s = start("/nonexistent");

		if (write(ready[1], gpubpf_session__path(s), strlen(gpubpf_session__path(s)) + 1) < 0)
			_exit(1);
		pause();
	}
	ok(read(ready[0], path, sizeof(path)) > 0 && !access(path, F_OK), "a tool has a socket");
	if (pid > 0)
		kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	ok(!access(path, F_OK), "killed, it leaves the socket behind");
	ok(!gpubpf_sessions_find(dir, NULL, NULL, NULL), "nobody takes it for a session");
	ok(access(path, F_OK) < 0, "and it is cleaned away");
}

static void test_folder(void)
{
	struct gpubpf_session_opts o = { .sz = sizeof(o) };
	struct gpubpf_session *s;
	char open_dir[80];

	snprintf(open_dir, sizeof(open_dir), "%s/open", dir);
	mkdir(open_dir, 0755);
	o.runtime_dir = open_dir;
	s = gpubpf_session__new(&o);
	gpubpf_session__load(s);
	ok(gpubpf_session__start(s) == -EPERM && strstr(gpubpf_session__error(s), "0700"),
	   "a folder that others can read is refused: %s", gpubpf_session__error(s));
	gpubpf_session__free(s);
	rmdir(open_dir);
}

/* If others can write to the parent folder, they can replace the runtime folder, so the session refuses to start. */
static void test_folder_above(void)
{
	static const mode_t modes[] = { 0777, 0770, 01777, 0755 };
	struct gpubpf_session_opts o = { .sz = sizeof(o) };
	char above[80], below[90];

	snprintf(above, sizeof(above), "%s/above", dir);
	snprintf(below, sizeof(below), "%s/own", above);
	mkdir(above, 0700);
	o.runtime_dir = below;
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		struct gpubpf_session *s = gpubpf_session__new(&o);
		bool safe = i >= 2;
		int err;

		chmod(above, modes[i]);
		gpubpf_session__load(s);
		err = gpubpf_session__start(s);
		ok(safe ? !err : err == -EPERM && strstr(gpubpf_session__error(s), "chmod go-w"),
		   "a parent of mode %o: %s", (unsigned int)modes[i], safe ? "taken" : gpubpf_session__error(s));
		gpubpf_session__free(s);
		rmdir(below);
	}
	if (!chown(above, 65534, -1)) { /* a parent folder of another user; only root can create it */
		struct gpubpf_session *s = gpubpf_session__new(&o);

		gpubpf_session__load(s);
		ok(gpubpf_session__start(s) == -EPERM, "a parent of user 65534: %s", gpubpf_session__error(s));
		gpubpf_session__free(s);
		rmdir(below);
	}
	rmdir(above);
}

int main(int argc, char **argv)
{
	if (!fixture(argc, argv))
		return 1;
	test_query();
	test_fresh();
	test_attach_queries();
	test_killed();
	test_folder();
	test_folder_above();
	rmdir(dir);
	return done();
}
