// Ways to use a bad pointer, each with one place where it came from. The comment of
// each says the answer.
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifdef __clang__
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noinline, noclone))
#endif
#define KEEP(x) __asm__ volatile("" : "+r"(x) : : "memory")

struct node {
	struct node *next;
	long value;
	const char *name;
};

struct queue {
	long length;
	struct node *head;
	struct node *spare;
};

struct ops {
	void (*open)(void *);
	void (*close)(void *);
};

struct device {
	const struct ops *ops;
	struct queue pending;
	void *data;
	size_t size;
};

static struct node third = {NULL, 3, "third"};
static struct node second = {&third, 2, "second"};
static struct node first = {&second, 1, "first"};
static struct queue queue = {3, &first, NULL};
struct node *cache;
struct node *table[4] = {&first, &second, NULL, &third};
static volatile long sink;

// head->next->next->next is null.
NOINLINE static long way_field(struct queue *q) { return q->head->next->next->next->value; }

// queue.spare is passed through three functions.
NOINLINE static long deepest(struct node *last) {
	sink++;
	return last->value;
}
NOINLINE static long deeper(struct node *middle, int times) {
	long v = deepest(middle);
	sink += times;
	return v + 1;
}
NOINLINE static long deep(int times, struct node *outer) {
	long v = deeper(outer, times);
	sink += v;
	return v;
}
NOINLINE static long way_passed(struct queue *q) {
	long v = deep(2, q->spare);
	sink += v;
	return v;
}

// find returns null.
NOINLINE static struct node *find(struct queue *q, long value) {
	for (struct node *n = q->head; n; n = n->next)
		if (n->value == value)
			return n;
	return NULL;
}
NOINLINE static long way_lookup(struct queue *q) {
	struct node *found = find(q, 7);
	return found->value;
}

// The next of the third node is wild.
NOINLINE static long way_list(struct queue *q) {
	long sum = 0;
	for (struct node *n = q->head; n; n = n->next) {
		sum += n->value;
		sink = sum;
	}
	return sum;
}

// d->size is far too large an index.
NOINLINE static long way_index(struct device *d, const long *numbers) { return numbers[d->size]; }

// What was on the stack before.
NOINLINE static void used(void) {
	void *volatile stack[64];
	for (int i = 0; i < 64; i++)
		stack[i] = (void *)0x1234567890;
}

// Nothing was stored in n.
NOINLINE static long way_never_set(struct queue *q) {
	struct node *n;
	if (q->length > 5)
		n = q->head;
	return n->value;
}

// The global cache is null.
NOINLINE static long way_global(struct queue *q) { return cache->value + q->length; }

// d->data was freed and filled.
NOINLINE static long way_freed(struct device *d) {
	struct node *n = d->data;
	return n->next->value;
}

// d->ops->close is null.
NOINLINE static long way_function(struct device *d) {
	d->ops->close(d);
	return sink;
}

// d->pending.spare->name is passed to strlen.
NOINLINE static long way_strlen(struct queue *q) { return (long)strlen(q->head->next->next->name) + sink; }

// d->data is passed to memcpy.
NOINLINE static long way_memcpy(struct device *d) {
	char to[64];
	memcpy(to, d->data, d->size);
	__asm__ volatile("" : : "r"(to) : "memory");
	return to[3];
}

// slice returns a null pointer in a struct.
struct slice {
	long *start;
	size_t length;
};
NOINLINE static struct slice slice(struct device *d) { return (struct slice){d->data, d->size}; }
NOINLINE static long way_by_value(struct device *d) {
	struct slice s = slice(d);
	return s.start[0];
}

// The head of d->pending, by an inlined function.
static inline __attribute__((always_inline)) struct node *head_of(struct queue *q) {
	sink++;
	return q->spare;
}
NOINLINE static long way_inlined(struct device *d) {
	struct node *n = head_of(&d->pending);
	return n->value;
}

// jumper leaves by a tail call; what it was passed is not told.
NOINLINE static long landed(struct node *n, long k) { return n->value + k; }
NOINLINE static long jumper(struct queue *q) { return landed(q->spare, q->length); }
NOINLINE static long way_tail(struct queue *q) {
	long v = jumper(q);
	sink += v;
	return v;
}

// The eighth argument is on the stack.
NOINLINE static long many(long a, long b, long c, long d, long e, long f, long g, struct node *eighth) {
	sink = a + b + c + d + e + f + g;
	return eighth->value;
}
NOINLINE static long way_eighth(struct queue *q) {
	long v = many(1, 2, 3, 4, 5, 6, 7, q->spare);
	sink += v;
	return v;
}

// n is set to null.
NOINLINE static long way_set(struct queue *q) {
	struct node *n = NULL;
	KEEP(q);
	sink = q->length;
	return n->value;
}

