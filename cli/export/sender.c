/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sends requests to a collector of OTLP over HTTP, by libcurl, in another thread. A collector that is down or slow delays
 * only this thread. Requests wait in a queue of limited length, and lost requests are counted.
 */
#include "export.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include <curl/curl.h>

#include "cli/cli.h"

#define CONNECT_S 3L
#define REQUEST_S 10L
#define FIRST_WAIT_MS 500 /* pause before the first repetition; doubled for each further one */
#define MAX_WAIT_MS 30000
#define END_MS 3000       /* maximum time for the rest of the queue at the end */

struct request {
	char *body;
	size_t size;
};

struct export_sender {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct request queue[EXPORT_QUEUE];
	uint32_t n;
	uint64_t lost;
	bool is_ending, is_noted;
	struct timespec end; /* CLOCK_MONOTONIC at which the thread gives up; set with is_ending */
	char url[1024];
};

static size_t ignore_answer(char *data, size_t size, size_t n, void *ctx)
{
	return size * n;
}

/* Print the first loss. */
static void note_loss(struct export_sender *s, const char *why)
{
	if (!s->is_noted)
		cli_note("%s: %s; the session and the application continue, and lost batches are counted", s->url, why);
	s->is_noted = true;
}

/*
 * Send a request. Returns 0, -EAGAIN if a repetition may succeed, or -EPROTO if the collector refuses the request. The
 * specification of OTLP/HTTP names the statuses that a client repeats.
 */
static int send_request(struct export_sender *s, CURL *curl, const struct request *r)
{
	char why[CURL_ERROR_SIZE + 32] = "";
	long status = 0;
	CURLcode code;

	curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, why);
	curl_easy_setopt(curl, CURLOPT_POSTFIELDS, r->body);
	curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE, (long)r->size);
	code = curl_easy_perform(curl);
	curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
	curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, NULL);
	if (code == CURLE_OK && status >= 200 && status < 300)
		return 0;
	if (code == CURLE_OK)
		snprintf(why, sizeof(why), "the collector answered with HTTP status %ld", status);
	note_loss(s, why[0] ? why : curl_easy_strerror(code));
	if (code != CURLE_OK || status == 429 || status == 502 || status == 503 || status == 504)
		return -EAGAIN;
	return -EPROTO;
}

static struct timespec after_ms(uint64_t ms)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	t.tv_sec += (time_t)(ms / 1000);
	t.tv_nsec += (long)(ms % 1000) * 1000000;
	t.tv_sec += t.tv_nsec / 1000000000;
	t.tv_nsec %= 1000000000;
	return t;
}

static bool is_before(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec != b->tv_sec ? a->tv_sec < b->tv_sec : a->tv_nsec < b->tv_nsec;
}

static bool is_over(const struct timespec *end)
{
	struct timespec now = after_ms(0);

	return !is_before(&now, end);
}

/* libcurl calls this at least once per second during a request. Returns 1 to abort it at the end of export. */
static int on_progress(void *ctx, curl_off_t dltotal, curl_off_t dlnow, curl_off_t ultotal, curl_off_t ulnow)
{
	struct export_sender *s = ctx;
	bool stop;

	pthread_mutex_lock(&s->lock);
	stop = s->is_ending && is_over(&s->end);
	pthread_mutex_unlock(&s->lock);
	return stop;
}

static CURL *open_curl(struct export_sender *s, struct curl_slist *headers)
{
	CURL *curl = curl_easy_init();

	if (!curl)
		return NULL;
	curl_easy_setopt(curl, CURLOPT_URL, s->url);
	curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
	curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, CONNECT_S);
	curl_easy_setopt(curl, CURLOPT_TIMEOUT, REQUEST_S);
	curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, ignore_answer);
	curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
	curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, on_progress);
	curl_easy_setopt(curl, CURLOPT_XFERINFODATA, s);
	curl_easy_setopt(curl, CURLOPT_USERAGENT, "gpubpf/" GPUBPF_VERSION);
	return curl;
}

/* Take the oldest request. Waits for one. Returns false at the end. Call with the lock held. */
static bool take_request(struct export_sender *s, struct request *r)
{
	while (!s->n && !s->is_ending)
		pthread_cond_wait(&s->changed, &s->lock);
	if (!s->n || (s->is_ending && is_over(&s->end)))
		return false;
	*r = s->queue[0];
	memmove(s->queue, s->queue + 1, --s->n * sizeof(*s->queue));
	return true;
}

