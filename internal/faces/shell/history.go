package shell

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/session"
)

// maxHistory is how many values are kept that were printed: the oldest are forgotten.
const maxHistory = 1000

// remember keeps a value that is printed, as $N.
func (sh *Shell) remember(v *session.Variable) {
	if len(sh.history) >= maxHistory {
		sh.history = append(sh.history[:0:0], sh.history[maxHistory/4:]...)
	}
	sh.printed++
	sh.history = append(sh.history, *v)
}

// convenience is what "$" and a name stand for: $ and $$ are the last values that were printed, $1 the first, $$2 the last but two, $name what set made it.
func (sh *Shell) convenience(name string) (session.Variable, bool) {
	back := 0 // from the last
	switch {
	case name == "":
	case name[0] == '$':
		back = 1
		if name != "$" {
			n, err := strconv.Atoi(name[1:])
			if err != nil {
				return session.Variable{}, false
			}
			back = n
		}
	case name[0] >= '0' && name[0] <= '9':
		n, err := strconv.Atoi(name)
		if err != nil || n < 1 {
			return session.Variable{}, false
		}
		back = sh.printed - n
	default:
		v, ok := sh.made[name]
		return v, ok
	}
	at := len(sh.history) - 1 - back
	if back < 0 || at < 0 {
		return session.Variable{}, false
	}
	return sh.history[at], true
}

// lastAddress makes $_ the last address that was shown, and $__ what is there, as gdb does.
func (sh *Shell) lastAddress(ctx context.Context, addr uint64, unit, count int, format byte) {
	typ := map[int]string{1: "int8", 2: "int16", 4: "int32", 8: "int64"}[unit]
	switch format {
	case 'i', 's':
		typ = "uint8"
	default:
		addr += uint64((count - 1) * unit)
	}
	for name, expr := range map[string]string{"_": "(%s *)%d", "__": "*(%s *)%d"} {
		delete(sh.made, name)
		v, err := sh.value(ctx, fmt.Sprintf(expr, typ, addr))
		if err != nil || v.Status != report.StatusSuccess {
			continue
		}
		if sh.made == nil {
			sh.made = map[string]session.Variable{}
		}
		sh.made[name] = v
	}
}

// dollars supplies the convenience variables of an expression. What gdb itself has in some is found first: the session
// answers one question at a time.
func (sh *Shell) dollars(ctx context.Context, expr string) session.Convenience {
	var own map[string]session.Variable
	for _, name := range ownVariables {
		if !strings.Contains(expr, "$"+name) {
			continue
		}
		if v, ok := sh.ofDebugger(ctx, name); ok {
			if own == nil {
				own = map[string]session.Variable{}
			}
			own[name] = v
		}
	}
	return func(name string) (session.Variable, bool) {
		if v, ok := own[name]; ok {
			return v, true
		}
		return sh.convenience(name)
	}
}

// ownVariables are those that gdb itself sets: the number of the thread in info threads, twice, and that of the only process.
var ownVariables = [...]string{"_thread", "_gthread", "_inferior"}

// ofDebugger returns one of them; false if it has no value.
func (sh *Shell) ofDebugger(ctx context.Context, name string) (v session.Variable, ok bool) {
	n := 1
	if name != "_inferior" {
		list, err := sh.s.Threads(ctx)
		if err != nil || !sh.has {
			return v, false
		}
		n = 1 + slices.IndexFunc(list, func(st session.Stack) bool { return st.ID == sh.stack.ID })
	}
	if n == 0 { // a task that no thread runs
		return v, false
	}
	v, err := sh.s.Evaluate(ctx, sh.frame.ID, strconv.Itoa(n))
	return v, err == nil
}

// maxVariables is how many variables set makes.
const maxVariables = 1000

// assign is set $NAME = EXPR, which changes nothing of the process.
func (sh *Shell) assign(ctx context.Context, name, expr string) error {
	name = strings.TrimSpace(name)
	if name == "" || strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") != "" || name[0] >= '0' && name[0] <= '9' {
		return fmt.Errorf("$%s is no name for a variable", name)
	}
	if _, ok := sh.s.Target().ProcessState().Arch().RegByName(name); ok || name == "pc" || name == "sp" || name == "fp" {
		return fmt.Errorf("$%s is a register of the process, which is only read", name)
	}
	if slices.Contains(ownVariables[:], name) {
		return fmt.Errorf("$%s is where the shell is, which thread and frame change", name)
	}
	v, err := sh.value(ctx, strings.TrimSpace(expr))
	if err != nil {
		return err
	}
	if sh.made == nil {
		sh.made = map[string]session.Variable{}
	}
	if _, ok := sh.made[name]; !ok && len(sh.made) >= maxVariables {
		return fmt.Errorf("there are %d variables: no more are made", maxVariables)
	}
	sh.made[name] = v
	return nil
}
