/* SPDX-License-Identifier: Apache-2.0 */
/* The device library's bitcode, one copy for each LLVM target. core/lower/meson.build generates the files. */
#ifndef GPUBPF_LOWER_BITCODE_H
#define GPUBPF_LOWER_BITCODE_H

extern const char gpubpf_bitcode_nvptx[], gpubpf_bitcode_nvptx_end[];
/*
 * nvptx_code: for probes that an assembler turns into machine code. nvptx_alone: the same for GPUs on which no lane may
 * wait for another.
 */
extern const char gpubpf_bitcode_nvptx_code[], gpubpf_bitcode_nvptx_code_end[];
extern const char gpubpf_bitcode_nvptx_alone[], gpubpf_bitcode_nvptx_alone_end[];
extern const char gpubpf_bitcode_amdgcn[], gpubpf_bitcode_amdgcn_end[];
extern const char gpubpf_bitcode_spirv[], gpubpf_bitcode_spirv_end[];

#endif
