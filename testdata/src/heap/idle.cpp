// Fills containers that have room for more, writes down how many bytes of it, and dies.
// usage: idle LOG
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

struct Order { long id, price, number; };

std::vector<Order> orders;
std::vector<std::string> names;
std::map<int, std::vector<int>> buckets;
std::vector<char> whole; // has no room

int main(int argc, char **argv) {
  FILE *out = argc > 1 ? fopen(argv[1], "w") : nullptr;
  if (!out)
    return 2;
  orders.reserve(10000);
  for (long i = 0; i < 1000; i++)
    orders.push_back({i, i, i});
  long text = 0, numbers = 0;
  names.reserve(200);
  for (int i = 0; i < 200; i++) {
    std::string s(30 + i % 9, 'x');
    s.reserve(300 + i);
    names.push_back(std::move(s));
    text += names.back().capacity() - names.back().size();
  }
  names.push_back("short"); // has its text in itself
  for (int i = 0; i < 50; i++) {
    buckets[i].reserve(64);
    buckets[i].push_back(1);
    numbers += buckets[i].capacity() - buckets[i].size();
  }
  whole.assign(5000, 'w');
  whole.shrink_to_fit();
  fprintf(out, "Order[] %zu\nstrings %ld\nint[] %zu\nnames %zu\n", (orders.capacity() - orders.size()) * sizeof(Order), text, numbers * sizeof(int),
          (names.capacity() - names.size()) * sizeof(std::string));
  fclose(out);
  abort();
}
