// set: unseen
// Reads an archive of entries from memory, indexes it by a hash of names, and extracts from it.
#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BUCKETS = 8 };

typedef struct entry {
	char *name;
	unsigned char *data;
	size_t length;
	struct entry *link; // what a symbolic link leads to
	struct entry *chain;
} entry_t;

typedef struct {
	entry_t *bucket[BUCKETS];
	size_t count;
	const struct codec *codec;
	char *comment;
} archive_t;

struct codec {
	const char *name;
	size_t (*expand)(const unsigned char *in, size_t n, unsigned char *out, size_t room);
};

static void die(const char *what) {
	fprintf(stderr, "archive: fatal: %s\n", what);
	abort();
}

static void *need(size_t n) {
	void *p = malloc(n ? n : 1);
	if (!p)
		die("out of memory");
	return p;
}

static unsigned hash(const char *s) {
	unsigned h = 5381;
	while (*s)
		h = h * 33 + (unsigned char)*s++;
	return h % BUCKETS;
}

static char *copy(const char *s) {
	size_t n = strlen(s) + 1;
	return memcpy(need(n), s, n);
}

static entry_t *lookup(archive_t *a, const char *name) {
	for (entry_t *e = a->bucket[hash(name)]; e; e = e->chain)
		if (!strcmp(e->name, name))
			return e;
	return NULL;
}

static entry_t *add(archive_t *a, const char *name, size_t length) {
	entry_t *e = need(sizeof *e);
	memset(e, 0, sizeof *e);
	e->name = copy(name);
	e->length = length;
	e->data = need(length);
	memset(e->data, 'x', length);
	unsigned h = hash(name);
	e->chain = a->bucket[h];
	a->bucket[h] = e;
	a->count++;
	return e;
}

// bug: rename-absent 2 (rename_entry does not expect that there is no such entry)
static int rename_entry(archive_t *a, const char *from, const char *to) {
	entry_t *e = lookup(a, from);
	free(e->name);
	e->name = copy(to);
	return (int)e->length;
}

static int rename_all(archive_t *a, char **pairs, int n) {
	int sum = 0;
	for (int i = 0; i + 1 < n; i += 2)
		sum += rename_entry(a, pairs[i], pairs[i + 1]);
	return sum;
}

static int rename_upper(archive_t *a, const char *name) {
	char up[64];
	size_t i = 0;
	for (; name[i] && i + 1 < sizeof up; i++)
		up[i] = (char)toupper((unsigned char)name[i]);
	up[i] = 0;
	return rename_entry(a, name, up);
}

// bug: endless-link 2 (links that lead to each other)
static entry_t *resolve(entry_t *e) {
	if (!e->link)
		return e;
	entry_t *r = resolve(e->link);
	return r->length ? r : e;
}

static size_t size_of(archive_t *a, const char *name) {
	entry_t *e = lookup(a, name);
	return e ? resolve(e)->length : 0;
}

static size_t total(archive_t *a) {
	size_t n = 0;
	for (int i = 0; i < BUCKETS; i++)
		for (entry_t *e = a->bucket[i]; e; e = e->chain)
			n += resolve(e)->length;
	return n;
}

// bug: no-codec 2 (an archive without a codec is allowed)
static size_t expand(archive_t *a, const entry_t *e, unsigned char *out, size_t room) {
	return a->codec->expand(e->data, e->length, out, room);
}

// bug: stub-codec 1 (a codec that only has a name)
static const struct codec stub = {"stub", NULL};

static size_t plain_expand(const unsigned char *in, size_t n, unsigned char *out, size_t room) {
	assert(n <= room && "entry larger than its buffer");
	memcpy(out, in, n);
	return n;
}
static const struct codec plain = {"plain", plain_expand};

// bug: small-buffer 2 (the assertion of plain_expand; extract gives too little room)
static size_t extract(archive_t *a, entry_t *e) {
	unsigned char buf[256];
	return expand(a, e, buf, sizeof buf);
}

static size_t extract_named(archive_t *a, const char *name) {
	entry_t *e = lookup(a, name);
	return e ? extract(a, e) + 1 : 0;
}

static size_t extract_all(archive_t *a) {
	size_t n = 0;
	for (int i = 0; i < BUCKETS; i++)
		for (entry_t *e = a->bucket[i]; e; e = e->chain)
			n += extract(a, e);
	return n;
}

// bug: ratio 1 (an empty archive)
static int ratio(archive_t *a, int packed) {
	return packed * 100 / (int)total(a);
}

