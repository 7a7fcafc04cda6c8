// set: unseen
// A scene of nodes that own their children and components, drawn by visitors; handles tell of nodes.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace scene {

struct Vec {
	double x = 0, y = 0;
	Vec operator+(const Vec &o) const { return {x + o.x, y + o.y}; }
	Vec &operator*=(double f) { x *= f; y *= f; return *this; }
};

class Component {
public:
	virtual ~Component() = default;
	virtual double cost() const = 0;
	virtual const char *kind() const { return "component"; }
};

struct Mesh : Component {
	std::vector<Vec> points;
	std::shared_ptr<Mesh> lower; // less detail
	double cost() const override { return double(points.size()) + (lower ? lower->cost() / 2 : 0); }
	const char *kind() const override { return "mesh"; }
};

struct Light : Component {
	double watts = 60;
	double cost() const override { return watts / 10; }
};

class Node {
public:
	explicit Node(std::string name, Node *parent = nullptr) : name_(std::move(name)), parent_(parent) {}

	Node &child(std::string name) {
		children_.push_back(std::make_unique<Node>(std::move(name), this));
		return *children_.back();
	}

	template <class T> T &attach() {
		auto c = std::make_unique<T>();
		T &r = *c;
		parts_.push_back(std::move(c));
		return r;
	}

	// Null if there is none.
	template <class T> T *get() const {
		for (auto &p : parts_)
			if (auto *t = dynamic_cast<T *>(p.get()))
				return t;
		return nullptr;
	}

	Node *parent() const { return parent_; }
	void reparent(Node *p) { parent_ = p; }
	const std::string &name() const { return name_; }
	const Vec &place() const { return place_; }

	// bug: endless-world 2 (a node that is its own ancestor)
	Vec world() const { return parent_ ? parent_->world() + place_ : place_; }

	// bug: parent-of-root 2 (a root has no parent; sibling_count forgets it)
	std::size_t sibling_count() const { return parent_->children_.size() - 1; }

	template <class F> void each(F &&f) {
		f(*this);
		for (auto &c : children_)
			c->each(f);
	}

	double cost() const {
		double sum = 0;
		for (auto &p : parts_)
			sum += p->cost();
		for (auto &c : children_)
			sum += c->cost();
		return sum;
	}
	std::vector<std::unique_ptr<Component>> &parts() { return parts_; }

private:
	std::string name_;
	Node *parent_;
	Vec place_{1, 2};
	std::vector<std::unique_ptr<Node>> children_;
	std::vector<std::unique_ptr<Component>> parts_;
};

struct MissingNode : std::runtime_error {
	explicit MissingNode(const std::string &name) : std::runtime_error("no node called " + name) {}
};

class Scene {
public:
	Scene() : root_("root") {}
	Node &root() { return root_; }

	// bug: missing-node 2 (select and move_to give names that may be missing and catch nothing)
	Node &find(std::string_view name) {
		Node *found = nullptr;
		root_.each([&](Node &n) { if (n.name() == name) found = &n; });
		if (!found)
			throw MissingNode(std::string(name));
		return *found;
	}

	void on(const std::string &event, std::function<void(Node &)> f) { handlers_[event] = std::move(f); }

	// bug: no-handler 2 (an event that nobody listens to)
	void fire(const std::string &event, Node &n) { handlers_[event](n); }

private:
	Node root_;
	std::map<std::string, std::function<void(Node &)>> handlers_;
};

std::size_t select(Scene &s, const std::vector<std::string> &names) {
	std::size_t n = 0;
	for (auto &name : names)
		n += s.find(name).name().size();
	return n;
}

Vec move_to(Scene &s, std::string_view name, Vec by) {
	Vec v = s.find(name).place();
	v *= 2;
	return v + by;
}

void click(Scene &s, double x) {
	if (x > 1)
		s.fire("click", s.root());
	std::puts("clicked");
}

void tick(Scene &s, int frames) {
	while (frames-- > 0)
		s.root().each([&](Node &n) { s.fire("tick", n); });
}

std::size_t layout(Node &n) { return n.sibling_count() * 3; }

double spread(Node &n, double width) {
	std::size_t c = n.sibling_count();
	return c ? width / double(c) : width;
}

Vec center(const Node &n) {
	Vec v = n.world();
	v *= 0.5;
	return v;
}

