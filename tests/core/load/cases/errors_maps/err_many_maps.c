// Refused: more than 256 maps in all objects together.
// >>> error BAD_MAP
// >>> try:
#include <gpubpf/probe.h>

#define MAP(a, b) GPUBPF_ARRAY(m_##a##_##b, __u32, 1);
#define MAPS(a) MAP(a, 0) MAP(a, 1) MAP(a, 2) MAP(a, 3) MAP(a, 4) MAP(a, 5) MAP(a, 6) MAP(a, 7) MAP(a, 8) MAP(a, 9)
#define MANY(a) MAPS(a##0) MAPS(a##1) MAPS(a##2) MAPS(a##3) MAPS(a##4) MAPS(a##5) MAPS(a##6) MAPS(a##7) MAPS(a##8)
MANY(0) MANY(1) MANY(2)

SEC("gpu/entry/*") int on(void *ctx) { return 0; }
