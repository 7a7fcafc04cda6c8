// set: blind
// A host of filters that are loaded from a library and call back.
#include "filter.h"
#include <assert.h>
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct window {
	int percent;
	void (*redraw)(struct window *);
};

static filter_entry *entry;

// bug: no-kernel 2 (blur is never given a kernel)
// bug: no-passes 2 (scale divides by passes that were not made)
// bug: read-only-data 1 (a filter writes to what the host lent for reading)

// bug: odd-columns 1
// bug: flush-too-early 1
static void __attribute__((noreturn)) fatal(const char *what) {
	fprintf(stderr, "filters: %s\n", what);
	abort();
}

// bug: no-window 2 (the host gives no window to a filter that tells)
static void progress(void *user, int percent) {
	struct window *w = user;
	w->percent = percent;
}

// bug: endless-nesting 2
static int nested(struct host *h, struct block *b, int depth) {
	char pad[64];
	const struct filter *f = entry("nested");
	memset(pad, depth, sizeof pad);
	void *s = f->open(h);
	return f->apply(s, b) + pad[3];
}

// bug: no-such-filter 2
static const char *title(const char *name) {
	const struct filter *f = entry(name);
	return f->name;
}

// bug: old-version 2
static void *open_checked(struct host *h, const struct filter *f) {
	assert(f->version >= 2);
	return f->open(h);
}

static int run(struct host *h, const char *name, struct block *b) {
	const struct filter *f = entry(name);
	void *s = open_checked(h, f);
	int n = f->apply(s, b);
	f->close(s);
	return n;
}

// bug: no-flush 2 (flush is optional)
static int finish(const struct filter *f, void *s) {
	int n = f->flush(s);
	f->close(s);
	return n;
}

static int finish_all(struct host *h, const char **names, int n) {
	int sum = 0;
	for (int i = 0; i < n; i++) {
		const struct filter *f = entry(names[i]);
		sum += finish(f, f->open(h));
	}
	return sum;
}

static int run_twice(struct host *h, const char *name, struct block *b) {
	int n = run(h, name, b);
	return n + run(h, name, b);
}

// bug: late-redraw 1 (the timer goes off before there is a window)
static struct window *shown;

static void on_alarm(int sig) { shown->redraw(shown); }

// bug: unnamed-row 2
static int by_name(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

static int find(const char *name, const char **list, int n) { return bsearch(&name, list, n, sizeof *list, by_name) != NULL; }

static void order(const char **list, int n) {
	qsort(list, n, sizeof *list, by_name);
	puts(list[0]);
}

// bug: late-finish 1
static void at_end(void) {
	shown->percent = 100;
}

int main(int argc, char **argv) {
	const char *bug = argc > 1 ? argv[1] : "";
	int b = argc > 2 && argv[2][0] == 'b';
	void *lib = dlopen("./plugin.so", RTLD_NOW);
	if (!lib)
		return 1;
	entry = (filter_entry *)dlsym(lib, "filter_named");
	static unsigned char pixels[4096];
	struct block block = {8, 32, pixels};
	struct window window = {0, NULL};
	struct host h = {&window, progress, nested, fatal};
	if (!strcmp(bug, "no-kernel"))
		return b ? run_twice(&h, "blur", &block) : run(&h, "blur", &block);
	if (!strcmp(bug, "no-passes")) {
		const char *names[] = {"scale"};
		return b ? finish_all(&h, names, 1) : run(&h, "scale", &block);
	}
	if (!strcmp(bug, "read-only-data")) {
		block.data = (unsigned char *)"a picture that is a constant";
		return run(&h, "stamp", &block);
	}
	if (!strcmp(bug, "odd-columns")) {
		block.columns = 33;
		return run(&h, "strict", &block);
	}
	if (!strcmp(bug, "flush-too-early")) {
		const char *names[] = {"strict"};
		return finish_all(&h, names, 1);
	}
	if (!strcmp(bug, "no-window")) {
		h.user = NULL;
		return b ? run_twice(&h, "tell", &block) : run(&h, "tell", &block);
	}
	if (!strcmp(bug, "endless-nesting"))
		return b ? nested(&h, &block, 0) : run(&h, "nested", &block);
	if (!strcmp(bug, "no-such-filter"))
		return b ? title("sharpen")[0] : puts(title("unsharpen"));
	if (!strcmp(bug, "old-version"))
		return b ? run_twice(&h, "old", &block) : open_checked(&h, entry("old")) != NULL;
	if (!strcmp(bug, "no-flush")) {
		const char *names[] = {"scale", "tell"};
		if (b) {
			const struct filter *f = entry("blur");
			return finish(f, f->open(&h));
		}
		return finish_all(&h, names + 1, 1);
	}
	if (!strcmp(bug, "late-redraw")) {
		signal(SIGALRM, on_alarm);
		alarm(1);
		for (;;)
			h.progress(h.user, argc);
	}
	if (!strcmp(bug, "unnamed-row")) {
		const char *list[] = {"b", NULL, "a"};
		if (b)
			return find("c", list, 3);
		order(list, 3);
	}
	if (!strcmp(bug, "late-finish"))
		atexit(at_end);
	return 0;
}
