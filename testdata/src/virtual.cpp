// A crash in a virtual method, called from a lambda in a std::function.
//
// Built with -O0 every template of the library has its frame. Expected stack:
//   shapes::Square::area, the lambda's operator(), three frames of
//   std::function's machinery, apply<...>, main
#include <functional>
#include <memory>
#include <vector>

namespace shapes {

struct Shape {
	virtual ~Shape() = default;
	virtual int area() const = 0;
};

struct Square : Shape {
	const volatile int *side = nullptr;
	int area() const override { return *side * *side; }
};

} // namespace shapes

template <typename T> static int apply(const std::vector<T> &items, const std::function<int(const T &)> &f)
{
	int sum = 0;
	for (const T &item : items)
		sum += f(item);
	return sum;
}

int main()
{
	std::vector<std::shared_ptr<shapes::Shape>> all{ std::make_shared<shapes::Square>() };
	int scale = 2;
	return apply<std::shared_ptr<shapes::Shape>>(
	    all, [scale](const std::shared_ptr<shapes::Shape> &s) { return s->area() * scale; });
}
