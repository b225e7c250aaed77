/* SPDX-License-Identifier: Apache-2.0 */
/* The keys of million.c and million.bpf.c, and the operation that each lane performs on its own key. */
#ifndef GPUBPF_TESTS_MAPS_MILLION_H
#define GPUBPF_TESTS_MAPS_MILLION_H

#define MILLION 1000000u
#define ROOM (1u << 20)
#define SHORT 1024u      /* LPM_TRIE: the first SHORT keys are prefixes of 10 bits, which lanes never change */

enum lane_does { LANE_SETS, LANE_DELETES, LANE_ADDS, LANE_REPLACES };

static inline __attribute__((always_inline, unused)) unsigned int mixed(unsigned int i)
{
	i = (i ^ i >> 16) * 0x85ebca6bu;
	return (i ^ i >> 13) * 0xc2b2ae35u;
}

static inline __attribute__((always_inline, unused)) enum lane_does lane_does(unsigned int i)
{
	return (enum lane_does)(mixed(i) >> 28 & 3);
}

static inline __attribute__((always_inline, unused)) unsigned int number_of(unsigned int i)
{
	return i * 2654435761u;
}

/*
 * Returns the prefix of key i. The upper 20 bits differ between keys and the others are zero; the first SHORT keys have
 * 10 bits.
 */
static inline __attribute__((always_inline, unused)) unsigned int prefix_of(unsigned int i)
{
	return i < SHORT ? i << 22 : (i * 2654435761u & 0xfffff) << 12;
}

static inline __attribute__((always_inline, unused)) unsigned int length_of(unsigned int i)
{
	return i < SHORT ? 10 : 20 + i % 4;
}

#endif
