// boxes: a caption runs over the virtual functions of the next element of an array, before which new[] keeps the number of them.
#include <cstring>

class Shape {
public:
	virtual double area() const = 0;
	virtual ~Shape() {}
	char text[24];
	double w = 2;
};

class Box : public Shape {
public:
	double area() const override { return w * w; }
};

class Canvas {
	Box *boxes;

public:
	explicit Canvas(int n) : boxes(new Box[n]) {}
	void name(int i, const char *s) { std::strcpy(boxes[i].text, s); }
	__attribute__((noinline)) double total(int i) const
	{
		Shape *s = &boxes[i];
		return s->area();
	}
};

int main()
{
	Canvas *c = new Canvas(6);
	c->name(3, "a living room with a view of the seaside");
	return c->total(4) > 1;
}
