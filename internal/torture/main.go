// Command torture damages inputs of every kind and makes whole reports of them, as a service that
// strangers send dumps to would. No input may panic, take more than 5 s of processor time or allocate
// more than 1 GiB.
//
//	go run ./internal/torture [flags]
//
// A driver starts worker processes, which do the work and may die. A worker damages a fixture in
// memory or in a temporary directory: bytes, and fields whose place and meaning it knows. Inputs that
// reach new code become seeds for others. What fails is kept, and -replay repeats it.
package main

import (
	"flag"
	"fmt"
	"os"
	"time"
)

// What one input may cost. Time is that of the processor, so that a busy machine changes nothing. countingCosts times as much is
// allowed with -cover: where a loop is short, its counters take nearly all of the time (a stack of 250,000 frames 3.6 s, and with them 26 s).
const (
	limitTime     = 5 * time.Second
	countingCosts = 8
	limitAllocs   = 1 << 30 // bytes allocated, used or not
	limitOutput   = 1 << 28 // bytes written, in up to six formats
	// Then the worker ends itself: so much later than limitTime, and so on.
	killAfter  = 15 * time.Second
	killWall   = 2 * time.Minute
	killMemory = 3 << 30
	maxStack   = 256 << 20
)

type options struct {
	n       int
	seconds int
	seed    uint64
	kind    string
	jobs    int
	keep    string
	corpus  string
	replay  string
	export  string
	cover   bool
	figures string
	cuts    bool
	// Of workers:
	worker int // number from 1; 0 in the driver
	first  int // first burst
}

func main() {
	var o options
	flag.IntVar(&o.n, "n", 0, "end after `n` inputs; 0 for no limit")
	flag.IntVar(&o.seconds, "seconds", 0, "end after this time, spread over all kinds; 0 for no limit")
	flag.Uint64Var(&o.seed, "seed", 1, "which inputs")
	flag.StringVar(&o.kind, "kind", "", "only these `kinds`, separated by commas; empty for all")
	flag.IntVar(&o.jobs, "j", 1, "worker processes")
	flag.StringVar(&o.keep, "keep", "", "`directory` for inputs that fail; empty for one in the temporary directory")
	flag.StringVar(&o.corpus, "corpus", "", "`directory` where seeds are kept from run to run; empty for none")
	flag.StringVar(&o.replay, "replay", "", "repeat the input in a `file` that -keep wrote")
	flag.StringVar(&o.export, "export", "", "with -replay: write the damaged file to this `path` instead")
	flag.BoolVar(&o.cover, "cover", true, "let new code that inputs reach guide what comes next; half as fast")
	flag.StringVar(&o.figures, "figures", "", "`file` where the figures of several runs add up; empty for none")
	flag.BoolVar(&o.cuts, "cuts", false, "cut every fixture at 500 lengths, once, and end")
	flag.IntVar(&o.worker, "worker", 0, "for the driver's use")
	flag.IntVar(&o.first, "first", 0, "for the driver's use")
	flag.Parse()
	var err error
	switch {
	case flag.NArg() > 0:
		err = fmt.Errorf("unexpected argument %q", flag.Arg(0))
	case o.replay != "":
		err = replay(o)
	case o.worker > 0:
		err = work(o)
	default:
		err = drive(o)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "torture:", err)
		os.Exit(1)
	}
}
