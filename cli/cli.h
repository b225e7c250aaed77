/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command line: gpubpf OBJECT COMMAND [OPTIONS] [ARGUMENTS], as in bpftool. Each command is one file. The tables
 * commands.def and options.def drive parsing, help and completions. Functions that return an exit status have already
 * printed the error.
 */
#ifndef GPUBPF_CLI_CLI_H
#define GPUBPF_CLI_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>
#include <time.h>

#include "core/model/diag.h"

struct gpubpf_event;
struct gpubpf_loaded;
struct gpubpf_session_opts;
struct gpubpf_session;
struct gpubpf_writer;
struct json_object;

enum {
	CLI_OK = 0,
	CLI_FAILED = 1, /* refused or failed, with a message on standard error */
	CLI_USAGE = 2,
	CLI_UNPROBED = 4,      /* `run --strict`: no launch was probed */
	CLI_RUN_FAILED = 125,  /* `run`: gpubpf failed and did not start the program */
	CLI_RUN_CANNOT = 126,  /* `run`: the program cannot be executed */
	CLI_RUN_MISSING = 127, /* `run`: the program does not exist */
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
	uint64_t options; /* set of enum cli_option: the options that the command line contains */
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
	char **rest; /* [nrest] all words that are not options, NULL-terminated */
	int nrest;
};

/* options.c: parses the words after the command. Returns CLI_OK, or CLI_USAGE after printing the error. */
int cli_parse(const struct cli_command *command, int argc, char **argv, struct cli_args *args);
void cli_args_finish(struct cli_args *args);
bool cli_has(const struct cli_args *args, enum cli_option option);
/* Return the last value of the option, or `otherwise` if it was not passed. */
const char *cli_str(const struct cli_args *args, enum cli_option option, const char *otherwise);
/*
 * cli_u64() parses an option's value as a whole number not below `least` (0 or 1), and cli_ms() as seconds, which it
 * returns as milliseconds. Return false after printing the error.
 */
bool cli_u64(const struct cli_args *args, enum cli_option option, uint64_t least, uint64_t *value);
bool cli_ms(const struct cli_args *args, enum cli_option option, uint64_t *ms);
/*
 * Parse `text` as seconds into *ms, in milliseconds; `name` names it in messages. If text is NULL, *ms stays unchanged.
 */
bool cli_ms_of(const char *name, const char *text, uint64_t *ms);

/* cli/commands/help.c */
void cli_help_all(FILE *out);
void cli_help_object(const char *object, FILE *out);
void cli_help_command(const struct cli_command *command, FILE *out);
/* Print the tables as lines, for completions and tests: `gpubpf help tables`. */
void cli_help_tables(FILE *out);

/* say.c: each prints one line with the prefix "gpubpf:" to standard error */
void cli_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* The first error, as printed. If its code is not GPUBPF_OK it is a refusal, and `diag` has its parts. */
struct cli_failure {
	char text[4096];
	struct gpubpf_diag diag;
};
/* Store the first error from now on in *failure, in addition to printing it; NULL: stop. */
void cli_capture_error(struct cli_failure *failure);
void cli_note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void cli_diag(const struct gpubpf_diag *diag);
/* cli/commands/verify_maps.c: print the memory that the maps of verified programs need on devices. */
struct gpubpf_unit;
void cli_print_maps_memory(const struct gpubpf_unit *unit);
/* Like cli_diag(), but prints `text` instead of the diagnostic's text. */
void cli_diag_as(const struct gpubpf_diag *diag, const char *text);
/* Return the one of n names that is most similar to `name`; NULL: none is similar. */
const char *cli_nearest(const char *name, const char *const *names, size_t n);

