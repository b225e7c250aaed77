/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compiles the probes' PTX to machine code with NVIDIA's nvJitLink. CUDA 12 and later have this library, and so do the
 * Python packages of PyTorch, CuPy and others. ptxas would have to be started for each job. The library of the same
 * compiler, nvPTXCompiler, can only be linked statically.
 */
#ifndef GPUBPF_CUDA_ASSEMBLE_H
#define GPUBPF_CUDA_ASSEMBLE_H

#include "core/target.h"

/* Finds the library. The process calls it before it enters its sandbox. */
void cuda_assemble_open(void);
/* struct gpubpf_serve_ops's build: takes one piece of PTX for caps->arch, makes one piece of machine code. */
int cuda_assemble(const struct gpubpf_device_caps *caps, const struct gpubpf_twin_image *pieces,
		  struct gpubpf_twin_image *out, char *log, size_t log_size, struct gpubpf_diag *diag);

#endif
