/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does: opens a device of the application, announces it to the session and attaches the session's arena. Later, when
 * maps are added to the arena, copies them to the device.
 * Before: a kernel that the plan matches is launched on the device for the first time.
 * After: the device is ready for twins, or refused with a reason.
 * Requires: the lock order of agent.h. The caller holds no lock.
 */
#include "devices.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/wire/checks.h"
#include "core/wire/fields.h"
#include "hooks/client/cache.h"
#include "hooks/client/parse.h"
#include "maps/layout.h"

#define ARENA_WAIT_NS 2000000000ull /* minimum wait for the arena if --wait is shorter; the tool answers at once */
#define ARENA_MAX (64ull << 30)

static int send_device(struct gpubpf_hook_device *d, struct gpubpf_request **request)
{
	struct gpubpf_device_caps caps = *d->ops->device->caps(d->device);
	struct gpubpf_writer w = { 0 };
	int err;

	caps.ordinal = d->ordinal;
	gpubpf_put_u32(&w, d->number);
	gpubpf_put_caps(&w, &caps);
	err = gpubpf_client_request(GPUBPF_MSG_DEVICE, &w, NULL, 0, request);
	gpubpf_writer_finish(&w);
	return err;
}

static int map_arena(struct gpubpf_hook_device *d, struct gpubpf_packet *packet,
		     const struct gpubpf_arena_answer *answer, struct gpubpf_reason *why)
{
	int64_t size = gpubpf_memfd_size(packet->fds[0], ARENA_MAX);
	const struct gpubpf_arena_hdr *hdr;

	if (size < (int64_t)sizeof(*hdr) || (uint64_t)size < answer->size || answer->size < sizeof(*hdr)) {
		snprintf(why->text, sizeof(why->text),
			 "the session's description of its memory for maps is invalid; "
			 "use the tool and the agent of one gpubpf version");
		return -EPROTO;
	}
	hdr = d->shared ? gpubpf_shared_arena(packet->fds[0], answer->size) :
			  mmap(NULL, answer->size, PROT_READ | PROT_WRITE, MAP_SHARED, packet->fds[0], 0);
	if (hdr == MAP_FAILED) {
		snprintf(why->text, sizeof(why->text), "cannot map the session's memory for maps (%llu bytes): %s",
			 (unsigned long long)answer->size, strerror(errno));
		return -errno;
	}
	if (hdr->magic != GPUBPF_ARENA_MAGIC || hdr->version != GPUBPF_ARENA_VERSION || hdr->own > answer->size ||
	    hdr->own < GPUBPF_ARENA_DATA) {
		gpubpf_device_unmap_arena(d, (void *)hdr, answer->size);
		snprintf(why->text, sizeof(why->text),
			 "the session's memory for maps has another version; use the "
			 "tool and the agent of one gpubpf version");
		return -EPROTO;
	}
	d->host = (void *)hdr;
	d->size = answer->size;
	d->own = hdr->own;
	d->memory = gpubpf_msg_take_fd(packet, 0);
	return 0;
}

/* Wait for the answer to send_device(), until the wait budget is used up, but at least for ARENA_WAIT_NS. */
static int wait_for_arena(struct gpubpf_request *request)
{
	uint64_t least = gpubpf_now_ns() + ARENA_WAIT_NS, until;
	int err;

	if (gpubpf_wait_budget_is_suspended())
		return gpubpf_request_is_done(request) ? gpubpf_request_wait(request, 0) : -EAGAIN;
	until = gpubpf_wait_budget_begin();
	err = gpubpf_request_wait(request, until > least ? until : least);
	gpubpf_wait_budget_end();
	if (err != -ETIMEDOUT)
		return err;
	gpubpf_wait_budget_suspend();
	return -EAGAIN;
}

static int take_arena(struct gpubpf_hook_device *d, struct gpubpf_reason *why)
{
	struct gpubpf_arena_answer answer;
	struct gpubpf_packet *packet;
	int err = d->arena_request ? 0 : send_device(d, &d->arena_request);

	if (!err)
		err = wait_for_arena(d->arena_request);
	if (err == -EAGAIN)
		return err;
	if (err < 0)
		goto out;
	packet = gpubpf_request_answer(d->arena_request);
	err = packet->type != GPUBPF_MSG_ARENA ? -EPROTO :
						 gpubpf_arena_parse(&packet->payload, d->number, packet->nfds, &answer);
	if (!err && answer.reason[0]) {
		snprintf(why->text, sizeof(why->text), "%s", packet->lost ? strerror(EMFILE) : answer.reason);
		err = -EOPNOTSUPP;
	}
	if (!err)
		err = map_arena(d, packet, &answer, why);
out:
	gpubpf_request_drop(d->arena_request);
	d->arena_request = NULL;
	return err;
}

/*
 * Returns the start of the next range of allocated pages in the arena's memfd, and stores the range's end in *to. Holes
 * of the file read as zero. If the file system does not report holes, the range extends to the end of the arena.
 */
