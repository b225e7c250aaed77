/* SPDX-License-Identifier: Apache-2.0 */
/* bpf(2), by its commands. */
#include "loader.h"

#include <errno.h>
#include <string.h>

#define PAGE 4096              /* the largest attribute that the kernel takes; nothing lies in the first one */

static long (*const commands[])(struct call *c) = {
#define GPUBPF_COMMAND(number, name, function, meaning) [number] = function,
#include "commands.def"
};

long pass(struct call *c)
{
	return kernel_bpf(c->cmd, c->user, c->size);
}

/* Is there something behind what we know of? */
static bool is_newer(const unsigned char *attr, unsigned int size)
{
	for (size_t i = sizeof(union bpf_attr); i < size; i++)
		if (attr[i])
			return true;
	return false;
}

/* A pointer that is none is the kernel's to refuse, as is what we do not know. */
long bpf_call(int cmd, void *attr, unsigned int size)
{
	struct call c = { .cmd = cmd, .user = attr, .size = size };

	if (cmd < 0 || (size_t)cmd >= sizeof(commands) / sizeof(commands[0]) || commands[cmd] == pass || !attr ||
	    (uintptr_t)attr < PAGE || size > PAGE || is_newer(attr, size))
		return kernel_bpf(cmd, attr, size);
	memcpy(&c.attr, attr, size < sizeof(c.attr) ? size : sizeof(c.attr));
	return commands[cmd](&c);
}
