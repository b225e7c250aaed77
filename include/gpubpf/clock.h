/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUBPF_CLOCK_H
#define GPUBPF_CLOCK_H

/*
 * Write it before the function of a program for a GPU. It sets the clock of bpf_get_globaltimer() in this program to
 * "monotonic" or "realtime". Without it the clock is CLOCK_MONOTONIC in gpu/ sections, and CLOCK_REALTIME in kprobe/ and
 * kretprobe/. The option --clock of gpubpf-run(1) overrides both.
 *
 *	SEC("kprobe/_Z4stepPf") GPUBPF_CLOCK("monotonic") int cuda__step(void *ctx)
 */
#define GPUBPF_CLOCK(base) __attribute__((btf_decl_tag("gpubpf:clock=" base)))

#endif
