/* SPDX-License-Identifier: Apache-2.0 */
/* The module is insns.spvasm: lane i runs i % 4 rounds. Counted by hand. Summed operands are 2.0 and k of fmul,
 * the condition (k == 0) and both values of select, and the first 8 bytes of the vector, i and k of shuffle. */
//@ assembly: all insns.spvasm
//@ run: steps 64 16 buf:4096 buf:4096
//@ mem: steps branch 256:0 insn 2560:0 insn.fmul 96:0 insn.select 96:0 insn.shuffle 96:0 insn.store 128:0 insn.max 96:0 insn.extract 160:0 insn.branch 512:0
//@ told: steps branch barriers=192 ops=256 operands=256
//@ told: steps insn.fmul operands=0x1800000000 olds=0xbf0000000
//@ told: steps insn.select operands=48 olds=960 values=1920
//@ told: steps insn.shuffle operands=0x4000000c20 olds=0x4000000c20
//@ told: steps insn.max operands=64 olds=224
//@ told: steps insn.extract operands=3456
//@ told: steps insn.branch operands=96
