// set: held-out
// Pictures: reading, filters, filling.
#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct picture {
	int width, height;
	uint8_t *pixels;
	const char *title;
	struct picture *thumbnail;
};

typedef void filter(struct picture *, int);

static void oops(const char *what) {
	fprintf(stderr, "picture: %s\n", what);
	abort();
}

// bug: pixel-far 2 (no check of coordinates)
static void put(struct picture *p, int x, int y, uint8_t v) {
	p->pixels[(long)y * p->width * 65536 + x] = v;
}

static void line(struct picture *p, int y, uint8_t v) {
	for (int x = 0; x < p->width; x++)
		put(p, x, y, v);
}

static void frame(struct picture *p) {
	line(p, 0, 1);
	line(p, p->height * 50000, 1);
}

static void dot(struct picture *p, int at) { put(p, at, at * 300000, 9); }

static void invert(struct picture *p, int by) {
	for (int i = 0; i < p->width * p->height; i++)
		p->pixels[i] = (uint8_t)(by - p->pixels[i]);
}

static filter *filters[4] = {invert};

// bug: no-filter 2
static void apply(struct picture *p, int which, int by) {
	filters[which](p, by);
	printf("applied\n");
}

static void apply_all(struct picture *p, int n) {
	for (int k = 0; k < n; k++)
		apply(p, k, 255);
}

// bug: bad-depth 1
static int bits(int depth) {
	if (depth != 8 && depth != 16)
		oops("depth");
	return depth;
}

// bug: no-size 2
static void check_size(const struct picture *p) {
	if (p->width == 0)
		oops("empty");
}

static struct picture *open_raw(int w, int h, int depth) {
	struct picture *p = calloc(1, sizeof *p);
	p->width = w, p->height = h;
	check_size(p);
	p->pixels = calloc((size_t)w * h, bits(depth) / 8);
	return p;
}

static int scale(const struct picture *p, int n) {
	check_size(p);
	return n / p->width;
}

// bug: fill-forever 2
static int fill(struct picture *p, int x, int y, uint8_t v) {
	int volatile here = x + y;
	int sum = 0;
	if (p->pixels[0] != v)
		sum += fill(p, x + 1, y, v);
	return sum + here;
}

static int bucket(struct picture *p) { return fill(p, 0, 0, 7) + 1; }

// bug: no-title 2 (pictures may have none)
static int caption(const struct picture *p, char *to) {
	strcpy(to, p->title);
	return to[0];
}

static int show(const struct picture *p) {
	char text[80];
	return caption(p, text) + printf("shown\n");
}

static int save(const struct picture *p) {
	char header[128] = "P5";
	int n = caption(p, header + 2);
	return n + (int)strlen(header);
}

// bug: no-thumbnail 2
static int preview_size(const struct picture *p) { return p->thumbnail->width * p->thumbnail->height; }

static int list(const struct picture *p) { return preview_size(p) + printf("list\n"); }

// bug: odd-width 2
static void halve(struct picture *p) {
	assert(p->width % 2 == 0);
	p->width /= 2;
}

static void quarter(struct picture *p) {
	halve(p);
	halve(p);
	printf("quarter\n");
}

int main(int argc, char **argv) {
	const char *bug = argc > 1 ? argv[1] : "";
	int second = argc > 2 && argv[2][0] == 'b';
	struct picture *p = open_raw(argc + 4, 8, 8);
	if (!strcmp(bug, "pixel-far")) {
		if (second)
			dot(p, argc);
		frame(p);
	}
	if (!strcmp(bug, "no-filter")) {
		if (second)
			apply(p, argc, 3);
		apply_all(p, 3);
	}
	if (!strcmp(bug, "bad-depth"))
		open_raw(4, 4, argc + 9);
	if (!strcmp(bug, "no-size")) {
		if (!second)
			open_raw(argc - 3, 1, 8);
		p->width = 0;
		return scale(p, 4);
	}
	if (!strcmp(bug, "fill-forever"))
		return second ? fill(p, 3, 3, 9) : bucket(p);
	if (!strcmp(bug, "no-title"))
		return second ? save(p) : show(p);
	if (!strcmp(bug, "no-thumbnail"))
		return second ? preview_size(p) : list(p);
	if (!strcmp(bug, "odd-width")) {
		p->width = 6;
		if (second)
			quarter(p);
		p->width = 7;
		halve(p);
	}
	return 0;
}
