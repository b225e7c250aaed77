/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compiles a twin's PTX to machine code with NVIDIA's ptxas, which the user has installed. Like the compiler in the
 * driver, it compiles the twin as a whole program and produces the same code. In contrast, nvJitLink compiles modules
 * to be linked. This loses some unrolling and some wide loads of shared memory at unknown offsets. The driver compiles
 * one twin after the other, inside the application. Several runs of ptxas can work in parallel.
 */
#ifndef GPUBPF_CUDA_PTXAS_H
#define GPUBPF_CUDA_PTXAS_H

#include "core/target.h"

/*
 * Implements `assemble` of struct gpubpf_serve_ops. The output is one piece of machine code. There is no output if the
 * caller requested only the version of ptxas, or if ptxas refuses the text. A refusal is permanent. Text, code and log
 * are memfds, so no file is created. The time limit of the job also limits ptxas.
 */
int cuda_ptxas(const struct gpubpf_assembly *what, struct gpubpf_twin_image *out, char *log, size_t log_size,
	       struct gpubpf_diag *diag);

#endif
