package signature

import (
	"testing"

	"github.com/corewalk/corewalk/report"
)

// abortReport is a stack like those of most dumps of a batch.
func abortReport() *report.Report {
	th := report.Thread{Crashed: true, End: report.EndBottom}
	for _, f := range []report.Frame{
		{Function: "__pthread_kill_implementation", Module: "/usr/lib/libc.so.6", Source: report.Source{File: "pthread_kill.c", Line: 44}},
		{Function: "raise", Module: "/usr/lib/libc.so.6", Source: report.Source{File: "raise.c", Line: 26}},
		{Function: "abort", Module: "/usr/lib/libc.so.6", Source: report.Source{File: "abort.c", Line: 79}},
		{Function: "shop::Order<shop::Item, std::allocator<shop::Item> >::check(int) const", Symbol: "_ZNK4shop5OrderINS_4ItemESaIS1_EE5checkEi", Module: "/opt/shop/bin/shop", Source: report.Source{File: "/src/order.h", Line: 12}},
		{Function: "shop::(anonymous namespace)::total(std::vector<shop::Order<shop::Item> > const&)", Module: "/opt/shop/bin/shop", Source: report.Source{File: "/src/total.cc", Line: 120}},
		{Function: "std::for_each<int*, void (*)(int)>(int*, int*, void (*)(int))", Module: "/opt/shop/bin/shop", Source: report.Source{File: "/usr/include/c++/stl_algo.h", Line: 3786}},
		{Function: "shop::serve()::{lambda(int)#1}::operator()(int) const", Module: "/opt/shop/bin/shop", Source: report.Source{File: "/src/serve.cc", Line: 33}},
		{Function: "main", Module: "/opt/shop/bin/shop", Source: report.Source{File: "/src/main.cc", Line: 7}},
		{Function: "__libc_start_call_main", Module: "/usr/lib/libc.so.6", Source: report.Source{File: "libc_start_call_main.h", Line: 58}},
		{Function: "__libc_start_main", Module: "/usr/lib/libc.so.6", Source: report.Source{File: "libc-start.c", Line: 360}},
		{Function: "_start", Module: "/opt/shop/bin/shop", Offset: 0x1121},
	} {
		f.Trust = report.TrustCFI
		th.Frames = append(th.Frames, f)
	}
	return &report.Report{Crash: &report.Crash{Kind: report.CrashAbort, Signal: "SIGABRT"}, Threads: []report.Thread{th}}
}

// BenchmarkOfWarm measures a signature whose functions are all cached.
func BenchmarkOfWarm(b *testing.B) {
	r := abortReport()
	var c Cache
	b.ReportAllocs()
	for b.Loop() {
		c.Of(r)
	}
}
