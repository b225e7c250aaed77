/* SPDX-License-Identifier: Apache-2.0 */
/* Dispatches calls of bpf(2) by command. */
#include "loader.h"

#include <errno.h>
#include <string.h>

#define PAGE 4096              /* size limit of an attribute in Linux; addresses below PAGE are never mapped */

static long (*const commands[])(struct call *c) = {
#define GPUBPF_COMMAND(number, name, function, ways, meaning) [number] = function,
#include "commands.def"
};

bool bpf_may_block(int cmd)
{
	return cmd < 0 || (size_t)cmd >= sizeof(commands) / sizeof(commands[0]) || commands[cmd] == pass ||
	       commands[cmd] == prog_test_run;
}

bool bpf_returns_fd(int cmd)
{
	static const uint64_t mask = 1ull << BPF_MAP_CREATE | 1ull << BPF_PROG_LOAD | 1ull << BPF_OBJ_GET |
				     1ull << BPF_PROG_GET_FD_BY_ID | 1ull << BPF_MAP_GET_FD_BY_ID |
				     1ull << BPF_BTF_LOAD | 1ull << BPF_BTF_GET_FD_BY_ID | 1ull << BPF_LINK_CREATE |
				     1ull << BPF_LINK_GET_FD_BY_ID;

	return cmd >= 0 && cmd < 64 && mask >> cmd & 1;
}

/*
 * Returns true if the attribute has nonzero bytes after the union bpf_attr of the headers that this code was built
 * with.
 */
static bool has_unknown_bytes(const uint8_t *attr, unsigned int size)
{
	for (size_t i = sizeof(union bpf_attr); i < size; i++)
		if (attr[i])
			return true;
	return false;
}

/*
 * Returns true if the attribute has nonzero bytes after the last member that this code knows for the command. Then the
 * Linux kernel handles the call. If the kernel does not know these members either, it returns its own errno.
 */
static bool has_unknown_members(const struct call *c)
{
	static const uint16_t ends[] = {
		[BPF_MAP_LOOKUP_ELEM] = FIELD_END(flags),
		[BPF_MAP_UPDATE_ELEM] = FIELD_END(flags),
		[BPF_MAP_DELETE_ELEM] = FIELD_END(flags),
		[BPF_MAP_GET_NEXT_KEY] = FIELD_END(next_key),
		[BPF_MAP_LOOKUP_AND_DELETE_ELEM] = FIELD_END(flags),
		[BPF_OBJ_PIN] = FIELD_END(file_flags),
		[BPF_OBJ_GET] = FIELD_END(file_flags),
		[BPF_MAP_FREEZE] = FIELD_END(map_fd),
		[BPF_PROG_GET_NEXT_ID] = FIELD_END(next_id),
		[BPF_MAP_GET_NEXT_ID] = FIELD_END(next_id),
		[BPF_BTF_GET_NEXT_ID] = FIELD_END(next_id),
		[BPF_LINK_GET_NEXT_ID] = FIELD_END(next_id),
		[BPF_PROG_GET_FD_BY_ID] = FIELD_END(prog_id),
		[BPF_MAP_GET_FD_BY_ID] = FIELD_END(open_flags),
		[BPF_BTF_GET_FD_BY_ID] = FIELD_END(btf_id),
		[BPF_LINK_GET_FD_BY_ID] = FIELD_END(link_id),
		[BPF_OBJ_GET_INFO_BY_FD] = FIELD_END(info),
		[BPF_MAP_LOOKUP_BATCH] = FIELD_END(batch),
		[BPF_MAP_LOOKUP_AND_DELETE_BATCH] = FIELD_END(batch),
		[BPF_MAP_UPDATE_BATCH] = FIELD_END(batch),
		[BPF_MAP_DELETE_BATCH] = FIELD_END(batch),
		[BPF_PROG_TEST_RUN] = FIELD_END(test),
		[BPF_LINK_DETACH] = FIELD_END(link_detach),
		[BPF_PROG_BIND_MAP] = FIELD_END(prog_bind_map),
	};
	const uint8_t *bytes = (const uint8_t *)&c->attr;

	for (size_t i = (size_t)c->cmd < sizeof(ends) / sizeof(ends[0]) ? ends[c->cmd] : 0; i && i < sizeof(c->attr); i++)
		if (bytes[i])
			return true;
	return false;
}

/*
 * Handle one call of bpf(2). Invalid pointers and unknown commands are passed to the Linux kernel, which refuses them.
 */
long bpf_call(int cmd, uint64_t attr, unsigned int size)
{
	struct call c = { .cmd = cmd, .user = attr, .size = size };
	uint8_t bytes[PAGE];
	long ret;

	if (cmd < 0 || (size_t)cmd >= sizeof(commands) / sizeof(commands[0]) || commands[cmd] == pass || attr < PAGE ||
	    size > PAGE || caller_read(bytes, attr, size) < 0 || has_unknown_bytes(bytes, size))
		return pass_unknown(cmd, attr, size);
	memcpy(&c.attr, bytes, size < sizeof(c.attr) ? size : sizeof(c.attr));
	if (has_unknown_members(&c))
		return pass_unknown(cmd, attr, size);
	ret = commands[cmd](&c);
	return c.is_predicted && ret == -EPERM ? PASSED : ret;
}
