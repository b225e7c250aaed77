/* SPDX-License-Identifier: Apache-2.0 */
/* A library that takes the agent's place: its entry hands one end of a socket to the tool and sends one byte. */
#include <errno.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "core/attach/boot.h"

#define ROUNDS 20000 /* of 0.1 ms */

int64_t gpubpf_agent_attach(struct gpubpf_boot_data *data) __attribute__((visibility("default")));

int64_t gpubpf_agent_attach(struct gpubpf_boot_data *data)
{
	static char times; /* number of calls so far; each call sends it, so the tests see that one library served all calls */
	struct timespec wait = { 0, 100000 };
	int ends[2];
	char n = ++times;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		return -errno;
	__atomic_store_n(&data->socket, ends[1], __ATOMIC_RELEASE);
	for (int i = 0; i < ROUNDS && !__atomic_load_n(&data->taken, __ATOMIC_ACQUIRE); i++)
		nanosleep(&wait, NULL);
	close(ends[1]);
	send(ends[0], &n, 1, MSG_NOSIGNAL);
	close(ends[0]);
	return 0;
}
