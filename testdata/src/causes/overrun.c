/* Text that is longer than its array, and runs into a pointer: each way is a letter. */
#include <stdlib.h>
#include <string.h>

#define APART __attribute__((noinline))

struct point {
	int x, y;
};

struct entry {
	long key;
	char name[16];
	struct point *at;
	char rest[40];
};

struct pair {
	char first[8];
	char second[8];
	struct point *at;
};

struct apart {
	char name[12];
	int number;
	struct point *at;
};

static struct {
	char title[24];
	struct point *at;
} kept;

static struct point origin = {1, 2};
volatile int sink;

APART void fill(char *to, const char *text) { strcpy(to, text); }

APART int whole(struct entry *e) { return e->at->y; }
APART int second(struct pair *p) { return p->at->y; }
APART int kept_one(void) { return kept.at->y; }
APART int numbered(struct apart *a) { return a->at->y; }
APART int from_heap(struct point **list) { return list[0]->y; }

APART int changed(struct entry *e)
{
	struct point *q = e->at;
	fill(e->name, "a name of sixteen and some more");
	return q->y;
}

APART int local(const char *text)
{
	struct {
		char word[16];
		struct point *volatile at;
	} v;
	v.at = &origin;
	fill(v.word, text);
	return v.at->y;
}

APART int returns(const char *text)
{
	char line[16];
	fill(line, text);
	return line[3];
}

int main(int argc, char **argv)
{
	struct entry *e = calloc(1, sizeof *e);
	struct pair *p = calloc(1, sizeof *p);
	struct apart *a = calloc(1, sizeof *a);
	e->at = p->at = a->at = kept.at = &origin;
	switch (argv[1][0]) {
	case 'w': fill(e->name, "a name of sixteen and some more"); sink = whole(e); break;
	case 'h': fill(e->name, "exactly sixteen.half"); sink = whole(e); break;
	case 't': fill(e->name, "exactly sixteen.ha"); e->at = (struct point *)((long)e->at | 1L << 44); sink = whole(e); break;
	case 's': fill(p->first, "eight of first, second and a pointer"); sink = second(p); break;
	case 'k': fill(kept.title, "a title of twenty-four and a pointer"); sink = kept_one(); break;
	case 'n': fill(a->name, "twelve and a number and a pointer"); sink = numbered(a); break;
	case 'l': sink = local("sixteen letters.and a pointer"); break;
	case 'r': sink = returns("sixteen letters.and many, many more of them than fit"); break;
	case 'H': { /* what runs on from another block */
		struct point **list = malloc(24);
		memset(list, 'x', 8);
		memcpy((char *)list - 16, "before the list.", 16);
		sink = from_heap(list);
		break;
	}
	case 'o': /* text before, but the pointer is none */
		memcpy(e->name, "exactly sixteen.", 16);
		e->at = (struct point *)0x90003f8000;
		sink = whole(e);
		break;
	case 'b': /* little text before, and one byte */
		memcpy(e->name + 11, "five!", 5);
		e->at = (struct point *)0x90003f0041;
		sink = whole(e);
		break;
	case 'z': /* two bytes that could be text, but not its end */
		memcpy(e->name, "exactly sixteen.", 16);
		e->at = (struct point *)0x90003f804141;
		sink = whole(e);
		break;
	case 'c': e->at = (struct point *)0x90003f8000; sink = changed(e); break;
	case 'a': /* a pointer of text without text before */
		memcpy(&e->at, "lonely!!", 8);
		sink = whole(e);
		break;
	}
	return 0;
}
