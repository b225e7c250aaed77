/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Joins a session: sends one request per process and reads the answer. The child of a fork starts unconnected and joins
 * anew.
 */
#include "session.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/wire/checks.h"
#include "hooks/process/session_state.h"

#define JOIN_NS 2000000000ull

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
	for (int i = 0; err == -EAGAIN && i < 20; i++) { /* EAGAIN: the tool's listen backlog is full */
		poll(NULL, 0, 50);
		err = connect(fd, (struct sockaddr *)&addr, sizeof(addr)) < 0 ? -errno : 0;
	}
	if (err < 0) {
		close(fd);
		return err;
	}
	return gpubpf_move_fd_up(fd);
}

int gpubpf_client_send_hello(int fd, const char *backend)
{
	struct gpubpf_writer w = { 0 };
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
	err = gpubpf_socket_send(fd, GPUBPF_MSG_HELLO, 1, &w, NULL, 0);
	gpubpf_writer_finish(&w);
	return err;
}

static int map_table(struct gpubpf_packet *packet)
{
	struct gpubpf_kernel_table *table;

	if (packet->lost)
		return -EMFILE;
	if (packet->nfds != 1 || gpubpf_memfd_size(packet->fds[0], 2 * sizeof(*table)) < (int64_t)sizeof(*table))
		return -EPROTO;
	table = mmap(NULL, sizeof(*table), PROT_READ | PROT_WRITE, MAP_SHARED, packet->fds[0], 0);
	if (table == MAP_FAILED)
		return -errno;
	if (table->magic != GPUBPF_KERNEL_TABLE_MAGIC || table->version != GPUBPF_KERNEL_TABLE_VERSION) {
		munmap(table, sizeof(*table));
		return -EPROTO;
	}
	gpubpf_client.table =
		table; /* dispatch entries of kernels point into the table; only gpubpf_session_release() unmaps it */
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
	err = gpubpf_socket_receive(fd, buf, &packet, gpubpf_now_ns() + JOIN_NS);
	if (err < 0)
		goto out;
	err = packet.type == GPUBPF_MSG_WELCOME && packet.seq == 1 ? gpubpf_welcome_parse(&packet.payload, &welcome) :
								     -EPROTO;
	if (!err) {
		gpubpf_client.welcome = welcome;
		err = map_table(&packet);
	}
	gpubpf_msg_close(&packet);
out:
	free(buf);
	return err;
}

int gpubpf_client_receive_welcome(int fd)
{
	int err;

	gpubpf_assert_held(&gpubpf_client.lock);
	err = receive_welcome(fd);
	if (!err && fstat(fd, &gpubpf_client.identity) < 0)
		err = -errno;
	if (err < 0) {
		close(fd);
		return err;
	}
	gpubpf_client.sock = fd;
	gpubpf_client.seq = 1;
	atomic_store(&gpubpf_client.enabled, 1);
	gpubpf_session_set_joined();
	atomic_store_explicit(&gpubpf_client.up, 1, memory_order_release);
	return 0;
}

int gpubpf_client_join_socket(int fd, const char *backend)
{
	int err = gpubpf_client_send_hello(fd, backend);

	if (!err)
		return gpubpf_client_receive_welcome(fd);
	close(fd);
	return err;
}

static int join(const char *path, const char *backend)
{
	int fd = connect_to(path), err;

	if (fd < 0)
		return fd;
	err = gpubpf_msg_check_peer(fd);
	if (err < 0) {
		close(fd);
		return err;
	}
	return gpubpf_client_join_socket(fd, backend);
}

static void before_fork(void)
{
	gpubpf_kernel_table_lock();
	pthread_mutex_lock(&gpubpf_client.lock);
	gpubpf_wait_budget_lock();
}

static void after_fork_parent(void)
{
	gpubpf_wait_budget_unlock(false);
	pthread_mutex_unlock(&gpubpf_client.lock);
	gpubpf_kernel_table_unlock();
}

