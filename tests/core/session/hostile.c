/* SPDX-License-Identifier: Apache-2.0 */
/* A session whose peers send invalid messages, belong to other users, or are too many. */
#include <fcntl.h>
#include <sys/fsuid.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "fixture.h"
#include "core/session/report/private.h"
#include "core/session/server/private.h"

static void raw(struct agent *a, const void *data, size_t size)
{
	send(a->sock, data, size, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void bad_magic(struct agent *a)
{
	struct gpubpf_msg_hdr h = { .magic = 0x1234, .major = GPUBPF_MSG_MAJOR, .type = GPUBPF_MSG_NOTE };

	raw(a, &h, sizeof(h));
}

static void bad_major(struct agent *a)
{
	struct gpubpf_msg_hdr h = { .magic = GPUBPF_MSG_MAGIC, .major = 77, .type = GPUBPF_MSG_NOTE };

	raw(a, &h, sizeof(h));
}

static void bad_length(struct agent *a)
{
	struct gpubpf_msg_hdr h = { GPUBPF_MSG_MAGIC, GPUBPF_MSG_MAJOR, 0, GPUBPF_MSG_NOTE, 4000, 1 };

	raw(a, &h, sizeof(h));
}

static void surplus(struct agent *a)
{
	struct {
		struct gpubpf_msg_hdr h;
		uint64_t more;
	/* 999: a message type that the session does not know and skips */
	} packet = { { GPUBPF_MSG_MAGIC, GPUBPF_MSG_MAJOR, 0, 999, 0, 1 }, 0 };

	raw(a, &packet, sizeof(packet));
}

static void short_packet(struct agent *a)
{
	raw(a, "abc", 3);
}

static void huge_packet(struct agent *a)
{
	char *data = calloc(1, 100000);

	raw(a, data, 100000);
	free(data);
}

static void second_hello(struct agent *a)
{
	struct gpubpf_writer w = {0};

	gpubpf_put_u32(&w, 1);
	agent_send(a, GPUBPF_MSG_HELLO, &w, NULL, 0);
}

static void wrong_way(struct agent *a)
{
	struct gpubpf_writer w = {0};

	agent_send(a, GPUBPF_MSG_TWIN_DONE, &w, NULL, 0);
}

static void unknown_device(struct agent *a)
{
	agent_request_twin(a, 99, GPUBPF_IMAGE_OPENCL_C, "k", -1);
}

static void cut_device(struct agent *a)
{
	struct gpubpf_writer w = {0};

	gpubpf_put_u32(&w, 0);
	gpubpf_put_u32(&w, 5000); /* the length of a string, without its bytes */
	agent_send(a, GPUBPF_MSG_DEVICE, &w, NULL, 0);
}

/*
 * Send a device's capabilities with the byte at offset `at` replaced, and without the last `cut` bytes. The byte at
 * offset 0 is the length of the first string.
 */
static void wrong_caps(struct agent *a, size_t cut, size_t at, uint8_t byte)
{
	struct gpubpf_device_caps caps = { .name = "fake", .backend = "opencl", .clock = GPUBPF_CLOCK_TSC };
	struct gpubpf_writer w = {0};

	gpubpf_put_u32(&w, 0);
	gpubpf_put_caps(&w, &caps);
	w.data[4 + at] = byte;
	w.size -= cut;
	agent_send(a, GPUBPF_MSG_DEVICE, &w, NULL, 0);
}

static void short_caps(struct agent *a)
{
	wrong_caps(a, 1, 0, sizeof("opencl") - 1);
}

static void long_string(struct agent *a)
{
	wrong_caps(a, 0, 0, 16); /* a string that fills its buffer, so no byte is left for the NUL */
}

static void nul_in_string(struct agent *a)
{
	wrong_caps(a, 0, 4, 0);
}

static void unknown_clock(struct agent *a)
{
	/* offset of the clock: it follows the backend, the name, the driver, the architecture and the feature bits */
	wrong_caps(a, 0, 4 + 6 + 4 + 4 + 4 + 4 + 8, GPUBPF_CLOCKS);
}

static void many_kernels(struct agent *a)
{
	struct gpubpf_writer w = {0};

	agent_device(a, 0, GPUBPF_CAP_SHARED_ARENA);
	gpubpf_put_u32(&w, 0);
	gpubpf_put_u32(&w, GPUBPF_IMAGE_OPENCL_C);
	gpubpf_put_str(&w, "");
	gpubpf_put_u32(&w, 0);
	gpubpf_put_u32(&w, 0xffffffff);
	agent_send(a, GPUBPF_MSG_TWIN, &w, NULL, 0);
}

static void bad_kind(struct agent *a)
{
	agent_device(a, 0, GPUBPF_CAP_SHARED_ARENA);
	agent_request_twin(a, 0, 12345, "k", -1);
}

static void nul_in_caps(struct agent *a)
{
	struct gpubpf_writer w = {0};

	gpubpf_put_bytes(&w, "a\0b", 3);
	agent_send(a, GPUBPF_MSG_NOTE, &w, NULL, 0);
}

static void too_many_devices(struct agent *a)
{
	for (uint32_t i = 0; i <= GPUBPF_MAX_DEVICES; i++)
		if (agent_device(a, i, GPUBPF_CAP_SHARED_ARENA) < 0)
			return;
}

static void same_device(struct agent *a)
{
	agent_device(a, 0, GPUBPF_CAP_SHARED_ARENA);
	agent_device(a, 0, GPUBPF_CAP_SHARED_ARENA);
}

static const struct hostile {
	const char *name;
	void (*say)(struct agent *a);
} hostile[] = {
	{ "a wrong magic", bad_magic },
	{ "another major version", bad_major },
	{ "a length that lies", bad_length },
	{ "bytes behind what the length says", surplus },
	{ "a packet shorter than its header", short_packet },
	{ "a packet larger than any", huge_packet },
	{ "a second HELLO", second_hello },
	{ "an answer that only a tool gives", wrong_way },
	{ "a twin for a device that it never told of", unknown_device },
	{ "capabilities cut short", cut_device },
	{ "capabilities cut at their end", short_caps },
	{ "capabilities with a string that is too long", long_string },
	{ "capabilities with a NUL in a string", nul_in_caps },
	{ "capabilities with a clock that nobody knows", unknown_clock },
	{ "four billion kernels", many_kernels },
	{ "an image of no known kind", bad_kind },
	{ "a string with NUL inside", nul_in_string },
	{ "too many devices", too_many_devices },
	{ "the same device twice", same_device },
};

static void test_hostile(void)
{
	struct gpubpf_session *s = start("/nonexistent");
	struct agent good, bad;
	struct gpubpf_writer w = {0};

	agent_connect(&good, s);
	agent_hello(&good);
	for (size_t i = 0; i < sizeof(hostile) / sizeof(hostile[0]); i++) {
		int err;

		agent_connect(&bad, s);
		agent_hello(&bad);
		hostile[i].say(&bad);
		err = agent_wait(&bad, GPUBPF_MSG_PULL, 1000);
		ok(err == -EPIPE, "%s ends the connection (%d)", hostile[i].name, err);
		close(bad.sock);
	}
	ok(strstr(notes, "sent an invalid message"), "the user is told once");
	ok(!agent_device(&good, 1, GPUBPF_CAP_SHARED_ARENA), "a well-behaved program is still served");
	gpubpf_put_str(&w, "evil \033[31m text");
	agent_send(&good, GPUBPF_MSG_NOTE, &w, NULL, 0);
	gpubpf_session__poll(s, 50);
	ok(strstr(notes, "evil ?[31m text"), "escape sequences do not reach the terminal");
	agent_send(&good, 999, &(struct gpubpf_writer){0}, NULL, 0);
	ok(agent_device(&good, 2, GPUBPF_CAP_SHARED_ARENA) == 0, "a message of a newer minor version is ignored");
	agent_close(&good);
	gpubpf_session__free(s);
}

static void test_crowd(void)
{
	struct gpubpf_session *s = start("/nonexistent");
	struct agent *a = calloc(GPUBPF_MAX_PEERS + 1, sizeof(*a));
	int joined = 0;

	for (int i = 0; i <= GPUBPF_MAX_PEERS; i++) {
		agent_connect(&a[i], s);
		joined += agent_hello(&a[i]) == 0;
		if (a[i].packet.nfds)
			gpubpf_msg_close(&a[i].packet);
	}
	ok(joined == GPUBPF_MAX_PEERS, "%d processes are served at a time, one more is turned away", joined);
	for (int i = 0; i <= GPUBPF_MAX_PEERS; i++)
		close(a[i].sock);
	for (int i = 0; i < 20; i++)
		gpubpf_session__poll(s, 1);
	ok(gpubpf_peers_count(s) == 0, "all are gone again");
	free(a);
	gpubpf_session__free(s);
}

/* -- peers of another user -- */

#define STRANGER 65534

/* Connect as user uid. The file system user id stays 0, as if wrong permissions let another user reach the socket. */
static int connect_as(struct agent *a, struct gpubpf_session *s, uid_t uid)
{
	int err;

	if (syscall(SYS_setresuid, -1, uid, -1) < 0)
		return -errno;
	setfsuid(0);
	err = agent_connect(a, s);
	if (syscall(SYS_setresuid, -1, 0, -1) < 0)
		abort();
	return err;
}

static void test_stranger(void)
{
	struct gpubpf_session *s;
	struct agent a;
	int err;

	if (geteuid()) {
		skip("a process of another user", "needs root");
		return;
	}
	s = start("/nonexistent");
	ok(!connect_as(&a, s, STRANGER), "a process of another user connects");
	err = agent_hello(&a);
	ok(err == -EPIPE && !gpubpf_peers_count(s), "and is turned away (%d)", err);
	ok(strstr(notes, "rejected a process of user 65534"), "the user is told");
	close(a.sock);
	ok(!connect_as(&a, s, 0) && !agent_hello(&a), "one of this user is taken");
	agent_close(&a);
	gpubpf_session__free(s);
}

/* -- a peer that sends too many packets -- */

enum { A_TURN = 64, FLOOD = 150 };

static void test_flood(void)
{
	struct gpubpf_session *s = start("/nonexistent");
	struct agent flooder, other;
	struct gpubpf_writer w = {0};
	int sent = 0, handled, all;

	agent_connect(&flooder, s);
	agent_hello(&flooder);
	agent_connect(&other, s);
	agent_hello(&other);
	while (sent < FLOOD && !agent_send(&flooder, 999, &(struct gpubpf_writer){0}, NULL, 0))
		sent++;
	gpubpf_put_str(&w, "I was served");
	agent_send(&other, GPUBPF_MSG_NOTE, &w, NULL, 0);
	handled = all = gpubpf_server_poll(s, 0);
	ok(sent > A_TURN && handled == A_TURN + 1, "of %d packets a turn takes %d, and one of another process", sent, handled - 1);
	ok(strstr(notes, "I was served"), "which is served in that turn");
	for (int i = 0; i < 10; i++)
		all += gpubpf_server_poll(s, 0);
	ok(all == sent + 1, "later turns take the others");
	agent_close(&flooder);
	agent_close(&other);
	gpubpf_session__free(s);
}

/* One poll of the session accepts at most A_TURN waiting processes. */
static void test_queue(void)
{
	struct gpubpf_session *s = start("/nonexistent");
	int first, second;
	struct agent *a = calloc(A_TURN + 1, sizeof(*a));

	for (int i = 0; i <= A_TURN; i++)
		agent_connect(&a[i], s);
	first = gpubpf_server_poll(s, 0);
	second = gpubpf_server_poll(s, 0);
	ok(first == A_TURN && second == 1, "of %d processes a turn takes %d, the next %d", A_TURN + 1, first, second);
	for (int i = 0; i <= A_TURN; i++)
		close(a[i].sock);
	free(a);
	gpubpf_session__free(s);
}

static void test_requests(void)
{
	struct gpubpf_session *s = start(getenv("GPUBPF_TEST_SLOW_WORKERS"));
	int image = gpubpf_memfd_image("t", "kernel void k() {}", 18), err;
	struct agent a;

	agent_connect(&a, s);
	agent_hello(&a);
	gpubpf_msg_close(&a.packet);
	agent_device(&a, 0, GPUBPF_CAP_SHARED_ARENA);
	gpubpf_msg_close(&a.packet);
	for (int i = 0; i < GPUBPF_MAX_REQUESTS; i++) {
		agent_request_twin(&a, 0, GPUBPF_IMAGE_OPENCL_C, "k", image);
		gpubpf_session__poll(s, 0);
	}
	ok(gpubpf_peers_count(s) == 1 && gpubpf_peers_first(s)->nrequests == GPUBPF_MAX_REQUESTS, "%d requests for twins are open", gpubpf_peers_first(s) ?
	   (int)gpubpf_peers_first(s)->nrequests : 0);
	agent_request_twin(&a, 0, GPUBPF_IMAGE_OPENCL_C, "k", image);
	err = agent_wait(&a, GPUBPF_MSG_PULL, 1000);
	ok(err == -EPIPE && strstr(notes, "sent an invalid message"), "one more ends the connection (%d)", err);
	close(a.sock);
	close(image);
	gpubpf_session__free(s);
}

/* Set the limit on file descriptors so that no new one can be opened, or restore it if on is false. */
static void limit_files(bool on)
{
	static struct rlimit before;
	struct rlimit limit;

	if (on) {
		getrlimit(RLIMIT_NOFILE, &before);
		limit = (struct rlimit){ dup(0), before.rlim_max };
		close(limit.rlim_cur);
	}
	setrlimit(RLIMIT_NOFILE, on ? &limit : &before);
}

static void test_files(void)
{
	struct gpubpf_session *s = start("/nonexistent");
	int image = gpubpf_memfd_image("t", "x", 1), err;
	struct twin_answer t;
	struct agent a, b;
	struct pollfd p = { .fd = s->server->listener, .events = POLLIN };

	agent_connect(&a, s);
	agent_hello(&a);
	gpubpf_msg_close(&a.packet);
	agent_device(&a, 0, GPUBPF_CAP_SHARED_ARENA);
	gpubpf_msg_close(&a.packet);
	agent_connect(&b, s);
	limit_files(true);
	agent_request_twin(&a, 0, GPUBPF_IMAGE_OPENCL_C, "k", image);
	t = agent_twin(&a, 2000);
	ok(!t.failed && strstr(t.reason, "did not arrive"), "an image without a descriptor for it: %s", t.reason);
	err = agent_wait(&b, GPUBPF_MSG_WELCOME, 1000);
	ok(err == -EPIPE && strstr(notes, "continues unprobed"), "no descriptor for another process: it is turned away (%d)",
	   err);
	ok(!poll(&p, 1, 0), "and nobody is left who would keep the loop busy");
	limit_files(false);
	close(b.sock);
	agent_connect(&b, s);
	ok(!agent_hello(&b), "the next one is served");
	agent_close(&b);
	agent_close(&a);
	close(image);
	gpubpf_session__free(s);
}

/* -- every process can write to the kernel table -- */

static void test_table(void)
{
	struct gpubpf_session *s = start("/nonexistent");
	struct gpubpf_kernel_stats st = { .sz = sizeof(st) };
	struct gpubpf_kernel_row *row = &s->report->table->kernel[7];
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	memset(row, 0xff, sizeof(*row));
	row->used = 2;
	row->state = 4711;
	memset(row->name, 'A', sizeof(row->name));
	row->name[3] = '\n';
	s->report->table->nkernels = 0xffffffff;
	ok(!gpubpf_session__kernel(s, 0, &st), "a row of nonsense is read");
	ok(strlen(st.name) == sizeof(row->name) - 1 && st.name[3] == '?' && st.dim == 3,
	   "its strings end, its numbers are bounded");
	ok(gpubpf_session__kernel(s, 1, &st) == -ENOENT, "no other row is taken for a kernel");
	ok(!gpubpf_session__report(s, out, NULL), "the report is written");
	fclose(out);
	free(text);
	gpubpf_session__free(s);
}

int main(int argc, char **argv)
{
	if (!fixture(argc, argv))
		return 1;
	test_hostile();
	test_crowd();
	test_stranger();
	test_flood();
	test_queue();
	test_requests();
	test_files();
	test_table();
	rmdir(dir);
	return done();
}