// Calls must give a mesh.
double detail(const Mesh *m) {
	double d = 0;
	for (const Vec &v : m->points)
		d += v.x;
	return d / 2;
}

// bug: detail-of-light 1 (its mistake: the node has a light only)
double sort_key(const Node &n) { return detail(n.get<Mesh>()) + n.place().y; }

// bug: detail-of-lower 1 (another's mistake: no mesh of less detail)
double level(const Mesh &m, int wanted) {
	std::printf("level %d\n", wanted);
	return detail(m.lower.get()) * wanted;
}

// bug: empty-part 2 (parts may be empty after they were taken; total does not ask)
double total(Node &n) {
	double sum = 0;
	for (auto &p : n.parts())
		sum += p->cost();
	return sum;
}

std::unique_ptr<Component> take(Node &n, std::size_t i) { return std::move(n.parts().at(i)); }

double swap_parts(Node &from) {
	auto c = take(from, 0);
	return c->cost() - total(from);
}

double trim(Node &from, double limit) {
	take(from, 0).reset();
	return total(from) > limit ? 1 : 0;
}

// bug: part-number 2 (part numbers from a file, not checked: vector::at throws)
const char *kind_of(Node &n, std::size_t i) { return n.parts().at(i)->kind(); }

std::size_t describe(Node &n, const std::vector<std::size_t> &which) {
	std::size_t k = 0;
	for (std::size_t i : which)
		k += std::strlen(kind_of(n, i));
	return k;
}

using Value = std::variant<int, double, std::string>;

// bug: wrong-type 2 (a property of another type than asked for)
int integer(const std::map<std::string, Value> &properties, const std::string &key) {
	return std::get<int>(properties.at(key));
}

int width(const std::map<std::string, Value> &p) { return integer(p, "width") + 1; }

int area(const std::map<std::string, Value> &p) { return integer(p, "height") * integer(p, "width"); }

// bug: no-camera 1 (optional::value of nothing)
double zoom(const std::optional<double> &camera) { return camera.value() * 2; }

// bug: broken-invariant 2 (check throws an integer that nobody catches)
void check(bool ok, int code) {
	if (!ok)
		throw code;
}

double blend(double a, double b, double t) {
	check(t >= 0 && t <= 1, 17);
	return a * (1 - t) + b * t;
}

Vec lerp(Vec a, Vec b, double t) {
	a *= blend(1, 0, t);
	b *= t;
	return a + b;
}

} // namespace scene

int main(int argc, char **argv) {
	using namespace scene;
	const std::string bug = argc > 1 ? argv[1] : "";
	const bool a = argc < 3 || *argv[2] == 'a';
	Scene s;
	Node &n = s.root().child("lamp");
	n.attach<Light>();
	if (bug == "endless-world") {
		Node &m = n.child("wire");
		n.reparent(&m);
		double d = 0;
		if (a)
			d = center(m).x;
		else
			s.root().each([&](Node &k) { d += k.world().y; });
		return int(d);
	}
	if (bug == "parent-of-root")
		return a ? int(layout(s.root())) : int(spread(s.root(), argc));
	if (bug == "missing-node")
		return a ? int(select(s, {"lamp", "table"})) : int(move_to(s, "chair", {1, 1}).x);
	if (bug == "no-handler") {
		s.on("drag", [](Node &k) { std::puts(k.name().c_str()); });
		if (a)
			click(s, argc);
		else
			tick(s, argc);
	}
	if (bug == "detail-of-light")
		return int(sort_key(n));
	if (bug == "detail-of-lower")
		return int(level(n.attach<Mesh>(), argc));
	if (bug == "empty-part")
		return a ? int(swap_parts(n)) : int(trim(n, argc));
	if (bug == "part-number")
		return a ? int(describe(n, {0, 5})) : int(*kind_of(n, std::size_t(argc)));
	if (bug == "wrong-type") {
		std::map<std::string, Value> p{{"width", "wide"}, {"height", 2}};
		return a ? width(p) : area(p);
	}
	if (bug == "no-camera")
		return int(zoom(argc > 9 ? std::optional<double>(1) : std::nullopt));
	if (bug == "broken-invariant")
		return a ? int(blend(0, 1, argc)) : int(lerp({}, {1, 1}, -argc).x);
	return 0;
}
