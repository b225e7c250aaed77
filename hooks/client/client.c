/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The agent's end of the session. Joining is one request and its answer. From the first matched launch on a reader
 * thread receives the tool's messages and passes answers to waiting threads. All input is validated. A protocol error
 * or a closed socket ends the session, and the application continues unprobed.
 */
#include "parse.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "core/wire/checks.h"

#define JOIN_NS 2000000000ull
#define SEND_NS 2000000000ull
#define LEAVE_NS 3000000000ull
#define READ_NS 1000000000ull /* for the tool to read rings at process exit */
#define FD_FLOOR 700          /* the application's descriptors stay below */

enum { STAYING, LEAVING, LEFT };

struct gpubpf_request {
	struct gpubpf_request *next;
	uint32_t seq;
	atomic_int users;
	atomic_int outcome;   /* 0 waiting, 1 answered, -EPIPE */
	struct gpubpf_packet packet;
	void *bytes;
};

static struct {
	atomic_int up, enabled;
	atomic_uint generation, joined; /* joined: the generation that joined, plus 1 */
	pid_t owner;          /* the process that joined */
	int sock;
	struct stat identity; /* of the socket: the application may close descriptors that it does not own */
	struct gpubpf_kernel_table *_Atomic table;
	const char *backend;  /* of the runtime that joined first */
	struct gpubpf_welcome welcome;
	pthread_mutex_t lock; /* protects the members below */
	pthread_cond_t cond;
	struct gpubpf_request *waiting;
	uint32_t seq, asked;  /* asked: twin requests without an answer, even if no thread may wait for them */
	bool reading;
	atomic_int reader;    /* process id of the reader's process */
	atomic_int reader_tid;
	atomic_int end;       /* of the process: STAYING, LEAVING, LEFT */
	atomic_bool sealed;   /* permanent, also in children */
	atomic_int forbidden; /* system call that sealed it, until reported; 0 */
} session = { .sock = -1, .lock = PTHREAD_MUTEX_INITIALIZER };

bool gpubpf_session_up(void)
{
	return atomic_load_explicit(&session.up, memory_order_acquire);
}

bool gpubpf_session_joined(void)
{
	return atomic_load(&session.joined) == gpubpf_session_generation() + 1;
}

bool gpubpf_session_enabled(void)
{
	return gpubpf_session_up() && atomic_load_explicit(&session.enabled, memory_order_relaxed) &&
	       __atomic_load_n(&session.table->enabled, __ATOMIC_RELAXED);
}

bool gpubpf_session_owned(void)
{
	return gpubpf_session_joined() && session.owner == getpid();
}

uint32_t gpubpf_session_generation(void)
{
	return atomic_load_explicit(&session.generation, memory_order_relaxed);
}

struct gpubpf_kernel_table *gpubpf_session_kernel_table(void)
{
	return session.table;
}

uint32_t gpubpf_session_process(void)
{
	return session.welcome.process;
}

uint32_t gpubpf_session_wait_ms(void)
{
	return session.welcome.wait_ms;
}

uint64_t gpubpf_session_sample(void)
{
	return session.welcome.sample;
}

uint32_t gpubpf_session_flags(void)
{
	return gpubpf_session_up() ? session.welcome.flags : 0;
}

uint64_t gpubpf_session_first(void)
{
	return session.welcome.first;
}

/* Is the descriptor still the agent's socket? */
static bool is_own_socket(void)
{
	return gpubpf_same_file(session.sock, &session.identity);
}

static int wait_socket(int fd, short events, uint64_t deadline_ns)
{
	for (;;) {
		struct pollfd p = { fd, events, 0 };
		uint64_t now = gpubpf_now_ns();
		int n = poll(&p, 1, now < deadline_ns ? (deadline_ns - now) / 1000000 + 1 : 0);

		if (n > 0)
			return 0;
		if (n < 0 && errno != EINTR)
			return -errno;
		if (gpubpf_now_ns() >= deadline_ns)
			return -ETIMEDOUT;
	}
}

