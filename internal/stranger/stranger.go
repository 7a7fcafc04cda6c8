// Package stranger tests that no text of a stranger reaches a terminal, a browser or a program as it is: it fills
// structs with such texts, and checks what is printed of them. Only tests import it.
package stranger

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Mark begins the lines that a hostile text forges. No line of output may begin with it.
const Mark = "FORGED"

// Element is the markup that a hostile text smuggles in. No page may have it.
const Element = "<img src=x onerror=forged>"

// Parts are what texts of strangers have. A part of each is in Text.
var Parts = []string{
	"\x1b[31m", "\x1b]0;title\a", "\x1b(0", "\u009b31m", "\x9b31m", "\a", "\b", "\r", "\x7f", "\t", // terminals
	"\n" + Mark + ": corewalk is fine\n", "\v" + Mark, "\f" + Mark, "\u0085" + Mark, "\u2028" + Mark, "\u2029" + Mark,
	"\u202a\u202b\u202c\u202d\u202e", "\u2066\u2067\u2068\u2069", "\u200e\u200f\u061c", // directions
	"\u200b\u200c\u200d\u2060\ufeff\u00ad", "\u3164\ufe0f", "\U000e0041\U000e007f", // nobody sees them
	"e" + strings.Repeat("\u0301\u0488", 20),
	"\xff\xfe", "\xc0\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe2\x82", // not UTF-8: overlong, a surrogate, too large, cut
	"\"'`</script>" + Element + "<!--]]>", "%s%d%!", `\u001b`, "\x00", // at the end: names end there
}

// Text has all Parts.
var Text = "x" + strings.Join(Parts, "y") + "z"

// Fill sets every string in the value that v points to, below structs, pointers, slices and maps; lists have two
// elements. It stops in types that contain themselves.
func Fill(v any) { fill(reflect.ValueOf(v).Elem(), nil) }

func fill(v reflect.Value, in []reflect.Type) {
	for _, t := range in {
		if t == v.Type() {
			return
		}
	}
	switch v.Kind() {
	case reflect.Struct:
		in = append(in[:len(in):len(in)], v.Type())
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fill(v.Field(i), in)
			}
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() != reflect.Uint8 {
			v.Set(reflect.MakeSlice(v.Type(), 2, 2))
			for i := range 2 {
				fill(v.Index(i), in)
			}
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), in)
	case reflect.String:
		v.SetString(Text)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(2)
	case reflect.Uint64:
		v.SetUint(2)
	case reflect.Float64:
		v.SetFloat(2)
	}
}

// Lines checks text for people. Its own sequences for colours are allowed if color.
func Lines(out string, color bool) error {
	if color {
		for _, sgr := range []string{"0", "1", "2", "1;31", "31", "32", "33", "36"} {
			out = strings.ReplaceAll(out, "\x1b["+sgr+"m", "")
		}
	}
	if err := shown(out, "\n"); err != nil {
		return err
	}
	for line := range strings.Lines(out) {
		if strings.HasPrefix(line, Mark) {
			return fmt.Errorf("a text forged the line %.100q", line)
		}
	}
	return nil
}

// JSON checks documents of JSON, one after the other.
func JSON(out []byte) error {
	if err := shown(string(out), "\n"); err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(out))
	for d.More() {
		var v any
		if err := d.Decode(&v); err != nil {
			return err
		}
		if err := strict(v); err != nil {
			return err
		}
	}
	return nil
}

// strict refuses what a decoder puts in the place of what is no text: a writer has lost bytes.
func strict(v any) error {
	switch v := v.(type) {
	case string:
		if strings.ContainsRune(v, utf8.RuneError) {
			return fmt.Errorf("bytes were lost: %.60q", v)
		}
	case []any:
		for _, x := range v {
			if err := strict(x); err != nil {
				return err
			}
		}
	case map[string]any:
		for k, x := range v {
			if err := strict(k); err != nil {
				return err
			}
			if err := strict(x); err != nil {
				return err
			}
		}
	}
	return nil
}

// HTML checks a page.
func HTML(out string) error {
	if err := shown(out, "\n\t\u202f"); err != nil {
		return err
	}
	for _, s := range []string{Element, "<img", "]]>"} {
		if strings.Contains(out, s) {
			return fmt.Errorf("a text became markup: %s", s)
		}
	}
	// A page has a script of its own, and may have data in another.
	if begins, ends := strings.Count(strings.ToLower(out), "<script"), strings.Count(strings.ToLower(out), "</script"); begins != ends || begins < 1 || begins > 2 {
		return fmt.Errorf("%d scripts, %d ends of scripts", begins, ends)
	}
	return nil
}

// shown checks that every character shows as itself; those in but may be there.
func shown(out, but string) error {
	marks := 0
	for i, r := range out {
		if strings.ContainsRune(but, r) {
			marks = 0
			continue
		}
		around := out[max(0, i-30):min(len(out), i+30)]
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(out[i:], "\ufffd"):
			return fmt.Errorf("byte %#x is not UTF-8: %q", out[i], around)
		case unicode.In(r, unicode.C, unicode.Zl, unicode.Zp, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector):
			return fmt.Errorf("%U is raw: %q", r, around)
		case unicode.In(r, unicode.Mn, unicode.Me):
			if marks++; marks > 8 {
				return fmt.Errorf("a pile of combining marks: %q", around)
			}
		default:
			marks = 0
		}
	}
	return nil
}