/*
 * The child has no reader thread and must not write to its parent's socket. The child starts a new generation: kernels
 * that it creates can be probed, and kernels inherited from the parent run unprobed.
 */
static void after_fork_child(void)
{
	if (gpubpf_client.sock >= 0 && gpubpf_socket_is_own())
		close(gpubpf_client.sock);
	gpubpf_client.sock = -1;
	if (gpubpf_client.joining)
		close(gpubpf_client.joining - 1);
	gpubpf_client.joining = 0;
	atomic_store(&gpubpf_client.up, 0);
	gpubpf_session_begin_generation();
	gpubpf_client.waiting = NULL;
	gpubpf_client.reading = false;
	gpubpf_client.reader = 0;
	gpubpf_client.pending_twins = 0;
	gpubpf_cond_init(&gpubpf_client.cond);
	gpubpf_wait_budget_unlock(true);
	pthread_mutex_unlock(&gpubpf_client.lock);
	gpubpf_kernel_table_unlock();
	gpubpf_client.handlers->reset_child();
	if (gpubpf_session_attached()) {
		gpubpf_client.after_fork();
		gpubpf_session_set_attached(false);
	}
}

static void join_once(void)
{
	gpubpf_cond_init(&gpubpf_client.cond);
	pthread_atfork(before_fork, after_fork_parent, after_fork_child);
}

void gpubpf_session_rejoin(void)
{
	if (gpubpf_session_generation() && !gpubpf_session_up())
		gpubpf_session_join(gpubpf_client.backend, gpubpf_client.handlers);
}

/*
 * Report that a seccomp filter prevents probing. This function is called when a runtime is loaded, so applications
 * without a GPU runtime get no message.
 */
static void report_sealed(void)
{
	int nr = gpubpf_session_take_forbidden();

	if (nr > 0 && gpubpf_lockdown_allows_stderr(nr))
		gpubpf_log_stderr("a seccomp filter forbids system call %d, which probing needs, to this process; its "
				  "kernels run unprobed; allow the call in that filter",
				  nr);
}

/*
 * Returns true if an installed seccomp filter kills the process for one of the agent's system calls. Then the session
 * is sealed: the agent makes no more calls.
 */
static bool is_locked_down(void)
{
	int nr = gpubpf_lockdown_find_call();

	if (nr < 0)
		return false;
	gpubpf_session_set_forbidden(nr);
	gpubpf_session_set_sealed();
	return true;
}

void gpubpf_client_prepare(const struct gpubpf_client_handlers *handlers)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	gpubpf_client.handlers = handlers;
	gpubpf_process_set_handlers(&gpubpf_client_process_handlers);
	pthread_once(&once, join_once);
}

int gpubpf_session_join(const char *backend, const struct gpubpf_client_handlers *handlers)
{
	static uint32_t tried = UINT32_MAX; /* session generation of the last attempt to join */
	const char *path = gpubpf_env_session();
	int err = 0;

	if (gpubpf_session_attached())
		return gpubpf_session_up() ? 0 : -ENOENT;
	if (!path)
		return -ENOENT;
	gpubpf_client_prepare(handlers);
	if (gpubpf_session_sealed()) {
		report_sealed();
		return -ENOENT;
	}
	pthread_mutex_lock(&gpubpf_client.lock);
	if (tried != gpubpf_session_generation()) {
		tried = gpubpf_session_generation();
		gpubpf_client.backend = backend;
		err = is_locked_down() ? -ENOENT : join(path, backend);
	}
	pthread_mutex_unlock(&gpubpf_client.lock);
	if (gpubpf_session_sealed())
		report_sealed();
	else if (err < 0)
		gpubpf_log_once("cannot join the session at %s (%s); kernels run unprobed", path,
				err == -EPERM ? "another user's process listens there" : strerrordesc_np(-err));
	return gpubpf_session_up() ? 0 : -ENOENT;
}
