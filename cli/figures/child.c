/* SPDX-License-Identifier: Apache-2.0 */
#include "child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli.h"
#include "core/session/session.h"

#define START_MS 60000 /* maximum time until the session exists */
#define END_MS 5000    /* maximum time from the end of the session to the end of its process */
#define STEP_MS 10
#define MAX_WORDS 16

extern char **environ;

static void sleep_ms(long ms)
{
	nanosleep(&(struct timespec){ ms / 1000, ms % 1000 * 1000000 }, NULL);
}

/* Returns the command line of `gpubpf run`, or NULL if memory is exhausted. The strings belong to others. */
static char **make_words(const struct cli_args *args, const char *probes)
{
	char **word = calloc(MAX_WORDS + args->nrest, sizeof(*word));
	int n = 0;

	if (!word)
		return NULL;
	word[n++] = "/proc/self/exe";
	word[n++] = "run";
	word[n++] = "--quiet";
	word[n++] = "--report";
	word[n++] = "/dev/null";
	word[n++] = "--probe";
	word[n++] = (char *)cli_str(args, OPT_READY, probes);
	if (cli_has(args, OPT_BACKEND)) {
		word[n++] = "--backend";
		word[n++] = (char *)cli_str(args, OPT_BACKEND, "");
	}
	if (cli_has(args, OPT_SAMPLE)) {
		word[n++] = "--sample";
		word[n++] = (char *)cli_str(args, OPT_SAMPLE, "");
	}
	word[n++] = "--";
	for (int i = 0; i < args->nrest; i++)
		word[n++] = args->rest[i];
	return word;
}

static int open_output(struct figures_child *c, enum figures_output output)
{
	int fd;

	if (output != FIGURES_OUTPUT_FILE)
		return STDERR_FILENO;
	snprintf(c->output, sizeof(c->output), "/tmp/gpubpf-output-XXXXXX");
	fd = mkostemp(c->output, O_CLOEXEC | O_APPEND);
	if (fd < 0) {
		cli_error("%s: cannot create a file for the application's output: %s", c->output, strerror(errno));
		c->output[0] = 0;
	}
	return fd;
}

static void exec_child(char **word, enum figures_output output, int out)
{
	int in = open("/dev/null", O_RDONLY | O_CLOEXEC);

	if (output != FIGURES_OUTPUT_SHARED) {
		setpgid(0, 0);
		dup2(in, STDIN_FILENO);
		dup2(out, STDOUT_FILENO);
		dup2(out, STDERR_FILENO);
	}
	cli_exec(word, environ);
	_exit(CLI_RUN_CANNOT);
}

struct search {
	pid_t pid;
	char *path;
	size_t size;
	bool is_found;
};

static void check_session(const char *path, void *arg)
{
	struct search *search = arg;
	char name[32];

	snprintf(name, sizeof(name), "/%d-0.sock", search->pid);
	if (search->is_found || strcmp(strrchr(path, '/'), name))
		return;
	search->is_found = (size_t)snprintf(search->path, search->size, "%s", path) < search->size;
}

/* Store the path of the session of process `pid` (core/session/server/runtime_dir.c). Returns false if it is missing. */
static bool find_session(pid_t pid, char *path, size_t size)
{
	struct search search = { .pid = pid, .path = path, .size = size };
	char runtime[512];

	gpubpf_sessions_find(cli_env_runtime_dir(runtime, sizeof(runtime)), check_session, NULL, &search);
	return search.is_found;
}

static void print_output(const char *path)
{
	char block[4096];
	size_t n;
	FILE *in = fopen(path, "re");

	while (in && (n = fread(block, 1, sizeof(block), in)))
		fwrite(block, 1, n, stderr);
	if (in)
		fclose(in);
}

static int wait_for_session(struct figures_child *c, char *path, size_t size)
{
	for (int ms = 0; ms < START_MS; ms += STEP_MS) {
		if (find_session(c->pid, path, size))
			return CLI_OK;
		if (figures_child_has_ended(c))
			break;
		sleep_ms(STEP_MS);
	}
	if (c->output[0]) {
		print_output(c->output);
		unlink(c->output);
	}
	if (!c->ended)
		cli_error("the session of gpubpf run did not start within %d s", START_MS / 1000);
	return !c->ended || WIFSIGNALED(c->status) ? CLI_RUN_FAILED : WEXITSTATUS(c->status);
}

int figures_child_start(struct figures_child *c, const struct cli_args *args, const char *probes,
			enum figures_output output, char *path, size_t size)
{
	char **word = make_words(args, probes);
	int out = word ? open_output(c, output) : -1;

	if (out < 0) {
		free(word);
		return CLI_RUN_FAILED;
	}
	fflush(NULL);
	c->pid = fork();
	if (!c->pid)
		exec_child(word, output, out);
	free(word);
	if (out != STDERR_FILENO)
		close(out);
	if (c->pid < 0) {
		c->pid = 0;
		return cli_exec_failed(args->rest[0], errno);
	}
	return wait_for_session(c, path, size);
}

bool figures_child_has_ended(struct figures_child *c)
{
	if (c->pid && !c->ended && waitpid(c->pid, &c->status, WNOHANG) == c->pid)
		c->ended = true;
	return c->ended;
}

int figures_child_finish(struct figures_child *c, const struct cli_args *args, bool has_ended)
{
	if (!c->pid)
		return CLI_OK;
	for (int ms = 0; has_ended && ms < END_MS && !figures_child_has_ended(c); ms += STEP_MS)
		sleep_ms(STEP_MS);
	if (!figures_child_has_ended(c)) {
		cli_note("%s runs on (process group %d)%s%s", args->rest[0], c->pid,
			 c->output[0] ? "; its output goes to " : "", c->output);
		return CLI_OK;
	}
	if (c->output[0]) {
		print_output(c->output);
		unlink(c->output);
	}
	return WIFSIGNALED(c->status) ? 128 + WTERMSIG(c->status) : WEXITSTATUS(c->status);
}
