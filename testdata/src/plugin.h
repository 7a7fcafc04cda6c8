// What libshapes.so offers.
typedef int (*shapes_filter)(const int *);
int shapes_area(const int *side, shapes_filter f);
