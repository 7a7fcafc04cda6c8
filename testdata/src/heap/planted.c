// Programs with one mistake in memory each, of which the argument names the way: who broke it is to be told from what memory still shows.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOINLINE __attribute__((noinline))

// index: a pointer of what was freed is added to an index of 0.
struct job {
	long id;
	char *input;
	size_t length;
};

static unsigned long NOINLINE digest(struct job *j)
{
	unsigned long h = 7;
	for (size_t i = 0; i < j->length; i++)
		h = h * 131 + (unsigned char)j->input[i];
	return h;
}

static void way_index(void)
{
	struct job *j = malloc(sizeof *j);
	memset(j, 0xe7, sizeof *j);
	printf("%lu\n", digest(j));
}

// keys: sorted numbers go on in the pointers behind them.
struct node {
	int n;
	unsigned long keys[6];
	struct node *child[7];
};

static unsigned long NOINLINE sum(struct node *x)
{
	unsigned long s = 0;
	for (int i = 0; x && i < 7; i++)
		s += sum(x->child[i]);
	return x ? s + x->keys[0] : 0;
}

static struct node *root;

static void way_keys(void)
{
	root = calloc(1, sizeof *root);
	unsigned long *to = root->keys;
	for (int i = 0; i < 8; i++)
		to[i] = 1100 + i * i * 7;
	printf("%lu\n", sum(root));
}

// records: an element too many lies in the pointer behind the array.
struct ring {
	unsigned head;
	struct message {
		long number;
		char text[24];
	} slots[8];
	struct message *last;
};

static struct ring *ring;

static void NOINLINE put(struct ring *r, long number)
{
	struct message *m = r->slots + r->head;
	m->number = number;
	r->head = r->head < 8 ? r->head + 1 : 0;
}

static void way_records(void)
{
	ring = calloc(1, sizeof *ring);
	ring->last = ring->slots;
	for (long i = 0; i < 12; i++)
		put(ring, 0x4100 + i);
	ring->last->number = 1;
}

// owner: the end of a string lies in the low half of a pointer, of which the code keeps a copy.
struct account {
	int number;
	char owner[20];
	struct posting {
		long cents;
		struct posting *next;
	} *postings;
};

static long NOINLINE total(struct account *a)
{
	long t = 0;
	for (struct posting *p = a->postings; p; p = p->next)
		t += p->cents;
	return t;
}

static struct account *account;

static void way_owner(void)
{
	account = calloc(1, sizeof *account);
	account->postings = calloc(1, sizeof *account->postings);
	strcpy(account->owner, "Wilhelmina van der Berg");
	printf("%ld\n", total(account));
}

// local: a pointer to a local variable is kept, and that of another function lies there by now.
struct context {
	const char *user;
	struct context *outer;
};

static struct {
	int n;
	struct context *current;
} server;

static void NOINLINE begin(void)
{
	struct context ctx[8];
	memset(ctx, 0, sizeof ctx);
	ctx[4].user = "ann";
	server.current = &ctx[4];
	server.n++;
}

static void NOINLINE finish(void)
{
	char line[256];
	memset(line, 0x5a, sizeof line);
	server.n += server.current->user[0];
	snprintf(line, sizeof line, "%d", server.n);
	puts(line);
}

static void way_local(void)
{
	begin();
	finish();
}

// buffer: an object lies at the beginning of an array of characters, on purpose.
static void NOINLINE deliver(void)
{
	server.n += server.current->user[0];
}

static void way_buffer(void)
{
	char room[sizeof(struct context)] __attribute__((aligned(16)));
	memset(room, 0, sizeof room);
	server.current = (struct context *)room;
	deliver();
}

// small: what is allocated has the size of a pointer.
struct order {
	long id, price;
	char trader[32];
	struct order *better;
};

static struct {
	long n;
	struct order *bids;
} book;

static void way_small(void)
{
	for (int i = 0; i < 400; i++) {
		struct order *o = malloc(sizeof o);
		o->id = i;
		o->price = 990 + i;
		memset(o->trader, 0x11, sizeof o->trader);
		o->better = 0;
		book.bids = o;
		book.n++;
		o = 0;
	}
}

// unset: a member has what was there before.
struct cell {
	long row;
	struct cell *next;
	struct cell *format;
	long column;
};

static struct cell *cells;

static void way_unset(void)
{
	struct cell *c = malloc(sizeof *c);
	memset(c, 'c', sizeof *c);
	if (*(volatile char *)c)
		free(c);
	c = malloc(sizeof *c);
	c->row = c->column = 2;
	c->next = 0;
	cells = c;
	printf("%ld\n", cells->format->row);
}

