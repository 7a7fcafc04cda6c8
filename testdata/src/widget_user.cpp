// A program whose types are described in the debug information of a library.
//
// Built with clang, which describes classes in one place only. Expected stack:
//   draw (in libwidget.so), use, main
// In use, w is a widget {width = 3, height = 4}, h refers to a handle {7, "seven"}.
#include "widget.h"

static int use(int *where)
{
	widget w(3, 4);
	handle &h = *open_handle();

	return draw(w, &h, h, where);
}

int main()
{
	return use(nullptr);
}
