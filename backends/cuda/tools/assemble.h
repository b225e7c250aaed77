/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compiles the probes' PTX to machine code with NVIDIA's library nvJitLink. The library is part of CUDA 12 and later,
 * and of the Python packages of PyTorch, CuPy and others. The alternatives are worse: ptxas would be started once for
 * each job, and the library nvPTXCompiler, which has the same compiler, can only be linked statically.
 */
#ifndef GPUBPF_CUDA_ASSEMBLE_H
#define GPUBPF_CUDA_ASSEMBLE_H

#include "core/target.h"

/* Loads nvJitLink if it is installed. The process must call this before it enters its sandbox. */
void cuda_assemble_open(void);
/*
 * Implements `build` of struct gpubpf_serve_ops: compiles one piece of PTX for caps->arch to one piece of machine code.
 */
int cuda_assemble(const struct gpubpf_device_caps *caps, const struct gpubpf_twin_image *pieces,
		  struct gpubpf_twin_image *out, char *log, size_t log_size, struct gpubpf_diag *diag);

#endif
