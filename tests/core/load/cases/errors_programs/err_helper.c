// >>> section 'gpu/entry/*', program 'on': calls helper 9999, which does not exist on GPUs
// >>> at line 8: return nonsense();
// >>> try: use one of
#include <gpubpf/probe.h>

static long (*nonsense)(void) = (void *)9999;
SEC("gpu/entry/*") int on(void *ctx) {
	return nonsense();
}
