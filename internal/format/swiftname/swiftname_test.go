package swiftname

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// TestNames compares the names of testdata/names.swift, compiled with and without optimisation by Swift 6.0.3, with what its
// swift-demangle -simplified says.
func TestNames(t *testing.T) {
	n := 0
	judged(t, "testdata/names.txt", func(mangled, want string) {
		n++
		switch want { // it leaves modules out where nothing else is
		case "module descriptor ":
			want += "shop"
		case "closure #1 in ":
			want = "closure #1"
		}
		if got, ok := Name(mangled, Options{}); !ok || got != want {
			t.Errorf("%s\n got %s\nwant %s", mangled, got, want)
		}
		if !Mangled(mangled) {
			t.Errorf("Mangled(%q) is false", mangled)
		}
	})
	if n < 400 {
		t.Errorf("%d names", n)
	}
}

// TestForms: prefixes, and names without parameters as signatures and frames have them.
func TestForms(t *testing.T) {
	for _, c := range []struct{ in, name, short string }{
		{"$s4main3FooC3bar1xySi_tF", "Foo.bar(x:)", "Foo.bar"},
		{"_$s4main3FooC3bar1xySi_tF", "Foo.bar(x:)", "Foo.bar"},
		{"$S4main3FooC3bar1xySi_tF", "Foo.bar(x:)", "Foo.bar"},
		{"_T04main3FooC3bar1xySi_tF", "Foo.bar(x:)", "Foo.bar"},
		{"__T04main3FooC3bar1xySi_tF", "Foo.bar(x:)", "Foo.bar"},
		{"$e4main3FooC3bar1xySi_tF", "Foo.bar(x:)", "Foo.bar"},
		{"$s4main3fooyyF.resume.0", "foo()", "foo"},
		{"$s4main3fooyyFTA.12", "partial apply for foo()", "partial apply for foo"},
		{"$ss6_first_5where7ElementQzSgx_SbADYaKXEtYaKSciRzlFTu", "async function pointer to _first<A>(_:where:)", "async function pointer to _first"},
		{"$s4main0012vergenza_JFayyF", "vergüenza()", "vergüenza"},
		{"$s4main007p_qcaDcoiyS2i_SitF", "«+» infix(_:_:)", "«+» infix"},
		{"$sSaySiGD", "[Int]", "[Int]"},
		{"$sSDySSSaySiGSgGD", "[String : [Int]?]", "[String : [Int]?]"},
		{"$sS2icSgD", "((Int) -> Int)?", "((Int) -> Int)?"},
		{"$sSfmD", "Float.Type", "Float.Type"},
		{"$s4main1P_AA1QpSgD", "(P & Q)?", "(P & Q)?"},
		{"$s4main1P_pmD", "P.Protocol", "P.Protocol"},
		{"$s4main1P_pXpD", "P.Type", "P.Type"},
	} {
		name, ok := Name(c.in, Options{})
		short, ok2 := Name(c.in, Options{NoParams: true})
		if !ok || !ok2 || name != c.name || short != c.short {
			t.Errorf("%s: %q, %q; want %q, %q", c.in, name, short, c.name, c.short)
		}
	}
}

// TestRefused: what is no name of Swift, or not in full, is not guessed at.
func TestRefused(t *testing.T) {
	for _, s := range []string{"", "$s", "$s4", "$s4mainF", "$s99main3fooyyF", "$s18446744073709551620main3fooyyF", "$s4main3fooyyFq", "$s4main3foo", "$s4mainyyF", "$sAA", "$sA9999999999a", "$s4main3FooC3bar1xySi_t",
		"$s4main3FooC3bar1xySi_tF4", "$sSi_tF", "$sSxSy", "$s0A4main", "$s00_", "$s002_9D", "$s4main3fooyyFTg", "$s4main3fooyyFTf", "$s4main3fooyyFTfp", "$s4main3fooyyFTf4ps_n", "$s4mainTv", "$sBf_D",
		"$sBv4_D", "$sIz_", "$ss", "printf", "$x", "$d.1", "_Tx", "_TtC4main3Foo", "_$", "$sxl", "$sSiRl", "$s4main3fooyyFWOx", "$s4main3fooyyFwzz", "$sSiSiSiD", "$s$n", "$sSaySiGD\x00",
		"$s4ma\xffn3fooyyF", strings.Repeat("$s", 5000)} {
		if name, ok := Name(s, Options{}); ok {
			t.Errorf("%q is %q", s, name)
		}
	}
}

