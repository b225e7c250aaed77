/* SPDX-License-Identifier: Apache-2.0 */
/* The objects of probes/, which the tool contains. The build writes their definitions. */
#ifndef GPUBPF_CLI_TIMELINE_OBJECTS_H
#define GPUBPF_CLI_TIMELINE_OBJECTS_H

extern const unsigned char timeline_object_calls[], timeline_object_stacks[];
extern const unsigned int timeline_object_calls_size, timeline_object_stacks_size;

#endif
