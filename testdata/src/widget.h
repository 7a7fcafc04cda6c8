// A class that only widget.cpp defines in its debug information: clang describes
// a class with virtual functions where the first of them is.
class widget {
public:
	widget(int width, int height) : width(width), height(height) {}
	virtual int area();
	int width, height;
};

struct handle; // known to widget.cpp only

struct handle *open_handle();
int draw(widget &w, handle *h, handle &same, int *where);
