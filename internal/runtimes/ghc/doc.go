// Package ghc walks and names the frames of programs of Haskell that GHC compiled.
//
// Such code has a stack of its own in the heap: register Sp, which is rbp on x86-64, points to its youngest frame. A frame is a pointer to
// the code that goes on when it returns, and the words that this needs; how many there are says the info table right before that code.
// The stack pointer stays the same in all of it: StgRun has left room there for functions of C, and has its caller's registers above that.
// The last frame is stg_stop_thread; from there on the walk goes on in StgRun, at StgReturn, whose unwind tables know the rest, as GHC's own
// unwind rules say.
package ghc
