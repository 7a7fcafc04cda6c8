// A module whose functions call Python back, and die.
#define PY_SSIZE_T_CLEAN
#include <Python.h>

static PyObject *cross_call(PyObject *self, PyObject *args) {
    PyObject *f;
    if (!PyArg_ParseTuple(args, "O", &f)) return NULL;
    PyObject *out = PyObject_CallObject(f, NULL);
    return out; // not a tail call: the frame stays
}

static PyObject *cross_die(PyObject *self, PyObject *args) {
    *(volatile int *)8 = 1;
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {{"call", cross_call, METH_VARARGS, ""}, {"die", cross_die, METH_VARARGS, ""}, {NULL}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "cross", NULL, -1, methods};
PyMODINIT_FUNC PyInit_cross(void) { return PyModule_Create(&module); }
