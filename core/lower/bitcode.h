/* SPDX-License-Identifier: Apache-2.0 */
/* The device library's bitcode, one copy for each target of LLVM. core/lower/meson.build makes it. */
#ifndef GPUBPF_LOWER_BITCODE_H
#define GPUBPF_LOWER_BITCODE_H

extern const char gpubpf_bitcode_nvptx[], gpubpf_bitcode_nvptx_end[];
/* nvptx_code: for probes that an assembler turns into machine code. nvptx_alone: no lane waits for another. */
extern const char gpubpf_bitcode_nvptx_code[], gpubpf_bitcode_nvptx_code_end[];
extern const char gpubpf_bitcode_nvptx_alone[], gpubpf_bitcode_nvptx_alone_end[];
extern const char gpubpf_bitcode_amdgcn[], gpubpf_bitcode_amdgcn_end[];
extern const char gpubpf_bitcode_spirv[], gpubpf_bitcode_spirv_end[];

#endif
