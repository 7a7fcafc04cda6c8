// Prints where LuaJIT's structures have what: offset, and n if it is a reference of 4 bytes there. Compiled against the sources of one version.
#include <stddef.h>
#include <stdio.h>
#include "lj_obj.h"
#include "lj_frame.h"
#include "lj_bc.h"
#include "lj_jit.h"
#include "lj_dispatch.h"
#define O(name, type, member) printf("%s %zu\n", name, offsetof(type, member))
#define R(name, type, member) printf("%s %zu%s\n", name, offsetof(type, member), sizeof(((type *)0)->member) == 4 ? "n" : "")
#define S(name, n) printf("%s %zu\n", name, (size_t)(n))
int main(void) {
	O("object.type", GChead, gct);
	R("object.next", GChead, nextgc);
	O("state.status", lua_State, status);
	R("state.global", lua_State, glref);
	R("state.call", lua_State, base);
	R("state.top", lua_State, top);
	R("state.last", lua_State, maxstack);
	R("state.stack", lua_State, stack);
	R("state.frame", lua_State, cframe);
	R("global.objects", global_State, gc.root);
#ifdef LJ_LIGHTUD_BITS_SEG
	R("global.segments", global_State, gc.lightudseg);
#endif
	O("global.running", global_State, vmstate);
	R("global.main", global_State, mainthref);
	O("global.registry", global_State, registrytv);
	O("global.panic", global_State, panic);
	O("global.cfunction", global_State, bc_cfunc_ext);
	R("global.current", global_State, cur_L);
	R("global.compiled", global_State, jit_base);
	R("global.names", global_State, gcroot[0]);
	S("global.traces", offsetof(GG_State, J) + offsetof(jit_State, trace) - offsetof(GG_State, g));
	S("global.tracecount", offsetof(GG_State, J) + offsetof(jit_State, sizetrace) - offsetof(GG_State, g));
	S("global.dispatch", offsetof(GG_State, dispatch) - offsetof(GG_State, g));
	O("string.length", GCstr, len);
	S("string.text", sizeof(GCstr));
	R("table.array", GCtab, array);
	O("table.arraysize", GCtab, asize);
	R("table.nodes", GCtab, node);
	O("table.mask", GCtab, hmask);
	R("table.meta", GCtab, metatable);
	O("node.key", Node, key);
	S("node.size", sizeof(Node));
	R("data.meta", GCudata, metatable);
	O("closure.kind", GCfuncC, ffid);
	O("closure.count", GCfuncC, nupvalues);
	R("closure.function", GCfuncL, pc);
	R("closure.native", GCfuncC, f);
	O("closure.values", GCfuncC, upvalue);
	R("closure.upvalues", GCfuncL, uvptr);
	R("upvalue.at", GCupval, v);
	S("function.size", sizeof(GCproto));
	O("function.parameters", GCproto, numparams);
	O("function.frame", GCproto, framesize);
	O("function.codecount", GCproto, sizebc);
	R("function.constants", GCproto, k);
	O("function.constantcount", GCproto, sizekgc);
	O("function.bytes", GCproto, sizept);
	O("function.upvaluecount", GCproto, sizeuv);
	O("function.flags", GCproto, flags);
	R("function.source", GCproto, chunkname);
	O("function.line", GCproto, firstline);
	O("function.linecount", GCproto, numline);
	R("function.lines", GCproto, lineinfo);
	R("function.upvalues", GCproto, uvinfo);
	R("function.variables", GCproto, varinfo);
	S("frame.size", CFRAME_SIZE);
	S("frame.previous", CFRAME_OFS_PREV);
	printf("frame.state %d%s\n", CFRAME_OFS_L, LJ_GC64 ? "" : "n");
	printf("frame.pc %d%s\n", CFRAME_OFS_PC, LJ_GC64 ? "" : "n");
	S("frame.results", CFRAME_OFS_NRES);
	R("trace.instructions", GCtrace, ir);
	R("trace.snapshots", GCtrace, snap);
	O("trace.snapshotcount", GCtrace, nsnap);
	R("trace.map", GCtrace, snapmap);
	O("trace.mapcount", GCtrace, nsnapmap);
	R("trace.function", GCtrace, startpt);
	R("trace.start", GCtrace, startpc);
	O("trace.instruction", GCtrace, startins);
	O("trace.size", GCtrace, szmcode);
	R("trace.code", GCtrace, mcode);
	O("trace.stack", GCtrace, spadjust);
	O("trace.number", GCtrace, traceno);
	O("trace.root", GCtrace, root);
	S("snapshot.size", sizeof(SnapShot));
#ifdef HAS_MCOFS
	O("snapshot.code", SnapShot, mcofs);
#endif
	O("snapshot.count", SnapShot, nent);
	S("words.frame", 1 + LJ_FR2);
#define OP(name, ma, mb, mc, mm) printf("op %s:" #ma ":" #mm "\n", #name);
	BCDEF(OP)
	return 0;
}
