/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The agent's end of a session: requests, notifications and the reader thread. The reader thread starts with the first
 * request. It receives the tool's messages and passes each answer to the thread that waits for it. All input is
 * validated. After a protocol error or a closed socket, the session ends and the application continues unprobed. join.c
 * opens the connection.
 */
#include "session.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/wire/checks.h"
#include "hooks/process/agent_thread.h"

struct gpubpf_client_state gpubpf_client = { .sock = -1, .lock = PTHREAD_MUTEX_INITIALIZER };

bool gpubpf_session_up(void)
{
	return atomic_load_explicit(&gpubpf_client.up, memory_order_acquire);
}

bool gpubpf_session_enabled(void)
{
	return gpubpf_session_up() && atomic_load_explicit(&gpubpf_client.enabled, memory_order_relaxed) &&
	       __atomic_load_n(&gpubpf_client.table->enabled, __ATOMIC_RELAXED);
}

struct gpubpf_kernel_table *gpubpf_session_kernel_table(void)
{
	return gpubpf_client.table;
}

uint32_t gpubpf_session_process(void)
{
	return gpubpf_client.welcome.process;
}

uint32_t gpubpf_session_wait_ms(void)
{
	return gpubpf_client.welcome.wait_ms;
}

/* Returns the rate that the tool has set since the process joined, or NULL. */
static const struct gpubpf_rate *changed_rate(void)
{
	const struct gpubpf_kernel_table *table = gpubpf_client.table;

	return table && gpubpf_session_round() ? &table->rate : NULL;
}

uint64_t gpubpf_session_round(void)
{
	const struct gpubpf_kernel_table *table = gpubpf_client.table;

	return table ? __atomic_load_n(&table->rate.round, __ATOMIC_ACQUIRE) : 0;
}

uint64_t gpubpf_session_sample(void)
{
	const struct gpubpf_rate *rate = changed_rate();
	uint64_t n = rate ? __atomic_load_n(&rate->sample, __ATOMIC_RELAXED) : gpubpf_client.welcome.sample;

	return n ? n : 1;
}

uint64_t gpubpf_session_every_ns(void)
{
	const struct gpubpf_rate *rate = changed_rate();

	return rate ? __atomic_load_n(&rate->every_ns, __ATOMIC_RELAXED) : 0;
}

uint32_t gpubpf_session_flags(void)
{
	return gpubpf_session_up() ? gpubpf_client.welcome.flags : 0;
}

uint64_t gpubpf_session_first(void)
{
	const struct gpubpf_rate *rate = changed_rate();

	return rate ? __atomic_load_n(&rate->first, __ATOMIC_RELAXED) : gpubpf_client.welcome.first;
}

void gpubpf_client_end_session(const char *why)
{
	bool quiet = !why || !atomic_load(&gpubpf_client.enabled) || !gpubpf_client.table || !gpubpf_client.table->enabled;

	gpubpf_assert_held(&gpubpf_client.lock);
	if (!atomic_exchange(&gpubpf_client.up, 0))
		return;
	for (struct gpubpf_request *r = gpubpf_client.waiting; r; r = r->next)
		atomic_store(&r->outcome, -EPIPE);
	gpubpf_client.waiting = NULL;
	pthread_cond_broadcast(&gpubpf_client.cond);
	if (gpubpf_socket_is_own())
		close(gpubpf_client.sock);
	gpubpf_client.sock = -1;
	if (!quiet)
		gpubpf_log_once("the session is over (%s); kernels run unprobed from now on", why);
}

/* Pass an answer to the thread that waits for it. The payload is copied because the reader thread reuses its buffer. */
static void deliver_answer(struct gpubpf_packet *packet)
{
	struct gpubpf_request **at = &gpubpf_client.waiting, *r;
	size_t size = packet->payload.end - packet->payload.at;

	gpubpf_assert_held(&gpubpf_client.lock);
	while (*at && (*at)->seq != packet->seq)
		at = &(*at)->next;
	r = *at;
	if (!r)
		return; /* no thread waits for this answer any more */
	*at = r->next;
	r->bytes = malloc(size + 1);
	if (r->bytes) {
		memcpy(r->bytes, packet->payload.at, size);
		r->packet = *packet;
		for (uint32_t i = 0; i < packet->nfds; i++)
			r->packet.fds[i] = gpubpf_move_fd_up(packet->fds[i]);
		gpubpf_reader_init(&r->packet.payload, r->bytes, size);
		packet->nfds = 0;
		memset(packet->fds, -1, sizeof(packet->fds));
	}
	atomic_store_explicit(&r->outcome, r->bytes ? 1 : -EPIPE, memory_order_release);
	pthread_cond_broadcast(&gpubpf_client.cond);
}

