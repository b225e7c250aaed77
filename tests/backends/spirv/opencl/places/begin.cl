/* SPDX-License-Identifier: Apache-2.0 */
/* The module is begin.spvasm: every fourth of 64 lanes runs the loop three times and returns early. */
//@ assembly: all begin.spvasm
//@ run: begins 64 16 buf:512
//@ mem: begins line 656:0 line.one 160:0
//@ told: begins line lines=4592
