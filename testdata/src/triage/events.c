// set: tune
// A loop of events with handlers, timers and workers.
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct event {
	int kind, weight;
	void *data;
	struct event *next;
};

typedef int handler(struct event *);

struct connection {
	char *buffer;
	int length, refs;
	handler *on_close;
};

static struct event *queue;
static handler *handlers[8];

static void die(const char *format, ...) {
	va_list args;
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	abort();
}

static void post(int kind, void *data) {
	struct event *e = malloc(sizeof *e);
	*e = (struct event){kind, kind * 3, data, queue};
	queue = e;
}

// bug: no-connection 2 (on_read does not expect events without one)
static int on_read(struct event *e) {
	struct connection *c = e->data;
	c->length += 4;
	return c->length;
}

// bug: refs-negative 1
static int on_release(struct event *e) {
	struct connection *c = e->data;
	if (--c->refs < 0)
		die("connection released %d times too often\n", -c->refs);
	return 0;
}

// bug: unknown-kind 2
static int dispatch(struct event *e) {
	if (e->kind < 0 || e->kind > 7)
		die("event of kind %d\n", e->kind);
	return handlers[e->kind](e);
}

static int drain(void) {
	int n = 0;
	while (queue) {
		struct event *e = queue;
		queue = e->next;
		n += dispatch(e);
	}
	return n;
}

static int on_timer(struct event *e) {
	post(1, e->data);
	return drain() + 1;
}

// bug: no-close-handler 2
static int close_connection(struct connection *c) {
	struct event e = {0, 0, c, NULL};
	int r = c->on_close(&e);
	return r + c->length;
}

static int on_close_event(struct event *e) { return close_connection(e->data) + 1; }

// bug: compare-null 2 (elements that were never filled in)
static int by_weight(const void *a, const void *b) {
	const struct event *x = *(struct event *const *)a, *y = *(struct event *const *)b;
	return x->weight - y->weight;
}

static void sort_events(struct event **list, int n) {
	qsort(list, n, sizeof *list, by_weight);
	printf("sorted %d\n", n);
}

static int on_sort(struct event *e) {
	struct event *list[5] = {e, e, e->data};
	sort_events(list, 5);
	return 1;
}

// bug: worker-null 2
static int handle_job(struct connection *c, int n) {
	memset(c->buffer, n, 16);
	return c->buffer[3];
}

static void *worker(void *arg) {
	int n = handle_job(arg, 4);
	printf("worker %d\n", n);
	return NULL;
}

static void *janitor(void *arg) {
	struct connection c = {0};
	int n = handle_job(arg ? &c : arg, 5);
	printf("janitor %d\n", n);
	return NULL;
}

static void start(void *(*f)(void *), void *arg) {
	pthread_t t;
	pthread_create(&t, NULL, f, arg);
	pthread_join(t, NULL);
}

// bug: free-inside 1
static int on_free(struct event *e) {
	struct connection *c = e->data;
	free(c->buffer + 8);
	return 0;
}

int main(int argc, char **argv) {
	const char *bug = argc > 1 ? argv[1] : "";
	int second = argc > 2 && argv[2][0] == 'b';
	struct connection c = {calloc(64, 1), 0, 0, NULL};
	handlers[0] = on_timer;
	handlers[1] = on_read;
	handlers[2] = on_release;
	handlers[3] = on_close_event;
	handlers[4] = on_sort;
	handlers[5] = on_free;
	if (!strcmp(bug, "no-connection"))
		post(second ? 0 : 1, NULL);
	if (!strcmp(bug, "refs-negative"))
		post(2, &c);
	if (!strcmp(bug, "unknown-kind")) {
		post(11, &c);
		if (second)
			post(0, &c);
	}
	if (!strcmp(bug, "no-close-handler")) {
		if (second)
			return close_connection(&c);
		post(3, &c);
	}
	if (!strcmp(bug, "compare-null")) {
		struct event *list[6] = {0};
		if (second)
			sort_events(list, 6);
		post(4, NULL);
	}
	if (!strcmp(bug, "worker-null")) {
		struct connection empty = {0};
		start(second ? janitor : worker, &empty);
	}
	if (!strcmp(bug, "free-inside"))
		post(5, &c);
	return drain();
}
