/* SPDX-License-Identifier: Apache-2.0 */
/* Integer types of fixed width, with the same names in C and in OpenCL C. */
#ifndef GPUBPF_MAPS_DEVLIB_TYPES_H
#define GPUBPF_MAPS_DEVLIB_TYPES_H

#if defined(__OPENCL_C_VERSION__) || defined(__OPENCL_VERSION__)
#define GPUBPF_OPENCL 1
#endif

#ifdef GPUBPF_OPENCL
typedef uchar u8;
typedef ushort u16;
typedef uint u32;
typedef ulong u64;
typedef int s32;
typedef long s64;
#else
#include <stdint.h>
typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int32_t s32;
typedef int64_t s64;
#endif

#endif
