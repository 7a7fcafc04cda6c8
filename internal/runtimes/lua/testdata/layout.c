// Prints where Lua's structures have what. Compiled against the sources of one version.
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include "lua.h"
#include "lobject.h"
#include "lstate.h"
#include "lfunc.h"
// Names of fields that differ: until 5.1, and since.
#if LUA_VERSION_NUM <= 501
#define KEYT tt
#define KEYV value
#else
#define KEYT tt_
#define KEYV value_
#endif
#ifndef LUA_VERSION_RELEASE
#define LUA_VERSION_RELEASE "0"
#endif
#define V LUA_VERSION_NUM
#define O(name, type, member) printf("%s %zu\n", name, offsetof(type, member))
#define S(name, type) printf("%s %zu\n", name, sizeof(type))
int main(void) {
	O("state.status", lua_State, status);
	O("state.top", lua_State, top);
	O("state.global", lua_State, l_G);
	O("state.call", lua_State, ci);
	O("state.stack", lua_State, stack);
	O("state.last", lua_State, stack_last);
	O("state.base", lua_State, base_ci);
	O("call.func", CallInfo, func);
	O("call.top", CallInfo, top);
	S("call.size", CallInfo);
#if V <= 501
	O("state.savedpc", lua_State, savedpc);
	O("call.base", CallInfo, base);
	O("call.savedpc", CallInfo, savedpc);
	O("call.tailcalls", CallInfo, tailcalls);
	O("global.objects", global_State, rootgc);
	S("upvalue.size", TString *);
	O("closure.isc", CClosure, isC);
	O("function.nups", Proto, nups);
#else
	O("call.previous", CallInfo, previous);
	printf("flag.tail %d\n", CIST_TAIL);
	printf("flag.hooked %d\n", CIST_HOOKED);
#ifdef CIST_LUA
	printf("flag.lua %d\n", CIST_LUA);
#else
	printf("flag.c %d\n", CIST_C);
#endif
#ifdef CIST_FIN
	// Until 5.4.3 Lua looks for it in the record of the call itself, then in that of its caller.
	printf(V == 504 && atoi(LUA_VERSION_RELEASE) >= 4 ? "flag.finalizes %d\n" : "flag.finalizer %d\n", CIST_FIN);
#endif
	O("call.status", CallInfo, callstatus);
	O("call.savedpc", CallInfo, u.l.savedpc);
	O("global.objects", global_State, allgc);
	S("upvalue.size", Upvaldesc);
#if V <= 503
	O("call.base", CallInfo, u.l.base);
#else
	O("call.extra", CallInfo, u.l.nextraargs);
#endif
#endif
	O("global.main", global_State, mainthread);
	O("global.registry", global_State, l_registry);
	O("global.names", global_State, tmname);
	O("function.constants", Proto, k);
	O("function.constantcount", Proto, sizek);
	O("function.functions", Proto, p);
	O("function.code", Proto, code);
	O("function.codecount", Proto, sizecode);
	O("function.lines", Proto, lineinfo);
	O("function.linecount", Proto, sizelineinfo);
#if V >= 504
	O("function.abslines", Proto, abslineinfo);
	O("function.abslinecount", Proto, sizeabslineinfo);
#endif
	O("function.variables", Proto, locvars);
	O("function.variablecount", Proto, sizelocvars);
	O("function.upvalues", Proto, upvalues);
	O("function.upvaluecount", Proto, sizeupvalues);
	O("function.source", Proto, source);
	O("function.line", Proto, linedefined);
	O("function.lastline", Proto, lastlinedefined);
	O("function.parameters", Proto, numparams);
	O("function.vararg", Proto, is_vararg);
	S("variable.size", LocVar);
	O("variable.from", LocVar, startpc);
	O("variable.to", LocVar, endpc);
	O("closure.function", LClosure, p);
	O("closure.upvalues", LClosure, upvals);
	O("closure.count", LClosure, nupvalues);
	O("closure.native", CClosure, f);
	O("closure.values", CClosure, upvalue);
	O("upvalue.at", UpVal, v);
	O("table.sizelog", Table, lsizenode);
#if V >= 504
	O("table.arraysize", Table, alimit);
#else
	O("table.arraysize", Table, sizearray);
#endif
	O("table.array", Table, array);
	O("table.nodes", Table, node);
	O("table.meta", Table, metatable);
	S("node.size", Node);
#if V >= 504
	O("node.keytype", Node, u.key_tt);
	O("node.key", Node, u.key_val);
#else
	O("node.keytype", Node, i_key.nk.KEYT);
	O("node.key", Node, i_key.nk.KEYV);
#endif
#if V <= 502
	S("string.text", TString);
	O("string.length", TString, tsv.len);
	O("data.meta", Udata, uv.metatable);
#else
#if V == 503
	S("string.text", UTString);
#else
	O("string.text", TString, contents);
#endif
	O("string.length", TString, u.lnglen);
	O("string.short", TString, shrlen);
	O("data.meta", Udata, metatable);
#endif
}
