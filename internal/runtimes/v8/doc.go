// Package v8 walks and names the frames of V8, the engine of Node: interpreted functions, those of its
// compilers with what is inlined into them, its built-in functions.
//
// V8 publishes variables whose names begin with v8dbg_: offsets, types of objects, markers of frames. They are in the
// symbols of the program that has V8 in it, and make V8 known. What they leave out comes from layouts.txt, by V8's
// version. An object is believed only if its map, and the map of that, say that it is what it should be.
//
// Objects have addresses whose low bits are 01, weak references 11; small integers are in the upper half of a word
// whose lower half is 0. V8 with compressed pointers is refused.
package v8
