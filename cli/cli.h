/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command line: gpubpf OBJECT COMMAND [OPTIONS] [ARGUMENTS], as bpftool has it. One command is one
 * file; the tables commands.def and options.def drive parsing, help and completions.
 */
#ifndef GPUBPF_CLI_CLI_H
#define GPUBPF_CLI_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>
#include <time.h>

#include "core/diag.h"

struct gpubpf_event;
struct gpubpf_loaded;
struct gpubpf_session_opts;
struct gpubpf_session;
struct gpubpf_writer;
struct json_object;

enum {
	CLI_OK = 0,
	CLI_FAILED = 1,        /* refused or failed, told on standard error */
	CLI_USAGE = 2,
	CLI_UNPROBED = 4,      /* `run --strict`: no launch was probed */
	CLI_RUN_FAILED = 125,  /* `run`: gpubpf itself failed, the program was not started */
	CLI_RUN_CANNOT = 126,  /* `run`: the program cannot be executed */
	CLI_RUN_MISSING = 127, /* `run`: there is no such program */
};

enum cli_option {
#define GPUBPF_OPTION(id, short_name, long_name, argument, help) OPT_##id,
#include "options.def"
	OPT_COUNT,
};

struct cli_option_row {
	char short_name;
	const char *long_name, *argument, *help;
};
extern const struct cli_option_row cli_options[OPT_COUNT];

struct cli_args;
struct cli_command {
	const char *object, *verb, *arguments, *page;
	uint64_t options;      /* bit of enum cli_option */
	const char *summary;
	int (*run)(const struct cli_args *args);
};
extern const struct cli_command cli_commands[];
extern const size_t cli_ncommands;

struct cli_args {
	const struct cli_command *command;
	struct cli_values {
		const char **value;
		uint32_t n;
	} option[OPT_COUNT];
	char **rest;           /* what is no option, NULL-terminated */
	int nrest;
};

/* options.c. CLI_OK, or CLI_USAGE with the reason told. */
int cli_parse(const struct cli_command *command, int argc, char **argv, struct cli_args *args);
void cli_args_finish(struct cli_args *args);
bool cli_has(const struct cli_args *args, enum cli_option option);
/* The last value given, or `otherwise`. */
const char *cli_str(const struct cli_args *args, enum cli_option option, const char *otherwise);
/* A whole number, not below `least` (0 or 1), or seconds as milliseconds; false with the reason told if it is none. */
bool cli_u64(const struct cli_args *args, enum cli_option option, uint64_t least, uint64_t *value);
bool cli_ms(const struct cli_args *args, enum cli_option option, uint64_t *ms);
/* text: of what is called so; NULL leaves *ms */
bool cli_ms_of(const char *name, const char *text, uint64_t *ms);

/* help.c */
void cli_help_all(FILE *out);
void cli_help_object(const char *object, FILE *out);
void cli_help_command(const struct cli_command *command, FILE *out);
/* The tables as lines, for completions and tests: `gpubpf help tables`. */
void cli_help_tables(FILE *out);

/* say.c: to standard error, one line each with the name in front */
void cli_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* The first thing that went wrong, as it was said; of a refusal (its code is not GPUBPF_OK) its parts. */
struct cli_failure {
	char text[4096];
	struct gpubpf_diag diag;
};
/* From now on the first error is kept there too; NULL: no longer. */
void cli_keep_error(struct cli_failure *failure);
void cli_note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void cli_diag(const struct gpubpf_diag *diag);
/* verify_maps.c: what the maps of verified programs take on devices. */
struct gpubpf_unit;
void cli_print_maps_memory(const struct gpubpf_unit *unit);
/* The same in other words. */
void cli_refuse(const struct gpubpf_diag *diag, const char *text);
/* The nearest of n names to `name`, NULL if none is near. */
const char *cli_nearest(const char *name, const char *const *names, size_t n);

/* environ.c: the only reader of the environment; "" and NULL alike mean unset */
const char *cli_env_backend(void);
const char *cli_env_wait(void);
const char *cli_env_place(void);
const char *cli_env_threads(void);
const char *cli_env_session(void);
const char *cli_env_path(void);
const char *cli_env_assembler(void); /* "" is no NULL: there is to be none */
/* The folder for sockets: $XDG_RUNTIME_DIR/gpubpf. NULL: the library's default. */
const char *cli_env_runtime_dir(char *buf, size_t size);
/* The folder for cached twins: $XDG_CACHE_HOME/gpubpf or $HOME/.cache/gpubpf. NULL: none. */
const char *cli_env_variable(const char *name); /* of runtimes: struct gpubpf_device_open's */
const char *cli_env_cache_dir(char *buf, size_t size);

