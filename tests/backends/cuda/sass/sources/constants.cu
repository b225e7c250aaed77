/* SPDX-License-Identifier: Apache-2.0 */
/* Reads __constant__ variables in each way that compilers use: as operands, and by loads with and without an index. */
__constant__ float f[64];
__constant__ int n[64];
__constant__ unsigned u[64];
__constant__ double d[64];
__constant__ long long l[32];
__constant__ short s[32];
__constant__ unsigned char b[64];
__constant__ int4 v[4];

extern "C" __global__ void of_floats(float *o, const float *x)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	float p = x[i], q = x[i + 1];

	o[i] = p + f[0], o[i + 1] = p - f[1], o[i + 2] = f[2] - p, o[i + 3] = p * f[3], o[i + 4] = -p * f[4];
	o[i + 5] = fmaf(p, q, f[5]), o[i + 6] = fmaf(p, q, -f[6]), o[i + 7] = fmaf(p, f[7], q), o[i + 8] = fmaf(-p, f[8], -q);
	o[i + 9] = fminf(p, f[9]), o[i + 10] = fmaxf(p, -f[10]), o[i + 11] = p < f[11] ? p : q, o[i + 12] = p > q ? f[12] : q;
	o[i + 13] = fabsf(p) + f[13], o[i + 14] = p + fabsf(f[14]), o[i + 15] = p * -fabsf(f[15]), o[i + 16] = p / f[16];
	o[i + 17] = __frcp_rn(f[17]), o[i + 18] = __expf(f[18]), o[i + 19] = f[i & 63];
}

extern "C" __global__ void of_integers(int *o, const int *x, unsigned *q)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x, p = x[i], w = x[i + 1];
	unsigned a = x[i + 2];

	o[i] = p + n[0], o[i + 1] = p - n[1], o[i + 2] = n[2] - p, o[i + 3] = p * n[3], o[i + 4] = p * w + n[4];
	o[i + 5] = p * n[5] + w, o[i + 6] = p + w + n[6], o[i + 7] = p + w - n[7], o[i + 8] = p & n[8], o[i + 9] = (p | n[9]) ^ w;
	o[i + 10] = (p & w) | n[10], o[i + 11] = min(p, n[11]), o[i + 12] = max((int)a, n[12]), o[i + 13] = p < n[13];
	o[i + 14] = p > w ? n[14] : w, o[i + 15] = p << n[15], o[i + 16] = a >> n[16], o[i + 17] = n[17] << p;
	o[i + 18] = __byte_perm(p, n[18], w), o[i + 19] = __popc(n[19]), o[i + 20] = (float)n[20], o[i + 21] = a / u[21];
	o[i + 22] = p * 4 + n[22], o[i + 23] = n[23] * 4 + p, o[i + 24] = __umulhi(a, u[24]), o[i + 25] = __mulhi(p, n[25]);
	o[i + 26] = abs(n[26]), o[i + 27] = __dp4a(p, n[27], w), o[i + 28] = s[3] + p, o[i + 29] = b[5] * p;
	o[i + 30] = p * s[i & 31], o[i + 31] = b[i & 63];
	if (n[28] > p)
		atomicAdd(q, n[29]);
	if (p > 3)
		q[n[30]] = n[w & 31];
	for (int k = 0; k < n[31]; k++)
		q[k] += u[k & 63];
	*(int4 *)(o + 4 * i + 64) = v[2];
}

extern "C" __global__ void of_doubles(double *o, const double *x, long long *q)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	double p = x[i], w = x[i + 1];
	long long e = q[i];

	o[i] = p + d[0], o[i + 1] = p * d[1], o[i + 2] = fma(p, w, d[2]), o[i + 3] = fma(p, d[3], w), o[i + 4] = p - d[4];
	o[i + 5] = fma(-p, w, -d[5]), o[i + 6] = p < d[6] ? p : w, o[i + 7] = d[i & 63];
	q[i] = e + l[1], q[i + 1] = e * l[2], q[i + 2] = e & l[3], q[i + 3] = e < l[4], q[i + 4] = e * n[5] + l[8];
	q[i + 5] = (int)e * (long long)n[7] + l[9];
}

/* Reads a __constant__ variable in a partially unrolled loop, with negative offsets from the index. */
__constant__ float3 w[64];

extern "C" __global__ void in_turns(float *o, const float *x, const float *y, int m)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	float p = x[i], q = x[i + 1], r = y[i], s = o[i], t = o[i + 1];

	for (int k = 0; k < m; k++) {
		float e = w[k].x * p + w[k].y * q + w[k].z * r, c = __cosf(e), d = __sinf(e);

		s += x[k] * c - y[k] * d;
		t += y[k] * c + x[k] * d;
	}
	o[i] = s, o[i + 1] = t;
}
