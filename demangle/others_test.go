package demangle

import "testing"

// Names of other languages: what is understood in full, and what stays as it is. Those of D are as in c++filt -s dlang.
func TestOtherLanguages(t *testing.T) {
	for _, c := range []struct{ in, name, fn string }{
		{"_Dmain", "D main", "D main"},
		{"_D4main3fooFiZv", "main.foo(int)", "main.foo"},
		{"_D1m7Derived1fMFZi", "m.Derived.f()", "m.Derived.f"},
		{"_D1m6globali", "m.global", "m.global"},
		{"_D1m5crashFAyaAiCQp4BaseKSQy1SLiZv", "m.crash(immutable(char)[], int[], m.Base, ref m.S, lazy int)", "m.crash"},
		{"_D1m5crashFAyaAiC1m4BaseKSQBa1SLiZv", "_D1m5crashFAyaAiC1m4BaseKSQBa1SLiZv", "_D1m5crashFAyaAiC1m4BaseKSQBa1SLiZv"}, // into the middle of a name
		{"_D1m5crashFAyaAiCQp4BaseKSQy1SLiZ10__lambda40FNaNbNiNfiZi", "m.crash(immutable(char)[], int[], m.Base, ref m.S, lazy int).__lambda40(int)", "m.crash.__lambda40"},
		{"_D1m1fFAyaAiC1m4BaseLiZv", "m.f(immutable(char)[], int[], m.Base, lazy int)", "m.f"},
		{"_D1m5outerFiZ5innerMFZv", "m.outer(int).inner()", "m.outer.inner"},
		{"_D1m1fFHAyaiG3dPxkDFiZbZv", "m.f(int[immutable(char)[]], double[3], const(uint)*, bool(int) delegate)", "m.f"},
		{"_D1m1C6__ctorMFNaNbiZC1m1C", "m.C.this(int)", "m.C.this"},
		{"_D1m1fFAiQcZv", "m.f(int[], int[])", "m.f"},
		{"_D4main__T3fooTiZQhFiZv", "_D4main__T3fooTiZQhFiZv", "_D4main__T3fooTiZQhFiZv"},
		{"_D4main3fooFiZ", "_D4main3fooFiZ", "_D4main3fooFiZ"},       // no result
		{"_D4main3fooFiZvv", "_D4main3fooFiZvv", "_D4main3fooFiZvv"}, // something behind it
		{"_D9main3fooFiZv", "_D9main3fooFiZv", "_D9main3fooFiZv"},
		{"_DYNAMIC", "_DYNAMIC", "_DYNAMIC"},
		{"_D1m1fFQaZv", "_D1m1fFQaZv", "_D1m1fFQaZv"}, // a reference to itself
		{"_D1m1fFYZv", "_D1m1fFYZv", "_D1m1fFYZv"},

		{"$s4main3fooyyF", "foo()", "foo"},
		{"_$s4main3FooC3bar1xySi_tF", "Foo.bar(x:)", "Foo.bar"},
		{"$s4main3FooV4makeACyFZ", "static Foo.make()", "static Foo.make"},
		{"$s4main3FooV3makeACyFZ", "$s4main3FooV3makeACyFZ", "$s4main3FooV3makeACyFZ"}, // a length that is wrong
		{"$s4main3fooSSyF3barL_yyF", "bar #1 () in foo()", "bar #1 in foo"},
		{"$s4main3fooyyFTf4n_n.cold.1", "specialized foo()", "foo"},
		{"$s4main3fooyyF@plt", "foo()", "foo"},
		{"$s4main3foo", "$s4main3foo", "$s4main3foo"},
		{"$s4mainF", "$s4mainF", "$s4mainF"},
		{"$s99main3fooyyF", "$s99main3fooyyF", "$s99main3fooyyF"},

		{"Main_zdwcharge_info", "Main.$wcharge", "Main.$wcharge"},
		{"Main_main1_info", "Main.main1", "Main.main1"},
		{"base_GHCziBase_map_info", "GHC.Base.map", "GHC.Base.map"},
		{"base_GHCziBase_zpzp_closure", "GHC.Base.++", "GHC.Base.++"},
		{"ghczmprim_GHCziTuple_Z3T_con_info", "GHC.Tuple.(,,)", "GHC.Tuple.(,,)"},
		{"base_GHCziBase_z3bbU_info", "GHC.Base.λ", "GHC.Base.λ"},
		{"containerszm0zi6zi5_DataziMapziInternal_insertzuz_info", "containerszm0zi6zi5_DataziMapziInternal_insertzuz_info", "containerszm0zi6zi5_DataziMapziInternal_insertzuz_info"},
		{"Main_f_size", "Main_f_size", "Main_f_size"},
		{"Shop_charge_info", "Shop_charge_info", "Shop_charge_info"}, // may be C's
		{"my_zebra_info", "my_zebra_info", "my_zebra_info"},
		{"base_GHCzi_map_info", "base_GHCzi_map_info", "base_GHCzi_map_info"},
		{"base_GHCziBase_z99U_info", "GHC.Base.\u0099", "GHC.Base.\u0099"},
		{"base_GHCziBase_zffffffU_info", "base_GHCziBase_zffffffU_info", "base_GHCziBase_zffffffU_info"},
		{"base_GHCziBase_Z99T_info", "base_GHCziBase_Z99T_info", "base_GHCziBase_Z99T_info"},
		{"base_GHCziBase__info", "base_GHCziBase__info", "base_GHCziBase__info"},

		{"camlFoo__bar_123", "Foo.bar", "Foo.bar"},
		{"camlStdlib__List__fold_left_275", "Stdlib.List.fold_left", "Stdlib.List.fold_left"},
		{"camlStdlib__List.map_42", "Stdlib.List.map", "Stdlib.List.map"},
		{"camlO__$2b$2b$2b_110", "O.+++", "O.+++"},
		{"camlO__$2_110", "camlO__$2_110", "camlO__$2_110"},
		{"camlO__$zz_110", "camlO__$zz_110", "camlO__$zz_110"},
		{"camlO__entry", "camlO__entry", "camlO__entry"},
		{"camlO_12", "camlO_12", "camlO_12"},
		{"caml_main", "caml_main", "caml_main"},
		{"caml_alloc_12", "caml_alloc_12", "caml_alloc_12"},

		{"P$PROGRAM_$$_FOO$LONGINT", "PROGRAM.FOO(LONGINT)", "PROGRAM.FOO"},
		{"STOCK_$$_FIND$ANSISTRING$LONGINT$$BOOLEAN", "STOCK.FIND(ANSISTRING, LONGINT): BOOLEAN", "STOCK.FIND"},
		{"P$UNKIND$_$TOBJ_$__$$_F$LONGINT$$LONGINT", "UNKIND.TOBJ.F(LONGINT): LONGINT", "UNKIND.TOBJ.F"},
		{"SYSTEM_$$_fpc_x", "SYSTEM_$$_fpc_x", "SYSTEM_$$_fpc_x"},
		{"P$UNKIND$_$CRASH$crc0_$$_INNER$X", "P$UNKIND$_$CRASH$crc0_$$_INNER$X", "P$UNKIND$_$CRASH$crc0_$$_INNER$X"},

		{"*Foo#bar<Int32>:Nil", "Foo#bar<Int32>", "Foo#bar"},
		{"*Foo@Object#bar<Int32>:Nil", "Foo@Object#bar<Int32>", "Foo@Object#bar"},
		{"*Mod::run:Nil", "Mod::run", "Mod::run"},
		{"*Foo#bar<Int32:Nil", "*Foo#bar<Int32:Nil", "*Foo#bar<Int32:Nil"},
		{"*Foo#bar", "*Foo#bar", "*Foo#bar"},

		{"_i_Circle__crashAt_total_", "-[Circle crashAt:total:]", "-[Circle crashAt:total:]"},
		{"_c_Circle_Extra_make", "+[Circle(Extra) make]", "+[Circle(Extra) make]"},
		{"_i_Circle__set_name", "-[Circle set_name]", "-[Circle set_name]"},
		{"_i_circle__draw", "_i_circle__draw", "_i_circle__draw"}, // may be C's
		{"_i_Circle_extra_draw", "_i_Circle_extra_draw", "_i_Circle_extra_draw"},
		{"_i_Circle", "_i_Circle", "_i_Circle"},
		{"_i_Circle__", "_i_Circle__", "_i_Circle__"},
		{"-[Foo bar:]", "-[Foo bar:]", "-[Foo bar:]"},
		{"main.foo", "main.foo", "main.foo"},
	} {
		if got := Name(c.in); got != c.name {
			t.Errorf("Name(%q) = %q; want %q", c.in, got, c.name)
		}
		if got := Func(c.in); got != c.fn {
			t.Errorf("Func(%q) = %q; want %q", c.in, got, c.fn)
		}
	}
}

func TestAda(t *testing.T) {
	for in, want := range map[string]string{
		"shop__stock": "shop.stock", "_ada_main": "main", "shop__stock__2": "shop.stock", "shop__Oadd": `shop."+"`, "shop__inner.12": "shop.inner",
		"shop__TfixedB": "shop__TfixedB", "shop__": "shop__", "Oadd": "Oadd", "shop___elabb": "shop___elabb", "a_b__c_d": "a_b.c_d", "integer": "integer", "x__Ofoo": "x__Ofoo",
	} {
		if got := Ada(in); got != want {
			t.Errorf("Ada(%q) = %q; want %q", in, got, want)
		}
	}
}
