// set: unseen
// Compiles patterns to trees of nodes, and matches texts with them; the operations of nodes are in tables.
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct node;
typedef const char *(*step_fn)(const struct node *, const char *);

struct ops {
	step_fn step;
	int (*width)(const struct node *);
};

struct node {
	const struct ops *ops;
	struct node *left, *right;
	char lo, hi;
	int group;
};

struct program {
	struct node *root;
	int groups;
	const char *names[4];
	void (*trace)(const char *event, int value);
};

static struct node pool[64];
static unsigned used;

static struct node *make(const struct ops *ops, struct node *l, struct node *r) {
	struct node *n = &pool[used++ % 64];
	*n = (struct node){.ops = ops, .left = l, .right = r};
	return n;
}

static const char *run(const struct node *n, const char *s) { return s ? n->ops->step(n, s) : NULL; }

static const char *step_class(const struct node *n, const char *s) {
	return *s >= n->lo && *s <= n->hi ? s + 1 : NULL;
}
static int width_one(const struct node *n) { return n->lo ? 1 : 2; }
static const struct ops class_ops = {step_class, width_one};

// bug: half-alternative 2 (step_either does not expect an alternative without a right side)
static const char *step_either(const struct node *n, const char *s) {
	const char *r = run(n->left, s);
	return r ? r : n->right->ops->step(n->right, s);
}

static int width_either(const struct node *n) {
	int l = n->left->ops->width(n->left);
	return l > 1 ? l : 1;
}
static const struct ops either_ops = {step_either, width_either};

static const char *step_cat(const struct node *n, const char *s) { return run(n->right, run(n->left, s)); }
static int width_cat(const struct node *n) {
	return n->left->ops->width(n->left) + n->right->ops->width(n->right);
}
static const struct ops cat_ops = {step_cat, width_cat};

// bug: star-of-empty 2 (a star of something empty calls itself for ever)
static const char *step_star(const struct node *n, const char *s) {
	const char *r = n->left ? run(n->left, s) : s;
	if (!r)
		return s;
	const char *end = step_star(n, r);
	return end > r ? end : r;
}
static int width_star(const struct node *n) { return n->group; }
static const struct ops star_ops = {step_star, width_star};

// bug: no-width 1 (an anchor has no width function)
static const char *step_anchor(const struct node *n, const char *s) { return n->group || !*s ? s : NULL; }
static const struct ops anchor_ops = {step_anchor, NULL};

__attribute__((noinline)) static int widest(struct node **list, int n) {
	int w = 0;
	for (int i = 0; i < n; i++) {
		int k = list[i]->ops->width(list[i]);
		w = k > w ? k : w;
	}
	return w;
}

static int match(const struct program *p, const char *text) {
	const char *end = run(p->root, text);
	return end ? (int)(end - text) : -1;
}

static int search(const struct program *p, const char *text) {
	for (const char *s = text; *s; s++) {
		const char *end = run(p->root, s);
		if (end)
			return (int)(s - text) * 100 + (int)(end - s);
	}
	return -1;
}

// bug: silent-trace 2 (emit calls the trace function without asking whether there is one)
static void emit(const struct program *p, const char *format, ...) {
	char buf[80];
	va_list ap;
	va_start(ap, format);
	int n = vsnprintf(buf, sizeof buf, format, ap);
	va_end(ap);
	p->trace(buf, n);
}

static void explain(const struct program *p) { emit(p, "%d groups", p->groups); }

static int match_loudly(const struct program *p, const char *text) {
	int n = match(p, text);
	if (n >= 0)
		emit(p, "matched %d of '%s'", n, text);
	return n * 2;
}

// bug: unnamed-group 2 (a group without a name is allowed; group_length forgets it)
static int group_length(const struct program *p, int i) { return (int)strlen(p->names[i]); }

static int longest_name(const struct program *p) {
	int most = 0;
	for (int i = 0; i < p->groups; i++) {
		int n = group_length(p, i);
		most = n > most ? n : most;
	}
	return most;
}

static int pad(const struct program *p, int i, int column) { return column - group_length(p, i); }

