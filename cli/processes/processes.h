/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Facts about processes and sessions, for the commands that select or list them. All texts of a process are untrusted:
 * its owner chooses its name, its arguments and the paths of its files. The functions replace control characters in
 * them.
 */
#ifndef GPUBPF_CLI_PROCESSES_H
#define GPUBPF_CLI_PROCESSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>
#include <time.h>

struct cli_args;
struct json_object;

/* process.c: each function reads /proc/PID. If the process has ended, texts are "" and numbers are 0. */
bool cli_process_exists(pid_t pid);
void cli_process_name(pid_t pid, char *name, size_t size);    /* the name that `ps -o comm` prints */
void cli_mask_controls(char *text);                           /* replaces control characters by '?' */
void cli_process_command(pid_t pid, char *text, size_t size); /* the arguments, or [name] if there are none */
uid_t cli_process_user(pid_t pid);                            /* the effective user; -1: not known */
time_t cli_process_start(pid_t pid);
/* `path` is a control group of version 2, as in /proc/PID/cgroup or as its folder in /sys/fs/cgroup. */
bool cli_process_is_in_cgroup(pid_t pid, const char *path);
/* Store the first 12 digits of the container's id, or its name. "": the process is in no known container. */
void cli_process_container(pid_t pid, char *id, size_t size);
void cli_container_of(const char *cgroups, char *id, size_t size); /* parses a text of /proc/PID/cgroup */
/* Returns true if the process is one of gpubpf's own helper programs, such as gpubpf-build. */
bool cli_process_is_helper(pid_t pid);
/* Call fn for each process of this pid namespace. */
void cli_process_each(void (*fn)(pid_t pid, void *arg), void *arg);

/* runtimes.c */
enum cli_runtime {
#define CLI_RUNTIME(id, file, name) CLI_RUNTIME_##id,
#include "runtimes.def"
	CLI_NRUNTIMES,
};

/* The GPU libraries that a process has mapped. */
struct cli_mapped {
	bool has[CLI_NRUNTIMES];
	bool has_agent, has_idle; /* gpubpf's agent; gpubpf's library for prepared processes */
};

/* Returns false if this user may not read the mappings of the process, or if it has ended. */
bool cli_mapped_read(pid_t pid, struct cli_mapped *mapped);
bool cli_mapped_uses_opencl(const struct cli_mapped *mapped); /* an OpenCL loader or PoCL */
bool cli_mapped_uses_gpu(const struct cli_mapped *mapped);
const char *cli_runtime_name(enum cli_runtime runtime); /* "CUDA", "OpenCL", "PoCL"... */

/* sessions.c */
struct cli_session {
	char path[108];      /* of the socket */
	pid_t pid;           /* of the tool */
	unsigned int number; /* distinguishes the sessions of one process */
	uid_t user;
	time_t start;
	bool is_default; /* the socket is in this user's runtime folder */
	bool is_open;    /* this user may query the session */
	/* the answer to GPUBPF_QUERY_INFO; NULL: the session does not answer, or is not open to this user */
	struct json_object *info;
	char name[64];
};

struct cli_sessions {
	struct cli_session *session; /* [n], by pid and number */
	size_t n;
};

/* Find and query the running sessions of all users whose processes are visible. */
void cli_sessions_open(struct cli_sessions *s);
void cli_sessions_close(struct cli_sessions *s);
/* Write "PID", or "PID-NUMBER" if the process has several sessions. */
void cli_session_id(const struct cli_sessions *all, const struct cli_session *s, char *id, size_t size);
/* Returns the process's entry in the session's answer, or NULL if the session does not probe the process. */
struct json_object *cli_session_process(const struct cli_session *s, pid_t pid);
/* Write the names of the attached programs, for example "launches, times". */
void cli_session_programs(const struct cli_session *s, char *text, size_t size);

/* clean.c: gpubpf ps --clean */
int cli_ps_clean(const struct cli_args *args);

/* table.c: columns for a terminal. The text has no line that is wider than standard output's terminal. */
void cli_print_clipped(const char *text, FILE *out);
struct gpubpf_table;
void cli_print_table(struct gpubpf_table *table); /* prints it clipped, on standard output */
void cli_user_name(uid_t user, char *name, size_t size);
/* Write the time of day, or the date if the time is not of the last 24 hours. */
void cli_short_time(time_t when, char *text, size_t size);
void cli_add_time(struct json_object *o, const char *name, time_t when); /* in UTC, as ISO 8601 */

#endif
