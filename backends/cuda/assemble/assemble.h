/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Probes' PTX to machine code, by NVIDIA's nvJitLink, a library that comes with CUDA from version 12 on and with the
 * Python packages of PyTorch, CuPy and others. (ptxas would be a program to start for each; the library of the same
 * compiler, nvPTXCompiler, can only be linked statically.)
 */
#ifndef GPUBPF_CUDA_ASSEMBLE_H
#define GPUBPF_CUDA_ASSEMBLE_H

#include "core/target.h"

/* Find the library, before the process locks itself up. */
void cuda_assemble_open(void);
/* struct gpubpf_serve_ops's build: one piece of PTX for caps->arch, one of machine code. */
int cuda_assemble(const struct gpubpf_device_caps *caps, const struct gpubpf_twin_image *pieces,
		  struct gpubpf_twin_image *out, char *log, size_t log_size, struct gpubpf_diag *diag);

#endif