// bug: group-number 2 (read from the replacement text, never checked)
static char initial(const struct program *p, long i) { return *p->names[i]; }

static int replace(const struct program *p, const char *with) {
	int n = 0;
	for (; *with; with++)
		if (*with == '$')
			n += initial(p, strtol(with + 1, NULL, 10));
	return n;
}

static int swap(const struct program *p, long a, long b) { return initial(p, a) - initial(p, b); }

static int node_depth(const struct node *n) { // of a node, which there must be
	int d = 0;
	while (n->left) {
		n = n->left;
		d++;
	}
	return d;
}

// bug: depth-of-nothing 1 (the program has no root yet)
static int report_depth(const struct program *p) {
	int d = node_depth(p->root);
	printf("depth %d\n", d);
	return d;
}

// bug: compare-nothing 1 (the other program has none)
static int deeper(const struct program *a, const struct program *b) {
	int x = node_depth(a->root), y = node_depth(b->root);
	return x > y ? x : y;
}

// bug: read-only 2 (folds the case of a text that may be a literal)
static void fold(char *s) {
	for (; *s; s++)
		if (*s >= 'A' && *s <= 'Z')
			*s += 32;
}

static int match_folded(const struct program *p, const char *text) {
	fold((char *)text);
	return match(p, text);
}

static void fold_names(struct program *p) {
	for (int i = 0; i < p->groups; i++)
		if (p->names[i])
			fold((char *)p->names[i]);
}

// bug: backtrack-limit 2 (raises a signal itself)
static int charge(int *left, int cost) {
	*left -= cost;
	if (*left < 0)
		raise(SIGABRT);
	return *left;
}

static int match_limited(const struct program *p, const char *text, int left) {
	for (; *text; text++)
		charge(&left, 1 + (run(p->root, text) == NULL));
	return left;
}

static int compile_limited(int nodes, int left) {
	while (nodes-- > 0)
		charge(&left, 3);
	return left + nodes;
}

static struct node *letter(char lo, char hi) {
	struct node *n = make(&class_ops, NULL, NULL);
	n->lo = lo, n->hi = hi;
	return n;
}

int main(int argc, char **argv) {
	const char *bug = argc > 1 ? argv[1] : "", path = argc > 2 ? *argv[2] : 'a';
	struct program p = {make(&cat_ops, letter('a', 'z'), letter('0', '9')), 2, {"word", "number"}}, none = {0};
	if (!strcmp(bug, "half-alternative")) {
		p.root = make(&either_ops, letter('a', 'c'), NULL);
		return path == 'a' ? match(&p, "x") : search(&p, "zzz");
	}
	if (!strcmp(bug, "star-of-empty")) {
		p.root = make(&star_ops, NULL, NULL);
		return path == 'a' ? match(&p, "abc") : search(&p, "abc");
	}
	if (!strcmp(bug, "no-width")) {
		struct node *list[] = {p.root, make(&anchor_ops, NULL, NULL)};
		return widest(list, 2);
	}
	if (!strcmp(bug, "silent-trace")) {
		if (path == 'a')
			explain(&p);
		else
			return match_loudly(&p, "a1");
	}
	if (!strcmp(bug, "unnamed-group")) {
		p.groups = 3;
		return path == 'a' ? longest_name(&p) : pad(&p, 2, 40);
	}
	if (!strcmp(bug, "group-number"))
		return path == 'a' ? replace(&p, "<$1-$90000000>") : swap(&p, 0, 80000000 + argc);
	if (!strcmp(bug, "depth-of-nothing"))
		return report_depth(&none);
	if (!strcmp(bug, "compare-nothing"))
		return deeper(&p, &none);
	if (!strcmp(bug, "read-only")) {
		p.names[1] = "Number";
		if (path == 'a')
			return match_folded(&p, "A1");
		fold_names(&p);
	}
	if (!strcmp(bug, "backtrack-limit"))
		return path == 'a' ? match_limited(&p, "aaaaaaaaaaaaaaaaaaaa", 9) : compile_limited(argc * 10, 20);
	return 0;
}
