/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Declarations shared by the commands of gpubpf. The command line is gpubpf OBJECT COMMAND [OPTIONS] [ARGUMENTS], as in
 * bpftool. Each command is one file. The tables commands.def and options.def drive parsing, help and completions. A
 * function that returns an exit status prints the error before it returns a status other than CLI_OK.
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
#include "core/target.h"

struct gpubpf_event;
struct gpubpf_loaded;
struct cli_follow;
struct gpubpf_session_opts;
struct gpubpf_session;
struct gpubpf_writer;
struct json_object;

enum {
	CLI_OK = 0,
	CLI_FAILED = 1, /* the command was refused or failed; the message is on standard error */
	CLI_USAGE = 2,
	CLI_UNPROBED = 4,      /* `run --strict`: no kernel launch was probed */
	CLI_RUN_FAILED = 125,  /* `run`: gpubpf failed and did not start the application */
	CLI_RUN_CANNOT = 126,  /* `run`: the application cannot be executed */
	CLI_RUN_MISSING = 127, /* `run`: the application does not exist */
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
	unsigned __int128 options; /* set of enum cli_option: the options that the command accepts */
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

/* options.c: parses the arguments after the command's name. Returns CLI_OK, or CLI_USAGE after printing the error. */
int cli_parse(const struct cli_command *command, int argc, char **argv, struct cli_args *args);
void cli_args_finish(struct cli_args *args);
bool cli_has(const struct cli_args *args, enum cli_option option);
/* Return the option's last value, or `otherwise` if the option was not passed. */
const char *cli_str(const struct cli_args *args, enum cli_option option, const char *otherwise);
/*
 * cli_u64() parses an option's value as a decimal integer that is at least `least` (0 or 1). The function cli_ms()
 * parses a value in seconds and stores milliseconds. Both return false after printing the error.
 */
bool cli_u64(const struct cli_args *args, enum cli_option option, uint64_t least, uint64_t *value);
bool cli_ms(const struct cli_args *args, enum cli_option option, uint64_t *ms);
/*
 * Parse `text` as a number of seconds, and store it in *ms in milliseconds. Messages call the value `name`. If text is
 * NULL, *ms stays unchanged.
 */
bool cli_ms_of(const char *name, const char *text, uint64_t *ms);

/* cli/main/help.c */
void cli_help_all(FILE *out);
void cli_help_object(const char *object, FILE *out);
void cli_help_command(const struct cli_command *command, FILE *out);
/* Print the tables of commands and options, one row per line, for completions and tests: `gpubpf help tables`. */
void cli_help_tables(FILE *out);

/* say.c: each function prints one line with the prefix "gpubpf:" to standard error */
void cli_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/*
 * The first error, as printed. If diag.code is not GPUBPF_OK, the error is a diagnostic, and `diag` contains its parts.
 */
struct cli_failure {
	char text[4096];
	struct gpubpf_diag diag;
};
/* From now on, store the first error in *failure, in addition to printing it. NULL: stop storing errors. */
void cli_capture_error(struct cli_failure *failure);
void cli_note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void cli_diag(const struct gpubpf_diag *diag);
/* cli/commands/verify_maps.c: print the memory that the maps of verified programs need on devices. */
struct gpubpf_unit;
void cli_print_maps_memory(const struct gpubpf_unit *unit);
/* Like cli_diag(), but prints `text` instead of the diagnostic's own message. */
void cli_diag_as(const struct gpubpf_diag *diag, const char *text);
/* Return the element of names[n] that is most similar to `name`, or NULL if no element is similar. */
const char *cli_nearest(const char *name, const char *const *names, size_t n);

/* environ.c: the only file that reads environment variables. An empty variable counts as unset, except where noted. */
const char *cli_env_backend(void);
const char *cli_env_wait(void);
const char *cli_env_place(void);
const char *cli_env_threads(void);
const char *cli_env_session(void);
const char *cli_env_path(void);
bool cli_env_no_color(void);
const char *cli_env_terminal(void);  /* name of the terminal's type, or NULL */
const char *cli_env_assembler(void); /* "": gpubpf must not use an assembler */
/* Return the folder for sockets, $XDG_RUNTIME_DIR/gpubpf, or NULL to use the library's default. */
const char *cli_env_runtime_dir(char *buf, size_t size);
/* Return the folder for cached twins, $XDG_CACHE_HOME/gpubpf or $HOME/.cache/gpubpf. NULL: do not cache. */
const char *cli_env_variable(const char *name); /* reads a variable for a GPU runtime; see struct gpubpf_device_open */
const char *cli_env_cache_dir(char *buf, size_t size);

/*
 * assembler.c: returns the malloc'd path of the user's ptxas for the session (core/session/session.h), or NULL if no
 * ptxas is found.
 */
char *cli_assembler(void);

/*
 * values.c: options whose values are the rows of a table. The function cli_value_at() returns the i-th value, or NULL
 * past the end. If the table lacks the value, cli_value_known() prints an error and returns false.
 */
const char *cli_value_at(enum cli_option option, size_t i);
bool cli_value_known(enum cli_option option, const char *value);
/* passes.c: one row for each stage and pass that --after accepts. cli_pass_row() returns NULL past the end. */
const struct cli_pass {
	const char *name, *does;
	enum gpubpf_stage stage; /* the stage itself, or the stage that runs the pass */
	bool is_stage;
} *cli_pass_row(size_t i);
const char *cli_pass_at(size_t i); /* name of row i */

/*
 * ready_probes.c: the ready probes that are installed. The function cli_probe_at() returns the name of the i-th probe
 * in sorted order, or NULL past the end. If the path does not fit in `path`, cli_probe_path() returns false. If the
 * folder of probes does not exist, cli_probe_folder() returns "".
 */
const char *cli_probe_at(size_t i);
const char *cli_probe_folder(void);
bool cli_probe_path(const char *name, char *path, size_t size);

/*
 * cli/commands/probes.c: stores the object paths of the probes that --probe options and `also` (may be NULL) name. The
 * array and its strings are malloc'd, and the array ends with NULL. Returns CLI_OK, or CLI_USAGE after printing the
 * error.
 */
int cli_probe_objects(const struct cli_args *args, const char *also, char ***paths);

/*
 * program.c: the gpubpf-lang program text of -e or FILE.bt. If the command line has no such text, cli_program_open()
 * stores NULL. All functions except cli_program_show() accept NULL and do nothing.
 */
struct cli_program;
struct gpubpf_line;
struct gpubpf_prog;
bool cli_is_object_file(const char *path); /* returns true if the name ends in ".o" */
bool cli_is_script(const char *path);
/*
 * cli/main/help.c: writes all commands with this verb to buf, for example "session attach, ...". Returns their
 * number.
 */
int cli_commands_with_verb(const char *verb, char *buf, size_t size);
/* Returns CLI_OK, or another exit status after printing the error. */
int cli_program_open(struct cli_program **p, const struct cli_args *args);
void cli_program_close(struct cli_program *p);
/*
 * Add to the session the object that was compiled from the text, before the session is loaded. Returns 0 or -errno like
 * gpubpf_session__add_object_mem().
 */
int cli_program_add(const struct cli_program *p, struct gpubpf_session *s);
/* Returns true if `prog` belongs to the object that was compiled from the text. */
bool cli_program_owns(const struct cli_program *p, const struct gpubpf_session *s, const struct gpubpf_prog *prog);
/*
 * Replaces the name of a BPF program in `reason` by the probe as the user wrote it in the text. Returns buf, or
 * `reason` if it needs no change.
 */
const char *cli_program_reason(const struct cli_program *p, struct gpubpf_session *s, const char *reason, char *buf,
			       size_t size);
/* Returns true if the text is the only source of probes, and none of its probes runs in GPU kernels. */
bool cli_program_is_idle(const struct cli_program *p);
/* Returns the status that exit() in the text requests for the tool, or 0. */
int cli_program_status(const struct cli_program *p);
/* Returns the number of reasons for unprobed launches that cli_program_end() printed. */
uint32_t cli_program_noted_reasons(const struct cli_program *p);
/*
 * Functions for the blocks of the text that run on the CPU, such as BEGIN and END. Call cli_program_begin() before the
 * application starts. While the application runs, call cli_program_event() for each event, and cli_program_run(), which
 * returns true when tracing must end. Call cli_program_end() after the session has stopped. Output goes to `out`, or
 * into the JSON document. With --jsonl, each line of the output also goes to the stream.
 */
struct cli_stream;
int cli_program_begin(struct cli_program *p, struct gpubpf_session *s, FILE *out, struct cli_stream *stream);
bool cli_program_event(struct cli_program *p, const struct gpubpf_event *event);
bool cli_program_run(struct cli_program *p);
/* returns the time (CLOCK_MONOTONIC, in ns) at which cli_program_run() must be called; 0: no interval is due */
uint64_t cli_program_due(const struct cli_program *p);
void cli_program_end(struct cli_program *p);
/* Returns true if the session contains only this text's programs. Then the text's output replaces the report. */
bool cli_program_is_only(const struct cli_program *p);
void cli_program_maps(struct cli_program *p, FILE *out);
void cli_program_json(struct cli_program *p, struct json_object *document);
const char *cli_program_name(const struct cli_program *p); /* "-e", or the name of the script */
/*
 * Returns the object for another tool's session. Returns NULL after printing the error if a part of the text, such as
 * BEGIN, would run in this tool.
 */
const void *cli_program_object(const struct cli_program *p, size_t *size);
/* Executes the options --emit and --dump. Returns an exit status. */
int cli_program_show(const struct cli_args *args);

/*
 * dump_ebpf.c: cli_dump_ebpf() prints a program's instructions with their source lines. The function cli_print_insn()
 * prints one instruction, padded to `width` columns, without a newline. If the instruction belongs to another source
 * line than *line, cli_print_insn() prints that source line first and stores it in *line.
 */
void cli_dump_ebpf(const struct gpubpf_prog *prog);
void cli_print_insn(const struct gpubpf_prog *prog, uint32_t pc, int width, const struct gpubpf_line **line);

/*
 * backend.c: if no backend has this name, cli_backend_known() prints an error and returns false. The function
 * cli_backend_missing() returns the reason why a known backend's GPU runtime cannot be used here, or "".
 */
bool cli_backend_known(const char *name);
const char *cli_backend_missing(const char *name);

/*
 * load.c: cli_load() loads the objects for the `prog` commands. cli_attach_of() parses the value of an --attach option.
 * Both return CLI_OK, or CLI_FAILED after printing the error.
 */
int cli_load(const struct cli_args *args, struct gpubpf_loaded **loaded);
/*
 * If --program selects this program, cli_is_selected() returns true. If --program selects no program of the unit,
 * cli_is_any_selected() prints an error and returns false.
 */
bool cli_is_selected(const struct cli_args *args, const struct gpubpf_prog *prog);
bool cli_is_any_selected(const struct cli_args *args, const struct gpubpf_unit *unit);
int cli_attach_of(const struct cli_args *args, const char *text, char *prog, size_t size, const char **pattern);

/* cli/commands/trace.c: runs a session around a child process, for `run`, `bpf`, `prepare` and `kernel list` */
struct cli_trace {
	const struct cli_args *args;
	bool inspect;
	const char *probe; /* name of a ready probe that is loaded in addition to the --probe options; NULL: none */
	bool loaders;      /* the BPF programs come from bpf(2) calls of eBPF loaders that run in the session */
	/* launches do not wait until their twins are built; the session waits for all twins when the child has ended */
	bool prepare;
	/* ids of the running processes to attach to, terminated by 0; NULL: the tool starts an application */
	const pid_t *attach;
	struct cli_follow *follow; /* children of the processes in `attach`; NULL: without --follow */
	/*
	 * Functions that write the report at the end of the session. The function text() writes it to `out`. The
	 * function json() adds members to the JSON document of a loaded session. Both return 0, or -errno with the
	 * message in gpubpf_session__error().
	 */
	int (*text)(struct cli_trace *trace, struct gpubpf_session *s, FILE *out);
	int (*json)(struct cli_trace *trace, struct gpubpf_session *s, struct json_object *document);
	/*
	 * For a command that contains programs; each may be NULL. The function load() adds objects to the session
	 * before it is loaded, and returns 0 or -errno. The function event() gets all records of rings. If it is set, the
	 * session stores no records, and the tool does not explain unused programs. The function tick() runs about ten
	 * times per second while the session probes.
	 */
	int (*load)(const struct cli_trace *trace, struct gpubpf_session *s);
	void (*event)(struct cli_trace *trace, struct gpubpf_session *s, const struct gpubpf_event *event);
	void (*tick)(struct cli_trace *trace, struct gpubpf_session *s);
	void *ctx; /* of these functions */
	/* cli/commands/trace.c sets the members below. The JSON document contains them. */
	struct cli_program *program; /* NULL: the command line has no program text */
	struct timespec started;
	bool ended;                 /* the child has ended, and `status` is its status from waitpid(2) */
	int status, failed;         /* failed: gpubpf's exit status if it did not start the application, else 0 */
	struct cli_failure failure; /* the error that caused `failed` */
};
int cli_trace_run(struct cli_trace *trace);
/*
 * cli/commands/trace_objects.c: adds the objects, probes and placements of the command line to the session. Returns an
 * exit status.
 */
int cli_trace_add_objects(const struct cli_trace *trace, struct gpubpf_session *s);
/* cli/commands/attach.c: attaches to the processes that --pid and similar options select. Returns an exit status. */
int cli_attach_run(struct cli_trace *trace);
/*
 * cli/commands/attach.c: cli_attach_processes() attaches to the processes in trace->attach, for cli_trace_run(), and
 * returns an exit status. The function cli_attach_process() attaches to one process. It returns false after printing
 * the error.
 */
bool cli_attach_process(const struct cli_trace *trace, struct gpubpf_session *s, pid_t pid);
/*
 * cli/commands/follow.c: with --follow, cli_follow_run() attaches to new children. Call it at the time that
 * cli_follow_due() returns (CLOCK_MONOTONIC, in ns; 0: never). It returns true while a followed process runs. The caller
 * frees trace->follow.
 */
int cli_follow_start(struct cli_trace *trace);
uint64_t cli_follow_due(const struct cli_trace *trace);
bool cli_follow_run(const struct cli_trace *trace, struct gpubpf_session *s);
int cli_attach_processes(const struct cli_trace *trace, struct gpubpf_session *s);
/* cli/commands/run.c: write the report of run and attach, as struct cli_trace describes text() and json(). */
int cli_run_text(struct cli_trace *trace, struct gpubpf_session *s, FILE *out);
int cli_run_json(struct cli_trace *trace, struct gpubpf_session *s, struct json_object *document);
/*
 * cli/commands/supervise.c: returns the argument vector that executes the loader. It begins with gpubpf-supervise if
 * the supervisor must intercept the loader's bpf(2) calls. The array is never freed.
 */
char **cli_supervised(const struct cli_args *args);
/* Return the report options that match the options of the command line. */
struct gpubpf_report_opts cli_report_opts(const struct cli_args *args);

/*
 * cli/processes/find_session.c: cli_session_find() stores the path of a session's socket. The options --session and
 * --pid or $GPUBPF_SESSION select the session; else it must be the only one. The function cli_pid() parses the id of a
 * process.
 */
int cli_session_find(const struct cli_args *args, char *path, size_t size);
/*
 * Store the path of the only running session in this user's runtime folder, or "". Returns the number of sessions there.
 */
size_t cli_session_find_only(char *path, size_t size);
/* Name the session after its application, or after the first process to which it attaches. */
void cli_name_session(const struct cli_trace *trace, struct gpubpf_session *s);
bool cli_pid(const char *text, pid_t *pid);
/*
 * cli/commands/session.c: these functions send a query (enum gpubpf_query) to a session, and write the answer to `out`
 * or standard output. `more` contains the query's arguments; the functions always free it. Both return CLI_OK, or
 * CLI_FAILED after printing the error.
 */
int cli_session_query(const struct cli_args *args, const char *path, uint32_t what, bool json,
		      struct gpubpf_writer *more, FILE *out);
int cli_query_session(const struct cli_args *args, uint32_t what, struct gpubpf_writer *more);
/* cli_session_query() with a descriptor that the session receives; -1: none */
int cli_session_query_with(const struct cli_args *args, const char *path, uint32_t what, bool json,
			   struct gpubpf_writer *more, int fd, FILE *out);

/* document.c: returns a JSON document with the members that describe the run; s may be NULL. */
struct json_object *cli_document(const struct cli_trace *trace, const struct gpubpf_session *s);
/* Write the complete JSON document of a run that failed before its session was loaded. */
void cli_failure_document(const struct cli_trace *trace, const struct gpubpf_session *s, FILE *out);

/*
 * report_file.c: the destination of the report. It is the file of --report, else standard output for JSON, else
 * standard error for text. The function cli_report_open() returns CLI_OK, or prints an error and returns the exit
 * status.
 */
struct cli_report {
	const char *path; /* the value of --report; NULL: a standard stream */
	/*
	 * The report is written to the file temp, which is then renamed to final. If --report names a symbolic link,
	 * final is the link's target.
	 */
	char *temp, *final;
	FILE *out; /* stream for what the BPF programs print during the run */
};
int cli_report_open(struct cli_report *r, const struct cli_args *args);
/*
 * Write the report and rename the temporary file to its final path. Call once. On failure, print the error, write the
 * report to standard error, and return false.
 */
bool cli_report_write(struct cli_report *r, const char *text, size_t size);
void cli_report_close(struct cli_report *r);
/* Replace the file's contents atomically. Returns 0, or -errno; then the old file is unchanged. */
int cli_file_replace(const char *path, const void *data, size_t size);

/*
 * stream.c: --jsonl writes one line for each ring buffer record, each print, and each line of output of a program text. Without --jsonl the functions do
 * nothing. cli_stream_open() returns CLI_OK, or another exit status after printing the error.
 */
struct gpubpf_print_record;
struct cli_stream {
	const char *path;
	FILE *out; /* NULL if --jsonl was not passed, or after a write failed */
	bool strings;
	struct cli_tee *tee; /* NULL: cli_stream_tee() was not called */
};
int cli_stream_open(struct cli_stream *st, const struct cli_args *args);
void cli_stream_event(struct cli_stream *st, struct gpubpf_session *s, const struct gpubpf_event *event);
void cli_stream_print(struct cli_stream *st, const struct gpubpf_print_record *print);
/*
 * Return a stream that writes to `to`, and each complete line also to the JSON lines, as {"output":"..."}. The stream is
 * valid until cli_stream_close(). Returns `to` if --jsonl was not passed, or NULL if memory is exhausted.
 */
FILE *cli_stream_tee(struct cli_stream *st, FILE *to);
void cli_stream_close(struct cli_stream *st);

/*
 * cli/clean.c: sanitise standard output and standard error from now on, because names from untrusted objects and images
 * are printed. The output is valid UTF-8. It contains no control characters except newlines and tabs, and no characters
 * that change the direction of text. On a standard stream that was closed, reads and writes still fail.
 */
void cli_clean_streams(void);
/*
 * Call before executing another program: closes the standard descriptors that were already closed when gpubpf started.
 */
void cli_streams_restore(void);
/*
 * Return a sanitised stream that owns the descriptor, or NULL if memory is exhausted. After NULL, the caller still owns
 * the descriptor.
 */
FILE *cli_clean_open(int fd);

/*
 * limits.c: cli_limits_raise() raises the tool's resource limits as far as permitted. The function cli_limits_restore()
 * restores the original limits before the application is executed.
 */
void cli_limits_raise(void);
void cli_limits_restore(void);
/*
 * Run a command. If the limit of the main thread's stack could not be raised to 8 MiB (ulimit -Hs), the command runs on
 * a thread with 8 MiB of stack. Returns the command's exit status.
 */
int cli_run_with_stack(int (*run)(int argc, char **argv), int argc, char **argv);

/*
 * exec.c: executes the application with the original limits and standard streams. Returns the errno value if that
 * fails.
 */
int cli_exec(char **argv, char **env);
/* Print the error that cli_exec() returned. Returns the exit status. */
int cli_exec_failed(const char *name, int err);
/*
 * Return the application's exit status, from its status of waitpid(2), or `requested` if that is not 0. If a signal
 * ended the application, end gpubpf by the same signal.
 */
int cli_exit_like(int status, int requested);

/*
 * progress.c: shows on a terminal how many twins have been built. While twins are being built, cli_progress() returns
 * true, and the caller must call it again soon. It never blocks: if the terminal accepts no output, it prints nothing.
 */
struct cli_progress {
	int fd; /* descriptor of the terminal; -1: no terminal, or no progress requested */
	/*
	 * since_ns is the time of the first request for a twin (CLOCK_MONOTONIC). `before` is the number of twins built
	 * before that time.
	 */
	uint64_t since_ns, before;
	uint64_t drawn_ns; /* time of the last redraw; 0: no progress line is on the screen */
	bool is_note_done; /* the note for users without a terminal was printed, or must not be printed */
};
void cli_progress_open(struct cli_progress *p, bool quiet);
void cli_progress_close(struct cli_progress *p);
bool cli_progress(struct cli_progress *p, struct gpubpf_session *s);

/*
 * survivors.c: finds a process that the application started and that still runs. Returns its pid and stores its name;
 * 0: none.
 */
pid_t cli_survivor(const char *session, char *name, size_t size);
/* Print a note on each process that is still in the session after the application has ended. */
void cli_note_survivors(struct gpubpf_session *s);

/*
 * cli/commands/explain.c: prints one line for each result that the user probably does not expect. An example is a BPF
 * program whose pattern matched no kernel. `ended`: the traced command has ended.
 */
void cli_explain(struct gpubpf_session *s, const struct cli_program *text, const char *backend, const char *command,
		 bool ended);
/* Print one line for each program that a loader attached and that never ran. */
void cli_explain_loaders(struct gpubpf_session *s);
/* Returns true if programs are attached to kernels, but no kernel launch was probed. */
bool cli_is_nothing_probed(struct gpubpf_session *s);

#define GPUBPF_COMMAND(function, object, verb, arguments, page, options, summary) \
	int gpubpf_cmd_##function(const struct cli_args *args);
#include "commands.def"

#endif
