//go:build cgo

package syntax

/*
#include <pthread.h>
#include <stddef.h>

// Of the library, which another package links in.
__attribute__((weak)) void ts_set_allocator(
	void *(*malloc)(size_t),
	void *(*calloc)(size_t, size_t),
	void *(*realloc)(void *, size_t),
	void (*free)(void *)
);

static void set_allocator(void) {
	if (ts_set_allocator) ts_set_allocator(NULL, NULL, NULL, NULL);
}

static pthread_once_t once = PTHREAD_ONCE_INIT;

static void allocate_in_c(void) { pthread_once(&once, set_allocator); }
*/
import "C"

// allocateInC has the library allocate by itself. The binding has it call Go for each
// piece of memory, and Go call C again, which is a third of the time of parsing.
func allocateInC() { C.allocate_in_c() }
