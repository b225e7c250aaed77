/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A library that contains the PTX text of a kernel. The application loads a module from the text and then unloads the
 * library.
 */
__attribute__((visibility("default"))) extern const char closed_text[];

const char closed_text[] = ".version 7.0\n.target sm_75\n.address_size 64\n"
			   ".visible .entry scale(.param .u64 to)\n{\n//fake param\n//fake counter\n\tret;\n}\n";
