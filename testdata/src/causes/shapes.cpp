// Shapes whose functions override one another. The arguments are the one that fails, and the way there.
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

struct Style { int width; std::string colour; };
struct Canvas { int pixels[16]; int at(int i) const { return pixels[i]; } };

class Shape {
public:
	virtual ~Shape() {}
	virtual double area() const = 0;
	virtual int draw(Canvas *c) const { return c ? c->at(0) : 0; }
	Style *style = nullptr;
	const Style *styled() const { return style; }
};
struct Corner {
	int kind = 0;
	double x = 1, y = 2;
	Corner *next = nullptr;
	double gap() const { return (x - next->x) * (y - next->y); } // wrong: may be the last
};
class Circle : public Shape {
public:
	double *radius = nullptr;
	double area() const override { return *radius * *radius * 3.14; } // wrong: may be unset
	int draw(Canvas *c) const override { return c->at(1); }
};
class Square : public Shape {
public:
	int cells = 0, side = 4;
	double area() const override { return side * side / cells; } // wrong: may be zero
	int draw(Canvas *c) const override { return c->at(2) + side; }
};
class Group : public Shape {
public:
	std::vector<Shape *> parts;
	double area() const override { // wrong: parts may have nulls
		double sum = 0;
		for (Shape *p : parts)
			sum += p->area();
		return sum;
	}
	int draw(Canvas *c) const override {
		int n = 0;
		for (Shape *p : parts)
			n += p->draw(c);
		return n;
	}
};
class Text : public Shape {
public:
	const char *text = nullptr;
	double area() const override { return 1; }
	int draw(Canvas *c) const override { return (int)styled()->width + c->at(3); } // wrong: has no style
};
class Image : public Shape {
public:
	unsigned char *data = nullptr;
	long offset = 0;
	double area() const override { return 2; }
	int draw(Canvas *c) const override { return data[offset] + c->at(4); } // wrong: offset
};

static std::vector<std::unique_ptr<Shape>> all;

double total() {
	double sum = 0;
	for (auto &s : all)
		sum += s->area();
	return sum;
}
double one(const Shape &s) { return s.area() + 1; }
int paint(Canvas *c) {
	int n = 0;
	for (auto &s : all)
		n += s->draw(c);
	return n;
}
int preview(const Shape &s, Canvas *c) { return 2 * s.draw(c); }

int main(int argc, char **argv) {
	std::string bug = argv[1];
	bool a = *argv[2] == 'a';
	Canvas c{};
	double r = 0;
	if (bug == "circle") {
		all.push_back(std::make_unique<Circle>());
		r = a ? total() : one(*all[0]);
	} else if (bug == "square") {
		all.push_back(std::make_unique<Square>());
		r = a ? total() : one(*all[0]);
	} else if (bug == "group") {
		auto g = std::make_unique<Group>();
		g->parts.push_back(nullptr);
		all.push_back(std::move(g));
		r = a ? total() : one(*all[0]);
	} else if (bug == "text") {
		all.push_back(std::make_unique<Text>());
		r = a ? paint(&c) : preview(*all[0], &c);
	} else if (bug == "image") {
		auto i = std::make_unique<Image>();
		i->data = (unsigned char *)&c;
		i->offset = 1L << 46;
		all.push_back(std::move(i));
		r = a ? paint(&c) : preview(*all[0], &c);
	} else if (bug == "gap") {
		Corner one, two;
		two.next = &one;
		r = a ? one.gap() : two.gap() + one.gap();
	} else if (bug == "null") {
		all.clear();
		r = a ? one(*(Shape *)nullptr) : preview(*(Shape *)nullptr, &c);
	}
	printf("%f\n", r);
}
