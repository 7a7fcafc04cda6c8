// Package htmlpage writes pages that are one file: HTML by hand, not with html/template, which would add a tenth to the size of the program and work to
// each of its starts. In return every text goes through Text, Attr or El, and what goes through Raw is a constant of the package that writes, or consists of
// digits.
package htmlpage

import (
	"bufio"
	"crypto/sha256"
	"encoding/base64"
	"html"
	"io"
	"unicode/utf8"
)

// Policy forbids everything except a page's own style and script, and forbids the script to turn text into markup (Content Security Policy Level 3;
// Trusted Types).
func Policy(script, style string) string {
	return "default-src 'none'; script-src " + Digest(script) + "; style-src " + Digest(style) +
		"; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
}

// Digest is the source expression of an inline script or style for a policy (Content Security Policy Level 3, section 2.3.1).
func Digest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// A Writer writes a page. It is for one goroutine.
type Writer struct {
	w     *bufio.Writer
	clean func(string) string
	// N is how many bytes were written.
	N int
}

// New returns a Writer to w. clean makes a text safe to show: without control characters and those that change the direction of others.
func New(w io.Writer, clean func(string) string) *Writer {
	return &Writer{w: bufio.NewWriterSize(w, 64<<10), clean: clean}
}

// Flush writes what is left. The error is the writer's.
func (p *Writer) Flush() error { return p.w.Flush() }

// Raw writes markup.
func (p *Writer) Raw(list ...string) {
	for _, s := range list {
		p.w.WriteString(s) // Flush returns its error
		p.N += len(s)
	}
}

// Text writes a text of any origin, of at most limit bytes: of a longer one the beginning, and an ellipsis.
func (p *Writer) Text(s string, limit int) { p.Raw(html.EscapeString(p.fit(s, limit))) }

// Attr writes an attribute with a text of any origin.
func (p *Writer) Attr(name, s string, limit int) {
	p.Raw(" ", name, `="`)
	p.Text(s, limit)
	p.Raw(`"`)
}

// El writes an element with a class and a text.
func (p *Writer) El(tag, class, s string, limit int) {
	p.Raw("<", tag, ` class="`, class, `">`)
	p.Text(s, limit)
	p.Raw("</", tag, ">")
}

func (p *Writer) fit(s string, limit int) string { return Fit(s, limit, p.clean) }

// Fit makes a text safe to show, and cuts it.
func Fit(s string, limit int, clean func(string) string) string {
	cut := len(s) > limit
	if cut {
		s = s[:limit]
		for s != "" && !utf8.ValidString(s[max(len(s)-utf8.UTFMax, 0):]) && len(s) > limit-utf8.UTFMax {
			s = s[:len(s)-1]
		}
	}
	if s = clean(s); cut {
		s += "…"
	}
	return s
}

// Head writes the beginning of a page up to its body. The title and where the link to the content leads are of any origin; target is a constant.
func (p *Writer) Head(title, style, script, target string) {
	p.Raw("<!DOCTYPE html>\n", `<html lang="en"><head><meta charset="utf-8">`,
		`<meta http-equiv="Content-Security-Policy" content="`, Policy(script, style), `">`,
		`<meta name="viewport" content="width=device-width, initial-scale=1">`,
		`<meta name="color-scheme" content="light dark"><meta name="referrer" content="no-referrer">`,
		`<meta name="generator" content="corewalk"><title>`)
	p.Text(title, 300)
	p.Raw("</title>\n<style>", style, "</style></head>\n<body>\n", `<a class="skip" href="#`, target, `">Skip to the content</a>`, "\n")
}
