/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sessions of tools that attach to this process while it runs. The tool starts gpubpf_agent_attach() in a new thread
 * (core/attach). When the tool detaches or dies, the agent undoes its hooks and releases its memory and descriptors.
 * Then the next tool can attach.
 */
#ifndef GPUBPF_HOOKS_ATTACH_H
#define GPUBPF_HOOKS_ATTACH_H

#include <stdint.h>

#include "core/attach/boot.h"

/*
 * The entry function that the boot code calls. It creates a pair of connected sockets, and the tool duplicates one of
 * them. Then it starts the thread that joins the session. Returns 0, or a negative errno value with the reason in
 * data->error.
 */
int64_t gpubpf_agent_attach(struct gpubpf_boot_data *data);

#endif
