// A member of a null struct is written, below frames with variables of many
// kinds: leaf < middle < recurse x3 < main < _start.
#include "start.h"

struct point { int x, y; double weight; };
struct flags { unsigned ready : 1; int level : 5; unsigned count : 20; unsigned long long serial : 40; };
struct node { char name[24]; int value; };

static long long total = 1000000000007LL;

own int leaf(struct node *at, int value, const char *why) {
	char initials[4] = {'a', 'b', 'c', 0};
	use(initials); write_windows();
	at->value = value;
	use(why);
	return at->value;
}

own int middle(struct node *at, struct point where, float ratio, double scale, long long big) {
	struct flags set = {1, -3, 70000, 0x123456789aULL};
	struct point moved = {where.x + 1, where.y - 1, where.weight + scale};
	unsigned char bytes[5] = {1, 2, 3, 254, 255};
	use(set);
	use(moved);
	use(bytes);
	int got = leaf(at, moved.x, "no node") + (int)(big >> 32);
	use(ratio);
	use(scale);
	use(set);
	use(moved);
	use(bytes);
	return got;
}

own int recurse(int depth, struct node *at, double scale) {
	long long big = total * depth;
	if (depth > 1)
		return recurse(depth - 1, at, scale * 2) + (int)big + depth;
	struct point here = {3, -4, 0.25};
	return middle(at, here, 1.5f, scale, big) + (int)big + depth;
}

int main(void) {
	struct node first = {"first", 1};
	const char *title = "a title";
	use(first);
	use(title);
	int got = recurse(3, (struct node *)0, 0.125);
	use(first);
	use(title);
	return got;
}
