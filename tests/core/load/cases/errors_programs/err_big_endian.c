// TARGET: bpfeb
// >>> this is not a little-endian 64-bit ELF file
__attribute__((section("gpu/entry/*"))) int on(void *ctx) { return 0; }