// unset2: another pointer is no address either.
static void way_unset2(void)
{
	struct cell *c = calloc(1, sizeof *c);
	memset(&c->format, 'c', sizeof c->format);
	c->next = (struct cell *)0x1234567812345678;
	cells = c;
	printf("%ld\n", cells->format->row);
}

// tokens: an array was given back, and a pointer into it was kept; notes are there by now.
struct token {
	long line;
	char *text;
	struct token *match;
};

static struct token *open_token;
static struct note {
	char text[120];
} *notes[8];

static void way_tokens(void)
{
	{
		struct token *all = calloc(5, sizeof *all);
		open_token = all + 2;
		if (*(volatile long *)&all->line == 0)
			free(all);
		all = 0;
	}
	for (int i = 0; i < 8; i++) {
		notes[i] = malloc(sizeof **notes);
		memset(notes[i]->text, 'n', sizeof notes[i]->text);
	}
	printf("%d\n", open_token->text[0]);
}

// parsed: tokens are read from text that others have put there, behind a line of it.
static struct lines {
	char head[24];
	struct token first;
	char rest[48];
} *lines;

static void way_parsed(void)
{
	lines = calloc(1, sizeof *lines);
	memset(lines->head, 'h', sizeof lines->head);
	lines->first.text = (char *)0x6e6e6e6e6e6e6e6e;
	open_token = &lines->first;
	printf("%d\n", open_token->text[0]);
}

// arena: what lies behind the first object of a block is another, on purpose.
static struct scope {
	struct scope *outer;
	long depth;
} *file;

static void way_arena(void)
{
	file = calloc(1, 512);
	open_token = (struct token *)(file + 6);
	open_token->text = (char *)0x7171000071710000;
	printf("%d\n", open_token->text[0]);
}

// none: an object was given back, and numbers are there by now, of which nobody knows.
static struct token *kept;
static unsigned long hidden;

static void way_none(void)
{
	kept = calloc(1, sizeof *kept);
	if (*(volatile long *)&kept->line == 0)
		free(kept);
	unsigned long *n = malloc(sizeof *kept);
	for (unsigned i = 0; i < sizeof *kept / 8; i++)
		n[i] = 0x1111111111111100 + i;
	hidden = ~(unsigned long)n;
	n = 0;
	printf("%d\n", kept->text[0]);
}

// picture: a row too many goes over the record of the next block, and its pointers; only a part is text.
struct picture {
	struct picture *in, *out;
	long radius;
};

static unsigned char *pixels;
static struct picture *picture;

static void way_picture(void)
{
	pixels = malloc(312);
	picture = calloc(1, sizeof *picture);
	for (int i = 0; i < 336; i++)
		pixels[i] = (unsigned char)(100 + (i / 24 + i % 24) % 50);
	printf("%ld\n", picture->in->radius);
}

// rows: rows are half as large as what is written to them, and an array of pointers is behind.
static double **rows, *row;

static void way_rows(void)
{
	row = malloc(48);
	rows = malloc(48);
	for (int i = 0; i < 6; i++)
		rows[i] = row;
	for (int i = 0; i < 9; i++)
		row[i] = 1.0 / (1 + i);
	rows[0][0] = 1;
}

// label: the end of a string lies in the link of a free block.
static char *label;

static void way_label(void)
{
	char *all[64];
	for (int i = 0; i < 64; i++)
		all[i] = malloc(32);
	for (int i = 0; i < 64; i++)
		if (i != 31)
			free(all[i]);
	label = all[31];
	strcpy(label, "0.0 thousand metric tonnes of wheat");
	for (int i = 0; i < 64; i++)
		all[i] = malloc(32);
}

// wide: letters of two bytes are in it.
static unsigned short *wide;

static void way_wide(void)
{
	char *all[64];
	for (int i = 0; i < 64; i++)
		all[i] = malloc(32);
	for (int i = 0; i < 64; i++)
		if (i != 31)
			free(all[i]);
	wide = (void *)all[31];
	for (int i = 0; i < 24; i++)
		wide[i] = "anticonstitutionnellement"[i];
	for (int i = 0; i < 64; i++)
		all[i] = malloc(32);
}

static const struct {
	const char *name;
	void (*run)(void);
} ways[] = {
	{"index", way_index}, {"keys", way_keys}, {"records", way_records}, {"owner", way_owner}, {"local", way_local}, {"buffer", way_buffer}, {"small", way_small},
	{"unset", way_unset}, {"unset2", way_unset2}, {"parsed", way_parsed}, {"arena", way_arena}, {"tokens", way_tokens}, {"none", way_none}, {"picture", way_picture}, {"rows", way_rows}, {"label", way_label}, {"wide", way_wide},
};

int main(int argc, char **argv)
{
	for (unsigned i = 0; argc > 1 && i < sizeof ways / sizeof *ways; i++)
		if (!strcmp(argv[1], ways[i].name))
			ways[i].run();
	return 0;
}
