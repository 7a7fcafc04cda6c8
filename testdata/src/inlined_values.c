// Bad values that come into calls that were inlined, or stay in them. The first argument says which.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct filter {
	const char *name;
	int version;
};

struct node {
	struct node *next, *first;
	int value;
};

static const struct filter known[] = {{"blur", 2}, {"scale", 3}};

__attribute__((noinline)) static const struct filter *lookup(const char *name) {
	for (unsigned i = 0; i < sizeof known / sizeof *known; i++)
		if (!strcmp(known[i].name, name))
			return &known[i];
	return NULL;
}

// The pointer does not leave it: it returns another.
static inline const char *title(const char *name) {
	const struct filter *f = lookup(name);
	return f->name;
}

// What it returns is the pointer.
static inline const struct filter *pick(const char *name) { return lookup(name); }

// Its parameter is what its caller read.
static inline int total(const struct node *n) {
	int sum = 0;
	for (; n->value; n++)
		sum += n->value;
	return sum;
}

__attribute__((noinline)) static int total_of_next(const struct node *n) { return total(n->next) + 1; }

// Its parameter changes before it is bad.
static inline int walk(const struct node *n) {
	int sum = 0;
	for (; n->value != 9; n = n->next)
		sum += n->value;
	return sum;
}

__attribute__((noinline)) static int walk_all(const struct node *n) { return walk(n) * 2; }

// It takes the address of a member of what its caller passed.
__attribute__((noinline)) static void append(struct node *parent, struct node *child) {
	struct node **last = &parent->first;
	while (*last)
		last = &(*last)->next;
	*last = child;
}

__attribute__((noinline)) static void adopt(struct node *parent, struct node *child) {
	append(parent, child);
	printf("adopted\n");
}

static int by_name(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

int main(int argc, char **argv) {
	const char *how = argc > 1 ? argv[1] : "";
	struct node last = {NULL, NULL, 1}, node = {&last, NULL, 1}, *none = argc > 5 ? &node : NULL;
	if (!strcmp(how, "stays"))
		return puts(title("sharpen"));
	if (!strcmp(how, "leaves"))
		return pick("sharpen")->version;
	if (!strcmp(how, "came"))
		return total_of_next(&last);
	if (!strcmp(how, "changed"))
		return walk_all(&node);
	if (!strcmp(how, "member"))
		adopt(none, &node);
	if (!strcmp(how, "tail")) {
		const char *list[] = {"b", argc > 5 ? "x" : NULL, "a"};
		qsort(list, 3, sizeof *list, by_name);
		puts(list[0]);
	}
	return 0;
}
