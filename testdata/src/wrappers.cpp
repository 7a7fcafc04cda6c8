// Small classes of the C++ library that wrap a value.
#include <any>
#include <atomic>
#include <bitset>
#include <chrono>
#include <filesystem>
#include <ratio>
#include <string>

using namespace std::chrono;

int main(int argc, char **)
{
	std::any number = 42, text = std::string("hello"), nothing;
	std::atomic<int> count{7};
	std::atomic<bool> ready{true};
	std::atomic<int *> where{nullptr};
	std::bitset<10> bits(0b1011);
	std::bitset<70> many(5);
	many.set(69);
	std::filesystem::path path("/usr/lib/libx.so");
	milliseconds wait(1500);
	hours day(24);
	duration<double, std::milli> exact(2.5);
	duration<int, std::ratio<1, 60>> frames(3);
	system_clock::time_point date{seconds(1763820000)};
	time_point<system_clock, seconds> before{seconds(-1)};
	steady_clock::time_point since{milliseconds(12)};
	*where = argc;
}