// TestHostile: no name takes long, or becomes long, or nests without end.
func TestHostile(t *testing.T) {
	// A type of two arguments, which are the type before, again and again: its text doubles.
	doubling := "$s1a1bVySiSiG_"
	for i := range 21 {
		of := "A" + "DEFGHIJKLMNOPQRSTUVWXYZ"[i:i+1]
		doubling += "ACy" + of + of + "G"
	}
	doubling += "tD"
	for name, s := range map[string]string{
		"optionals":     "$sSi" + strings.Repeat("Sg", 4000) + "D",
		"metatypes":     "$sSi" + strings.Repeat("m", 8000) + "D",
		"tuples":        "$sSi" + strings.Repeat("_t", 4000) + "D",
		"functions":     "$sSi" + strings.Repeat("yc", 4000) + "D",
		"nested types":  "$s1a" + strings.Repeat("1bC", 2600) + "D",
		"local":         "$s1a1fyyF" + strings.Repeat("1gL_yyF", 1100),
		"closures":      "$s1a1fyyF" + strings.Repeat("yycfU_", 1300),
		"statics":       "$s1a1fyyF" + strings.Repeat("Z", 8000),
		"extensions":    "$s1a1bC" + strings.Repeat("1cE1dC", 1300) + "D",
		"repeated":      "$s1a1bC" + strings.Repeat("A2048b", 1200) + "D",
		"repeated type": "$s" + strings.Repeat("S2048i", 1300) + "D",
		"counts":        "$s1a1fyyx" + "r" + strings.Repeat("999999999_", 700) + "lF",
		"many params":   "$s1a1fyyxr99999999_lF",
		"words":         "$s9aaaaBbbbb" + strings.Repeat("0aaaaaaaaaaaaaaaaaaaaaaaaB0", 290) + "C",
		"puny":          "$s00" + "8000" + strings.Repeat("Z", 10) + strings.Repeat("a", 7980),
		"puny 2":        "$s007000" + strings.Repeat("z", 7000) + "C",
		"members":       "$sx" + strings.Repeat("1AQa", 2000) + "D",
		"specialized":   "$s1a1fyyF" + strings.Repeat("Si_Tg5", 1300),
		"doubling":      doubling,
		"too long":      "$s1a1f" + strings.Repeat("S", maxInput) + "yyF",
	} {
		start := time.Now()
		got, _ := Name(s, Options{})
		if d := time.Since(start); d > time.Second {
			t.Errorf("%s: %v", name, d)
		}
		if len(got) > maxOutput+3 || !utf8.ValidString(got) {
			t.Errorf("%s: %d bytes", name, len(got))
		}
	}
	if got, ok := Name(doubling, Options{}); !ok || len(got) != maxOutput+len("...") {
		t.Errorf("a name of exponential size came out %d bytes long, %v", len(got), ok)
	}
	if got, ok := Name("$sSi"+strings.Repeat("Sg", 100)+"D", Options{}); !ok || got != "Int"+strings.Repeat("?", 100) {
		t.Errorf("a hundred optionals: %q", got)
	}
	if _, ok := Name("$sSi"+strings.Repeat("m", 3*maxDepth)+"D", Options{}); ok {
		t.Error("a type that is nested deeper than the limit was written")
	}
	if _, ok := Name("$s1a"+strings.Repeat("1bC", 2*maxDepth)+"D", Options{}); ok {
		t.Error("a type in more types than the limit was written")
	}
	if got, ok := Name("$s"+"Si_"+"S2000i"+"tD", Options{}); !ok || len(got) < 2000 {
		t.Errorf("a tuple of two thousand: %d bytes, %v", len(got), ok)
	}
	if _, ok := Name("$s1a1bVyx"+strings.Repeat("Qe_", 300)+"G_A2000DtD", Options{}); ok {
		t.Error("a name of more steps than the limit was written")
	}
	for _, s := range []string{"1a1bC" + strings.Repeat("A2048b", 1200), strings.Repeat("S2048i", 1300), "1a1bCA" + strings.Repeat("2048b", 1200) + "B"} {
		m := machine{text: s}
		if m.symbol(); len(m.stack) > maxNodes+2*maxRepeat {
			t.Errorf("%d parts at once", len(m.stack))
		}
	}
	if _, ok := Name("$s"+"Si_"+"S2049i"+"tD", Options{}); ok {
		t.Error("a part was repeated more often than the limit")
	}
	if _, ok := Name("$s1a1bC_A2049CtD", Options{}); ok {
		t.Error("an earlier part was repeated more often than the limit")
	}
	if _, ok := Name("$s1a1bC_A2048CtD", Options{}); !ok {
		t.Error("an earlier part was not repeated")
	}
	for n := range 100 { // numbers that do not fit
		if s, ok := punycode("ab_" + strings.Repeat("J", n+5) + "a"); ok {
			t.Errorf("%d digits are %q", n+5, s)
		}
	}
	if got, ok := Name("$s1a9000"+strings.Repeat("b", 9000)+"CD", Options{}); ok {
		t.Errorf("a name over the limit: %d bytes", len(got))
	}
}

func FuzzName(f *testing.F) {
	i := 0
	judged(f, "testdata/names.txt", func(mangled, _ string) {
		if i++; i%4 == 0 {
			f.Add(mangled)
		}
	})
	f.Fuzz(func(t *testing.T, s string) {
		start := time.Now()
		for _, o := range []Options{{}, {NoParams: true}} {
			got, ok := Name(s, o)
			if ok && (got == "" || len(got) > maxOutput+3) || !ok && got != "" {
				t.Fatalf("%q: %d bytes, %v", s, len(got), ok)
			}
			if !utf8.ValidString(got) {
				t.Fatalf("%q: %q is not UTF-8", s, got)
			}
			if ok && !Mangled(s) {
				t.Fatalf("%q is no name of Swift", s)
			}
		}
		if d := time.Since(start); d > time.Second {
			t.Fatalf("%q: %v", s, d)
		}
	})
}

func BenchmarkName(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		Name("$sSD16uniquingKeysWithSDyxq_Gqd__n_q_q__q_tKXEtKcSTRd__x_q_t7ElementRtd__lufC", Options{})
	}
}
