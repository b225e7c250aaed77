/* SPDX-License-Identifier: Apache-2.0 */
/* What the scenarios of the program share: app.c has most of them, owners.c those of what belongs to whom */
#ifndef GPUBPF_TESTS_CUDA_APP_H
#define GPUBPF_TESTS_CUDA_APP_H

#include "fake.h"

#define HEADER ".version 7.0\n.target sm_75\n.address_size 64\n"
#define ENTRY(name, lines) ".visible .entry " #name "(.param .u64 to)\n{\n" lines "\tret;\n}\n"
#define GOOD(call) good(call, #call)

void good(CUresult error, const char *what);
uint32_t *to_host(CUdeviceptr at);
CUdeviceptr new_word(void);
void told(const char *kernel, unsigned launches, unsigned long items);
CUcontext begin(CUdevice device);

/* owners.c */
void libraries(void);
void foreign(void);
void green(void);
void part(void);
void detached(void);
void hasty(void);
void unbalanced(void);

#endif