static int send_bounded(int fd, enum gpubpf_msg type, uint32_t seq, const struct gpubpf_writer *payload,
			const int *fds, uint32_t nfds)
{
	uint64_t deadline = gpubpf_wait_budget_is_suspended() ? 0 : gpubpf_now_ns() + SEND_NS;
	int err;

	for (;;) {
		err = gpubpf_msg_send(fd, MSG_DONTWAIT, type, seq, payload, fds, nfds);
		if (err != -EAGAIN && err != -EINTR)
			return err;
		err = wait_socket(fd, POLLOUT, deadline);
		if (err == -ETIMEDOUT)
			gpubpf_wait_budget_suspend();
		if (err < 0)
			return err;
	}
}

static int receive_bounded(int fd, void *buf, struct gpubpf_packet *packet, uint64_t deadline)
{
	int err;

	for (;;) {
		err = wait_socket(fd, POLLIN, deadline);
		if (err < 0)
			return err;
		err = gpubpf_msg_recv(fd, MSG_DONTWAIT, buf, packet);
		if (err != -EAGAIN && err != -EINTR)
			return err;
	}
}

/* End the session; the caller holds the lock. why NULL: already reported. */
static void end_session(const char *why)
{
	bool quiet = !why || !atomic_load(&session.enabled) || !session.table || !session.table->enabled;

	gpubpf_assert_held(&session.lock);
	if (!atomic_exchange(&session.up, 0))
		return;
	for (struct gpubpf_request *r = session.waiting; r; r = r->next)
		atomic_store(&r->outcome, -EPIPE);
	session.waiting = NULL;
	pthread_cond_broadcast(&session.cond);
	if (is_own_socket())
		close(session.sock);
	session.sock = -1;
	if (!quiet)
		gpubpf_log_once("the session is over (%s); kernels run unprobed from now on", why);
}

/* Move a descriptor of the agent above the numbers that the application opens and chooses. If its limit forbids
 * that, the number stays, except for the three standard ones, which the application may have closed. */
static int move_fd_up(int fd)
{
	int high = fcntl(fd, F_DUPFD_CLOEXEC, FD_FLOOR);

	if (high < 0 && fd <= STDERR_FILENO)
		high = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	if (high >= 0)
		close(fd);
	return high >= 0 ? high : fd;
}

/* Pass an answer to its waiting thread. The payload is copied because the reader reuses its buffer. */
static void deliver_answer(struct gpubpf_packet *packet)
{
	struct gpubpf_request **at = &session.waiting, *r;
	size_t size = packet->payload.end - packet->payload.at;

	gpubpf_assert_held(&session.lock);
	while (*at && (*at)->seq != packet->seq)
		at = &(*at)->next;
	r = *at;
	if (!r)
		return; /* no thread waits for it any more */
	*at = r->next;
	r->bytes = malloc(size + 1);
	if (r->bytes) {
		memcpy(r->bytes, packet->payload.at, size);
		r->packet = *packet;
		for (uint32_t i = 0; i < packet->nfds; i++)
			r->packet.fds[i] = move_fd_up(packet->fds[i]);
		gpubpf_reader_init(&r->packet.payload, r->bytes, size);
		packet->nfds = 0;
		memset(packet->fds, -1, sizeof(packet->fds));
	}
	atomic_store_explicit(&r->outcome, r->bytes ? 1 : -EPIPE, memory_order_release);
	pthread_cond_broadcast(&session.cond);
}

static void handle_share(struct gpubpf_packet *packet)
{
	uint64_t offset = gpubpf_get_u64(&packet->payload), size = gpubpf_get_u64(&packet->payload);

	if (!packet->payload.failed && packet->nfds &&
	    !gpubpf_shared_arena_part(move_fd_up(gpubpf_msg_take_fd(packet, 0)), offset, size))
		gpubpf_log_once("a map of the Linux kernel cannot be shared: %s", strerror(errno));
}

