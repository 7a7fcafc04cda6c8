// What vars.cpp prints when it is compiled with -DSHOW: a line "function.name = value"
// for each variable, from its own values, as corewalk writes them; an address is 0x*.
// Without SHOW nothing of it is compiled.
#ifndef SHOW
#define SHOW_CONTAINERS
#define SHOW_OWNERS
#define SHOW_METHOD
#define SHOW_MAIN
#else
#include <cstdio>
#include <cxxabi.h>
#include <type_traits>

namespace show {

template <template <typename...> class C, typename T> constexpr bool is = false;
template <template <typename...> class C, typename... A> constexpr bool is<C, C<A...>> = true;
template <typename T> constexpr bool is_array = false;
template <typename T, std::size_t n> constexpr bool is_array<std::array<T, n>> = true;

template <typename T> std::string name()
{
	if constexpr (std::is_same_v<T, int>)
		return "int";
	else if constexpr (std::is_same_v<T, double>)
		return "double";
	else if constexpr (std::is_same_v<T, std::string>)
		return "std::string";
	else if constexpr (std::is_same_v<T, shop::Plain>)
		return "shop::Plain";
	else
		return name<std::remove_extent_t<T>>() + " []";
}

template <typename T> std::string text(const T &v);

inline std::string real(double v)
{
	char s[40];
	std::snprintf(s, sizeof(s), "%.17g", v);
	return s;
}

// counted: "1 element", "3 elements".
inline std::string counted(std::size_t n) { return std::to_string(n) + (n == 1 ? " element" : " elements"); }

// list: " = {1, 2}" of anything with elements, and nothing of none.
template <typename C> std::string list(const C &c)
{
	std::string s;
	for (const auto &e : c) {
		s += s.empty() ? " = {" : ", ";
		if constexpr (requires { typename C::mapped_type; })
			s += "[" + text(e.first) + "] = " + text(e.second);
		else if constexpr (std::is_same_v<C, std::vector<bool>>)
			s += text(bool(e));
		else
			s += text(e);
	}
	return s.empty() ? s : s + "}";
}

template <typename P> std::string pointer(const char *kind, const P &p) { return std::string(kind) + " = {get() = " + (p ? "0x*" : "0x0") + "}"; }

template <typename C> struct Inner : C {
	static const auto &of(const C &c) { return c.*&Inner::c; }
};

template <typename T> std::string all_of(const T &t, std::size_t at = 0)
{
	std::string s;
	std::apply([&](const auto &...e) { ((s += (at ? ", [" : "[") + std::to_string(at) + "] = " + text(e), at++), ...); }, t);
	return s;
}

inline std::string inner(const shop::Base &b)
{
	return "{_vptr.Base = 0x*, side = " + std::to_string(b.side) + ", static count = " + std::to_string(shop::Base::count) +
	       ", static limit = " + std::to_string(shop::Base::limit) + "}";
}

template <typename T> std::string text(const T &v)
{
	if constexpr (std::is_same_v<T, bool>)
		return v ? "true" : "false";
	else if constexpr (std::is_same_v<T, char>)
		return std::to_string(v) + " '" + v + "'";
	else if constexpr (std::is_same_v<T, char8_t>)
		return std::to_string(v) + " '" + char(v) + "'";
	else if constexpr (std::is_same_v<T, char16_t>)
		return std::to_string(v) + " u'" + char(v) + "'";
	else if constexpr (std::is_same_v<T, char32_t>)
		return std::to_string(v) + " U'" + char(v) + "'";
	else if constexpr (std::is_same_v<T, double>)
		return real(v);
	else if constexpr (std::is_same_v<T, shop::Colour>)
		return v == shop::Colour::red ? "shop::Colour::red" : "shop::Colour::green";
	else if constexpr (std::is_same_v<T, shop::Size>)
		return v == shop::small ? "shop::small" : "shop::large";
	else if constexpr (std::is_integral_v<T>)
		return std::to_string(v);
	else if constexpr (std::is_pointer_v<T> || std::is_null_pointer_v<T>)
		return v == nullptr ? "0x0" : "0x*";
	else if constexpr (std::is_same_v<T, std::string> || std::is_same_v<T, std::string_view>)
		return '"' + std::string(v) + '"';
	else if constexpr (std::is_same_v<T, std::wstring>)
		return "L\"" + std::string(v.begin(), v.end()) + '"';
	else if constexpr (std::is_same_v<T, std::u16string>)
		return "u\"" + std::string(v.begin(), v.end()) + '"';
	else if constexpr (std::is_same_v<T, std::vector<bool>>)
		return "std::vector<bool> of length " + std::to_string(v.size()) + ", capacity " + std::to_string(v.capacity()) + list(v);
	else if constexpr (is<std::vector, T>)
		return "std::vector of length " + std::to_string(v.size()) + ", capacity " + std::to_string(v.capacity()) + list(v);
	else if constexpr (is_array<T>)
		return list(v).substr(3);
	else if constexpr (is<std::map, T>)
		return "std::map with " + counted(v.size()) + list(v);
	else if constexpr (is<std::multimap, T>)
		return "std::multimap with " + counted(v.size()) + list(v);
	else if constexpr (is<std::set, T>)
		return "std::set with " + counted(v.size()) + list(v);
	else if constexpr (is<std::unordered_map, T>)
		return "std::unordered_map with " + counted(v.size()) + list(v);
	else if constexpr (is<std::unordered_set, T>)
		return "std::unordered_set with " + counted(v.size()) + list(v);
	else if constexpr (is<std::deque, T>)
		return "std::deque with " + counted(v.size()) + list(v);
	else if constexpr (is<std::list, T>)
		return "std::list of length " + std::to_string(v.size()) + list(v);
	else if constexpr (is<std::forward_list, T>)
		return "std::forward_list of length " + std::to_string(std::distance(v.begin(), v.end())) + list(v);
	else if constexpr (is<std::stack, T>)
		return "std::stack wrapping: " + text(Inner<T>::of(v));
	else if constexpr (is<std::pair, T>)
		return "{first = " + text(v.first) + ", second = " + text(v.second) + "}";
	else if constexpr (std::is_same_v<T, std::tuple<>>)
		return "empty std::tuple";
	else if constexpr (is<std::tuple, T>)
		return "std::tuple containing = {" + all_of(v) + "}";
	else if constexpr (is<std::optional, T>)
		return "std::optional<" + name<typename T::value_type>() + ">" + (v ? " = {[contained value] = " + text(*v) + "}" : " [no contained value]");
	else if constexpr (is<std::unique_ptr, T>)
		return pointer(("std::unique_ptr<" + name<std::remove_reference_t<decltype(v[0])>>() + ">").c_str(), v);
	else if constexpr (std::is_same_v<T, shop::Plain>)
		return "{a = " + std::to_string(v.a) + ", b = " + real(v.b) + ", c = " + text(v.c) + "}";
	else if constexpr (std::is_same_v<T, shop::Both>)
		return "{<shop::Left> = {<shop::Base> = " + inner(v) + ", _vptr.Left = 0x*, left = " + std::to_string(v.left) +
		       "}, <shop::Right> = {_vptr.Right = 0x*, right = " + std::to_string(v.right) + "}, own = " + std::to_string(v.own) + "}";
	else
		return "{}";
}

// called: what a std::function calls. libc++ names a class of it; of libstdc++ it is
// a function, whose name the program does not have.
inline std::string called(const std::function<int(int)> &f)
{
#ifdef _LIBCPP_VERSION
	std::string target = abi::__cxa_demangle(f.target_type().name(), nullptr, nullptr, nullptr);
	return "std::function<int (int)> calling std::__1::__function::__func<" + target + ", std::__1::allocator<" + target + ">, int (int)>";
#elif defined(__clang__)
	return "std::function<int (int)> calling 0x*";
#else
	return "std::function<int(int)> calling 0x*";
#endif
}

// line prints one variable.
inline void line(const std::string &name, const std::string &value) { std::printf("%s = %s\n", name.c_str(), value.c_str()); }

} // namespace show

