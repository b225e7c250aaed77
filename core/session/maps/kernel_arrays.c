/* SPDX-License-Identifier: Apache-2.0 */
/* Maps the memory of Linux arrays into the arenas of devices that use host memory. */
#include "private.h"

#include <errno.h>
#include <sys/mman.h>

int gpubpf_linux_map_pages(struct gpubpf_session *s, const struct gpubpf_session_arena *a, uint32_t first)
{
	for (uint32_t m = first; m < a->layout.nmaps; m++) {
		const struct gpubpf_map *map = &gpubpf_session_unit(s)->maps[m];
		const struct gpubpf_map_layout *l = &a->layout.maps[m];

		if (map->kernel && mmap((char *)a->base + l->data, l->copy_stride, PROT_READ | PROT_WRITE,
					MAP_SHARED | MAP_FIXED, map->kernel - 1, 0) == MAP_FAILED)
			return -errno;
	}
	return 0;
}

int gpubpf_linux_share(struct gpubpf_session *s, struct gpubpf_peer *peer, uint32_t first)
{
	const struct gpubpf_session_arena *a = &s->maps->arenas[0];
	int err = 0;

	for (uint32_t m = first; m < a->layout.nmaps && !err; m++) {
		int fd = gpubpf_session_unit(s)->maps[m].kernel - 1;
		struct gpubpf_writer w = { 0 };

		if (fd < 0)
			continue;
		gpubpf_put_u32(&w, m);
		gpubpf_put_u64(&w, a->layout.maps[m].data);
		gpubpf_put_u64(&w, a->layout.maps[m].copy_stride);
		err = gpubpf_peer_send(peer, GPUBPF_MSG_SHARE, 0, &w, &fd, 1);
	}
	return err;
}

void gpubpf_linux_share_all(struct gpubpf_session *s, uint32_t first)
{
	for (struct gpubpf_peer *peer = gpubpf_peers_first(s); peer; peer = peer->next)
		for (uint32_t i = 0; i < peer->ndevices; i++)
			if (peer->devices[i].arena == 0) {
				gpubpf_linux_share(s, peer, first);
				break;
			}
}