static void handle_message(struct gpubpf_packet *packet)
{
	uint32_t value = gpubpf_get_u32(&packet->payload);

	if (packet->type == GPUBPF_MSG_ENABLE && !packet->payload.failed)
		atomic_store(&session.enabled, !!value);
	else if (packet->type == GPUBPF_MSG_PULL && !packet->payload.failed)
		gpubpf_device_pull(value, gpubpf_get_u32(&packet->payload));
	else if (packet->type == GPUBPF_MSG_HOLD && !packet->payload.failed)
		gpubpf_hold_launches(value);
	else if (packet->type == GPUBPF_MSG_SHARE)
		handle_share(packet);
}

static bool is_answer(enum gpubpf_msg type)
{
	return type == GPUBPF_MSG_ARENA || type == GPUBPF_MSG_TWIN_DONE || type == GPUBPF_MSG_STACK_DONE || type == GPUBPF_MSG_READ_DONE;
}

/* Read one packet from the tool. 0, or the error that ends the session. */
static int read_one(int fd, void *buf)
{
	struct gpubpf_packet packet;
	struct pollfd p = { fd, POLLIN, 0 };
	int err;

	if (poll(&p, 1, -1) < 0)
		return errno == EINTR ? 0 : -errno;
	pthread_mutex_lock(&session.lock);
	err = session.sock == fd && is_own_socket() ? gpubpf_msg_recv(fd, MSG_DONTWAIT, buf, &packet) : -EBADF;
	if (!err)
		gpubpf_wait_budget_resume();
	if (!err && packet.type == GPUBPF_MSG_TWIN_DONE && session.asked)
		session.asked--;
	if (!err && is_answer(packet.type))
		deliver_answer(&packet);
	pthread_mutex_unlock(&session.lock);
	if (err == -EAGAIN || err == -EINTR)
		return 0;
	if (err < 0)
		return err;
	handle_message(&packet);
	gpubpf_msg_close(&packet);
	return 0;
}

const char *gpubpf_session_strerror(int err)
{
	return err == -EPIPE ? "the session is over, or the program closed gpubpf's socket" : strerror(-err);
}

static const char *why_lost(int err)
{
	switch (err) {
	case -EPIPE:
	case -ECONNRESET:
		return "the tool has exited";
	case -EPROTO:
		return "the tool violated the session's protocol";
	case -EBADF:
		return "the program closed gpubpf's socket";
	}
	return "the connection failed";
}

static void *read_all(void *arg)
{
	int fd = (int)(intptr_t)arg, err = 0;
	void *buf = malloc(GPUBPF_MSG_BUF);

	session.reader_tid = gettid();
	while (buf && !err)
		err = read_one(fd, buf);
	free(buf);
	if (session.end == LEAVING) {
		gpubpf_device_copy_all_at_exit();
		session.end = LEFT;
	}
	pthread_mutex_lock(&session.lock);
	if (session.sock == fd && session.end == STAYING)
		end_session(why_lost(err));
	pthread_mutex_unlock(&session.lock);
	return NULL;
}

static int start_reader(void)
{
	int err;

	gpubpf_assert_held(&session.lock);
	if (session.reading)
		return 0;
	err = gpubpf_thread_start(read_all, (void *)(intptr_t)session.sock);
	session.reading = !err;
	session.reader = err ? 0 : getpid();
	return err;
}

static const struct timespec nap = { .tv_nsec = 100000 };

static void stop_reader(uint64_t deadline)
{
	int staying = STAYING;

	if (session.reader != getpid() || !is_own_socket())
		return;
	if (atomic_compare_exchange_strong(&session.end, &staying, LEAVING))
		shutdown(session.sock, SHUT_RD); /* which wakes the reader */
	while (session.end == LEAVING && gpubpf_session_up() && gpubpf_now_ns() < deadline)
		nanosleep(&nap, NULL);
}

/* The caller holds the lock. */
static bool send_read(struct gpubpf_request *r)
{
	const struct gpubpf_writer nothing = {0};

	gpubpf_assert_held(&session.lock);
	if (!gpubpf_session_up() || !is_own_socket())
		return false;
	r->seq = ++session.seq;
	r->next = session.waiting;
	session.waiting = r;
	if (!gpubpf_msg_send(session.sock, MSG_DONTWAIT, GPUBPF_MSG_READ, r->seq, &nothing, NULL, 0))
		return true;
	session.waiting = r->next;
	return false;
}

