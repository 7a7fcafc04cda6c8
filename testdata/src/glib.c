// Containers of GLib, good and damaged ones (libglib2.0-dev). With PRIVATE the debugging
// information has the hash table, as that of the library itself does. The program ends in
// glib_strangers.c.
#include <glib.h>

#ifdef PRIVATE
struct _GHashTable {
	gsize size;
	gint mod;
	guint mask;
	guint nnodes;
	guint noccupied;
	guint have_big_keys : 1;
	guint have_big_values : 1;
	gpointer keys;
	guint *hashes;
	gpointer values;
	GHashFunc hash_func;
};
#endif

// The library is not shipped: so the symbol of its function is that of this one.
guint g_str_hash(gconstpointer text) { return *(const char *)text; }

void strangers(int n);

int main(int argc, char **argv)
{
	GList *list = NULL, *none = NULL, *loop, *torn;
	GSList *single = NULL;
	list = g_list_append(list, "one");
	list = g_list_append(list, "tw");
	list = g_list_append(list, GINT_TO_POINTER(3));
	single = g_slist_append(single, "first");
	loop = g_list_append(g_list_append(NULL, "here"), "there");
	loop->next->next = loop;
	torn = g_list_append(g_list_append(NULL, "left"), "right");
	torn->next->prev = list;
	GString *string = g_string_new("hello");
	GHashTable *table = g_hash_table_new(g_str_hash, g_str_equal);
	g_hash_table_insert(table, "k", "value");
	GHashTable *numbers = g_hash_table_new(g_direct_hash, g_direct_equal);
	for (int i = 1; i < 9; i++)
		g_hash_table_insert(numbers, GINT_TO_POINTER(i), GINT_TO_POINTER(i * i));
	g_hash_table_remove(numbers, GINT_TO_POINTER(5));
	GHashTable *set = g_hash_table_new(g_direct_hash, g_direct_equal), *empty = g_hash_table_new(NULL, NULL);
	g_hash_table_add(set, GINT_TO_POINTER(7));
	GArray *array = g_array_new(FALSE, FALSE, sizeof(int));
	g_array_append_val(array, argc);
	GPtrArray *pointers = g_ptr_array_new();
	g_ptr_array_add(pointers, "pointed");
	g_ptr_array_add(pointers, NULL);
	GByteArray *bytes = g_byte_array_append(g_byte_array_new(), (const guint8 *)"abc", 3);
	GError *error = g_error_new(g_quark_from_static_string("my-domain"), -4, "it broke: %d", 9);
	GQueue queue = G_QUEUE_INIT;
	g_queue_push_tail(&queue, "queued");
	strangers(argc);
	return 0;
}
