// Package lua finds Lua 5.1 to 5.4 and LuaJIT 2.1 in a process: the functions that its virtual machine runs, in the native stack, with files, lines,
// arguments and variables; coroutines, and the error that nobody caught.
//
// Offsets come from layouts.txt, which testdata/layouts.sh makes of Lua's sources. A state of Lua is what native frames carry in their
// registers or on their stack; its global state leads to the main thread, which leads back. Nothing is believed before that.
//
// LuaJIT has the same values, functions and coroutines, laid out otherwise: the files jit_*.go read those. jitlayouts.txt has its layouts, of which memory
// says which it is.
package lua
