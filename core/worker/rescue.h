/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpubpf-rescue BACKEND: copies an arena from a device's memory, which a dead process exported, into its mirror. Exit
 * status 0: done; else one line on standard error.
 */
#ifndef GPUBPF_WORKER_RESCUE_H
#define GPUBPF_WORKER_RESCUE_H

#define GPUBPF_RESCUE_MEMORY 3 /* descriptor of the device memory that the dead process exported */
#define GPUBPF_RESCUE_S 20     /* seconds after which it ends */
#define GPUBPF_RESCUE_MIRROR 4 /* descriptor of the mirror, a memfd of the arena's size */

#endif
