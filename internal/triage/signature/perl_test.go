package signature

import (
	"slices"
	"testing"

	"github.com/corewalk/corewalk/report"
)

// The signature of a crash below Perl has the program's subs: not its evals, not what Perl's own functions did, with names or without, nor Perl's own library.
func TestCallsOfPerl(t *testing.T) {
	sub := func(function, file string) report.Frame {
		return report.Frame{Function: function, Language: "perl", Kind: report.KindInterpreted, Trust: report.TrustRuntime, Source: report.Source{File: file, Line: 7}}
	}
	native := func(function, module string) report.Frame {
		return report.Frame{Function: function, Module: module, Trust: "cfi"}
	}
	var signatures []Signature
	for _, frames := range [][]report.Frame{
		{native("decode", "/x/JSON/XS.so"), native("Perl_newSVpv", "/usr/bin/perl"), native("Perl_pp_unpack", "/usr/bin/perl"), sub("Shop::pay", "/srv/a/shop.pl"), sub("eval {...}", "/srv/a/shop.pl"),
			sub("List::Util::sum", "/usr/lib/x86_64-linux-gnu/perl-base/List/Util.pm"), sub("main program", "/srv/a/shop.pl"), native("main", "/usr/bin/perl")},
		{native("decode", "/x/JSON/XS.so"), sub("unpack", ""), sub("Shop::pay", "/srv/b/shop.pl"), sub("eval '...'", "(eval 7)"),
			sub("List::Util::sum", "/usr/share/perl/5.42/List/Util.pm"), sub("main program", "/srv/b/shop.pl"), native("perl_run", "/usr/lib/libperl.so.5.42")},
	} {
		for i := range frames {
			frames[i].Index, frames[i].Physical = i, i
			if frames[i].Source.File == "" {
				frames[i].Source = report.Source{}
			}
		}
		signatures = append(signatures, Of(&report.Report{Crash: &report.Crash{Thread: 1, Kind: report.CrashNullRead}, Threads: []report.Thread{{ID: 1, Crashed: true, Frames: frames, End: report.EndBottom}}}))
	}
	if want := []string{"decode", "Shop::pay", "main program"}; !slices.Equal(signatures[0].Frames, want) || !slices.Equal(signatures[1].Frames, want) {
		t.Errorf("the signatures have %q and %q, want %q", signatures[0].Frames, signatures[1].Frames, want)
	}
	if signatures[0].Hash != signatures[1].Hash {
		t.Errorf("%s and %s", signatures[0].Hash, signatures[1].Hash)
	}
}

// TestLibraryOfPerl: what a site installed is none of Perl's own, nor is a program of that name.
func TestLibraryOfPerl(t *testing.T) {
	for file, want := range map[string]bool{
		"/usr/share/perl/5.36/Carp.pm":                        true,
		"/usr/lib/x86_64-linux-gnu/perl/5.36/POSIX.pm":        true,
		"/usr/lib/aarch64-linux-gnu/perl-base/IO/Handle.pm":   true,
		"/opt/perl/lib/perl5/5.36.0/Carp.pm":                  true,
		"/opt/perl/lib/perl5/site_perl/5.36.0/Shop.pm":        false,
		"/usr/share/perl5/Shop.pm":                            false,
		"/usr/local/share/perl/5.36.0/Shop.pm":                false,
		"/usr/local/lib/x86_64-linux-gnu/perl/5.36.0/Shop.pm": false,
		"/srv/usr/share/perl/5/shop.pl":                       false,
		"shop.pl":                                             false,
	} {
		if f := (report.Frame{Language: "perl", Source: report.Source{File: file}}); ofLibrary(&f) != want {
			t.Errorf("%s: %t", file, !want)
		}
	}
	for module, want := range map[string]bool{"/usr/bin/perl": true, "/usr/bin/perl5.36.0": true, "/usr/lib/libperl.so.5.36": true, `C:\perl536.dll`: true, "/usr/bin/perlshop": false, "/usr/lib/libperlio.so": false} {
		if f := (report.Frame{Module: module}); perlInterprets(&f) != want {
			t.Errorf("%s: %t", module, !want)
		}
	}
}
