// set: tune
// A stock of items in categories.
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct item {
	char name[16];
	int count, price;
	struct item *next;
};

struct category {
	struct category *parent, *child;
	struct item *items;
};

static struct category root;
static int slots[64];
static int volatile zero;

static struct item *find(struct category *c, const char *name) {
	for (struct item *i = c->items; i; i = i->next)
		if (strcmp(i->name, name) == 0)
			return i;
	return NULL;
}

// bug: missing-item 2 (update_count does not expect what find rightly answers)
static int update_count(const char *name, int by) {
	struct item *i = find(&root, name);
	i->count += by;
	return i->count;
}

static int restock(const char *name) { return update_count(name, 12) + 1; }

static int sell(const char *name, int n) {
	if (n > 3)
		printf("many\n");
	return update_count(name, -n) + 2;
}

// bug: long-name 2 (an assertion)
static void copy_name(struct item *i, const char *name) {
	assert(strnlen(name, 32) < sizeof i->name);
	memcpy(i->name, name, strlen(name) + 1);
}

// bug: rename-null 1 (the caller's: no name to give)
static void rename_item(struct item *i, const char *name) {
	printf("rename\n");
	copy_name(i, name);
	i->count++;
}

// bug: import-null 1 (another caller's)
static struct item *import_row(const char *const *row) {
	struct item *i = calloc(1, sizeof *i);
	if (row[1])
		i->price = atoi(row[1]);
	copy_name(i, row[0]);
	i->next = root.items;
	return root.items = i;
}

static void import_all(const char *const *rows, int n) {
	for (int k = 0; k < n; k++)
		import_row(rows + 2 * k);
}

// bug: empty-average 2
static int average(struct category *c) {
	int sum = 0, n = 0;
	for (struct item *i = c->items; i; i = i->next)
		sum += i->price, n++;
	return sum / (n + zero);
}

static int report_category(struct category *c) {
	int a = average(c);
	printf("average %d\n", a);
	return a;
}

static int report_all(void) {
	printf("all\n");
	return report_category(&root) + 1;
}

// bug: loop-of-categories 2 (a child that is its own parent)
static int walk_children(struct category *c, int depth);

static int walk_category(struct category *c, int depth) {
	char line[64];
	snprintf(line, sizeof line, "%d", depth);
	return (int)strlen(line) + walk_children(c, depth + 1);
}

static int walk_children(struct category *c, int depth) {
	int volatile seen = depth;
	int sum = 0;
	if (c->child)
		sum = walk_category(c->child, depth + 1);
	return sum + seen;
}

static int count_all(void) { return walk_category(&root, 0) + 1; }
static int print_tree(struct category *c) { return walk_children(c, 1) - 1; }

// bug: released-twice 2
static void release(struct item *i) {
	free(i);
}

static void release_batch(struct item **batch, int n) {
	for (int k = 0; k < n; k++)
		release(batch[k]);
	if (n > 1)
		release(batch[n - 1]);
}

static void clear_shelf(void) {
	struct item *batch[] = {malloc(4000), malloc(4000)};
	release_batch(batch, 2);
}

static void clear_store(int n) {
	struct item *batch[4];
	for (int k = 0; k < n; k++)
		batch[k] = malloc(64);
	release_batch(batch, n);
}

// bug: far-slot 2
static void set_slot(int index, int value) {
	slots[index] = value;
}

static void reserve(int n) { set_slot(n * 100000, 1); printf("reserved\n"); }
static void swap_slots(int a, int b) {
	int t = slots[a];
	set_slot(b, t);
	set_slot(a, slots[b]);
}

int main(int argc, char **argv) {
	const char *bug = argc > 1 ? argv[1] : "";
	int second = argc > 2 && argv[2][0] == 'b';
	const char *rows[] = {"bolt", "3", "nut", "4"};
	import_all(rows, 2);
	if (!strcmp(bug, "missing-item"))
		return second ? sell("screw", argc) : restock("screw");
	if (!strcmp(bug, "long-name")) {
		if (second)
			rename_item(root.items, "a name that is too long for it");
		const char *row[] = {"another long name of an item", NULL};
		import_all(row, 1);
	}
	if (!strcmp(bug, "rename-null"))
		rename_item(root.items, argc > 9 ? "x" : NULL);
	if (!strcmp(bug, "import-null")) {
		const char *row[] = {argc > 9 ? "x" : NULL, NULL};
		import_all(row, 1);
	}
	if (!strcmp(bug, "empty-average")) {
		struct category empty = {0};
		if (second) {
			root.items = NULL;
			return report_all();
		}
		return report_category(&empty);
	}
	if (!strcmp(bug, "loop-of-categories")) {
		root.child = &root;
		return second ? print_tree(&root) : count_all();
	}
	if (!strcmp(bug, "released-twice")) {
		if (second)
			clear_store(argc);
		else
			clear_shelf();
	}
	if (!strcmp(bug, "far-slot")) {
		if (second)
			swap_slots(0, argc * 10000000);
		else
			reserve(argc * 100);
	}
	return 0;
}
