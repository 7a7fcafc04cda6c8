// Error codes of the C++ library with their categories, complex numbers, and a set of a class
// whose name looks like that of a map.
#include <complex>
#include <ios>
#include <set>
#include <system_error>

struct Category : std::error_category {
	const char *name() const noexcept override { return "mine"; }
	std::string message(int) const override { return "m"; }
};

struct bitmap {
	int a, b;
	bool operator<(const bitmap &o) const { return a < o.a; }
};

int main(int argc, char **)
{
	static Category mine;
	std::error_code none, generic = std::make_error_code(std::errc::no_such_file_or_directory);
	std::error_code system(2, std::system_category()), own(7, mine), negative(-1, std::generic_category());
	std::error_code again(11, std::generic_category()), stream = std::make_error_code(std::io_errc::stream);
	std::error_condition condition = std::errc::invalid_argument;
	std::complex<double> number(1, 2);
	std::complex<float> minus(1, -2);
	std::set<bitmap> maps{{1, 2}};
	*(volatile int *)nullptr = argc;
}
