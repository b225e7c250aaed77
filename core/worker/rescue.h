/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpubpf-rescue BACKEND: copies an arena from device memory to its mirror, after the application has died. The
 * application exported this memory while it ran. The exit status is 0 on success; otherwise standard error has one
 * line.
 */
#ifndef GPUBPF_WORKER_RESCUE_H
#define GPUBPF_WORKER_RESCUE_H

#define GPUBPF_RESCUE_MEMORY 3 /* descriptor of the device memory that the application exported */
#define GPUBPF_RESCUE_S 20     /* maximum run time in seconds */
#define GPUBPF_RESCUE_MIRROR 4 /* descriptor of the mirror, a memfd as large as the arena */

#endif
