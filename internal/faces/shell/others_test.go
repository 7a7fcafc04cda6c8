package shell_test

import (
	"strings"
	"testing"
)

func (p typist) nothing(line string) {
	p.t.Helper()
	if got, err := p.types(line); err != nil || got != "" {
		p.t.Errorf("%s: %.200q, %v, want nothing", line, got, err)
	}
}

// Commands that are others without what these show.
func TestSilent(t *testing.T) {
	p := at(t, "amd64-vars-c-O0")
	p.nothing("select-frame 2")
	p.wants("frame", "#2  records")
	p.nothing("up-silently")
	p.wants("frame", "#3  numbers")
	p.nothing("down-silently 2")
	p.wants("frame", "#1  arrays")
	p.nothing("select-frame function main")
	p.wants("frame", "#4  main")
	p.fails("select-frame 99", "no frame 99")
	p.fails("down-silently 9", "the youngest frame")
	p.fails("up-silently x", `"x" is not a number`)
	p.wants("frame", "#4  main") // that a command failed takes nothing away: output is shown again
	p.wants("display argc", "argc = 1")
	p.wants("delete display 1", "")
	p.wants("info display", "")
	p.fails("delete display 1", "no expression with the number 1")
	p.fails("delete 1", "nothing runs, so nothing stops")

	got, err := p.types("faas p sum") // two of the frames have one
	if err != nil || strings.Count(got, " = ") < 2 || !strings.Contains(got, "#2  records") || strings.Contains(got, "#0  stop") || strings.Contains(got, "no variable") {
		t.Errorf("faas: %v, %s", err, got)
	}
	got, err = p.types("frame apply all p sum")
	if err != nil || !strings.Contains(got, "#0  stop") || !strings.Contains(got, "no variable is called sum") {
		t.Errorf("frame apply all: %v, %s", err, got)
	}
	p.wants("frame", "#4  main")
	p.nothing("faas p no_such")
	p.nothing("taas p no_such")
	p.wants("taas p $_thread", "= 1")
	p.fails("faas", "a command is missing")
	p.fails("taas", "a command is missing")
	p.fails("frame apply all -s", "a command is missing")
	p.wants("faas up", "#0  stop") // under its own heading, wherever the command goes
}

// The help of commands, by words and by their beginnings.
func TestApropos(t *testing.T) {
	p := at(t, "amd64-vars-c-O0")
	p.wants("apropos MEMORY", "dump memory FILE")
	p.wants("apropos the kernel told", "info auxv")
	if got, err := p.types("apropos goroutine"); err != nil || strings.Contains(got, "ptype") {
		t.Errorf("%v, %s", err, got)
	}
	p.fails("apropos", "the word is missing")
	p.fails("apropos no such word", `no command's explanation has "no such word"`)
	p.nothing("select-frame 2")
	p.wants("complete p hi", "p hidden\n")
	p.wants("complete down-s", "down-silently\n")
	p.nothing("complete p no_such")
}

// What info shows of a part of what there is, and that it takes no argument that it does not understand.
func TestInfoArguments(t *testing.T) {
	p := at(t, "amd64-vars-c-O0")
	p.wants("info auxv", "AT_PAGESZ             4096 ")
	p.wants("info auxv", `"/opt/corewalk-fixtures/vars-c-O0/vars"`)
	p.wants("info auxv", `"x86_64"`)
	p.wants("info auxv", "AT_ENTRY              0x5")
	p.fails("info auxv 3", `info auxv has no arguments: "3" is not understood`)
	p.fails("info threads 1", `info threads has no arguments: "1" is not understood`)
	p.fails("info display x", `"x" is not understood`)

	p.wants("frame 1", "arrays")
	p.wants("info frame 3", "#3  numbers")
	p.wants("info frame", "#1  arrays") // it is another one's place, not where the shell goes
	p.wants("info frame function main", "#4  main")
	p.fails("info frame 77", "no frame 77")
	p.fails("info frame main", `"main" is not a number`)
	p.wants("info frame", "#1  arrays")
	p.wants("info stack 1", "#0  stop")

	got, err := p.types("info sharedlibrary libc")
	if err != nil || !strings.Contains(got, "/libc.so.6") || strings.Contains(got, "ld-linux") {
		t.Errorf("%v, %s", err, got)
	}
	p.wants("info sharedlibrary", "ld-linux")
	p.fails("info sharedlibrary no_such", "has a path that matches no_such")
	p.fails("info sharedlibrary (", "the pattern")
	p.wants("info functions -q ^records$", "records")
	p.wants("info variables -n -- ^total$", "total")
	p.fails("info functions -t int", "the option -t is not known")
	p.fails("info types -x", "the option -x is not known")

	p = at(t, "i386-go-stripped") // other names of hardware, and no variables to evaluate with
	p.wants("info auxv", "AT_PAGESZ")
}

// $_ and $__ are what x showed last, $_thread where the shell is, and p alone shows the last value again.
func TestOwnVariables(t *testing.T) {
	p := at(t, "amd64-vars-c-O0")
	p.wants("frame 1", "arrays")
	p.fails("p", "an expression is missing")
	p.fails("output", "an expression is missing")
	p.fails("p $_", "no convenience variable")
	p.wants("x/3dw plain", "1\t2\t3")
	p.wants("p *$_", "$1 = 3")
	p.wants("p $__ + 4", "$2 = 7")
	p.wants("p $_ == &plain[2]", "true")
	p.wants("p $_ + 1 == &plain[3]", "true")
	p.wants("x/2xb &plain[4]", "0x05\t0x00")
	p.wants("p sizeof(*$_)", " = 1")
	p.wants("p plain[1]", "$6 = 2")
	p.wants("p", "$7 = 2")
	p.wants("p/t", "$8 = 10")
	p.fails("output", "an expression is missing")
	p.fails("x/x 0", "no memory at 0x0")
	p.fails("p $__", "no convenience variable") // it is not what was shown before
	p.wants("p $_inferior", " = 1")
	p.wants("p $_thread + $_gthread", " = 2")
	p.wants("x/xw plain + $_thread", "0x00000002")
	p.wants("ptype $_thread", "int")
	p.wants("ptype $2", "int")
	p.wants("whatis $2", "int")
	p.wants(`printf "%d", $_thread`, "1")
	p.fails("set $_thread = 4", "which thread and frame change")

	p = at(t, "amd64-threads")
	p.wants("thread 2", "")
	p.wants("p $_thread", " = 2")
	p.wants("thread apply all p $_thread", " = 3")
}

// Numbers of any size and elements of any language are written in a format.
func TestFormatsOfLanguages(t *testing.T) {
	p := at(t, "amd64-vars-rust-O0")
	p.wants("frame 3", "")
	p.wants("p/x array", "[0x")
	p.wants("p/c byte", " = 200 '\\310'") // u8 has no sign
	p.wants("p/x byte as i8 as i32", "0xffffffc8")
}
