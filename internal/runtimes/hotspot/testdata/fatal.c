// Functions that Fatal.java calls.
#include <jni.h>

static int write(int *to, int n, jboolean now) {
    if (now) *(volatile int *)to = n;
    return n + 2;
}

JNIEXPORT jint JNICALL Java_Fatal_poke(JNIEnv *env, jclass c, jint n, jboolean now) {
    int r = write(0, n, now);
    return r + 1;
}

JNIEXPORT jint JNICALL Java_Fatal_held(JNIEnv *env, jclass c, jint n, jboolean now, jlong a, jdouble b, jfloat f, jobject o, jlong d, jdouble e,
    jint g, jint h) {
    int r = write(0, n, now);
    return r + g + h;
}

JNIEXPORT jint JNICALL Java_Fatal_back(JNIEnv *env, jclass c, jint n, jboolean now) {
    static jmethodID called;
    if (!called) called = (*env)->GetStaticMethodID(env, c, "called", "(IZ)I");
    int r = (*env)->CallStaticIntMethod(env, c, called, n, now);
    return r + 1;
}
