// TARGET: x86_64
// >>> this is an ELF file, but not a BPF object
__attribute__((section("gpu/entry/*"))) int on(void *ctx) { return 0; }
