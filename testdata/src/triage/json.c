// set: held-out
// A reader and printer of a small JSON.
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum kind { NUL, NUMBER, STRING, ARRAY, OBJECT };

struct node {
	enum kind kind;
	double number;
	char *text;
	struct node *first, *next;
	char *key;
};

struct parser {
	const char *at;
	int depth;
	void (*on_error)(struct parser *, const char *);
	int *counts;
};

static struct node *parse_value(struct parser *p);

static struct node *make(enum kind k) {
	struct node *n = calloc(1, sizeof *n);
	n->kind = k;
	return n;
}

// bug: no-error-handler 2 (parsers made without one are allowed)
static void fail(struct parser *p, const char *why) {
	p->on_error(p, why);
	p->at += strlen(p->at);
}

static void expect(struct parser *p, char c) {
	if (*p->at != c)
		fail(p, "unexpected character");
	p->at++;
}

static void append(struct node *parent, struct node *child) {
	struct node **last = &parent->first;
	while (*last)
		last = &(*last)->next;
	*last = child;
}

// bug: escape-abort 2
static int unescape(char c) {
	switch (c) {
	case 'n': return '\n';
	case 't': return '\t';
	case '"': return '"';
	}
	fprintf(stderr, "escape \\%c\n", c);
	abort();
}

static struct node *parse_string(struct parser *p) {
	struct node *n = make(STRING);
	int len = 0;
	n->text = malloc(strlen(p->at) + 1);
	expect(p, '"');
	while (*p->at && *p->at != '"') {
		char c = *p->at++;
		n->text[len++] = c == '\\' ? unescape(*p->at++) : c;
	}
	n->text[len] = 0;
	expect(p, '"');
	return n;
}

// bug: number-statistics 2 (counts may be NULL)
static struct node *parse_number(struct parser *p) {
	struct node *n = make(NUMBER);
	char *end;
	n->number = strtod(p->at, &end);
	p->counts[NUMBER]++;
	p->at = end;
	return n;
}

// bug: deep-array 2 (no limit to nesting)
static struct node *parse_array(struct parser *p) {
	struct node *n = make(ARRAY);
	expect(p, '[');
	while (*p->at && *p->at != ']') {
		append(n, parse_value(p));
		if (*p->at == ',')
			p->at++;
	}
	expect(p, ']');
	return n;
}

static struct node *parse_object(struct parser *p) {
	struct node *n = make(OBJECT);
	expect(p, '{');
	while (*p->at && *p->at != '}') {
		struct node *key = parse_string(p), *value;
		expect(p, ':');
		value = parse_value(p);
		value->key = key->text;
		append(n, value);
		if (*p->at == ',')
			p->at++;
	}
	expect(p, '}');
	return n;
}

static struct node *parse_value(struct parser *p) {
	p->depth++;
	struct node *n;
	if (*p->at == '[')
		n = parse_array(p);
	else if (*p->at == '{')
		n = parse_object(p);
	else if (*p->at == '"')
		n = parse_string(p);
	else if (isdigit(*p->at))
		n = parse_number(p);
	else {
		if (strncmp(p->at, "null", 4))
			fail(p, "no value");
		p->at += *p->at ? 4 : 0;
		n = make(NUL);
	}
	p->depth--;
	return n;
}

// bug: print-key 2 (elements of arrays have no key)
static int print_member(const struct node *n) { return (int)strlen(n->key) + (int)n->kind; }

static int print_node(const struct node *n) {
	int sum = 0;
	if (n->kind == STRING)
		sum += printf("\"%s\"", n->text);
	for (const struct node *c = n->first; c; c = c->next)
		sum += print_member(c) + print_node(c);
	return sum;
}

static int keys_length(const struct node *n) {
	int sum = 1;
	for (const struct node *c = n->first; c; c = c->next)
		sum += print_member(c);
	return sum;
}

// bug: merge-null 1 (merge is handed no target by main's path)
// bug: wrap-null 1 (wrap forgets that make_array may answer nothing)
static void merge(struct node *into, struct node *from) {
	append(into, from);
	printf("merged\n");
}

static struct node *make_array(int n) { return n > 5 ? make(ARRAY) : NULL; }

static struct node *wrap(struct node *n, int room) {
	struct node *array = make_array(room);
	append(array, n);
	return array;
}

static void stop(struct parser *p, const char *why) {
	printf("%s at %s\n", why, p->at);
	exit(1);
}

static struct node *load(const char *text, int *counts, int quiet) {
	struct parser p = {text, 0, quiet ? NULL : stop, counts};
	return parse_value(&p);
}

static char *nested(int n, int alternate) {
	char *s = malloc(8 * (size_t)n + 8), *to = s;
	for (int i = 0; i < n; i++)
		to += sprintf(to, alternate && i % 2 ? "[0,[" : "[");
	return s;
}

int main(int argc, char **argv) {
	const char *bug = argc > 1 ? argv[1] : "";
	int second = argc > 2 && argv[2][0] == 'b';
	int counts[8] = {0};
	if (!strcmp(bug, "no-error-handler"))
		load(second ? "[1,2,{\"a\"=1}]" : "[1,?]", counts, 1);
	if (!strcmp(bug, "escape-abort"))
		load(second ? "{\"a\\q\":1}" : "\"\\z\"", counts, 0);
	if (!strcmp(bug, "number-statistics"))
		load(second ? "{\"a\":[12]}" : "17", NULL, 0);
	if (!strcmp(bug, "deep-array"))
		load(nested(100000, second), counts, 0);
	if (!strcmp(bug, "print-key")) {
		struct node *n = load("[\"x\",2]", counts, 0);
		return second ? keys_length(n) : print_node(n);
	}
	if (!strcmp(bug, "merge-null"))
		merge(argc > 9 ? make(ARRAY) : NULL, make(NUMBER));
	if (!strcmp(bug, "wrap-null"))
		return wrap(make(NUMBER), argc)->kind;
	return 0;
}
