/* Makes a line "field offset" of each field that corewalk reads, as text of the assembler: layouts.sh cuts them out. It needs the headers that Perl installs. */
#define PERL_CORE
#include "EXTERN.h"
#include "perl.h"

#include "../../layouts/testdata/layout.h"

void layout(void)
{
#ifdef MULTIPLICITY
	FIELD("interp.curcop", PerlInterpreter, Icurcop);
	FIELD("interp.curstackinfo", PerlInterpreter, Icurstackinfo);
	FIELD("interp.op", PerlInterpreter, Iop);
	FIELD("interp.patchlevel", PerlInterpreter, Ipatchlevel);
	FIELD("interp.errgv", PerlInterpreter, Ierrgv);
	FIELD("interp.main_cv", PerlInterpreter, Imain_cv);
	FIELD("interp.compiling", PerlInterpreter, Icompiling);
	FIELD("interp.runops", PerlInterpreter, Irunops);
#endif
	FIELD("info.contexts", PERL_SI, si_cxstack);
	FIELD("info.prev", PERL_SI, si_prev);
	FIELD("info.next", PERL_SI, si_next);
	FIELD("info.index", PERL_SI, si_cxix);
	FIELD("info.max", PERL_SI, si_cxmax);
	FIELD("info.type", PERL_SI, si_type);
	SAY("info.main", PERLSI_MAIN);
	SAY("info.diehook", PERLSI_DIEHOOK);
	SAY("info.destroy", PERLSI_DESTROY);
	SAY("info.signal", PERLSI_SIGNAL);

	SAY("context.size", sizeof(PERL_CONTEXT));
	FIELD("context.type", PERL_CONTEXT, cx_u.cx_blk.blku_type);
	FIELD("context.u16", PERL_CONTEXT, blk_u16);
	FIELD("context.oldcop", PERL_CONTEXT, blk_oldcop);
	FIELD("context.retop", PERL_CONTEXT, blk_sub.retop);
	FIELD("context.cv", PERL_CONTEXT, blk_sub.cv);
	FIELD("context.depth", PERL_CONTEXT, blk_sub.olddepth);
	FIELD("context.evalcv", PERL_CONTEXT, blk_eval.cv);
	FIELD("context.name", PERL_CONTEXT, blk_eval.old_namesv);
	FIELD("context.env", PERL_CONTEXT, blk_eval.cur_top_env);
	SAY("context.mask", CXTYPEMASK);
	SAY("context.sub", CXt_SUB);
	SAY("context.format", CXt_FORMAT);
	SAY("context.eval", CXt_EVAL);
	SAY("context.pattern", CXp_SUB_RE);
	SAY("context.fake", CXp_SUB_RE_FAKE);
	SAY("context.hasargs", CXp_HASARGS);
#ifdef CXp_TRY
	SAY("context.try", CXp_TRY);
#endif
#ifdef CXt_DEFER
	SAY("context.defer", CXt_DEFER);
#endif

	SAY("op.type", offsetof(OP, op_targ) + sizeof(PADOFFSET)); /* nine bits of 16 */
	SAY("op.count", MAXO);
	SAY("op.entersub", OP_ENTERSUB);
	SAY("op.entereval", OP_ENTEREVAL);
	SAY("op.entertry", OP_ENTERTRY);
	SAY("op.require", OP_REQUIRE);
	SAY("op.dofile", OP_DOFILE);
	SAY("op.kill", OP_KILL);
	SAY("op.dump", OP_DUMP);
#ifdef CXp_TRY
	SAY("op.trycatch", OP_ENTERTRYCATCH);
#endif

	SAY("cop.size", sizeof(COP));
	FIELD("cop.line", COP, cop_line);
	FIELD("cop.seq", COP, cop_seq);
#ifdef USE_ITHREADS
	FIELD("cop.file", COP, cop_file);
#else
	FIELD("cop.filegv", COP, cop_filegv);
#endif

	SAY("type.iv", SVt_IV);
	SAY("type.nv", SVt_NV);
	SAY("type.pv", SVt_PV);
	SAY("type.pviv", SVt_PVIV);
	SAY("type.pvnv", SVt_PVNV);
	SAY("type.pvmg", SVt_PVMG);
	SAY("type.regexp", SVt_REGEXP);
	SAY("type.gv", SVt_PVGV);
	SAY("type.lv", SVt_PVLV);
	SAY("type.av", SVt_PVAV);
	SAY("type.hv", SVt_PVHV);
	SAY("type.cv", SVt_PVCV);
	SAY("type.format", SVt_PVFM);
	SAY("type.io", SVt_PVIO);
#if PERL_VERSION >= 38
	SAY("type.object", SVt_PVOBJ);
#endif
	SAY("flag.iok", SVf_IOK);
	SAY("flag.nok", SVf_NOK);
	SAY("flag.pok", SVf_POK);
	SAY("flag.rok", SVf_ROK);
	SAY("flag.utf8", SVf_UTF8);
	SAY("flag.object", SVs_OBJECT);
	SAY("flag.stale", SVs_PADSTALE);
#ifdef SVphv_HasAUX
	SAY("flag.aux", SVphv_HasAUX);
#else
	SAY("flag.aux", SVf_OOK);
#endif
	FIELD("sv.flags", SV, sv_flags);
	FIELD("sv.u", SV, sv_u);
	FIELD("body.cur", XPV, xpv_cur);
	FIELD("body.iv", XPVIV, xiv_u.xivu_iv);
	FIELD("body.nv", XPVNV, xnv_u.xnv_nv);
	FIELD("body.stash", XPVMG, xmg_stash);
	FIELD("body.fill", XPVAV, xav_fill);
	FIELD("body.alloc", XPVAV, xav_alloc);
	FIELD("body.max", XPVHV, xhv_max);
#if PERL_VERSION >= 36
	FIELD("body.aux", struct xpvhv_with_aux, xhv_aux);
#endif
	FIELD("body.gvname", XPVGV, xiv_u.xivu_namehek);
	FIELD("body.gvstash", XPVGV, xnv_u.xgv_stash);
	FIELD("body.cvstash", XPVCV, xcv_stash);
	FIELD("body.cvgv", XPVCV, xcv_gv_u);
	FIELD("body.cvroot", XPVCV, xcv_root_u);
	FIELD("body.cvflags", XPVCV, xcv_flags);
	FIELD("body.cvdepth", XPVCV, xcv_depth);
	FIELD("body.padlist", XPVCV, xcv_padlist_u);
	SAY("cv.native", CVf_ISXSUB);
	SAY("cv.named", CVf_NAMED);
	SAY("cv.lexical", CVf_LEXICAL);
	FIELD("aux.name", struct xpvhv_aux, xhv_name_u);
	FIELD("aux.count", struct xpvhv_aux, xhv_name_count);
	FIELD("gp.sv", GP, gp_sv);
	FIELD("gp.egv", GP, gp_egv);
	FIELD("padlist.list", PADLIST, xpadl_arr);
	FIELD("padlist.max", PADLIST, xpadl_max);
	FIELD("names.list", PADNAMELIST, xpadnl_alloc);
	FIELD("names.fill", PADNAMELIST, xpadnl_fill);
	FIELD("name.text", PADNAME, xpadn_pv);
	FIELD("name.our", PADNAME, xpadn_ourstash);
	FIELD("name.low", PADNAME, xpadn_low);
	FIELD("name.high", PADNAME, xpadn_high);
	FIELD("name.length", PADNAME, xpadn_len);
	FIELD("name.flags", PADNAME, xpadn_flags);
#ifdef PADNAMEf_OUTER
	SAY("name.outer", PADNAMEf_OUTER);
#else
	SAY("name.outer", PADNAMEt_OUTER);
#endif
	FIELD("hek.length", HEK, hek_len);
	FIELD("hek.text", HEK, hek_key);
	FIELD("he.next", HE, hent_next);
	FIELD("he.hek", HE, hent_hek);
	FIELD("he.value", HE, he_valu);
}
