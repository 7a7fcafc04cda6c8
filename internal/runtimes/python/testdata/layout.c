// Prints where CPython keeps what is read of it, from the headers of one version: "record.field offset".
// testdata/layouts.sh runs it for all installed versions and writes layouts.txt.
#define Py_BUILD_CORE 1
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <frameobject.h>
#include <stddef.h>
#include <stdio.h>
#if PY_VERSION_HEX >= 0x03090000
#include "internal/pycore_gc.h"
#endif
#if PY_VERSION_HEX >= 0x03080000
#include "internal/pycore_pystate.h"
#elif PY_VERSION_HEX >= 0x03070000
#include "internal/pystate.h"
#endif
#if PY_VERSION_HEX >= 0x03090000
#include "internal/pycore_interp.h"
#include "internal/pycore_runtime.h"
#endif
#if PY_VERSION_HEX >= 0x030b0000
#include "internal/pycore_frame.h"
#include "internal/pycore_code.h"
#include "internal/pycore_dict.h"
#include "internal/pycore_moduleobject.h"
#endif
#if PY_VERSION_HEX >= 0x030c0000
#include "internal/pycore_gil.h"
#include "internal/pycore_long.h"
#include "internal/pycore_typeobject.h"
#endif
#if PY_VERSION_HEX >= 0x030e0000
#include "internal/pycore_tstate.h"
#endif
#include <traceback.h>
#if PY_VERSION_HEX >= 0x030b0000
#define FRAMEOBJ offsetof(PyFrameObject, f_frame)
#endif
#define O(name, type, field) printf("%s %zu\n", name, offsetof(type, field))
#define S(name, type) printf("%s %zu\n", name, sizeof(type))
int main(int argc, char **argv) {
	if (argc > 1) {
		printf("%d.%d.%d\n", PY_MAJOR_VERSION, PY_MINOR_VERSION, PY_MICRO_VERSION);
		return 0;
	}
#if PY_VERSION_HEX >= 0x03070000
	O("runtime.interpreters_head", _PyRuntimeState, interpreters.head);
#endif
#if PY_VERSION_HEX >= 0x03070000 && PY_VERSION_HEX < 0x030c0000
	O("runtime.gil_holder", _PyRuntimeState, ceval.gil.last_holder);
	O("runtime.gil_locked", _PyRuntimeState, ceval.gil.locked);
	O("runtime.gil_cond", _PyRuntimeState, ceval.gil.cond);
#endif
#if PY_VERSION_HEX >= 0x030c0000
	O("interp.ceval_gil", PyInterpreterState, ceval.gil);
	O("gil.holder", struct _gil_runtime_state, last_holder);
	O("gil.locked", struct _gil_runtime_state, locked);
	O("gil.cond", struct _gil_runtime_state, cond);
#ifdef Py_GIL_DISABLED
	O("gil.enabled", struct _gil_runtime_state, enabled);
#endif
#endif
#ifndef Py_GIL_DISABLED
#if PY_VERSION_HEX >= 0x03090000
	O("interp.gc", PyInterpreterState, gc);
	O("interp.generations", PyInterpreterState, gc.generations);
#elif PY_VERSION_HEX >= 0x03070000
	O("runtime.generations", _PyRuntimeState, gc.generations);
#endif
	S("gc.head", PyGC_Head);
#endif
	O("interp.next", PyInterpreterState, next);
#if PY_VERSION_HEX >= 0x030b0000
	O("interp.threads_head", PyInterpreterState, threads.head);
#else
	O("interp.threads_head", PyInterpreterState, tstate_head);
#endif
	O("thread.prev", PyThreadState, prev);
	O("thread.next", PyThreadState, next);
	O("thread.interp", PyThreadState, interp);
	O("thread.thread_id", PyThreadState, thread_id);
#if PY_VERSION_HEX >= 0x030b0000
	O("thread.native_thread_id", PyThreadState, native_thread_id);
#endif
#if PY_VERSION_HEX >= 0x030d0000
	O("thread.current_frame", PyThreadState, current_frame);
#elif PY_VERSION_HEX >= 0x030b0000
	O("thread.cframe", PyThreadState, cframe);
	O("thread.root_cframe", PyThreadState, root_cframe);
	O("cframe.current_frame", _PyCFrame, current_frame);
	O("cframe.previous", _PyCFrame, previous);
#elif PY_VERSION_HEX >= 0x030a0000
	O("thread.cframe", PyThreadState, cframe);
	O("thread.root_cframe", PyThreadState, root_cframe);
	O("cframe.previous", CFrame, previous);
	O("thread.frame", PyThreadState, frame);
#else
	O("thread.frame", PyThreadState, frame);
#endif
#if PY_VERSION_HEX >= 0x030c0000
	O("thread.raised", PyThreadState, current_exception);
#else
	O("thread.raised_type", PyThreadState, curexc_type);
	O("thread.raised", PyThreadState, curexc_value);
	O("thread.raised_traceback", PyThreadState, curexc_traceback);
#endif
#if PY_VERSION_HEX >= 0x03070000
	O("thread.exc_info", PyThreadState, exc_info);
	O("exc.value", _PyErr_StackItem, exc_value);
	O("exc.previous", _PyErr_StackItem, previous_item);
#else
	O("thread.handled", PyThreadState, exc_value);
#endif
#if PY_VERSION_HEX >= 0x030b0000
	S("frame.size", _PyInterpreterFrame);
#if PY_VERSION_HEX >= 0x030d0000
	O("frame.code", _PyInterpreterFrame, f_executable);
	O("frame.instr", _PyInterpreterFrame, instr_ptr);
#else
	O("frame.code", _PyInterpreterFrame, f_code);
	O("frame.instr", _PyInterpreterFrame, prev_instr);
#endif
	O("frame.previous", _PyInterpreterFrame, previous);
	O("frame.owner", _PyInterpreterFrame, owner);
	O("frame.localsplus", _PyInterpreterFrame, localsplus);
#if PY_VERSION_HEX >= 0x030e0000
	O("frame.stackpointer", _PyInterpreterFrame, stackpointer);
#ifdef Py_GIL_DISABLED
	O("frame.tlbc", _PyInterpreterFrame, tlbc_index);
	O("code.tlbc", PyCodeObject, co_tlbc);
	O("tlbc.entries", _PyCodeArray, entries);
#endif
#else
	O("frame.stacktop", _PyInterpreterFrame, stacktop);
#endif
#if PY_VERSION_HEX < 0x030c0000
	O("frame.is_entry", _PyInterpreterFrame, is_entry);
#endif
#else
	O("frame.size", PyFrameObject, f_localsplus);
	O("frame.code", PyFrameObject, f_code);
	O("frame.lasti", PyFrameObject, f_lasti);
	O("frame.previous", PyFrameObject, f_back);
	O("frame.localsplus", PyFrameObject, f_localsplus);
#endif
#if PY_VERSION_HEX >= 0x030e0000
	O("interp.tasks", PyInterpreterState, asyncio_tasks_head);
	O("thread.tasks", _PyThreadStateImpl, asyncio_tasks_head);
	O("thread.running_task", _PyThreadStateImpl, asyncio_running_task);
#endif
	S("code.size", PyCodeObject);
	O("code.argcount", PyCodeObject, co_argcount);
#if PY_VERSION_HEX >= 0x03080000
	O("code.posonly", PyCodeObject, co_posonlyargcount);
#endif
	O("code.kwonly", PyCodeObject, co_kwonlyargcount);
	O("code.nlocals", PyCodeObject, co_nlocals);
	O("code.flags", PyCodeObject, co_flags);
	O("code.firstlineno", PyCodeObject, co_firstlineno);
	O("code.filename", PyCodeObject, co_filename);
	O("code.name", PyCodeObject, co_name);
#if PY_VERSION_HEX >= 0x030b0000
	O("code.qualname", PyCodeObject, co_qualname);
	O("code.localsplusnames", PyCodeObject, co_localsplusnames);
	O("code.localspluskinds", PyCodeObject, co_localspluskinds);
	O("code.adaptive", PyCodeObject, co_code_adaptive);
#else
	O("code.code", PyCodeObject, co_code);
	O("code.varnames", PyCodeObject, co_varnames);
	O("code.cellvars", PyCodeObject, co_cellvars);
	O("code.freevars", PyCodeObject, co_freevars);
#endif
#if PY_VERSION_HEX >= 0x030a0000
	O("code.linetable", PyCodeObject, co_linetable);
#else
	O("code.linetable", PyCodeObject, co_lnotab);
#endif
	O("object.type", PyObject, ob_type);
	O("type.name", PyTypeObject, tp_name);
	O("type.flags", PyTypeObject, tp_flags);
	O("type.basicsize", PyTypeObject, tp_basicsize);
	O("type.itemsize", PyTypeObject, tp_itemsize);
	O("type.dictoffset", PyTypeObject, tp_dictoffset);
	O("type.members", PyTypeObject, tp_members);
	O("type.base", PyTypeObject, tp_base);
	O("type.dict", PyTypeObject, tp_dict);
	S("type.size", PyTypeObject);
	O("heaptype.cached_keys", PyHeapTypeObject, ht_cached_keys);
	O("function.code", PyFunctionObject, func_code);
	O("function.name", PyFunctionObject, func_name);
	O("function.qualname", PyFunctionObject, func_qualname);
	O("cell.value", PyCellObject, ob_ref);
	O("weakref.object", PyWeakReference, wr_object);
	O("builtin.self", PyCFunctionObject, m_self);
	O("method.function", PyMethodObject, im_func);
	S("object.size", PyObject);
#if PY_VERSION_HEX >= 0x030b0000
	O("module.dict", PyModuleObject, md_dict);
#if PY_VERSION_HEX >= 0x030c0000
	O("interp.modules", PyInterpreterState, imports.modules);
#else
	O("interp.modules", PyInterpreterState, modules);
#endif
#endif
	O("var.size", PyVarObject, ob_size);
#if PY_VERSION_HEX >= 0x030c0000
	O("long.tag", PyLongObject, long_value.lv_tag);
	O("long.digit", PyLongObject, long_value.ob_digit);
#else
	O("long.digit", struct _longobject, ob_digit);
#endif
	O("float.value", PyFloatObject, ob_fval);
	O("complex.value", PyComplexObject, cval);
	O("bytes.data", PyBytesObject, ob_sval);
	O("tuple.items", PyTupleObject, ob_item);
	O("list.items", PyListObject, ob_item);
	O("str.length", PyASCIIObject, length);
	O("str.state", PyASCIIObject, state);
	S("str.ascii", PyASCIIObject);
	S("str.compact", PyCompactUnicodeObject);
	O("dict.used", PyDictObject, ma_used);
	O("dict.keys", PyDictObject, ma_keys);
	O("dict.values", PyDictObject, ma_values);
	O("set.used", PySetObject, used);
	O("set.mask", PySetObject, mask);
	O("set.table", PySetObject, table);
	O("exception.args", PyBaseExceptionObject, args);
	O("exception.traceback", PyBaseExceptionObject, traceback);
	O("exception.context", PyBaseExceptionObject, context);
	O("exception.cause", PyBaseExceptionObject, cause);
	O("exception.suppress", PyBaseExceptionObject, suppress_context);
#if PY_VERSION_HEX >= 0x03070000 || 1
	O("traceback.next", PyTracebackObject, tb_next);
	O("traceback.frame", PyTracebackObject, tb_frame);
	O("traceback.lasti", PyTracebackObject, tb_lasti);
	O("traceback.lineno", PyTracebackObject, tb_lineno);
#endif
#if PY_VERSION_HEX >= 0x030b0000
	printf("frameobject.frame %zu\n", (size_t)FRAMEOBJ);
	O("generator.frame", PyGenObject, gi_iframe);
	O("generator.state", PyGenObject, gi_frame_state);
	O("generator.name", PyGenObject, gi_name);
#else
	O("generator.frame", PyGenObject, gi_frame);
#endif
	return 0;
}
