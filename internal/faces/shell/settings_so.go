package shell

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/corewalk/corewalk/report"
)

// Settings that are so already, or are of what there is none of here, are taken without a word, as scripts make many of them. All others that change
// nothing say so.

// alreadySo are values of settings that answers here have anyway. A line begins with the setting; * is any value.
const alreadySo = `pagination off
confirm off
height 0 unlimited
width 0 unlimited
verbose off
logging off enabled=off
trace-commands off
language auto
charset auto UTF-8
host-charset auto UTF-8
case-sensitive auto on
auto-solib-add on
backtrace past-main=on past-entry=on
debuginfod enabled=off
disassembly-flavor intel
disassemble-next-line off
exec-file-mismatch off
architecture auto
endian auto
osabi auto
overload-resolution on
opaque-type-resolution on
max-value-size unlimited
print array=off array-indexes=off asm-demangle=on demangle=on entry-values=default entry-values=no entry-values=compact finish=on frame-arguments=all frame-info=auto frame-info=source-line inferior-events=off max-symbolic-offset=unlimited max-symbolic-offset=0 nibbles=off null-stop=off pascal_static-members=off raw-frame-arguments=off repeats=10 sevenbit-strings=off static-members=off symbol=on symbol-filename=off symbol-loading=off thread-events=off union=on vtbl=off
may-call-functions off
trust-readonly-sections off`

// ofGDB are settings of gdb's own workings, of its terminal, and of programs that run: no answer depends on them. Those of the second kind of programs that run
// say so.
const ofGDB = `auto-load complaints python guile style history editing line-editing prompt extended-prompt tui filename-display index-cache startup-quietly interactive-mode
 code-cache stack-cache dcache demangle-style suppress-cli-notifications max-completions mi-async can-use-hw-watchpoints debug data-directory multiple-symbols source`

// soAlready reports whether a setting asks for what is so, or for nothing that an answer depends on.
func soAlready(name, rest string) bool {
	for w := range strings.FieldsSeq(ofGDB) {
		if w == name {
			return true
		}
	}
	value := strings.Join(strings.Fields(rest), "=")
	bare, _, _ := strings.Cut(value, "=")
	for line := range strings.Lines(alreadySo) {
		words := strings.Fields(line)
		if words[0] != name {
			continue
		}
		for _, w := range words[1:] {
			if w == value || w == bare+"=on" && value == bare && name == "print" {
				return true
			}
		}
	}
	return false
}

// setRadix changes in which base print writes integers. Those of expressions are read as they are written.
func (sh *Shell) setRadix(name, value string) error {
	n, err := strconv.ParseInt(strings.TrimSpace(value), 0, 16)
	switch {
	case value == "" && name != "input-radix":
		n = 10
	case err != nil || n != 8 && n != 10 && n != 16:
		return fmt.Errorf("set %s 8, 10 or 16: %q is none of these", name, value)
	case n != 10 && name != "output-radix":
		return fmt.Errorf("set %s %s: numbers without 0x are always decimal ones here; set output-radix %s is for what is printed", name, value, value)
	}
	if sh.settings.radix = int(n); n == 10 {
		sh.settings.radix = 0
		return nil
	}
	return sh.printf("print, output, display, info locals and info args now show integers in base %d; bt does not\n", n)
}

// inRadix is the format of integers that output-radix asks for, which leaves all other values as they are; "" if it does not.
func (sh *Shell) inRadix() string {
	return map[int]string{8: radixOctal, 16: radixHex}[sh.settings.radix]
}

// radixHex and radixOctal are formats of integers alone.
const (
	radixHex   = "X"
	radixOctal = "O"
)

// plain is a text of values, without addresses if they are not to be shown.
func (sh *Shell) plain(text string) string {
	if !sh.settings.bare {
		return text
	}
	return withoutAddresses(text)
}

// withoutAddresses leaves out the addresses of a text: what they point to, and the names of types, stay. What stands in quotes, and the address that a frame has
// instead of a name, is none.
func withoutAddresses(text string) string {
	var b strings.Builder
	quote := byte(0)
	for i := 0; i < len(text); {
		c := text[i]
		switch {
		case quote != 0:
			if c == '\\' && i+1 < len(text) {
				b.WriteByte(c)
				i++
				c = text[i]
			} else if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'' && i > 0 && (text[i-1] == ' ' || text[i-1] == '{'):
			quote = c
		case c == '0' && strings.HasPrefix(text[i:], "0x") && (i == 0 || strings.IndexByte(" ={(@[,", text[i-1]) >= 0) && !atFrame(text[:i]):
			end := i + 2
			for end < len(text) && isHex(text[end]) {
				end++
			}
			if at := b.String(); i > 0 && text[i-1] == '@' { // @0x7ffd1230: of a reference
				b.Reset()
				b.WriteString(at[:len(at)-1])
				if strings.HasPrefix(text[end:], ": ") {
					end += 2
				}
			} else if end+1 < len(text) && text[end] == ' ' && strings.IndexByte("\"<LuU8", text[end+1]) >= 0 { // what it points to
				end++
			}
			i = end
			continue
		}
		b.WriteByte(c)
		i++
	}
	return b.String()
}

func isHex(c byte) bool { return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' }

// atFrame reports whether a line is the beginning of one that shows a frame: "  #12  ".
func atFrame(text string) bool {
	line := strings.TrimSpace(text[strings.LastIndexByte(text, '\n')+1:])
	number, ok := strings.CutPrefix(line, "#")
	return ok && number != "" && strings.Trim(number, "0123456789") == ""
}

// longestValue is how many characters of a value a line of bt, info locals and info args shows; print shows all.
const longestValue = 400

// inLine is a value as one of several: what is longer is cut, if nobody asked for long ones.
func (sh *Shell) inLine(value string) string {
	if sh.wholeValues() {
		return value
	}
	return report.BriefValue(value, longestValue)
}

// wholeValues reports whether somebody asked for values however long they are.
func (sh *Shell) wholeValues() bool {
	const usual = 200
	v := sh.settings.values
	return sh.opts.Wide || v.MaxElements > usual || v.MaxString > usual
}
