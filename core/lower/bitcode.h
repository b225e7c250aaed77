/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Declares the device library's bitcode, one copy for each LLVM target. core/lower/meson.build generates the files that
 * define it.
 */
#ifndef GPUBPF_LOWER_BITCODE_H
#define GPUBPF_LOWER_BITCODE_H

extern const char gpubpf_bitcode_nvptx[], gpubpf_bitcode_nvptx_end[];
/*
 * nvptx_code: for probes that an assembler compiles to machine code. nvptx_alone: the same, for GPUs on which a lane
 * must never wait for another lane.
 */
extern const char gpubpf_bitcode_nvptx_code[], gpubpf_bitcode_nvptx_code_end[];
extern const char gpubpf_bitcode_nvptx_alone[], gpubpf_bitcode_nvptx_alone_end[];
extern const char gpubpf_bitcode_amdgcn[], gpubpf_bitcode_amdgcn_end[];
extern const char gpubpf_bitcode_spirv[], gpubpf_bitcode_spirv_end[];

#endif