static void handle_share(struct gpubpf_packet *packet)
{
	uint64_t offset = gpubpf_get_u64(&packet->payload), size = gpubpf_get_u64(&packet->payload);

	if (!packet->payload.failed && packet->nfds &&
	    !gpubpf_client.handlers->share(gpubpf_move_fd_up(gpubpf_msg_take_fd(packet, 0)), offset, size))
		gpubpf_log_once("the agent cannot map memory of a Linux BPF map that the session shares: %s",
				strerror(errno));
}

/*
 * Runs in a separate thread. The reader thread cannot do this work, because it delivers the answers to requests that
 * devices send when they end.
 */
static void *detach(void *arg)
{
	gpubpf_client.detach((uint64_t)(uintptr_t)arg);
	return NULL;
}

static void handle_message(struct gpubpf_packet *packet)
{
	uint32_t value = gpubpf_get_u32(&packet->payload);

	if (packet->type == GPUBPF_MSG_ENABLE && !packet->payload.failed)
		atomic_store(&gpubpf_client.enabled, !!value);
	else if (packet->type == GPUBPF_MSG_PULL && !packet->payload.failed)
		gpubpf_client.handlers->pull(value, gpubpf_get_u32(&packet->payload));
	else if (packet->type == GPUBPF_MSG_HOLD && !packet->payload.failed)
		gpubpf_client.handlers->hold(value);
	else if (packet->type == GPUBPF_MSG_SHARE)
		handle_share(packet);
	else if (packet->type == GPUBPF_MSG_DETACH && gpubpf_session_attached())
		gpubpf_thread_start(detach, (void *)(uintptr_t)gpubpf_client.serial);
}

static bool is_answer(enum gpubpf_msg type)
{
	return type == GPUBPF_MSG_ARENA || type == GPUBPF_MSG_TWIN_DONE || type == GPUBPF_MSG_STACK_DONE ||
	       type == GPUBPF_MSG_READ_DONE || type == GPUBPF_MSG_PATCHED || type == GPUBPF_MSG_HOST_DONE ||
	       type == GPUBPF_MSG_NAME_DONE;
}

/* Read one packet from the tool. Returns 0, or the negative errno value that ends the session. */
static int read_one(int fd, void *buf)
{
	struct gpubpf_packet packet;
	struct pollfd p = { fd, POLLIN, 0 };
	int err;

	if (poll(&p, 1, -1) < 0)
		return errno == EINTR ? 0 : -errno;
	pthread_mutex_lock(&gpubpf_client.lock);
	err = gpubpf_client.sock == fd && gpubpf_socket_is_own() ? gpubpf_msg_recv(fd, MSG_DONTWAIT, buf, &packet) :
								   -EBADF;
	if (!err)
		gpubpf_wait_budget_resume();
	if (!err && packet.type == GPUBPF_MSG_TWIN_DONE && gpubpf_client.pending_twins)
		gpubpf_client.pending_twins--;
	if (!err && is_answer(packet.type))
		deliver_answer(&packet);
	pthread_mutex_unlock(&gpubpf_client.lock);
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
	return err == -EPIPE ? "the session is over, or the application closed gpubpf's socket" : strerror(-err);
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
		return "the application closed gpubpf's socket";
	}
	return "the connection failed";
}

static void *read_all(void *arg)
{
	int fd = (int)(intptr_t)arg, err = 0;
	uint64_t serial = gpubpf_client.serial;
	void *buf = malloc(GPUBPF_MSG_BUF);

	gpubpf_client.reader_tid = gettid();
	while (buf && !err)
		err = read_one(fd, buf);
	free(buf);
	if (gpubpf_client.end == LEAVING) {
		gpubpf_client.handlers->copy_all_at_exit();
		gpubpf_client.end = LEFT;
	}
	pthread_mutex_lock(&gpubpf_client.lock);
	if (gpubpf_client.sock == fd && gpubpf_client.end == STAYING)
		gpubpf_client_end_session(gpubpf_session_attached() ? NULL : why_lost(err));
	gpubpf_client.reading = false;
	pthread_mutex_unlock(&gpubpf_client.lock);
	if (serial)
		gpubpf_client.detach(serial);
	return NULL;
}

