package shell

import (
	"context"
	"fmt"
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
		if v, ok := sh.ofDebugger(name); ok {
			return v, true
		}
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

// ofDebugger is what gdb itself has in variables: $_thread is the number of the thread in info threads, $_inferior that of the only process.
func (sh *Shell) ofDebugger(name string) (v session.Variable, ok bool) {
	expr := ""
	switch name {
	case "_inferior":
		expr = "1"
	case "_thread", "_gthread":
		list, err := sh.s.Threads(context.Background())
		if err != nil || !sh.has {
			return v, false
		}
		for i := range list {
			if list[i].ID == sh.stack.ID {
				expr = strconv.Itoa(i + 1)
			}
		}
	}
	if expr == "" {
		return v, false
	}
	v, err := sh.value(context.Background(), expr)
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