/* assembler.c: what the session is to know of the user's, malloc'd (core/session/session.h); NULL: there is none. */
char *cli_assembler(void);

/* values.c: the i-th value of an option that has a table of them, NULL past the end; and false with the reason told for
 * one that is not in it. */
const char *cli_value_at(enum cli_option option, size_t i);
bool cli_value_known(enum cli_option option, const char *value);

/* probes.c: the i-th ready probe by name, NULL past the end; and the objects of all that --probe names, and of `also` (NULL:
 * none), malloc'd, NULL at the end: CLI_OK, or CLI_USAGE with the reason told. */
const char *cli_probe_at(size_t i);
int cli_probe_objects(const struct cli_args *args, const char *also, char ***paths);

/* program.c: what -e and FILE.bt give; NULL where they give nothing, which all but show take for nothing to do. */
struct cli_program;
struct gpubpf_line;
struct gpubpf_prog;
bool cli_is_script(const char *path);
/* CLI_OK, or the exit status with the reason told. */
int cli_program_open(struct cli_program **p, const struct cli_args *args);
void cli_program_close(struct cli_program *p);
/* Its object to the session that is to be loaded: 0 or -errno as gpubpf_session__add_object_mem() has it. */
int cli_program_add(const struct cli_program *p, struct gpubpf_session *s);
/* Is the session's program of its object? */
bool cli_program_made(const struct cli_program *p, const struct gpubpf_session *s, const struct gpubpf_prog *prog);
/* If it is to do anything on the host: before the traced program starts, while it runs (true: the tracing is to end), when the session has stopped. It
 * prints to out, or into the document. */
int cli_program_begin(struct cli_program *p, struct gpubpf_session *s, FILE *out);
bool cli_program_event(struct cli_program *p, const struct gpubpf_event *event);
bool cli_program_run(struct cli_program *p);
uint64_t cli_program_due(const struct cli_program *p); /* when it wants to run next, 0: it does not */
void cli_program_end(struct cli_program *p);
/* Is there nothing else to report of? */
bool cli_program_alone(const struct cli_program *p);
void cli_program_maps(struct cli_program *p, FILE *out);
void cli_program_json(struct cli_program *p, struct json_object *document);
/* --emit and --dump: an exit status. */
int cli_program_show(const struct cli_args *args);

/* prog_dump.c: the instructions of a program, with its lines, to standard output; and one, of that width, without the
 * line's end, below its source line where that is not *line, which it becomes */
void cli_dump_ebpf(const struct gpubpf_prog *prog);
void cli_print_insn(const struct gpubpf_prog *prog, uint32_t pc, int width, const struct gpubpf_line **line);

/* backend.c: false with the reason told for a name that no backend has; why a known one has no runtime here,
 * "" if it has. */
bool cli_backend_known(const char *name);
const char *cli_backend_missing(const char *name);

/* load.c: load and verify for the prog commands. CLI_OK or CLI_FAILED with the reason told. */
int cli_load(const struct cli_args *args, struct gpubpf_loaded **loaded);
int cli_attach_of(const struct cli_args *args, const char *text, char *prog, size_t size, const char **pattern);

/* trace.c: what run and kernel list share: a session around a child */
struct cli_trace {
	const struct cli_args *args;
	bool inspect;
	const char *probe;     /* a ready probe beside what is given; NULL: none */
	bool loaders;          /* what is to be attached comes from loaders' bpf(2) calls */
	bool prepare;          /* launches wait for nothing, and the end for all twins */
	/* The report, once when the time has come: as text; or, of a session that was loaded, what it adds to the
	 * document. 0 or -errno, told by gpubpf_session__error(). */
	int (*text)(struct cli_trace *trace, struct gpubpf_session *s, FILE *out);
	int (*json)(struct cli_trace *trace, struct gpubpf_session *s, struct json_object *document);
	/* trace.c: for the document */
	struct cli_program *program;   /* NULL: none was given as text */
	struct timespec started;
	bool ended;            /* the program has, with this status of waitpid(2) */
	int status, failed;    /* failed: our own exit status, where the program was not started */
	struct cli_failure failure; /* and why */
};
int cli_trace_run(struct cli_trace *trace);
/* supervise.c: the program and its arguments, behind gpubpf-supervise where that must see its calls. It is there until the end. */
char **cli_supervised(const struct cli_args *args);
/* What the options say of a report. */
struct gpubpf_report_opts cli_report_opts(const struct cli_args *args);

