/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUBPF_TESTS_MISBEHAVE_H
#define GPUBPF_TESTS_MISBEHAVE_H

enum {
	MISBEHAVE_NOT,
	MISBEHAVE_CRASH,
	MISBEHAVE_HANG,
	MISBEHAVE_REFUSE,
	MISBEHAVE_GARBAGE,
	MISBEHAVE_OPEN,     /* not a mischief of ours: shows what the sandbox refuses */
};

#define MISBEHAVE_INVALID "imagine" /* a piece that is not valid; by what it says, since answers may be of any size */

#endif
