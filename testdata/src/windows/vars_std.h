// Stand-ins with the names and members of containers of Microsoft's C++ library.
#include <stddef.h>
namespace std {

template <class T> struct allocator {};
template <class A, class V> struct _Compressed_pair : A { V _Myval2; };
template <class T> struct _String_val {
	union _Bxty {
		T _Buf[16 / sizeof(T)];
		T *_Ptr;
		char _Alias[16 / sizeof(T)];
	} _Bx;
	size_t _Mysize, _Myres;
};
template <class T> struct basic_string { _Compressed_pair<allocator<T>, _String_val<T>> _Mypair; };
template <class T> struct basic_string_view { const T *_Mydata; size_t _Mysize; };
template <class T> struct _Vector_val { T *_Myfirst, *_Mylast, *_Myend; };
template <class T, class A = allocator<T>> struct vector { _Compressed_pair<A, _Vector_val<T>> _Mypair; };
template <class T> struct _List_node { _List_node *_Next, *_Prev; T _Myval; };
template <class T> struct _List_val { _List_node<T> *_Myhead; size_t _Mysize; };
template <class T> struct list { _Compressed_pair<allocator<T>, _List_val<T>> _Mypair; };
template <class A, class B> struct pair { A first; B second; };
template <class T> struct _Tree_node { _Tree_node *_Left, *_Parent, *_Right; char _Color, _Isnil; T _Myval; };
template <class T> struct _Tree_val { _Tree_node<T> *_Myhead; size_t _Mysize; };
template <class T> struct less {};
template <class T> struct _Tree { _Compressed_pair<less<T>, _Compressed_pair<allocator<T>, _Tree_val<T>>> _Mypair; };
template <class K, class V> struct map : _Tree<pair<K, V>> {};
template <class T> struct default_delete {};
template <class T> struct unique_ptr { _Compressed_pair<default_delete<T>, T *> _Mypair; };
struct _Ref_count_base {
	virtual void _Destroy() {}
	unsigned long _Uses, _Weaks;
};
template <class T> struct _Ptr_base { T *_Ptr; _Ref_count_base *_Rep; };
template <class T> struct shared_ptr : _Ptr_base<T> {};
template <class T> struct _Optional_destruct_base {
	union {
		char _Dummy;
		T _Value;
	};
	bool _Has_value;
};
template <class T> struct optional : _Optional_destruct_base<T> {};
template <class T, size_t N> struct array { T _Elems[N]; };
template <class T> struct _Deque_val { T **_Map; size_t _Mapsize, _Myoff, _Mysize; };
template <class T> struct deque { _Compressed_pair<allocator<T>, _Deque_val<T>> _Mypair; };
template <class T> struct _Tuple_val { T _Val; };
template <class... T> struct tuple;
template <> struct tuple<> {};
template <class T, class... R> struct tuple<T, R...> : tuple<R...> { _Tuple_val<T> _Myfirst; };

} // namespace std