/* session_ask.c: the socket of the session to ask: --session, $GPUBPF_SESSION, or the newest; and a query (enum
 * gpubpf_query) of it with what the query takes, which is finished, answered to `out` or standard output. CLI_OK, or
 * CLI_FAILED with the reason told. */
int cli_session_find(const struct cli_args *args, char *path, size_t size);
int cli_session_query(const struct cli_args *args, const char *path, uint32_t what, bool json, struct gpubpf_writer *more,
		      FILE *out);
int cli_session_ask(const struct cli_args *args, uint32_t what, struct gpubpf_writer *more);

/* document.c: JSON of the run itself; s may be NULL. */
struct json_object *cli_document(const struct cli_trace *trace, const struct gpubpf_session *s);
/* The whole document where nothing was loaded. */
void cli_failure_document(const struct cli_trace *trace, const struct gpubpf_session *s, FILE *out);

/* report_file.c: where --report says, else standard output (JSON) or standard error. CLI_OK, or the exit status with
 * the reason told. */
struct cli_report {
	const char *path;      /* NULL: a standard stream */
	char *temp, *final;    /* what becomes the file, and its name: that of what a link names */
	FILE *out;             /* for prints, while the program runs */
};
int cli_report_open(struct cli_report *r, const struct cli_args *args);
/* Write it and put it in place, once; where that fails, say so, write it to standard error, and false. */
bool cli_report_write(struct cli_report *r, const char *text, size_t size);
void cli_report_close(struct cli_report *r);
/* 0, or -errno and what was there stays as it was. */
int cli_file_replace(const char *path, const void *data, size_t size);

/* stream.c: --jsonl, a line for each record and print; nothing where it was not given. CLI_OK, or the exit status with the
 * reason told. */
struct gpubpf_print_record;
struct cli_stream {
	const char *path;
	FILE *out;             /* NULL: none, or it could not be written */
	bool strings;
};
int cli_stream_open(struct cli_stream *st, const struct cli_args *args);
void cli_stream_event(struct cli_stream *st, struct gpubpf_session *s, const struct gpubpf_event *event);
void cli_stream_print(struct cli_stream *st, const struct gpubpf_print_record *print);
void cli_stream_close(struct cli_stream *st);

/* clean.c: from here on what is written to standard output and standard error holds no control characters but
 * newlines and tabs, nothing that turns text around, and valid UTF-8 alone: names come from objects and images. Standard streams that are closed stay of no use. */
void cli_clean_streams(void);
/* In a program that is to be started: they are closed again. */
void cli_streams_restore(void);
/* A stream of that kind that has the descriptor; NULL: out of memory, and it has it not. */
FILE *cli_clean_open(int fd);

/* limits.c: raise those that bound the tool as far as it may; the program, before it is executed, gets them as they
 * were. */
void cli_limits_raise(void);
void cli_limits_restore(void);

/* exec.c: become that program, with limits and streams as they were; the error where it cannot be run. */
int cli_exec(char **argv, char **env);
/* Says so; the exit status. */
int cli_exec_failed(const char *name, int err);

/* progress.c: what a user who waits at a terminal sees. Is something being made? Then it is to be called often. Nothing is
 * waited for: where the terminal takes nothing, nothing is shown. */
struct cli_progress {
	int fd;                        /* of the terminal; -1: there is none, or it is not to be told */
	uint64_t since_ns, before;     /* when the first twin was asked for; how many had been made then */
	uint64_t drawn_ns;             /* when the line was drawn last; 0: it is not there */
	bool told;                     /* the note was written, or is not to be */
};
void cli_progress_open(struct cli_progress *p, bool quiet);
void cli_progress_close(struct cli_progress *p);
bool cli_progress(struct cli_progress *p, struct gpubpf_session *s);

/* survivors.c: a process that the program of the session left behind, with its name; 0: none. */
pid_t cli_survivor(const char *session, char *name, size_t size);
/* Say which processes are still in the session, though the program has ended. */
void cli_note_survivors(struct gpubpf_session *s);

/* explain.c: one clear line each for what went otherwise than the user meant; ended: the command has */
void cli_explain(struct gpubpf_session *s, const struct cli_program *text, const char *backend, const char *command, bool ended);
/* The same for loaders' programs: one line for each that was attached and never ran. */
void cli_explain_loaders(struct gpubpf_session *s);
/* Programs were attached to kernels, and no launch was probed. */
bool cli_probed_nothing(struct gpubpf_session *s);

#define GPUBPF_COMMAND(function, object, verb, arguments, page, options, summary) \
	int gpubpf_cmd_##function(const struct cli_args *args);
#include "commands.def"

#endif
