// Structs with the names of GLib's and other members.
struct _GList {
	int data;
	struct _GList *next, *prev;
};
struct _GSList {
	struct _GSList *next;
	void *data;
};
struct _GString {
	char *str;
	unsigned len;
};
struct _GError {
	long domain;
	int code;
	char *message;
};
struct _GPtrArray {
	void **data;
	unsigned len;
};

void strangers(int n)
{
	struct _GList list = {n, &list, &list}, *first = &list;
	struct _GSList single = {0, "data"}, *head = &single;
	struct _GString string = {"text", 4}, *text = &string;
	struct _GError error = {n, 2, "no"}, *failed = &error;
	struct _GPtrArray array = {0, 0}, *pointers = &array;
	*(volatile int *)0 = n;
}
