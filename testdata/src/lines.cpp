// Functions in namespaces and classes, for debug information that has lines only: clang leaves out where functions are, and their linkage names.
// It dies in Ledger::post: main, folded, before, which is inlined, run, {anonymous}::each, Ledger::post, store, which is inlined.
namespace bank {
struct Ledger {
  int *cells;
  __attribute__((noinline)) int post(int at, int amount);
  int store(int at, int amount) { return cells[at] = amount; }
};
int Ledger::post(int at, int amount) { return store(at, amount) + 1; }

namespace {
template <typename T> struct Batch {
  T *to;
  __attribute__((noinline)) int each(int n) { return to->post(n, 7) + n; }
};
__attribute__((noinline)) int each(Ledger &l, int n) { return Batch<Ledger>{&l}.each(n) * 2; }
} // namespace
} // namespace bank

extern "C" __attribute__((noinline)) int run(int n) {
  bank::Ledger l{nullptr};
  return bank::each(l, n) + 3;
}

// Its symbol is another function's, as where the linker has folded two with the same code into one.
__attribute__((noinline)) int folded(int n) asm("_ZN4bank7anotherEi");
static inline int before(int n) { return run(n - 1) + 5; }
int folded(int n) { return before(n) * 3; }

int main(int argc, char **) { return folded(argc) + 4; }