/* environ.c: the only reader of the environment. Except where noted, an empty variable counts as unset. */
const char *cli_env_backend(void);
const char *cli_env_wait(void);
const char *cli_env_place(void);
const char *cli_env_threads(void);
const char *cli_env_session(void);
const char *cli_env_path(void);
const char *cli_env_assembler(void); /* "" forbids the use of any assembler */
/* The folder for sockets: $XDG_RUNTIME_DIR/gpubpf. NULL: use the library's default. */
const char *cli_env_runtime_dir(char *buf, size_t size);
/* The folder for cached twins: $XDG_CACHE_HOME/gpubpf or $HOME/.cache/gpubpf. NULL: no cache. */
const char *cli_env_variable(const char *name); /* reads a variable for a runtime, as struct gpubpf_device_open
						 * requires */
const char *cli_env_cache_dir(char *buf, size_t size);

/*
 * assembler.c: a description of the user's ptxas for the session (core/session/session.h), malloc'd. NULL: there is no
 * ptxas.
 */
char *cli_assembler(void);

/*
 * values.c: cli_value_at() returns the i-th value of an option whose values are rows of a table; NULL past the end.
 * cli_value_known() returns false, after printing the error, for a value that is not in the table.
 */
const char *cli_value_at(enum cli_option option, size_t i);
bool cli_value_known(enum cli_option option, const char *value);

/*
 * ready_probes.c: cli_probe_at() returns the names of the installed probes, sorted; NULL past the end. cli_probe_path()
 * returns false if the path does not fit. cli_probe_folder() returns "" if there is no such folder.
 */
const char *cli_probe_at(size_t i);
const char *cli_probe_folder(void);
bool cli_probe_path(const char *name, char *path, size_t size);

/*
 * cli/commands/probes.c: collects the object paths of all probes that the options --probe and `also` (may be NULL)
 * name, malloc'd and NULL-terminated. Returns CLI_OK, or CLI_USAGE after printing the error.
 */
int cli_probe_objects(const struct cli_args *args, const char *also, char ***paths);

/*
 * program.c: the program of -e or FILE.bt. Without one, cli_program_open() stores NULL, with which all functions except
 * cli_program_show() do nothing.
 */
struct cli_program;
struct gpubpf_line;
struct gpubpf_prog;
bool cli_is_script(const char *path);
/* Returns CLI_OK, or the exit status after printing the error. */
int cli_program_open(struct cli_program **p, const struct cli_args *args);
void cli_program_close(struct cli_program *p);
/*
 * Add the program's object to a session that is not loaded yet. Returns 0 or -errno like
 * gpubpf_session__add_object_mem().
 */
int cli_program_add(const struct cli_program *p, struct gpubpf_session *s);
/* Is `prog` of the session from this program's object? */
bool cli_program_owns(const struct cli_program *p, const struct gpubpf_session *s, const struct gpubpf_prog *prog);
/*
 * The program's blocks that run on the host. Call cli_program_begin() before the traced program starts. While it runs,
 * call cli_program_event() and cli_program_run(), which returns true when tracing shall end. Call cli_program_end()
 * when the session has stopped. Output goes to `out`, or into the document.
 */
int cli_program_begin(struct cli_program *p, struct gpubpf_session *s, FILE *out);
bool cli_program_event(struct cli_program *p, const struct gpubpf_event *event);
bool cli_program_run(struct cli_program *p);
uint64_t cli_program_due(const struct cli_program *p); /* CLOCK_MONOTONIC in ns at which cli_program_run() must be
						        * called; 0: no interval is due */
void cli_program_end(struct cli_program *p);
/* Does the session contain only this program, so that its output is the report? */
bool cli_program_is_only(const struct cli_program *p);
void cli_program_maps(struct cli_program *p, FILE *out);
void cli_program_json(struct cli_program *p, struct json_object *document);
/* Executes --emit and --dump. Returns an exit status. */
int cli_program_show(const struct cli_args *args);

/*
 * dump_ebpf.c: cli_dump_ebpf() prints a program's instructions with their source lines. cli_print_insn() prints one
 * instruction, padded to `width`, without a newline. If the instruction's source line differs from *line, it prints
 * that line first and updates *line.
 */