void gpubpf_session_flush_rings(void)
{
	static struct gpubpf_request last = { .packet.fds = { -1, -1, -1, -1 } };
	static atomic_bool asked;
	uint64_t deadline = gpubpf_now_ns() + READ_NS;
	bool sent;

	if (session.reader != getpid() || !(session.welcome.flags & GPUBPF_WELCOME_READS) || session.sealed || gpubpf_wait_budget_is_suspended() ||
	    atomic_exchange(&asked, true) || pthread_mutex_trylock(&session.lock))
		return;
	sent = send_read(&last);
	pthread_mutex_unlock(&session.lock);
	while (sent && !atomic_load(&last.outcome) && gpubpf_now_ns() < deadline)
		nanosleep(&nap, NULL);
}

void gpubpf_session_prepare_exit(void)
{
	if (gpubpf_device_any_copied_arena())
		stop_reader(gpubpf_now_ns() + LEAVE_NS);
	else
		gpubpf_session_flush_rings();
}

void gpubpf_session_seal(int nr)
{
	uint64_t deadline = gpubpf_now_ns() + LEAVE_NS;

	if (gpubpf_session_up())
		gpubpf_log_once("the program's seccomp filter forbids system call %d, which probing needs; kernels "
				 "run unprobed from now on", nr);
	else
		session.forbidden = nr;
	if (atomic_exchange(&session.sealed, true))
		return;
	stop_reader(deadline);
	pthread_mutex_lock(&session.lock);
	end_session(NULL);
	pthread_mutex_unlock(&session.lock);
	/* a filter may apply to all threads: wait until the reader has made its last call */
	while (session.reader == getpid() && !tgkill(session.reader, session.reader_tid, 0) && gpubpf_now_ns() < deadline)
		nanosleep(&nap, NULL);
}

bool gpubpf_session_sealed(void)
{
	return session.sealed;
}

int gpubpf_client_request(enum gpubpf_msg type, const struct gpubpf_writer *payload, const int *fds,
		       uint32_t nfds, struct gpubpf_request **request)
{
	struct gpubpf_request *r = calloc(1, sizeof(*r));
	int err;

	if (!r)
		return -ENOMEM;
	memset(r->packet.fds, -1, sizeof(r->packet.fds));
	r->users = 1;
	pthread_mutex_lock(&session.lock);
	err = !gpubpf_session_up() || !is_own_socket() ? -EPIPE : start_reader();
	if (!err) {
		r->seq = ++session.seq;
		r->next = session.waiting;
		session.waiting = r;
		err = send_bounded(session.sock, type, r->seq, payload, fds, nfds);
		if (err < 0)
			session.waiting = r->next;
		else
			session.asked += type == GPUBPF_MSG_TWIN;
	}
	pthread_mutex_unlock(&session.lock);
	if (err < 0)
		free(r);
	else
		*request = r;
	return err;
}

bool gpubpf_client_can_request(void)
{
	bool may;

	pthread_mutex_lock(&session.lock);
	/* half of the limit: threads that passed this check may not have sent their requests yet */
	may = session.asked < GPUBPF_MAX_REQUESTS / 2 || !gpubpf_session_up();
	may &= !gpubpf_wait_budget_is_suspended() || !is_own_socket() || !wait_socket(session.sock, POLLOUT, 0);
	pthread_mutex_unlock(&session.lock);
	return may;
}

int gpubpf_client_notify(enum gpubpf_msg type, const struct gpubpf_writer *payload)
{
	return gpubpf_client_notify_fd(type, payload, -1);
}

int gpubpf_client_notify_fd(enum gpubpf_msg type, const struct gpubpf_writer *payload, int fd)
{
	int err = -EPIPE;

	pthread_mutex_lock(&session.lock);
	if (gpubpf_session_up() && is_own_socket())
		err = gpubpf_msg_send(session.sock, MSG_DONTWAIT, type, 0, payload, &fd, fd >= 0);
	pthread_mutex_unlock(&session.lock);
	return err;
}

