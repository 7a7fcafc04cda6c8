// Texts that are passed with their lengths: what follows one in memory is no part of it.
#include <cstdlib>
#include <string_view>
struct text {
	const char *from;
	size_t size;
};
constexpr char all[] = "OneTwoThree";
__attribute__((noinline)) void stop(std::string_view name, text why)
{
	if (name.size() + why.size > 0)
		std::abort();
}
int main()
{
	stop(std::string_view(all, 3), text{all + 3, 3});
}