void cli_dump_ebpf(const struct gpubpf_prog *prog);
void cli_print_insn(const struct gpubpf_prog *prog, uint32_t pc, int width, const struct gpubpf_line **line);

/*
 * backend.c: cli_backend_known() returns false, after printing the error, for an unknown name. cli_backend_missing()
 * returns the reason why a known backend has no runtime here, or "".
 */
bool cli_backend_known(const char *name);
const char *cli_backend_missing(const char *name);

/*
 * load.c: cli_load() loads the objects of the prog commands, and cli_attach_of() parses an --attach. Both
 * return CLI_OK, or CLI_FAILED after printing the error.
 */
int cli_load(const struct cli_args *args, struct gpubpf_loaded **loaded);
int cli_attach_of(const struct cli_args *args, const char *text, char *prog, size_t size, const char **pattern);

/* cli/commands/trace.c: a session around a child process, which run and kernel list share */
struct cli_trace {
	const struct cli_args *args;
	bool inspect;
	const char *probe; /* a ready probe that is loaded in addition to those of --probe; NULL: none */
	bool loaders;      /* the programs come from bpf(2) calls of loaders that run in the session */
	bool prepare;      /* launches do not wait for twins; instead the end of the session does */
	/*
	 * Write the report, once, at the end: text() to `out`, json() as additions to the JSON document of a loaded
	 * session. Return 0, or -errno with the message in gpubpf_session__error().
	 */
	int (*text)(struct cli_trace *trace, struct gpubpf_session *s, FILE *out);
	int (*json)(struct cli_trace *trace, struct gpubpf_session *s, struct json_object *document);
	/* cli/commands/trace.c sets the members below, for the document */
	struct cli_program *program; /* NULL: no program text was passed */
	struct timespec started;
	bool ended;                 /* the child has ended, and `status` is that of waitpid(2) */
	int status, failed;         /* failed: gpubpf's exit status if it did not start the program */
	struct cli_failure failure; /* the reason for `failed` */
};
int cli_trace_run(struct cli_trace *trace);
/*
 * cli/commands/supervise.c: returns the program and its arguments, preceded by gpubpf-supervise if the supervisor must
 * intercept its calls. The array is never freed.
 */
char **cli_supervised(const struct cli_args *args);
/* The report options that the command line requests. */
struct gpubpf_report_opts cli_report_opts(const struct cli_args *args);

/*
 * cli/commands/session.c: cli_session_find() returns the socket of --session, of $GPUBPF_SESSION, or of the newest
 * session. The other functions send a query (enum gpubpf_query) to a session and write the answer to `out` or standard
 * output. They finish `more`, which has the query's arguments. All return CLI_OK, or CLI_FAILED after printing the
 * error.
 */
int cli_session_find(const struct cli_args *args, char *path, size_t size);
int cli_session_query(const struct cli_args *args, const char *path, uint32_t what, bool json,
		      struct gpubpf_writer *more, FILE *out);
int cli_query_session(const struct cli_args *args, uint32_t what, struct gpubpf_writer *more);

/* document.c: returns the JSON document with the members about the run; s may be NULL. */
struct json_object *cli_document(const struct cli_trace *trace, const struct gpubpf_session *s);
/* Write the whole document of a run whose session was not loaded. */
void cli_failure_document(const struct cli_trace *trace, const struct gpubpf_session *s, FILE *out);

/*
 * report_file.c: the destination of the report: the file of --report, else standard output (JSON) or standard error
 * (text). cli_report_open() returns CLI_OK, or the exit status after printing the error.
 */
struct cli_report {
	const char *path; /* the value of --report; NULL: a standard stream */
	/*
	 * temp: the temporary file; final: its path after the report, which is the target if --report names a symbolic
	 * link
	 */
	char *temp, *final;
	FILE *out; /* output of the program's prints while it runs */
};
int cli_report_open(struct cli_report *r, const struct cli_args *args);
/*
 * Write the report and rename the file to its final path, once. On failure, print the error, write the report to
 * standard error, and return false.
 */
