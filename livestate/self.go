package livestate

// A selfContext is the machine's state in the function that called capture, as far as
// Go keeps it over calls. The assembly depends on its layout.
type selfContext struct {
	//lint:ignore U1000 the assembly writes it
	sp    uintptr // in capture, without what capture itself takes
	fp    uintptr // the frame pointer there: that of its caller
	g     uintptr // the register that holds the goroutine
	start uintptr // the number of stack bytes wanted
	//lint:ignore U1000 the assembly writes it
	end uintptr // of the goroutine's stack
}

// maxSelfStack limits the copy of a goroutine's stack, in bytes: to a quarter of the
// size that Go allows. If the stack is deeper, the youngest frames are copied.
const maxSelfStack = 256 << 20