// table[2] is null.
NOINLINE static long way_element(long i) { return table[i]->value; }

// The address of a member of a null struct.
NOINLINE static long length_of(struct queue *q) { return q->length; }
NOINLINE static long way_member(struct device *d) {
	struct device *other = d->data;
	long v = length_of(&other->pending);
	sink += v;
	return v;
}

// keep holds kept across calls.
NOINLINE static void work(long n) { sink += n; }
NOINLINE static long way_kept(struct queue *q) {
	struct node *kept = q->spare;
	work(1);
	work(q->length);
	work(2);
	return kept->value;
}

// A switch lies between q->spare and its use.
NOINLINE static long way_switch(struct queue *q) {
	struct node *n = q->spare;
	switch (q->length) {
	case 1:
		work(1);
		break;
	case 2:
		work(7);
		break;
	case 3:
		work(3);
		break;
	case 4:
		work(12);
		break;
	case 5:
		work(9);
		break;
	case 6:
		work(29);
		break;
	case 7:
		work(39);
		break;
	default:
		work(4);
	}
	return n->value;
}

// One of two, by a condition: q->spare.
NOINLINE static long way_either(struct queue *q) {
	struct node *n = q->length > 2 ? q->spare : q->head;
	work(1);
	return n->value;
}

// A write through null, of a field of an array's element.
NOINLINE static long way_write(struct device *d) {
	struct node *all = d->data;
	all[2].value = 5;
	return 0;
}

// q->length is the divisor, 0.
NOINLINE static long way_divide(struct queue *q) { return (long)((unsigned long)sink / (unsigned long)q->length); }

// empty is null, which the compiler knows: only it points to a structure as long.
struct large {
	long filler[20];
	long last;
};
NOINLINE static long way_folded(struct queue *q) {
	struct large *empty = NULL;
	return empty->last + q->length;
}

// One of two null pointers, of which the code does not tell which.
NOINLINE static long way_folded_two(struct queue *q) {
	struct large *empty = NULL, *other = NULL;
	sink = (long)other;
	return empty->last + q->length;
}

// A member of a null structure is passed to strcpy.
struct label {
	long id;
	char text[32];
};
NOINLINE static long way_strcpy(struct device *d) {
	struct label *to = d->data;
	strcpy(to->text, d->pending.head->name);
	return (long)d->size;
}

// The instruction that fills memory ran off its end: d->data was good.
NOINLINE static long way_overrun(struct device *d) {
	void *to = d->data;
	size_t n = d->size;
	__asm__ volatile("rep stosb" : "+D"(to), "+c"(n) : "a"(0) : "memory");
	return (long)n;
}

static const struct ops ops;

int main(int argc, char **argv) {
	struct device d = {&ops, {3, &first, NULL}, NULL, 40};
	const char *way = argc > 1 ? argv[1] : "";
#define IS(name) (!strcmp(way, #name))
	KEEP(way);
	if (IS(field)) return way_field(&queue);
	if (IS(passed)) return way_passed(&queue);
	if (IS(lookup)) return way_lookup(&queue);
	if (IS(list)) {
		third.next = (struct node *)0x12345678000;
		return way_list(&queue);
	}
	if (IS(index)) {
		d.size = 0x4000000000;
		return way_index(&d, &third.value);
	}
	if (IS(never_set)) {
		used();
		return way_never_set(&queue);
	}
	if (IS(global)) return way_global(&queue);
	if (IS(freed)) {
		d.data = malloc(64);
		memset(d.data, 0xdd, 64);
		return way_freed(&d);
	}
	if (IS(function)) return way_function(&d);
	if (IS(strlen)) {
		third.name = NULL;
		return way_strlen(&queue);
	}
	if (IS(memcpy)) return way_memcpy(&d);
	if (IS(by_value)) return way_by_value(&d);
	if (IS(inlined)) return way_inlined(&d);
	if (IS(tail)) return way_tail(&queue);
	if (IS(eighth)) return way_eighth(&queue);
	if (IS(set)) return way_set(&queue);
	if (IS(element)) return way_element(argc);
	if (IS(member)) return way_member(&d);
	if (IS(kept)) return way_kept(&queue);
	if (IS(switch)) return way_switch(&queue);
	if (IS(either)) return way_either(&queue);
	if (IS(write)) return way_write(&d);
	if (IS(strcpy)) return way_strcpy(&d);
	if (IS(overrun)) {
		d.data = malloc(64);
		d.size = 0x4000000000;
		return way_overrun(&d);
	}
	if (IS(divide)) {
		queue.length = 0;
		return way_divide(&queue);
	}
	if (IS(folded)) return way_folded(&queue);
	if (IS(folded_two)) return way_folded_two(&queue);
	return 0;
}