#define SHOW(function, variable) show::line(#function "." #variable, show::text(variable))

#define SHOW_CONTAINERS                                                                                                \
	show::line("stop.p", "0x0"), show::line("stop.why", show::text(words[0])), SHOW(containers, given),            \
	SHOW(containers, view), SHOW(containers, words), SHOW(containers, bits), SHOW(containers, nested),             \
	SHOW(containers, fixed), SHOW(containers, ages), SHOW(containers, primes), SHOW(containers, many),             \
	SHOW(containers, table), SHOW(containers, seen), SHOW(containers, line), SHOW(containers, reals),              \
	SHOW(containers, single), SHOW(containers, pile), SHOW(containers, none), SHOW(containers, wide),              \
	SHOW(containers, utf16), SHOW(containers, pair), std::fflush(stdout);

// The names of types and the numbers of weak pointers are those of the source.
#define SHOW_OWNERS                                                                                                    \
	show::line("owners.both", "@0x*: " + show::text(both)), show::line("owners.plain", "@0x*: " + show::text(plain)), \
	show::line("owners.moved", "@0x*: " + show::text(moved)),                                                      \
	show::line("owners.unique", show::pointer("std::unique_ptr<int>", unique)),                                    \
	show::line("owners.block", show::pointer("std::unique_ptr<int []>", block)),                                   \
	show::line("owners.shared", show::pointer(("std::shared_ptr<shop::Plain> (use count " + std::to_string(shared.use_count()) + ", weak count 1)").c_str(), shared)), \
	show::line("owners.second", show::pointer(("std::shared_ptr<shop::Plain> (use count " + std::to_string(second.use_count()) + ", weak count 1)").c_str(), second)), \
	show::line("owners.weak", "std::weak_ptr<shop::Plain> (use count " + std::to_string(weak.use_count()) + ", weak count 1) = {get() = 0x*}"), \
	show::line("owners.nobody", show::pointer("std::shared_ptr<shop::Plain> (empty)", nobody)),                    \
	SHOW(owners, some), SHOW(owners, nothing), SHOW(owners, text),                                                 \
	show::line("owners.choice", "std::variant<int, std::string, double> [index " + std::to_string(choice.index()) + "] = {" + show::text(std::get<1>(choice)) + "}"), \
	SHOW(owners, triple), SHOW(owners, unit), SHOW(owners, colour), SHOW(owners, size),                            \
	show::line("owners.field", field == &shop::Plain::a ? "&shop::Plain::a" : "?"),                                \
	show::line("owners.method", method == &shop::Both::method ? "0x* <shop::Both::method(long)>" : "?"),           \
	SHOW(owners, base), SHOW(owners, empty), SHOW(owners, null),                                                   \
	show::line("owners.lambda", "{plain = @0x*: " + show::text(plain) + ", size = " + show::text(size) + "}"),     \
	show::line("owners.callable", show::called(callable)),                                                           \
	SHOW(owners, c16), SHOW(owners, c32), SHOW(owners, c8), SHOW(owners, no), SHOW(owners, numbers);

#define SHOW_METHOD                                                                                                    \
	show::line("method.this", "0x*"), SHOW(method, by), SHOW(method, both), SHOW(method, plain),                   \
	show::line("method.ref", "@0x*: " + show::text(ref));

#define SHOW_MAIN                                                                                                      \
	SHOW(main, argc), SHOW(main, argv),                                                                            \
	show::line("main.holder", "{value = " + show::text(holder.value) + ", name = " + show::text(holder.name) + "}");
#endif