int gpubpf_client_start_reader(void)
{
	int err;

	gpubpf_assert_held(&gpubpf_client.lock);
	if (gpubpf_client.reading)
		return 0;
	err = gpubpf_thread_start(read_all, (void *)(intptr_t)gpubpf_client.sock);
	gpubpf_client.reading = !err;
	gpubpf_client.reader = err ? 0 : getpid();
	return err;
}

int gpubpf_client_request(enum gpubpf_msg type, const struct gpubpf_writer *payload, const int *fds, uint32_t nfds,
			  struct gpubpf_request **request)
{
	struct gpubpf_request *r = calloc(1, sizeof(*r));
	int err;

	if (!r)
		return -ENOMEM;
	memset(r->packet.fds, -1, sizeof(r->packet.fds));
	r->users = 1;
	pthread_mutex_lock(&gpubpf_client.lock);
	err = !gpubpf_session_up() || !gpubpf_socket_is_own() ? -EPIPE : gpubpf_client_start_reader();
	if (!err) {
		r->seq = ++gpubpf_client.seq;
		r->next = gpubpf_client.waiting;
		gpubpf_client.waiting = r;
		err = gpubpf_socket_send(gpubpf_client.sock, type, r->seq, payload, fds, nfds);
		if (err < 0)
			gpubpf_client.waiting = r->next;
		else
			gpubpf_client.pending_twins += type == GPUBPF_MSG_TWIN;
	}
	pthread_mutex_unlock(&gpubpf_client.lock);
	if (err < 0)
		free(r);
	else
		*request = r;
	return err;
}

bool gpubpf_client_can_request(void)
{
	bool may;

	pthread_mutex_lock(&gpubpf_client.lock);
	/*
	 * Allow only half of the session's limit: other threads may have passed this check but not sent their request
	 * yet.
	 */
	may = gpubpf_client.pending_twins < GPUBPF_MAX_REQUESTS / 2 || !gpubpf_session_up();
	may &= !gpubpf_wait_budget_is_suspended() || !gpubpf_socket_is_own() ||
	       !gpubpf_socket_wait(gpubpf_client.sock, POLLOUT, 0);
	pthread_mutex_unlock(&gpubpf_client.lock);
	return may;
}

int gpubpf_client_notify(enum gpubpf_msg type, const struct gpubpf_writer *payload)
{
	return gpubpf_client_notify_fd(type, payload, -1);
}

int gpubpf_client_notify_fd(enum gpubpf_msg type, const struct gpubpf_writer *payload, int fd)
{
	int err = -EPIPE;

	pthread_mutex_lock(&gpubpf_client.lock);
	if (gpubpf_session_up() && gpubpf_socket_is_own())
		err = gpubpf_msg_send(gpubpf_client.sock, MSG_DONTWAIT, type, 0, payload, &fd, fd >= 0);
	pthread_mutex_unlock(&gpubpf_client.lock);
	return err;
}

bool gpubpf_request_is_done(const struct gpubpf_request *request)
{
	return atomic_load_explicit(&request->outcome, memory_order_acquire);
}

int gpubpf_request_wait(struct gpubpf_request *request, uint64_t deadline_ns)
{
	int outcome;

	pthread_mutex_lock(&gpubpf_client.lock);
	while (!(outcome = atomic_load(&request->outcome)))
		if (!gpubpf_cond_wait_until(&gpubpf_client.cond, &gpubpf_client.lock, deadline_ns) &&
		    gpubpf_now_ns() >= deadline_ns)
			break;
	outcome = atomic_load(&request->outcome);
	pthread_mutex_unlock(&gpubpf_client.lock);
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
	pthread_mutex_lock(&gpubpf_client.lock);
	for (struct gpubpf_request **at = &gpubpf_client.waiting; *at; at = &(*at)->next)
		if (*at == request) {
			*at = request->next;
			break;
		}
	pthread_mutex_unlock(&gpubpf_client.lock);
	gpubpf_msg_close(&request->packet);
	free(request->bytes);
	free(request);
}
