package livestate

// A selfContext is the machine's state in a function that capture was called from,
// as far as Go keeps it over calls. The assembly knows its layout.
type selfContext struct {
	//lint:ignore U1000 the assembly writes it
	sp    uintptr // in capture, without what it takes itself
	fp    uintptr // the frame pointer there, of its caller
	g     uintptr // the register that holds the goroutine
	start uintptr // of the stack bytes that were wanted
	//lint:ignore U1000 the assembly writes it
	end uintptr // of the goroutine's stack
}

// maxSelfStack bounds the copy of a goroutine's stack, in bytes: a quarter of what
// Go lets one grow to. Of a deeper one the youngest frames are copied.
const maxSelfStack = 256 << 20
