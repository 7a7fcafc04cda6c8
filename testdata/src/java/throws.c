#include <jni.h>
#include <stdlib.h>
JNIEXPORT void JNICALL Java_Throws_die(JNIEnv *env, jclass c, jthrowable t) { (*env)->Throw(env, t); abort(); }

JNIEXPORT void JNICALL Java_Throws_end(JNIEnv *env, jclass c) { abort(); }
