/* SPDX-License-Identifier: Apache-2.0 */
/* The module is pairs.spvasm: functions whose parameters or results are booleans and structs. */
//@ assembly: all pairs.spvasm
//@ run: pairs 64 16 buf:4096 buf:4096
//@ mem: pairs mem 64:256 call 128:0 call_exit 128:0 call_exit.pair 128:0
//@ told: pairs mem hints=33024
//@ told: pairs call operands=64 olds=4032
//@ told: pairs call_exit values=4032
