package analysis

import (
	"strings"

	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/unwind/arch"
)

// goArguments are panics and fatal errors of Go's runtime about an argument of a function of the runtime, and what is said of it.
func goArgument(value string) (is func(string) bool, argument int, text string) {
	prefixed := func(prefixes ...string) func(string) bool {
		return func(f string) bool {
			for _, p := range prefixes {
				if strings.HasPrefix(f, p) {
					return true
				}
			}
			return false
		}
	}
	switch value {
	case "send on closed channel":
		return prefixed("runtime.chansend", "runtime.selectnbsend"), 0, " is closed"
	case "close of closed channel":
		return prefixed("runtime.closechan"), 0, " is closed"
	case "close of nil channel":
		return prefixed("runtime.closechan"), 0, " = nil"
	case "concurrent map writes", "concurrent map read and map write":
		return prefixed("runtime.mapassign", "runtime.mapaccess", "runtime.mapdelete", "runtime.mapclear", "internal/runtime/maps."), goMapArgument, ", a map that another goroutine writes to"
	}
	return nil, 0, ""
}

// goNamed says of such a panic which variable it was about.
func (c *crash) goNamed() []report.Cause { return c.known.goNamed.of(c.findGoNamed) }

func (c *crash) findGoNamed() []report.Cause {
	w := c.words()
	if w.told != asReason || w.Fault != nil || w.Panic == nil || c.Variables == nil || c.opts.NoBlame {
		return nil
	}
	is, argument, text := goArgument(w.Panic.Value)
	if is == nil {
		return nil
	}
	t, caller := c.askedRuntime(is)
	if t == nil {
		return nil
	}
	defer t.close()
	var n named
	if argument == goMapArgument {
		n = caller.goMap(caller.state.PC, 0)
	} else if len(caller.abi.Args) > argument {
		n = caller.name(caller.code.Argument(caller.state.PC, argument), caller.state.PC, caller.abi.Args[argument], 0)
	} else {
		n = caller.name(caller.code.Argument(caller.state.PC, argument), caller.state.PC, arch.NoReg, 0)
	}
	if n.text == "" {
		return nil
	}
	return []report.Cause{{Text: sourceWords(n.text) + text + ", in " + caller.call.Name, Confidence: report.Likely}}
}
