/* SPDX-License-Identifier: Apache-2.0 */
/* Hooks the CUDA driver of a running process: the tool patches the driver's functions (hooks/entries/entries.h). */
#ifndef GPUBPF_HOOKS_CUDA_ATTACH_H
#define GPUBPF_HOOKS_CUDA_ATTACH_H

struct gpubpf_attacher;

extern const struct gpubpf_attacher cuda_attacher;

#endif
