/* sampled PATH SEED THREADS ROUNDS: blocks.c, where Google's tcmalloc keeps a record of many blocks, and has guarded pages for some. */
#include <stdint.h>
void MallocExtension_Internal_SetProfileSamplingRate(int64_t) __attribute__((weak));
void MallocExtension_Internal_SetProfileSamplingInterval(int64_t) __attribute__((weak));
void MallocExtension_Internal_SetGuardedSamplingRate(int64_t) __attribute__((weak));
void MallocExtension_Internal_SetGuardedSamplingInterval(int64_t) __attribute__((weak));
void MallocExtension_Internal_ActivateGuardedSampling(void) __attribute__((weak));
#include "blocks.c"
__attribute__((constructor)) static void sample(void) {
  if (MallocExtension_Internal_SetProfileSamplingRate)
    MallocExtension_Internal_SetProfileSamplingRate(4096);
  if (MallocExtension_Internal_SetProfileSamplingInterval)
    MallocExtension_Internal_SetProfileSamplingInterval(4096);
  if (MallocExtension_Internal_SetGuardedSamplingRate)
    MallocExtension_Internal_SetGuardedSamplingRate(8192);
  if (MallocExtension_Internal_SetGuardedSamplingInterval)
    MallocExtension_Internal_SetGuardedSamplingInterval(8192);
  if (MallocExtension_Internal_ActivateGuardedSampling)
    MallocExtension_Internal_ActivateGuardedSampling();
}