/* Wait before a repetition. Returns false if the sender gives up. Call with the lock held. */
static bool wait_before_retry(struct export_sender *s, uint64_t *wait_ms)
{
	struct timespec until = after_ms(*wait_ms);

	*wait_ms = 2 * *wait_ms < MAX_WAIT_MS ? 2 * *wait_ms : MAX_WAIT_MS;
	while (!is_over(&until) && !(s->is_ending && is_over(&s->end)))
		pthread_cond_timedwait(&s->changed, &s->lock,
				       s->is_ending && is_before(&s->end, &until) ? &s->end : &until);
	return !(s->is_ending && is_over(&s->end));
}

/* Send one request until the collector has accepted or refused it. Newer requests push it out when the queue is full. */
static void send_until_done(struct export_sender *s, CURL *curl, struct request *r)
{
	uint64_t wait_ms = FIRST_WAIT_MS, lost = s->lost;
	int err;

	for (;;) {
		pthread_mutex_unlock(&s->lock);
		err = send_request(s, curl, r);
		pthread_mutex_lock(&s->lock);
		if (err != -EAGAIN)
			break;
		if (s->lost != lost || !wait_before_retry(s, &wait_ms))
			break;
	}
	s->lost += err != 0;
	free(r->body);
}

static void *run_sender(void *ctx)
{
	struct curl_slist *headers = curl_slist_append(NULL, "Content-Type: application/json");
	struct export_sender *s = ctx;
	CURL *curl = open_curl(s, headers);
	struct request r;

	pthread_mutex_lock(&s->lock);
	while (curl && take_request(s, &r))
		send_until_done(s, curl, &r);
	for (uint32_t i = 0; i < s->n; i++)
		free(s->queue[i].body);
	s->lost += s->n;
	s->n = 0;
	pthread_mutex_unlock(&s->lock);
	curl_easy_cleanup(curl);
	curl_slist_free_all(headers);
	return NULL;
}

/* Store the URL. Without a path it gets OTLP's default path. Returns false after printing the error. */
static bool set_url(struct export_sender *s, const char *url)
{
	const char *host = strstr(url, "://"), *path = host ? strchr(host + 3, '/') : NULL;
	bool is_http = !strncasecmp(url, "http://", 7) || !strncasecmp(url, "https://", 8);

	if (is_http && host[3] && host[3] != '/' &&
	    snprintf(s->url, sizeof(s->url), "%s%s", url,
		     !path   ? "/v1/metrics" :
		     path[1] ? "" :
			       "v1/metrics") < (int)sizeof(s->url))
		return true;
	cli_error("--otlp %s: must be a URL, e.g. http://localhost:4318", url);
	return false;
}

/* A change of the wall clock must not lengthen a wait. */
static void init_monotonic(pthread_cond_t *changed)
{
	pthread_condattr_t attr;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(changed, &attr);
	pthread_condattr_destroy(&attr);
}

struct export_sender *export_sender_start(const char *url)
{
	struct export_sender *s = calloc(1, sizeof(*s));

	if (!s || !set_url(s, url)) {
		free(s);
		return NULL;
	}
	curl_global_init(CURL_GLOBAL_DEFAULT);
	pthread_mutex_init(&s->lock, NULL);
	init_monotonic(&s->changed);
	if (!pthread_create(&s->thread, NULL, run_sender, s))
		return s;
	cli_error("--otlp: cannot start a thread");
	free(s);
	return NULL;
}

void export_sender_send(struct export_sender *s, char *body, size_t size)
{
	pthread_mutex_lock(&s->lock);
	if (s->n == EXPORT_QUEUE) {
		free(s->queue[0].body);
		memmove(s->queue, s->queue + 1, --s->n * sizeof(*s->queue));
		s->lost++;
	}
	s->queue[s->n++] = (struct request){ body, size };
	pthread_cond_signal(&s->changed);
	pthread_mutex_unlock(&s->lock);
}

uint64_t export_sender_lost(struct export_sender *s)
{
	uint64_t lost;

	pthread_mutex_lock(&s->lock);
	lost = s->lost;
	pthread_mutex_unlock(&s->lock);
	return lost;
}

uint64_t export_sender_stop(struct export_sender *s)
{
	uint64_t lost;

	if (!s)
		return 0;
	pthread_mutex_lock(&s->lock);
	s->is_ending = true;
	s->end = after_ms(END_MS);
	pthread_cond_signal(&s->changed);
	pthread_mutex_unlock(&s->lock);
	pthread_join(s->thread, NULL);
	lost = s->lost;
	pthread_cond_destroy(&s->changed);
	pthread_mutex_destroy(&s->lock);
	free(s);
	return lost;
}
