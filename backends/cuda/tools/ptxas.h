/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compiles a twin's PTX to machine code with the user's installed ptxas of NVIDIA. The driver contains the same
 * compiler: both produce the same code for whole programs. However, nvJitLink compiles parts to be linked, which loses
 * some unrolling and wide loads of shared memory at unknown offsets.
 * The driver compiles one twin after the other in the application; several runs of ptxas can work in parallel.
 */
#ifndef GPUBPF_CUDA_PTXAS_H
#define GPUBPF_CUDA_PTXAS_H

#include "core/target.h"

/*
 * struct gpubpf_serve_ops's build. The input is one piece of PTX. Its options are lines: the program's path, a line
 * that identifies the program's version (core/worker/spawn.h), and its option; probes have two options.
 * The output is one piece of machine code. There is no output if the program refuses the text, which is permanent, or
 * if the request is only for the program's version.
 * Text, code and log are memfds; no file is created. The program's time limit is the job's.
 */
int cuda_ptxas(const struct gpubpf_device_caps *caps, const struct gpubpf_twin_image *pieces,
	       struct gpubpf_twin_image *out, char *log, size_t log_size, struct gpubpf_diag *diag);

#endif
