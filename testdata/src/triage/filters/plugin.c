// Filters that the host loads.
#include "filter.h"
#include <stdlib.h>
#include <string.h>

struct state {
	struct host *host;
	int radius, passes;
	unsigned char *kernel;
};

static void *open_blur(struct host *h) {
	struct state *s = calloc(1, sizeof *s);
	s->host = h;
	s->radius = 2;
	return s;
}

static int sample(const struct state *s, const struct block *b, int at) {
	int sum = 0;
	for (int i = -s->radius; i <= s->radius; i++)
		sum += b->data[at + i + s->radius] * s->kernel[i + s->radius];
	return sum;
}

static int apply_blur(void *state, struct block *b) {
	struct state *s = state;
	int sum = 0;
	for (int i = 0; i < b->rows; i++)
		sum += sample(s, b, i * b->columns);
	s->passes++;
	return sum;
}

static int scale_by(int value, const struct state *s) { return value * 100 / s->passes; }

static int apply_scale(void *state, struct block *b) {
	int n = scale_by(b->rows, state);
	b->rows = n;
	return n;
}

static int flush_scale(void *state) { return scale_by(100, state) - 1; }

static int apply_tell(void *state, struct block *b) {
	struct state *s = state;
	for (int i = 0; i < b->rows; i++)
		s->host->progress(s->host->user, i * 100 / b->rows);
	return 0;
}

static int apply_nested(void *state, struct block *b) {
	struct state *s = state;
	return s->host->nested(s->host, b, s->passes++) + 1;
}

static int apply_strict(void *state, struct block *b) {
	struct state *s = state;
	if (b->columns % 16)
		s->host->fatal("columns are not a multiple of 16");
	return b->columns / 16;
}

static int flush_strict(void *state) {
	struct state *s = state;
	if (!s->passes)
		s->host->fatal("nothing to flush");
	return s->passes;
}

static int apply_stamp(void *state, struct block *b) {
	memcpy(b->data, "STAMP", 6);
	return state != NULL;
}

static const struct filter list[] = {
	{"blur", 2, open_blur, apply_blur, NULL, free},
	{"scale", 2, open_blur, apply_scale, flush_scale, free},
	{"tell", 2, open_blur, apply_tell, NULL, free},
	{"nested", 2, open_blur, apply_nested, NULL, free},
	{"strict", 2, open_blur, apply_strict, flush_strict, free},
	{"stamp", 2, open_blur, apply_stamp, NULL, free},
	{"old", 1, open_blur, apply_blur, NULL, free},
};

const struct filter *filter_named(const char *name) {
	for (size_t i = 0; i < sizeof list / sizeof *list; i++)
		if (!strcmp(list[i].name, name))
			return &list[i];
	return NULL;
}
