/* own CASE: a wild value in the heap is followed, of a program that overruns no block and frees none. What a report may say at most is possible. */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <variant>

static long sum;

// beside: text beside text. A name without an end fills its block; the next block begins with a name, too, that runs into the block's own pointer.
struct person { char name[16]; long *age; long pad[3]; };
static char *full[40]; static person *people[40];
static void beside() {
  for (int i = 0; i < 40; i++) {
    full[i] = (char *)calloc(1, 48); people[i] = (person *)calloc(1, 48);
    memset(full[i], 'a' + i % 26, 48);
    people[i]->age = &sum;
  }
  memset(people[20]->name, 'x', 22); // its own name, too long
  for (int i = 0; i < 40; i++) sum += *people[i]->age;
}

// series: a table in pieces of six numbers each, which go on from one piece to the next.
static long **pieces[40];
static void series() {
  for (int i = 0; i < 40; i++) {
    pieces[i] = (long **)malloc(48);
    for (int k = 0; k < 6; k++) pieces[i][k] = (long *)(0x4000000000000 + 3 * (6L * i + k));
  }
  sum += *pieces[20][1];
}

// leaf: structures have the numbers.
struct leaf { long *item[6]; };
static leaf *leaves[40];
static void leafs() {
  for (int i = 0; i < 40; i++) {
    leaves[i] = (leaf *)malloc(48);
    for (int k = 0; k < 6; k++) leaves[i]->item[k] = (long *)(0x4000000000000 + 8 * (6L * i + k));
  }
  sum += *leaves[20]->item[1];
}

// half: the last piece is not full.
static void half() {
  for (int i = 0; i < 21; i++) {
    pieces[i] = (long **)calloc(6,8);
    for (int k = 0; k < (i == 20 ? 2 : 6); k++) pieces[i][k] = (long *)(0x4000000000000 + 3 * (6L * i + k));
  }
  sum += *pieces[20][1];
}

// onion: a union has text or a pointer.
struct token { int kind; union { char text[40]; struct { long *of; long more; } p; } u; };
static token *tokens[40]; static char *word;
static void onion() {
  for (int i = 0; i < 40; i++) {
    tokens[i] = (token *)calloc(1, 48);
    tokens[i]->kind = 0x41424344;
    memcpy(tokens[i]->u.text - 4, "EFGHabcdefghijklmnop", 20);
  }
  sum += *tokens[20]->u.p.of;
}
union any { char text[48]; struct { long a; long *of; } p; };
static any *anys[40]; static char *cur;
static void onion2() {
  for (int i = 0; i < 40; i++) { anys[i] = (any *)calloc(1, 48); strcpy(anys[i]->text, "a text that fills some words"); }
  cur = anys[20]->text;
  sum += *anys[20]->p.of;
}

// arena: a text buffer is used as an arena.
static char *arena; static size_t used;
static void *take(size_t n) { void *p = arena + used; used += n; return p; }
struct node { long id; long *value; char note[32]; };
static node *first;
static void arenas() {
  arena = (char *)malloc(4096);
  first = (node *)take(sizeof(node));
  memcpy(first, "text where a node should be", 28);
  sum += *first->value;
}

// parser: structures are cast onto a buffer.
struct header { long magic; long *table; long length; };
static char *input; static header *head;
static void parser() {
  input = (char *)malloc(64);
  strcpy(input, "GIF89a-and-then-some-more-text of a file");
  head = (header *)input;
  sum += *head->table;
}
static char *input2;
static void parser2() {
  input2 = (char *)malloc(64);
  strcpy(input2, "GIF89a-and-then-some-more-text of a file");
  sum += *((header *)input2)->table;
}
// head2: only the structure's pointer remains.
static header *head2;
static void parser3() {
  head2 = (header *)malloc(64);
  strcpy((char *)head2, "GIF89a-and-then-some-more-text of a file");
  sum += *head2->table;
}

// variant: text in place, read as a pointer.
struct item { std::variant<std::string, long *> v; };
static item *items[40];
static void variants() {
  for (int i = 0; i < 40; i++) { items[i] = new item; items[i]->v = std::string("fifteen letters"); }
  long **p = (long **)((char *)&items[20]->v + 16);
  sum += **p;
}
// fourcc: a struct begins with a number that is letters, a name follows which is too long.
struct chunk { unsigned id; char name[12]; long *data; long size; };
static chunk *chunks[40];
static void fourcc() {
  for (int i = 0; i < 40; i++) { chunks[i] = (chunk *)calloc(1, 48); chunks[i]->data = &sum; memcpy(&chunks[i]->id, "RIFF", 4); strcpy(chunks[i]->name, "name"); }
  memset(chunks[20]->name, 'n', 20);
  for (int i = 0; i < 40; i++) sum += *chunks[i]->data;
}
// name: a pointer to characters leads to a structure, which begins with them.
static void name0() {
  for (int i = 0; i < 40; i++) { people[i] = (person *)calloc(1, 48); people[i]->age = &sum; }
  word = people[20]->name;
  memset(word, 'w', 22);
  for (int i = 0; i < 40; i++) sum += *people[i]->age;
}
int main(int argc, char **argv) {
  struct { const char *name; void (*run)(); } all[] = {{"beside", beside}, {"series", series}, {"leaf", leafs}, {"half", half}, {"union", onion}, {"union2", onion2},
    {"arena", arenas}, {"parser", parser}, {"parser2", parser2}, {"parser3", parser3}, {"variant", variants}, {"fourcc", fourcc}, {"name", name0}};
  for (auto &a : all)
    if (argc > 1 && !strcmp(a.name, argv[1])) a.run();
  printf("%ld\n", sum);
}
