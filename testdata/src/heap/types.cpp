// Fills a heap with objects of known types, loses some, writes down how many of each there are, and dies.
// usage: types LOG
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <csignal>
#include <deque>
#include <forward_list>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

struct Shape { virtual ~Shape() {} double area = 1; };
struct Circle : Shape { double r = 2; };
struct Named { virtual ~Named() {} const char *name = "n"; };
struct Square : Shape, Named { double side[6] = {}; };

struct Line { long price; char *text; };
struct Order {
  long id;
  char *note;
  Order *next;
  struct Line *lines; // several
  union { Order *maybe; double number; };
};
struct Lost { Lost *next; char pad[100]; };
struct Ring { Ring *other; char pad[40]; };
struct Event { int kind; char pad[60]; };
struct Tag { char text[40]; };

struct Cache {
  std::map<int, Event> events;
  std::unordered_map<long, Event *> byNumber;
  std::set<Tag *> tags;
  std::vector<Order *> orders;
  std::deque<Event> queue;
  Order *head;
};

namespace shop {
Cache *cache;
std::list<Line> lines;
}
static std::vector<std::unique_ptr<Shape>> shapes;
std::shared_ptr<Event> shared;
Order *table[16];
std::vector<Order *> few;
void *raw; // no Order, but a pointer to it is behind those that are in few
void **part; // begins as the part of a Square that is a Named does: no object begins with that
void **small; // begins as a Square does, but is too small to be one

static FILE *out;
static void count(const char *type, long n) { fprintf(out, "type %ld %s\n", n, type); }

__attribute__((noinline)) static void fill(int n) {
  Cache *c = shop::cache = new Cache{};
  long circles = 0, squares = 0;
  for (int i = 0; i < n; i++) {
    Order *o = new Order{};
    o->id = i;
    o->note = strdup("a note of some length, so that it has a block of its own");
    o->lines = new Line[5]{};
    o->lines[3].text = strdup("text");
    o->next = c->head;
    c->head = o;
    if (i < 16) table[i] = new Order{};
    c->orders.push_back(o);
    c->events[i] = Event{};
    c->byNumber[i] = new Event{};
    c->tags.insert(new Tag{});
    shop::lines.push_back(Line{});
    if (i % 3) { shapes.push_back(std::make_unique<Circle>()); circles++; }
    else { shapes.push_back(std::make_unique<Square>()); squares++; }
  }
  shared = std::make_shared<Event>();
  raw = calloc(1, sizeof(Order));
  few.reserve(8);
  for (int i = 0; i < 3; i++) few.push_back(table[i]);
  few.push_back((Order *)raw);
  few.pop_back();
  part = (void **)calloc(1, sizeof(Square));
  *part = *(void **)static_cast<Named *>(static_cast<Square *>(shapes[0].get()));
  small = (void **)malloc(sizeof(void *));
  *small = *(void **)shapes[0].get();
  count("Order", n + 16);
  count("Line[]", n);
  count("Event", n);
  count("Tag", n);
  count("Circle", circles);
  count("Square", squares);
  count("Cache", 1);
  count("Order *[]", 2);
  count("char[]", 2 * n);
  count("tree node of std::pair<int const, Event>", n);
  count("hash node of std::pair<long int const, Event*>", n);
  count("tree node of Tag *", n);
  count("list node of Line", n);
}

__attribute__((noinline)) static void lose(int n) {
  Lost *head = nullptr;
  for (int i = 0; i < n; i++) {
    Lost *l = (Lost *)malloc(sizeof(Lost));
    memset(l, 0, sizeof *l);
    l->next = head;
    head = l;
    fprintf(out, "lost %p\n", (void *)l);
  }
  for (int i = 0; i < n; i++) {
    Ring *a = (Ring *)calloc(1, sizeof(Ring)), *b = (Ring *)calloc(1, sizeof(Ring));
    a->other = b;
    b->other = a;
    fprintf(out, "lost %p\nlost %p\n", (void *)a, (void *)b);
  }
}

// forget writes over the stack that the calls before it used.
__attribute__((noinline)) static void forget() {
  volatile char stack[64 << 10];
  for (unsigned i = 0; i < sizeof stack; i++) stack[i] = 0;
}

int main(int argc, char **argv) {
  out = fopen(argv[1], "w");
  fill(300);
  lose(40);
  fclose(out);
  forget();
  raise(SIGABRT);
}
