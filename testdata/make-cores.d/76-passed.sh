# What callers know of their callees' parameters, and what signals saved.

make_passed-O2() { simple passed -O2 -g; }
