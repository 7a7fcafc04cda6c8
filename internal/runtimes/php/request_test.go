package php

import (
	"strings"
	"testing"
)

// TestAsked: the URI is that of $_SERVER, if that is an array that has one which is a text.
func TestAsked(t *testing.T) {
	const atGlobals, atServer, atData, atInside, atKey, atName, atURI, atOther, atLong = 0x10000, 0x11000, 0x12000, 0x13000, 0x14000, 0x14100, 0x14200, 0x14300, 0x20000
	fresh := func() (*runtime, fake) {
		r, m := small()
		m.Zero(atGlobals, 0x400)
		m.Zero(atServer, 0x80)
		m.Words[atServer] = typeArray<<32 | 1
		m.Zero(atData, 64)
		m.Zero(atInside, 64)
		for at, s := range map[uint64]string{atKey: "_SERVER", atName: "REQUEST_URI", atURI: "/orders/7?a=1", atOther: "OTHER"} {
			m.string(at, s)
		}
		for at, data := range map[uint64]uint64{atGlobals + r.at("globals.symbols"): atData, atServer: atInside} {
			m.Words[at+r.at("array.data")] = data
			r.set32(m, at, "array.used", 1)
			r.set32(m, at, "array.count", 1)
		}
		m.Words[atData], m.Words[atData+8], m.Words[atData+24] = atServer, typeArray, atKey
		m.Words[atInside], m.Words[atInside+8], m.Words[atInside+24] = atURI, typeString, atName
		return r, m
	}
	r, _ := fresh()
	if got := r.asked(atGlobals); got != "/orders/7?a=1" {
		t.Fatal(got)
	}
	for what, harm := range map[string]func(r *runtime, m fake){
		"no $_SERVER":                func(_ *runtime, m fake) { m.Words[atData+24] = atOther },
		"a $_SERVER that is a text":  func(_ *runtime, m fake) { m.Words[atData+8] = typeString },
		"an array that is none":      func(_ *runtime, m fake) { m.Words[atServer] = typeString<<32 | 1 },
		"no URI":                     func(_ *runtime, m fake) { m.Words[atInside+24] = atOther },
		"a URI that is a number":     func(_ *runtime, m fake) { m.Words[atInside+8] = typeLong },
		"a URI that is no text":      func(_ *runtime, m fake) { m.Words[atURI] = typeArray<<32 | 1 },
		"an array that is not there": func(r *runtime, m fake) { m.Words[atServer+r.at("array.data")] = 0x900000 },
	} {
		r, m := fresh()
		harm(r, m)
		if got := r.asked(atGlobals); got != "" {
			t.Errorf("%s: %q", what, got)
		}
	}
	r, m := fresh()
	m.string(atLong, strings.Repeat("a", maxURI+900))
	m.Words[atInside] = atLong
	if got := r.asked(atGlobals); len(got) != maxURI+3 {
		t.Errorf("%d bytes", len(got))
	}
}
