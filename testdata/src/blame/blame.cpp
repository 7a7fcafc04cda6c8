// Ways to use a bad object in C++.
#include <cstdlib>
#include <cstring>
#include <memory>
#ifdef __clang__
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noinline, noclone))
#endif

static volatile long sink;

struct Shape {
	virtual long area() const { return sink; }
	virtual long corners() const { return 4; }
	long colour = 1;
	Shape *inner = nullptr;
};

struct Square : Shape {
	long side = 2;
	long area() const override { return side * side; }
	NOINLINE long getSide() const { return side + sink; }
	NOINLINE Shape *parent() const { return inner; }
};

struct Scene {
	Square *current = nullptr;
	Shape *shapes[3] = {};
	NOINLINE long sum();
	NOINLINE long sides();
	NOINLINE long virtualSum();
};

// current is null, and this is null in getSide.
NOINLINE long Scene::sides() {
	long v = current->getSide();
	sink = sink + v;
	return v;
}

// parent returns null; the call of area finds its table of functions by it.
NOINLINE long Scene::sum() {
	Shape *parent = current->parent();
	return parent->area() + 1;
}

// The vtable pointer of shapes[1] was written over.
NOINLINE long Scene::virtualSum() { return shapes[1]->corners() + 1; }

// A reference to null.
NOINLINE static long colourOf(const Shape &shape) { return shape.colour + sink; }
NOINLINE static long wayReference(Scene &scene) {
	long v = colourOf(*scene.shapes[0]);
	sink = sink + v;
	return v;
}

// A smart pointer that is empty.
struct Leave {
	void operator()(Shape *) const {}
};
struct Holder {
	long filler;
	std::unique_ptr<Shape, Leave> shape;
};
NOINLINE static long waySmart(Holder &holder) { return holder.shape->colour + sink; }

static char squareMemory[2][sizeof(Square)];

int main(int argc, char **argv) {
	Scene scene;
	const char *way = argc > 1 ? argv[1] : "";
	__asm__ volatile("" : "+r"(way));
	if (!std::strcmp(way, "this"))
		return scene.sides();
	scene.current = new (squareMemory[0]) Square;
	if (!std::strcmp(way, "virtual"))
		return scene.sum();
	scene.shapes[1] = new (squareMemory[1]) Square;
	if (!std::strcmp(way, "vtable")) {
		std::memset((void *)scene.shapes[1], 0xdd, sizeof(Square));
		return scene.virtualSum();
	}
	if (!std::strcmp(way, "reference"))
		return wayReference(scene);
	Holder holder;
	if (!std::strcmp(way, "smart"))
		return waySmart(holder);
	return 0;
}
