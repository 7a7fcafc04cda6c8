// benign CASE: a bad pointer is read from a block in use that nobody overran, and that was not freed: what is taken for a pointer is the block's own. The
// blocks before end with text, or with a series of numbers, that the value goes on with.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>
#include <map>
#include <list>
using namespace std;
static long sum;
template <class T> T *z(size_t n = sizeof(T)) { return (T *)calloc(1, n); }
// a label of fixed width that needs no end
static char *labels[64];
static void label(int i) { labels[i] = (char *)calloc(1, 48); memcpy(labels[i], "FIXEDWIDTHLABELWITHOUTENDFIXEDWIDTHLABELWITHOUTEND", 48); }
struct U { union { char name[24]; long *p; }; long pad[3]; }; static U *us[64];
struct Tag { long *p; long n; long q[4]; }; static Tag *tags[64];
struct X { uintptr_t link; long v; long q[4]; }; static X *xs[64];
struct Cmp { uint32_t a, b, c, d; long q[4]; }; static Cmp *cmps[64];
struct Ser { long len; long *body; }; static char *sers[64];
struct Four { uint32_t tag, fmt; uint32_t k[10]; }; static Four *fours[64];
struct Inl { long *small; long n; long q[4]; }; static Inl *inls[64];
struct Ids { uint64_t id[6]; }; struct Ide { uint64_t id[6]; }; static Ids *ids[64]; static Ide *ides[64];
struct Dbl { double d[6]; }; static Dbl *dbls[64];
struct Node { Node *next, *prev; char text[32]; }; static Node *nodes[64];
struct Item { char text[32]; Node link; }; 
struct Hash { uint64_t h[6]; }; static Hash *hashes[64];
struct Small { char c[6]; char more[42]; }; static Small *smalls[64];
struct Var { variant<long *, string> v; long q; }; static Var *vars_[64];
struct Key { char key[8]; long *value; char rest[32]; }; static Key *keys[64];
struct Enum { enum { A = 0x41414141, B = 0x42424242 } e[4]; long q[4]; }; static Enum *enums[64];
struct Bits { uint64_t lo : 32, hi : 32; long q[5]; }; static Bits *bitss[64];
struct Uuid { uint64_t a, b; long q[4]; }; static Uuid *uuids[64];
struct Fn { long (*f)(long); long q[5]; }; static Fn *fns[64];
struct Ip { uint32_t addr[4]; uint16_t port[4]; long q[3]; }; static Ip *ips[64];
static void *opaque[64]; static void **table; static char *page;
#define D(p) sum += *(volatile long *)(p)
int main(int argc, char **argv) {
  string b = argv[1]; int k = 30;
  auto is = [&](const char *s) { return b == s; };
  // blocks of 48 bytes, one behind the other: every second one is a label that is full
#define PAIR(arr, T) for (int i = 0; i < 64; i++) { label(i); arr[i] = z<T>(48); }
  if (is("union")) { PAIR(us, U) strcpy(us[k]->name, "abcdefghijklmn"); D(us[k]->p); }
  if (is("inline")) { PAIR(inls, Inl) memcpy(&inls[k]->small, "inline8", 8); D(inls[k]->small); }
  if (is("inlinefull")) { PAIR(inls, Inl) memcpy(&inls[k]->small, "inline88", 8); D(inls[k]->small); }
  if (is("tagged")) { PAIR(tags, Tag) tags[k]->p = (long *)((uintptr_t)&sum | 0x4142ull << 48); D(tags[k]->p); }
  if (is("xor")) { PAIR(xs, X) xs[k]->link = (uintptr_t)&sum ^ 0x5152535455565758; D(xs[k]->link); }
  if (is("xortext")) { PAIR(xs, X) xs[k]->link = 0x5152535455565758; D(xs[k]->link); }
  if (is("compressed")) { PAIR(cmps, Cmp) cmps[k]->a = 0x41424344; cmps[k]->b = 0x45464748; D(*(uintptr_t *)cmps[k]); }
  if (is("fourcc")) { PAIR(fours, Four) memcpy(fours[k], "RIFFWAVEfmt data", 16); D(*(uintptr_t *)fours[k]); }
  if (is("fourcc2")) { PAIR(fours, Four) memcpy(fours[k], "RIFFWAVEfmt data", 16); D(((uintptr_t *)fours[k])[1]); }
  if (is("enum")) { PAIR(enums, Enum) for (int j = 0; j < 4; j++) enums[k]->e[j] = Enum::A; D(*(uintptr_t *)enums[k]); }
  if (is("bits")) { PAIR(bitss, Bits) bitss[k]->lo = 0x61626364; bitss[k]->hi = 0x65666768; D(*(uintptr_t *)bitss[k]); }
  if (is("uuid")) { PAIR(uuids, Uuid) memcpy(uuids[k], "550e8400e29b41d4", 16); D(uuids[k]->a); }
  if (is("ip")) { PAIR(ips, Ip) for (int j = 0; j < 4; j++) ips[k]->addr[j] = 0x7a797877; D(*(uintptr_t *)ips[k]); }
  if (is("ids")) { uint64_t n = 0x4000000000000; for (int i = 0; i < 64; i++) { ids[i] = z<Ids>(48); for (auto &x : ids[i]->id) x = n++; ides[i] = z<Ide>(48); for (auto &x : ides[i]->id) x = n++; } D(ides[k]->id[1]); }
  if (is("idsone")) { uint64_t n = 0x4000000000000; for (int i = 0; i < 64; i++) { ids[i] = z<Ids>(48); for (auto &x : ids[i]->id) x = n++; ides[i] = z<Ide>(48); ides[i]->id[0] = n++; } D(ides[k]->id[0]); }
  if (is("ramp")) { double n = 1; for (int i = 0; i < 64; i++) { dbls[i] = z<Dbl>(48); for (auto &x : dbls[i]->d) { x = n; uint64_t u; memcpy(&u, &n, 8); u += 16; memcpy(&n, &u, 8); } ides[i] = z<Ide>(48); for (auto &x : ides[i]->id) { memcpy(&x, &n, 8); uint64_t u; memcpy(&u, &n, 8); u += 16; memcpy(&n, &u, 8); } } D(ides[k]->id[0]); }
  if (is("hash")) { uint64_t h = 0x9e3779b97f4a7c15; for (int i = 0; i < 64; i++) { hashes[i] = z<Hash>(48); for (auto &x : hashes[i]->h) x = h, h += 1 << 16; ides[i] = z<Ide>(48); for (auto &x : ides[i]->id) x = h, h += 1 << 16; } D(ides[k]->id[0]); }
  if (is("doubles")) { for (int i = 0; i < 64; i++) { dbls[i] = z<Dbl>(48); for (auto &x : dbls[i]->d) x = 1e300; } D(*(uintptr_t *)&dbls[k]->d[2]); }
  if (is("serial")) { for (int i = 0; i < 64; i++) { label(i); sers[i] = z<char>(48); strcpy(sers[i], "GET /index.html HTTP/1.1"); } D(((Ser *)sers[k])->body); }
  if (is("opaque")) { for (int i = 0; i < 64; i++) { label(i); opaque[i] = z<char>(48); memcpy(opaque[i], "opaque bytes of a format", 24); } D(((long **)opaque[k])[1]); }
  if (is("intrusive")) { for (int i = 0; i < 64; i++) { label(i); nodes[i] = z<Node>(48); memcpy(nodes[i]->text, "the text of this node is here", 30); nodes[i]->next = nodes[i]; } Node *n = (Node *)((char *)nodes[k] + 16); D(&n->next->prev); }
  if (is("arena")) { page = z<char>(4096); strcpy(page, "names in an arena, more names in an arena, more"); Tag *t = (Tag *)(page + 16); static Tag *at; at = t; D(at->p); }
  if (is("arena2")) { for (int i = 0; i < 64; i++) { labels[i] = (char *)calloc(1, 48); tags[i] = z<Tag>(48); } memset(labels[k], 'a', 48); tags[k]->p = &sum; memset(&tags[k]->q, 'b', 16); D(tags[k]->q[0]); }
  if (is("small")) { PAIR(smalls, Small) strcpy(smalls[k]->c, "short"); strcpy(smalls[k]->more, "and longer text"); D(*(uintptr_t *)smalls[k]); }
  if (is("variant")) { PAIR(vars_, Var) new (vars_[k]) Var{string("fourteen chars"), 1}; D(((uintptr_t *)vars_[k])[2]); }
  if (is("key")) { PAIR(keys, Key) memcpy(keys[k]->key, "KEYOFALL", 8); memcpy(&keys[k]->value, "VALUEIN!", 8); D(keys[k]->value); }
  if (is("fn")) { PAIR(fns, Fn) memcpy(&fns[k]->f, "callback", 8); sum += fns[k]->f(1); }
  if (is("vector")) { vector<uint64_t> *v = new vector<uint64_t>[8]; static vector<uint64_t> *vs; vs = v; uint64_t n = 0x4000000000000; for (int i = 0; i < 8; i++) for (int j = 0; j < 6; j++) { v[i].reserve(6); v[i].push_back(n++); } D(v[4][1]); }
  if (is("string")) { static vector<string> vs; for (int i = 0; i < 8; i++) vs.push_back(string(47, 'a' + i)); D(*(uintptr_t *)vs[4].data()); }
  if (is("map")) { static map<string, string> m; for (int i = 0; i < 30; i++) { char n[16]; sprintf(n, "key%09d", i); m[n] = "value of it"; } auto it = m.find("key000000012"); D(*(uintptr_t *)it->first.data()); }
  if (is("matrix")) { static uint64_t **rows; rows = z<uint64_t *>(8 * 64); uint64_t n = 0x4000000000000; for (int i = 0; i < 64; i++) { rows[i] = z<uint64_t>(48); for (int j = 0; j < 6; j++) rows[i][j] = n++; } D(rows[k][1]); }
  if (is("mixed")) { static uint64_t *a[64]; static long *c[64]; uint64_t n = 0x4000000000000; for (int i = 0; i < 64; i++) { a[i] = z<uint64_t>(48); for (int j = 0; j < 6; j++) a[i][j] = n++; c[i] = z<long>(48); for (int j = 0; j < 6; j++) c[i][j] = n++; } D(c[k][1]); }
  if (is("words")) { static uint32_t *w[64]; for (int i = 0; i < 64; i++) { label(i); w[i] = z<uint32_t>(48); memcpy(w[i], "wordswordswords!", 16); } D(*(uintptr_t *)w[k]); }
  if (is("nobody")) { table = z<void *>(8 * 64); for (int i = 0; i < 64; i++) { label(i); void *p = z<char>(48); table[i] = p; memcpy(p, "packed record of a database", 27); } D(*(uintptr_t *)table[k]); }
  if (is("hidden")) { static uintptr_t hid[64]; for (int i = 0; i < 64; i++) { label(i); void *p = z<char>(48); hid[i] = ~(uintptr_t)p; memcpy(p, "packed record of a database", 27); } D(*(uintptr_t *)~hid[k]); }
  printf("%ld\n", sum);
}
