// The library of widget_user.cpp.
#include "widget.h"

struct handle {
	int id;
	const char *name;
};

static handle only = {7, "seven"};

int widget::area() { return width * height; }

handle *open_handle() { return &only; }

int draw(widget &w, handle *h, handle &same, int *where)
{
	*where = w.area() + h->id + same.id;
	return *where;
}
