// What std::any, std::bitset and pointers to virtual functions look like.
#include <any>
#include <array>
#include <bitset>
#include <cstdlib>
#include <string>

struct Device {
  int x = 1;
  virtual int name(char *, int) { return 0; }
  virtual int id(int a) { return a; }
};
struct Sub : Device {
  int id(int a) override { return a + 1; }
};
struct Big {
  char text[64];
  int k;
};

__attribute__((noinline)) void look(const std::string &s) {
  std::any number = 5, text = std::string("any string"), nothing, big = Big{"big", 4};
  std::bitset<10> bits(0b1010110011);
  std::bitset<0> none;
  std::array<int, 0> empty;
  std::string local = "short", far = "a much longer string than fits in the object";
  int (Device::*method)(int) = &Device::id;
  int (Sub::*derived)(int) = &Sub::id;
  int (Sub::*inherited)(char *, int) = &Sub::name;
  if (s.size() > 0) abort();
  Sub d;
  (d.*method)(bits.count() + none.count() + empty.size());
  (d.*derived)(local.size() + far.size());
  (d.*inherited)(nullptr, 0);
}

int main() { look("param"); }
