// What a host and its filters agree on.
#ifndef FILTER_H
#define FILTER_H
#include <stddef.h>

struct block {
	int rows, columns;
	unsigned char *data;
};

struct host {
	void *user;
	void (*progress)(void *user, int percent);
	int (*nested)(struct host *, struct block *, int depth);
	void (*fatal)(const char *what) __attribute__((noreturn));
};

struct filter {
	const char *name;
	int version;
	void *(*open)(struct host *);
	int (*apply)(void *state, struct block *);
	int (*flush)(void *state);
	void (*close)(void *state);
};

typedef const struct filter *filter_entry(const char *name);
#endif
