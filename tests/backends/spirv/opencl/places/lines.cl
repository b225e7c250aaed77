/* SPDX-License-Identifier: Apache-2.0 */
/* The module is lines.spvasm: each lane and each block copies 64 bytes. A load from block memory and a store follow. */
//@ assembly: all lines.spvasm
//@ run: copies 64 16 buf:4096 buf:4096
//@ mem: copies mem 196:8704 mem.shared 68:512
//@ told: copies mem lines=932 loads=68 stores=128
//@ told-il: copies line accesses=128 lines=1024
//@ refuses: copies mem.all mem.value
//@ run: generic 64 16 buf:4096 buf:4096
//@ refuses: generic mem generic address