bool cli_report_write(struct cli_report *r, const char *text, size_t size);
void cli_report_close(struct cli_report *r);
/* Replace a file atomically. Returns 0, or -errno with the old file unchanged. */
int cli_file_replace(const char *path, const void *data, size_t size);

/*
 * stream.c: --jsonl writes one line for each record and print. Without --jsonl the functions do nothing.
 * cli_stream_open() returns CLI_OK, or the exit status after printing the error.
 */
struct gpubpf_print_record;
struct cli_stream {
	const char *path;
	FILE *out; /* NULL: --jsonl was not passed, or writing failed */
	bool strings;
};
int cli_stream_open(struct cli_stream *st, const struct cli_args *args);
void cli_stream_event(struct cli_stream *st, struct gpubpf_session *s, const struct gpubpf_event *event);
void cli_stream_print(struct cli_stream *st, const struct gpubpf_print_record *print);
void cli_stream_close(struct cli_stream *st);

/*
 * cli/clean.c: sanitise standard output and standard error from now on, because names come from untrusted objects and
 * images. The output contains only valid UTF-8, without characters that reverse text, and no control characters except
 * newlines and tabs. Standard streams that are closed stay unusable.
 */
void cli_clean_streams(void);
/* Close the standard streams that were closed when gpubpf started, in a program that is about to be executed. */
void cli_streams_restore(void);
/*
 * Open a sanitised stream on the descriptor, which the stream then owns. NULL: out of memory, and the caller still owns
 * the descriptor.
 */
FILE *cli_clean_open(int fd);

/*
 * limits.c: raise the tool's resource limits as far as permitted. The traced program gets the original limits before it
 * is executed.
 */
void cli_limits_raise(void);
void cli_limits_restore(void);

/* exec.c: execute the program with the original limits and streams. Returns the errno value if that fails. */
int cli_exec(char **argv, char **env);
/* Print the error of cli_exec(); returns the exit status. */
int cli_exec_failed(const char *name, int err);

/*
 * progress.c: shows the progress of twins to a user who waits at a terminal. cli_progress() returns whether twins are
 * being built; then the caller must call it often. It never blocks: if the terminal accepts no output, it shows
 * nothing.
 */
struct cli_progress {
	int fd; /* descriptor of the terminal; -1: no terminal, or no progress requested */
	/* since_ns: CLOCK_MONOTONIC of the first request for a twin; before: number of twins built before that */
	uint64_t since_ns, before;
	uint64_t drawn_ns; /* time of the last redraw; 0: no line is shown */
	bool is_note_done; /* the note for users without a terminal was printed, or must not be */
};
void cli_progress_open(struct cli_progress *p, bool quiet);
void cli_progress_close(struct cli_progress *p);
bool cli_progress(struct cli_progress *p, struct gpubpf_session *s);

/* survivors.c: returns a process that the session's program started and that still runs, with its name; 0: none. */
pid_t cli_survivor(const char *session, char *name, size_t size);
/* Report the processes that are still in the session after the program has ended. */
void cli_note_survivors(struct gpubpf_session *s);

/*
 * cli/commands/explain.c: prints one line for each result that the user probably does not expect, such as a program
 * that matched no kernel. `ended`: the traced command has ended.
 */
void cli_explain(struct gpubpf_session *s, const struct cli_program *text, const char *backend, const char *command,
		 bool ended);
/* Print one line for each program of a loader that was attached and never ran. */
void cli_explain_loaders(struct gpubpf_session *s);
/* Are programs attached to kernels although no launch was probed? */
bool cli_is_nothing_probed(struct gpubpf_session *s);

#define GPUBPF_COMMAND(function, object, verb, arguments, page, options, summary) \
	int gpubpf_cmd_##function(const struct cli_args *args);
#include "commands.def"

#endif
