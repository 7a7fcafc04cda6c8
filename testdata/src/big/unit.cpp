// One of many units with much debug information: standard containers and
// algorithms instantiated over twelve types of its own. N tells the units apart.
#include <regex>
#include <map>
#include <unordered_map>
#include <functional>
#include <variant>
#include <algorithm>
#include <thread>
#include <future>
#include <filesystem>
#include <iostream>
#include <set>
#include <deque>
#include <list>
#define CAT2(a,b) a##b
#define CAT(a,b) CAT2(a,b)
namespace CAT(ns,N) {
struct T0 { int v = N; bool operator<(const T0&o) const { return v < o.v; } bool operator==(const T0&o) const {return v==o.v;} };
template<int I> struct S { T0 t; std::string s; std::map<std::string, std::vector<S<I-1>>> m; std::unordered_map<int, std::deque<S<I-1>>> u; bool operator<(const S&o) const { return s < o.s; } };
template<> struct S<0> { std::string s; bool operator<(const S&o) const { return s < o.s; } };
template<int I> int use(int x) { S<I> a; a.s = std::to_string(x); std::set<S<I>> set; set.insert(a); a.m["k"].push_back({}); a.u[x].push_back({}); std::list<S<I>> l(3, a); l.sort(); std::vector<S<I>> v(l.begin(), l.end()); std::sort(v.begin(), v.end()); std::variant<int, S<I>, std::string> var = a; std::function<int(int)> f = [v, x](int y) { return (int)v.size() + x + y; }; return f(std::get<1>(var).s.size()) + use<I-1>(x); }
template<> int use<0>(int x) { return x; }
}
int CAT(entry,N)(int x) {
  std::regex re("([a-z]+)([0-9]+)" + std::to_string(x)); std::smatch m; std::string s = "abc123";
  auto fut = std::async(std::launch::deferred, [x]{ return x * 2; });
  std::filesystem::path p("/tmp"); 
  return CAT(ns,N)::use<12>(x) + std::regex_search(s, m, re) + fut.get() + (int)p.string().size();
}
