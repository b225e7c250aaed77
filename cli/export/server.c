/* SPDX-License-Identifier: Apache-2.0 */
/* Serves the metrics over HTTP, by libmicrohttpd. */
#include "export.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>

#include <microhttpd.h>

#include "cli/cli.h"

#define MAX_CONNECTIONS 32
#define IDLE_S 10

struct export_server {
	struct MHD_Daemon *daemon;
	char *(*page)(void *ctx, size_t *size);
	void *ctx;
};

static enum MHD_Result answer(struct MHD_Connection *connection, unsigned int status, char *text, size_t size,
			      const char *type)
{
	struct MHD_Response *response = MHD_create_response_from_buffer(size, text, MHD_RESPMEM_MUST_FREE);
	enum MHD_Result result;

	if (!response) {
		free(text);
		return MHD_NO;
	}
	MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
	result = MHD_queue_response(connection, status, response);
	MHD_destroy_response(response);
	return result;
}

static enum MHD_Result send_text(struct MHD_Connection *connection, unsigned int status, const char *text)
{
	char *copy = strdup(text);

	return copy ? answer(connection, status, copy, strlen(copy), "text/plain; charset=utf-8") : MHD_NO;
}

static enum MHD_Result on_request(void *ctx, struct MHD_Connection *connection, const char *url, const char *method,
				  const char *version, const char *data, size_t *data_size, void **request)
{
	struct export_server *server = ctx;
	size_t size = 0;
	char *text;

	if (strcmp(method, "GET") && strcmp(method, "HEAD"))
		return send_text(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "use GET\n");
	if (strcmp(url, "/metrics"))
		return send_text(connection, MHD_HTTP_NOT_FOUND, "the metrics are at /metrics\n");
	text = server->page(server->ctx, &size);
	if (!text)
		return send_text(connection, MHD_HTTP_INTERNAL_SERVER_ERROR, "out of memory\n");
	return answer(connection, MHD_HTTP_OK, text, size, "text/plain; version=0.0.4; charset=utf-8");
}

/* Parse ADDR:PORT. An IPv6 address is in brackets. Returns false after printing the error. */
static bool parse_address(const char *text, struct addrinfo **address)
{
	const struct addrinfo hints = { .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE,
					.ai_socktype = SOCK_STREAM };
	const char *colon = strrchr(text, ':');
	size_t n = colon ? (size_t)(colon - text) : 0;
	char host[64] = "";
	int err = EAI_NONAME;

	if (n > 2 && text[0] == '[' && text[n - 1] == ']')
		text++, n -= 2;
	if (colon && n && n < sizeof(host) && colon[1]) {
		memcpy(host, text, n);
		err = getaddrinfo(host, colon + 1, &hints, address);
	}
	if (err)
		cli_error("--prometheus %s: must be ADDR:PORT with a numeric address, e.g. 127.0.0.1:9464 or [::1]:9464",
			  text);
	return !err;
}

static struct MHD_Daemon *start_daemon(struct export_server *server, const struct addrinfo *address)
{
	unsigned int flags = MHD_USE_INTERNAL_POLLING_THREAD | (address->ai_family == AF_INET6 ? MHD_USE_IPv6 : 0);

	errno = 0;
	return MHD_start_daemon(flags, 0, NULL, NULL, on_request, server, MHD_OPTION_SOCK_ADDR, address->ai_addr,
				MHD_OPTION_CONNECTION_LIMIT, (unsigned int)MAX_CONNECTIONS,
				MHD_OPTION_CONNECTION_TIMEOUT, (unsigned int)IDLE_S, MHD_OPTION_END);
}

int export_server_start(const char *text, char *(*page)(void *ctx, size_t *size), void *ctx, struct export_server **out)
{
	struct export_server *server;
	const union MHD_DaemonInfo *info;
	struct addrinfo *address;

	if (!parse_address(text, &address))
		return CLI_USAGE;
	server = calloc(1, sizeof(*server));
	if (server) {
		*server = (struct export_server){ .page = page, .ctx = ctx };
		server->daemon = start_daemon(server, address);
	}
	freeaddrinfo(address);
	if (!server || !server->daemon) {
		cli_error("--prometheus %s: cannot listen: %s", text, strerror(errno));
		free(server);
		return CLI_FAILED;
	}
	info = MHD_get_daemon_info(server->daemon, MHD_DAEMON_INFO_BIND_PORT);
	cli_note("metrics are at http://%.*s:%u/metrics", (int)(strrchr(text, ':') - text), text, info ? info->port : 0);
	*out = server;
	return CLI_OK;
}

void export_server_stop(struct export_server *server)
{
	if (!server)
		return;
	MHD_stop_daemon(server->daemon);
	free(server);
}