bool gpubpf_request_is_done(const struct gpubpf_request *request)
{
	return atomic_load_explicit(&request->outcome, memory_order_acquire);
}

int gpubpf_request_wait(struct gpubpf_request *request, uint64_t deadline_ns)
{
	int outcome;

	pthread_mutex_lock(&session.lock);
	while (!(outcome = atomic_load(&request->outcome)))
		if (!gpubpf_cond_wait_until(&session.cond, &session.lock, deadline_ns) &&
		    gpubpf_now_ns() >= deadline_ns)
			break;
	outcome = atomic_load(&request->outcome);
	pthread_mutex_unlock(&session.lock);
	return outcome > 0 ? 0 : outcome ? outcome : -ETIMEDOUT;
}

struct gpubpf_packet *gpubpf_request_answer(struct gpubpf_request *request)
{
	return &request->packet;
}

void gpubpf_request_hold(struct gpubpf_request *request)
{
	atomic_fetch_add(&request->users, 1);
}

void gpubpf_request_drop(struct gpubpf_request *request)
{
	if (!request || !gpubpf_ref_was_last(atomic_fetch_sub(&request->users, 1)))
		return;
	pthread_mutex_lock(&session.lock);
	for (struct gpubpf_request **at = &session.waiting; *at; at = &(*at)->next)
		if (*at == request) {
			*at = request->next;
			break;
		}
	pthread_mutex_unlock(&session.lock);
	gpubpf_msg_close(&request->packet);
	free(request->bytes);
	free(request);
}

static int connect_to(const char *path)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd, err;

	if (strlen(path) >= sizeof(addr.sun_path))
		return -ENAMETOOLONG;
	strcpy(addr.sun_path, path);
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	err = connect(fd, (struct sockaddr *)&addr, sizeof(addr)) < 0 ? -errno : 0;
	for (int i = 0; err == -EAGAIN && i < 20; i++) { /* the backlog is full */
		poll(NULL, 0, 50);
		err = connect(fd, (struct sockaddr *)&addr, sizeof(addr)) < 0 ? -errno : 0;
	}
	if (err < 0) {
		close(fd);
		return err;
	}
	return move_fd_up(fd);
}

static int send_hello(int fd, const char *backend)
{
	struct gpubpf_writer w = {0};
	char *exe = calloc(1, PATH_MAX);
	int err;

	if (exe && readlink("/proc/self/exe", exe, PATH_MAX - 1) < 0)
		exe[0] = 0;
	gpubpf_put_u32(&w, getpid());
	gpubpf_put_u32(&w, gettid());
	gpubpf_put_str(&w, exe ? exe : "");
	free(exe);
	gpubpf_put_str(&w, backend);
	gpubpf_put_str(&w, GPUBPF_VERSION);
	err = send_bounded(fd, GPUBPF_MSG_HELLO, 1, &w, NULL, 0);
	gpubpf_writer_finish(&w);
	return err;
}

static int map_table(struct gpubpf_packet *packet)
{
	struct gpubpf_kernel_table *table;

	if (packet->lost)
		return -EMFILE;
	if (packet->nfds != 1 ||
	    gpubpf_memfd_size(packet->fds[0], 2 * sizeof(*table)) < (int64_t)sizeof(*table))
		return -EPROTO;
	table = mmap(NULL, sizeof(*table), PROT_READ | PROT_WRITE, MAP_SHARED, packet->fds[0], 0);
	if (table == MAP_FAILED)
		return -errno;
	if (table->magic != GPUBPF_KERNEL_TABLE_MAGIC || table->version != GPUBPF_KERNEL_TABLE_VERSION) {
		munmap(table, sizeof(*table));
		return -EPROTO;
	}
	session.table = table; /* stays mapped: kernels count there for the life of the process */
	return 0;
}

static int receive_welcome(int fd)
{
	void *buf = malloc(GPUBPF_MSG_BUF);
	struct gpubpf_welcome welcome;
	struct gpubpf_packet packet;
	int err;

	if (!buf)
		return -ENOMEM;
	err = receive_bounded(fd, buf, &packet, gpubpf_now_ns() + JOIN_NS);
	if (err < 0)
		goto out;
	err = packet.type == GPUBPF_MSG_WELCOME && packet.seq == 1 ?
		gpubpf_welcome_parse(&packet.payload, &welcome) : -EPROTO;
	if (!err) {
		session.welcome = welcome;
		err = map_table(&packet);
	}
	gpubpf_msg_close(&packet);
out:
	free(buf);
	return err;
}

