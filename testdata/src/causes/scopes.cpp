// What a function of a class reads is moved out of what was inlined of it; and what gives an element is given a bad number.
#include <cstdio>
#include <cstdlib>
#include <vector>

struct Item { char sku[32]; int quantity; };
struct Cell { std::vector<Item> items; Item *reserved = nullptr; };

class Grid {
	int width_;
	std::vector<Cell> cells_;
public:
	Grid(int w, int h) : width_(w), cells_(w * h) {}
	Cell &at(int x, int y) { return cells_[y * width_ + x]; }
};

class Stock {
	Grid grid_{4, 4};
public:
	int take(int x, int y) { auto &c = grid_.at(x, y); return c.reserved->quantity; }
	__attribute__((noinline)) unsigned long row(int y) { return grid_.at(0, y).items.size(); }
	__attribute__((noinline)) unsigned long column(int x) { return grid_.at(x, 9).items.size(); }
};

int main(int argc, char **argv)
{
	Stock s;
	int x = 0, y = 0;
	if (argc > 2 && sscanf(argv[2], "%d,%d", &x, &y) != 0 && argv[1][0] == 't')
		return printf("%d\n", s.take(x, y));
	switch (argv[1][0]) {
	case 'r': return s.row(atoi(argv[2]));
	case 'c': return s.column(atoi(argv[2]));
	}
	return 0;
}
