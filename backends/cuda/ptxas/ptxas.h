/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A twin's PTX to machine code, by NVIDIA's ptxas, the user's own program, which is what the driver has inside: of whole
 * programs both make the same, where nvJitLink compiles parts to be linked (wide loads of shared memory whose place it
 * does not know, and some unrolling, are lost). Other than the driver, which compiles one twin after the other, in the
 * application, it runs beside others.
 */
#ifndef GPUBPF_CUDA_PTXAS_H
#define GPUBPF_CUDA_PTXAS_H

#include "core/target.h"

/*
 * struct gpubpf_serve_ops's build: one piece of PTX; its options are lines: the program's path, what tells it from others of
 * that path (core/worker/spawn.h), and its option, of probes two. Makes one piece of machine code; none where the program refuses the text, as
 * it always will, or is asked which it is. The text, the code and what it says are memfds: nothing lies in a folder. It ends with the job's time.
 */
int cuda_ptxas(const struct gpubpf_device_caps *caps, const struct gpubpf_twin_image *pieces, struct gpubpf_twin_image *out,
	       char *log, size_t log_size, struct gpubpf_diag *diag);

#endif