static int join(const char *path, const char *backend)
{
	int fd = connect_to(path), err;

	if (fd < 0)
		return fd;
	err = gpubpf_msg_check_peer(fd);
	if (!err)
		err = send_hello(fd, backend);
	if (!err)
		err = receive_welcome(fd);
	if (!err && fstat(fd, &session.identity) < 0)
		err = -errno;
	if (err < 0) {
		close(fd);
		return err;
	}
	session.owner = getpid();
	session.sock = fd;
	session.seq = 1;
	atomic_store(&session.enabled, 1);
	atomic_store(&session.joined, gpubpf_session_generation() + 1);
	atomic_store_explicit(&session.up, 1, memory_order_release);
	return 0;
}

static void before_fork(void)
{
	gpubpf_kernel_table_lock();
	pthread_mutex_lock(&session.lock);
	gpubpf_wait_budget_lock();
}

static void after_fork_parent(void)
{
	gpubpf_wait_budget_unlock(false);
	pthread_mutex_unlock(&session.lock);
	gpubpf_kernel_table_unlock();
}

/* The child has no reader and must not write to its parent's socket. Objects that it creates belong to a new
 * generation; inherited ones run the original kernels. */
static void after_fork_child(void)
{
	if (session.sock >= 0 && is_own_socket())
		close(session.sock);
	session.sock = -1;
	atomic_store(&session.up, 0);
	atomic_fetch_add(&session.generation, 1);
	session.waiting = NULL;
	session.reading = false;
	session.reader = 0;
	session.asked = 0;
	gpubpf_cond_init(&session.cond);
	gpubpf_wait_budget_unlock(true);
	pthread_mutex_unlock(&session.lock);
	gpubpf_kernel_table_unlock();
	gpubpf_device_after_fork();
}

static void join_once(void)
{
	gpubpf_cond_init(&session.cond);
	pthread_atfork(before_fork, after_fork_parent, after_fork_child);
}

void gpubpf_session_rejoin(void)
{
	if (gpubpf_session_generation() && !gpubpf_session_up())
		gpubpf_session_join(session.backend);
}

/* Report why kernels are not probed, now that a runtime is loaded whose kernels could be. */
static void report_sealed(void)
{
	int nr = atomic_exchange(&session.forbidden, 0);

	if (nr > 0 && gpubpf_lockdown_allows_stderr(nr))
		gpubpf_log_stderr("a seccomp filter forbids system call %d to this process, which probing needs; its "
				"kernels run unprobed; allow the call in that filter", nr);
}

/* Does the process run under a filter that would kill it for the agent's calls? */
static bool is_locked_down(void)
{
	int nr = gpubpf_lockdown_find_call();

	if (nr < 0)
		return false;
	session.forbidden = nr;
	session.sealed = true;
	return true;
}

int gpubpf_session_join(const char *backend)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	static uint32_t tried = UINT32_MAX; /* generation of the last attempt */
	const char *path = gpubpf_env_session();
	int err = 0;

	if (!path)
		return -ENOENT;
	if (session.sealed) {
		report_sealed();
		return -ENOENT;
	}
	pthread_once(&once, join_once);
	pthread_mutex_lock(&session.lock);
	if (tried != gpubpf_session_generation()) {
		tried = gpubpf_session_generation();
		session.backend = backend;
		err = is_locked_down() ? -ENOENT : join(path, backend);
	}
	pthread_mutex_unlock(&session.lock);
	if (session.sealed)
		report_sealed();
	else if (err < 0)
		gpubpf_log_once("no session at %s (%s); kernels run unprobed", path,
				 err == -EPERM ? "another user's process listens there" : strerrordesc_np(-err));
	return gpubpf_session_up() ? 0 : -ENOENT;
}