static off_t next_data(const struct gpubpf_hook_device *d, off_t from, off_t *to)
{
	off_t data = lseek(d->memory, from, SEEK_DATA), size = d->size, hole;

	if (data < 0)
		data = errno == ENXIO ? size : from;
	hole = lseek(d->memory, data, SEEK_HOLE);
	*to = hole > data && hole < size ? hole : size;
	return data < size ? data : size;
}

/*
 * Copy the arena's contents up to `end` to the device. The first copy skips holes of the memfd. Parts that are added
 * later are copied completely.
 */
static int push_data(struct gpubpf_hook_device *d, off_t end)
{
	const struct gpubpf_device_ops *ops = d->ops->device;
	off_t from = d->filled, to;
	int err;

	if (!ops->arena_zero || d->memory < 0)
		return ops->arena_push(d->device, from, (char *)d->host + from, end - from);
	err = ops->arena_zero(d->device, from, end - from);
	while (!err && (from = next_data(d, from, &to)) < end) {
		err = ops->arena_push(d->device, from, (char *)d->host + from, (to < end ? to : end) - from);
		from = to;
	}
	return err;
}

/* Copy the part of the arena that the device does not have yet. The caller holds the device's lock. */
static int fill_arena(struct gpubpf_hook_device *d, struct gpubpf_reason *why)
{
	struct gpubpf_arena_hdr *hdr = d->host;
	uint64_t used = __atomic_load_n(&hdr->used, __ATOMIC_ACQUIRE),
		 given = __atomic_load_n(&hdr->given, __ATOMIC_ACQUIRE);
	int err;

	gpubpf_assert_held(&d->lock);
	if (d->shared || (used <= d->filled && given <= d->rows))
		return 0;
	err = used > d->own ? -EPROTO : used > d->filled ? push_data(d, used) : 0;
	if (!err)
		err = gpubpf_arena_wait(d->ops->device, d->device);
	if (err < 0) {
		snprintf(why->text, sizeof(why->text), "cannot copy the memory for maps to the device: %s",
			 strerror(-err));
		return err;
	}
	err = gpubpf_external_maps_fill(d, given, why);
	if (err < 0)
		return err;
	d->filled = used;
	__atomic_store_n(&hdr->filled, used, __ATOMIC_RELEASE);
	gpubpf_prepare_start(d);
	gpubpf_drain_start(d);
	return 0;
}

int gpubpf_device_fill(struct gpubpf_hook_device *d, struct gpubpf_reason *why)
{
	int err = 0;

	pthread_mutex_lock(&d->lock);
	if (d->state == DEVICE_READY && gpubpf_device_is_of_this_process(d))
		err = fill_arena(d, why);
	if (d->state == DEVICE_READY && gpubpf_device_is_of_this_process(d) && !err)
		gpubpf_allocations_attach(d);
	pthread_mutex_unlock(&d->lock);
	return err;
}

static int open_device(struct gpubpf_hook_device *d, struct gpubpf_reason *why)
{
	struct gpubpf_device_open how = d->how;
	char cache[PATH_MAX];

	how.variable = gpubpf_env_variable;
	how.cache = gpubpf_env_cache(cache, sizeof(cache)) ? cache : NULL;
	return d->ops->device->open(&how, &d->device, why);
}

static int make_ready(struct gpubpf_hook_device *d, struct gpubpf_reason *why)
{
	const struct gpubpf_device_ops *ops = d->ops->device;
	int err = d->device ? 0 : open_device(d, why);

	gpubpf_assert_held(&d->lock);
	if (err < 0)
		return err;
	d->shared = ops->caps(d->device)->bits & GPUBPF_CAP_SHARED_ARENA;
	err = take_arena(d, why);
	if (err < 0)
		return err;
	err = ops->arena_attach(d->device, d->host, d->own, &d->arena, why);
	if (!err && (err = fill_arena(d, why))) {
		gpubpf_external_maps_free(d);
		ops->arena_detach(d->device);
	}
	close(d->memory);
	d->memory = -1;
	if (!err)
		gpubpf_allocations_attach(d);
	if (!err)
		gpubpf_device_register_ready(d->shared);
	if (!err && !d->shared)
		gpubpf_device_export_arena(d);
	return err;
}

int gpubpf_device_make_ready(struct gpubpf_hook_device *d, struct gpubpf_reason *why)
{
	pthread_mutex_lock(&d->lock);
	if (d->state == DEVICE_NEW) {
		int err = make_ready(d, &d->why);

		if (err == -EAGAIN) {
			pthread_mutex_unlock(&d->lock);
			return err;
		}
		if (err < 0 && !d->why.text[0])
			snprintf(d->why.text, sizeof(d->why.text), "the device could not be opened for probes: %s",
				 gpubpf_session_strerror(err));
		d->state = err < 0 ? DEVICE_REFUSED : DEVICE_READY;
	}
	*why = d->why;
	pthread_mutex_unlock(&d->lock);
	return d->state == DEVICE_READY ? 0 : -EOPNOTSUPP;
}
