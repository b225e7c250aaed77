/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel of direct runs (core/wire/direct.h), which does nothing itself. The build makes SPIR-V and AMD machine code
 * of this text. gpubpf-runner also contains the text.
 */
kernel void gpubpf_direct_run(global ulong *block, ulong size, ulong key)
{
}
