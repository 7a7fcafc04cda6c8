package systemtest

import "testing"

// TestGoRefused: of what Go's runtime refuses the cause names the variable: a shift's amount, a length, a slice that is too short, an interface of another
// type, a channel that is closed, a map that is nil. A panic of the program with the same words has none.
func TestGoRefused(t *testing.T) {
	t.Parallel()
	const shiftLost = `by = -6, argument of main\.shift at main\.go:\d+; passed by main\.numbers` // code that is not optimised still has it
	tests := []struct {
		way, n, cause string
		less          map[string]string // by build: where less is known
	}{
		{way: "shift", n: "-3", cause: `by = -3, argument of main\.shift at main\.go:\d+; passed as n by main\.numbers`},
		{way: "shiftLost", n: "-3", cause: `by is below 0, in main\.shift$`, less: map[string]string{"local": shiftLost, "go1.20.14": shiftLost, "go1.24.9": shiftLost, "local386": shiftLost}},
		{way: "shiftField", n: "-3", cause: `j\.bits = -3, read by main\.shiftField`},
		{way: "shiftRight", n: "-3", cause: `by = -3, argument of main\.shiftRight at main\.go:\d+; passed as n by main\.numbers at main\.go:\d+($|; (passed|set))`, less: map[string]string{"local-optimisedarm64": ""}},
		{way: "alloc", n: "-3", cause: `n = -3, argument of main\.alloc at main\.go:\d+; passed as n by main\.numbers`},
		{way: "alloc", n: "1000000000000000000", cause: `n = (1000000000000000000|2147483647), argument of main\.alloc`},
		{way: "allocCap", n: "4", cause: `most = 4, argument of main\.allocCap`},
		{way: "allocField", n: "-3", cause: `j\.size = -3, read by main\.allocField`},
		{way: "channel", n: "-3", cause: `n = -3, argument of main\.channel`},
		{way: "convert", n: "0", cause: `len\(body\) = 3, in main\.convert$`},
		{way: "convertField", n: "0", cause: `len\(j\.body\) = 3, in main\.convertField$`},
		{way: "concrete", n: "0", cause: `v is string, not int, in main\.concrete$`},
		{way: "nilConcrete", n: "0", cause: `v is nil, not int, in main\.concrete$`},
		{way: "ofField", n: "0", cause: `j\.input is float64, not string, in main\.ofField$`},
		{way: "ofMethods", n: "0", cause: `s is main\.other, not main\.label, in main\.ofMethods$`},
		{way: "ofNil", n: "0", cause: `s is nil, not main\.label, in main\.ofMethods$`},
		{way: "methods", n: "0", cause: `v is int, not io\.Reader, missing method Read, in main\.methods$`},
		{way: "methodsField", n: "0", cause: `j\.input is float64, not io\.Reader, missing method Read, in main\.methodsField$`},
		{way: "narrower", n: "0", cause: `s is main\.label, not io\.Writer, missing method Write, in main\.narrower$`},
		{way: "selectsOther", n: "0", cause: `other is closed, in main\.selects$`, less: map[string]string{"local": ""}},
		{way: "selects", n: "0", cause: `j\.out is closed, in main\.selects$`, less: map[string]string{"local": ""}},
		{way: "selectsBoth", n: "0"},
		{way: "tries", n: "0", cause: `c is closed, in main\.tries$`},
		{way: "closesTwice", n: "0", cause: `j\.out is closed, in main\.closesTwice$`},
		{way: "assign", n: "0", cause: `j\.seen = nil in main\.assign$`},
		{way: "assignGlobal", n: "0", cause: `main\.seen = nil in main\.assignGlobal$`},
		{way: "assignArgument", n: "0", cause: `m = nil in main\.assignArgument$`},
		{way: "shiftSince", n: "-3"}, // what the variable has now is not what was refused
		{way: "allocSince", n: "-3"},
		{way: "convertSince", n: "0"},
		{way: "saysShift", n: "-3"},
		{way: "saysConversion", n: "0"},
	}
	for _, g := range goEverywhere(t) {
		t.Run(g.name(), func(t *testing.T) {
			t.Parallel()
			run := goRun(t, "go-refused", g)
			for _, c := range tests {
				want := c.cause
				if less, ok := c.less[g.name()]; ok {
					want = less
				}
				goCauses(t, run, want, c.way, c.n)
			}
		})
	}
}
