// Texts that are passed with their lengths: what follows one in memory is no part of it.
#include <cstdlib>
#include <string_view>
struct text {
	const char *from;
	size_t size;
};
constexpr char one[] = "One, and more", two[] = "Two, and more", three[] = "Three, and more";
__attribute__((noinline)) void stop(std::string_view name, text why, std::string_view then)
{
	if (name.size() + why.size + then.size() > 0)
		std::abort();
}
int main()
{
	stop(std::string_view(one, 3), text{two, 3}, std::string_view(three, 5));
}
