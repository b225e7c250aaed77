/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUBPF_TESTS_MISBEHAVE_H
#define GPUBPF_TESTS_MISBEHAVE_H

enum {
	MISBEHAVE_NOT,
	MISBEHAVE_CRASH,
	MISBEHAVE_HANG,
	MISBEHAVE_REFUSE,
	MISBEHAVE_GARBAGE,
	MISBEHAVE_SLOW, /* answers after 0.5 s */
	MISBEHAVE_OPEN, /* opens a file, which the sandbox must refuse */
};

#define MISBEHAVE_INVALID "imagine" /* twin image that the faulty worker's validation refuses */

#endif