// The length of the comment is what callers must not ask for of an archive that has none.
static size_t comment_words(const char *text) {
	size_t n = 0;
	for (const char *p = text; *p; p++)
		n += isspace((unsigned char)*p) != 0;
	return n + 1;
}

// bug: list-comment 1 (its mistake: the archive may have no comment)
static void list(archive_t *a) {
	printf("%zu entries, %zu words\n", a->count, comment_words(a->comment));
}

// bug: merge-comment 1 (its own mistake)
static size_t merge(archive_t *into, archive_t *from) {
	size_t words = comment_words(into->comment ? into->comment : from->comment);
	into->count += from->count;
	return words * 2;
}

// bug: double-close 2 (close_archive leaves the comment behind)
static void close_archive(archive_t *a) {
	free(a->comment);
	a->count = 0;
}

static void reopen(archive_t *a) {
	close_archive(a);
	a->codec = &plain;
	printf("reopened %zu\n", a->count);
	close_archive(a);
}

static void discard(archive_t **list, int n) {
	for (int i = 0; i < n; i++)
		close_archive(list[i]);
}

// bug: bad-magic 2 (the program ends itself at a header that it does not know)
static unsigned header(const unsigned char *p, size_t n) {
	if (n < 4 || memcmp(p, "ARC1", 4))
		die("not an archive");
	return p[3];
}

static unsigned probe(const char *text) { return header((const unsigned char *)text, strlen(text)) * 3; }

static unsigned scan(const unsigned char *p, size_t n) {
	unsigned sum = 0;
	for (size_t i = 0; i + 8 <= n; i += 8)
		sum ^= header(p + i, n - i);
	return sum;
}

// bug: volume 1 (ends itself for another reason)
static unsigned volume(unsigned n) {
	if (n > 99)
		die("too many volumes");
	return n + 1;
}

// bug: far-offset 2 (the offset of the file is believed)
static unsigned char at(const entry_t *e, uint64_t offset) {
	return e->data[offset];
}

static int first_of(const entry_t *e, const uint64_t *table) { return at(e, table[0]); }

static int checksum(const entry_t *e, const uint64_t *table, int n) {
	int sum = 0;
	for (int i = 0; i < n; i++)
		sum = sum * 31 + at(e, table[i]);
	return sum;
}

int main(int argc, char **argv) {
	const char *bug = argc > 1 ? argv[1] : "", path = argc > 2 ? *argv[2] : 'a';
	archive_t arc = {.codec = &plain}, *a = &arc;
	entry_t *one = add(a, "one", 10), *two = add(a, "two", 20);
	if (!strcmp(bug, "rename-absent")) {
		char *pairs[] = {"one", "uno", "three", "tres"};
		return path == 'a' ? rename_all(a, pairs, 4) : rename_upper(a, "four");
	}
	if (!strcmp(bug, "endless-link")) {
		one->link = two;
		two->link = one;
		return (int)(path == 'a' ? size_of(a, "one") : total(a));
	}
	if (!strcmp(bug, "no-codec")) {
		a->codec = NULL;
		return (int)(path == 'a' ? extract_named(a, "two") : extract_all(a));
	}
	if (!strcmp(bug, "stub-codec")) {
		a->codec = &stub;
		return (int)extract_named(a, "one");
	}
	if (!strcmp(bug, "small-buffer")) {
		add(a, "big", 4000);
		return (int)(path == 'a' ? extract_named(a, "big") : extract_all(a));
	}
	if (!strcmp(bug, "ratio")) {
		archive_t empty = {0};
		return ratio(&empty, argc);
	}
	if (!strcmp(bug, "list-comment"))
		list(a);
	if (!strcmp(bug, "merge-comment")) {
		archive_t other = {.count = 3};
		return (int)merge(a, &other);
	}
	if (!strcmp(bug, "double-close")) {
		a->comment = copy("a comment of some length, so that it is no small chunk");
		archive_t *both[] = {a, a};
		if (path == 'a')
			reopen(a);
		else
			discard(both, 2);
	}
	if (!strcmp(bug, "bad-magic"))
		return (int)(path == 'a' ? probe("ZIP!") : scan((const unsigned char *)"ARC1....PK......", 16));
	if (!strcmp(bug, "volume"))
		return (int)volume((unsigned)argc * 100);
	if (!strcmp(bug, "far-offset")) {
		uint64_t table[] = {3, 0x7000000000 + (uint64_t)argc};
		return path == 'a' ? first_of(one, table + 1) : checksum(two, table, 2);
	}
	return 0;
}
