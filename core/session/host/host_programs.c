/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Encodes the attached programs of sections host/ for agents. Each agent decodes them in hooks/host/plan.c. The
 * programs use the arena of devices on host memory. Programs on such devices therefore share their maps. If a device
 * has its own memory, reports add the values of both arenas or show both.
 */
#include "host_programs.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "core/session/private.h"
#include "core/wire/fields.h"
#include "core/wire/msg.h"
#include "core/wire/name.h"

static bool is_attached(const struct gpubpf_session *s, uint32_t i)
{
	return gpubpf_session_unit(s)->progs[i].host && gpubpf_link_is_attached(gpubpf_session_link(s, i));
}

static uint32_t count_attached(const struct gpubpf_session *s)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < gpubpf_session_unit(s)->nprogs; i++)
		n += is_attached(s, i);
	return n;
}

void gpubpf_host_programs_publish(struct gpubpf_session *s)
{
	const struct gpubpf_unit *unit = gpubpf_session_unit(s);
	bool any = false;

	for (uint32_t i = 0; i < unit->nprogs; i++)
		any |= is_attached(s, i) || (unit->progs[i].host && gpubpf_link_was_attached(gpubpf_session_link(s, i)));
	if (any)
		gpubpf_kernel_table_change_host(s);
}

static void put_map(struct gpubpf_writer *w, const struct gpubpf_map *map, const struct gpubpf_map_layout *l)
{
	gpubpf_put_u32(w, map->type->number);
	gpubpf_put_u32(w, map->key_size);
	gpubpf_put_u32(w, map->value_size);
	gpubpf_put_u32(w, map->max_entries);
	gpubpf_put_u32(w, map->map_flags);
	gpubpf_put_u8(w, map->rdonly);
	gpubpf_put_u8(w, map->prototype);
	gpubpf_put_raw(w, l, sizeof(*l));
}

static void put_insns(struct gpubpf_writer *w, const struct gpubpf_prog *prog, uint32_t nmaps)
{
	struct gpubpf_codec c = { .w = w };

	for (uint32_t pc = 0; pc < prog->ninsns; pc++) {
		struct gpubpf_insn insn = prog->insns[pc];

		gpubpf_codec_insn(&c, &insn, prog->ninsns, nmaps);
	}
	w->failed |= c.failed;
}

static void put_program(struct gpubpf_writer *w, const struct gpubpf_unit *unit, uint32_t i)
{
	const struct gpubpf_prog *prog = &unit->progs[i];
	const struct gpubpf_facts *facts = prog->facts;

	gpubpf_put_u32(w, i); /* a link has the index of its program */
	gpubpf_put_u32(w, i);
	gpubpf_put_u8(w, prog->host);
	gpubpf_put_u8(w, prog->site == GPUBPF_SITE_HOST_EXIT);
	gpubpf_put_u8(w, facts->stack_ids);
	gpubpf_put_u8(w, facts->stack_skip);
	gpubpf_put_u8(w, facts->stack_depth);
	gpubpf_put_str(w, prog->pattern);
	gpubpf_put_str(w, prog->name);
	gpubpf_put_str(w, prog->section);
	gpubpf_put_u64(w, prog->cookie);
	gpubpf_put_u32(w, prog->ninsns);
	put_insns(w, prog, unit->nmaps);
}

static void put_all(const struct gpubpf_session *s, struct gpubpf_writer *w)
{
	const struct gpubpf_layout *layout = &gpubpf_arena_at(s, 0)->layout;
	const struct gpubpf_unit *unit = gpubpf_session_unit(s);

	gpubpf_put_u64(w, gpubpf_kernel_table_host(s));
	gpubpf_put_u64(w, layout->size);
	gpubpf_put_u32(w, layout->replicas);
	gpubpf_put_u32(w, layout->threads);
	gpubpf_put_u64(w, layout->print_ring);
	gpubpf_put_raw(w, &layout->prints, sizeof(layout->prints));
	gpubpf_put_u32(w, layout->nmaps);
	for (uint32_t i = 0; i < layout->nmaps; i++)
		put_map(w, &unit->maps[i], &layout->maps[i]);
	gpubpf_put_u32(w, unit->nprogs);
	gpubpf_put_u32(w, count_attached(s));
	for (uint32_t i = 0; i < unit->nprogs; i++)
		if (is_attached(s, i))
			put_program(w, unit, i);
}

int gpubpf_host_programs_answer(struct gpubpf_session *s, struct gpubpf_peer *peer, uint32_t seq)
{
	struct gpubpf_writer w = { 0 }, nothing = { 0 };
	int fds[2], err;

	gpubpf_arenas_activate(s);
	gpubpf_arena_use_shared(s);
	err = gpubpf_linux_share(s, peer, 0);
	if (err < 0)
		return -EPROTO;
	put_all(s, &w);
	fds[0] = w.failed ? -ENOMEM : gpubpf_memfd_image("gpubpf-host-programs", w.data, w.size);
	gpubpf_writer_finish(&w);
	fds[1] = gpubpf_arena_at(s, 0)->fd;
	if (fds[0] < 0)
		gpubpf_session_note(s, "programs of sections host/ do not run: %s", strerror(-fds[0]));
	err = gpubpf_peer_send(peer, GPUBPF_MSG_HOST_DONE, seq, &nothing, fds, fds[0] < 0 ? 0 : 2);
	if (fds[0] >= 0)
		close(fds[0]);
	return err;
}

int gpubpf_host_name_answer(struct gpubpf_session *s, struct gpubpf_peer *peer, uint32_t seq, struct gpubpf_reader *r)
{
	char whole[GPUBPF_WHOLE_NAME_SIZE], name[GPUBPF_NAME_SIZE];
	struct gpubpf_writer w = { 0 };
	uint32_t id;
	int err;

	gpubpf_get_str(r, whole, sizeof(whole));
	if (r->failed)
		return -EPROTO;
	gpubpf_name_short(whole, strlen(whole), name);
	id = gpubpf_kernel_id(s, name);
	gpubpf_kernel_set_full_name(s, id, whole);
	gpubpf_put_u64(&w, id == UINT32_MAX ? UINT64_MAX : id);
	err = gpubpf_peer_send(peer, GPUBPF_MSG_NAME_DONE, seq, &w, NULL, 0);
	gpubpf_writer_finish(&w);
	return err;
}
