// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* SipHash-2-4 (Aumasson, Bernstein 2012) for user space; the kernel has its own. */
#include <metaroce/port.h>

static u64 rotl(u64 v, unsigned int n)
{
	return v << n | v >> (64 - n);
}

static void round1(u64 v[4])
{
	v[0] += v[1];
	v[1] = rotl(v[1], 13) ^ v[0];
	v[0] = rotl(v[0], 32);
	v[2] += v[3];
	v[3] = rotl(v[3], 16) ^ v[2];
	v[0] += v[3];
	v[3] = rotl(v[3], 21) ^ v[0];
	v[2] += v[1];
	v[1] = rotl(v[1], 17) ^ v[2];
	v[2] = rotl(v[2], 32);
}

u64 mroce_siphash(const void *data, size_t len, const u64 key[2])
{
	u64 v[4] = {
		key[0] ^ 0x736f6d6570736575ULL, key[1] ^ 0x646f72616e646f6dULL,
		key[0] ^ 0x6c7967656e657261ULL, key[1] ^ 0x7465646279746573ULL,
	};
	const u8 *p = data;
	size_t left = len, i;
	u64 m;

	for (; left >= 8; left -= 8, p += 8) {
		memcpy(&m, p, 8);
		m = le64toh(m);
		v[3] ^= m;
		round1(v);
		round1(v);
		v[0] ^= m;
	}
	m = (u64)len << 56;
	for (i = 0; i < left; i++)
		m |= (u64)p[i] << (8 * i);
	v[3] ^= m;
	round1(v);
	round1(v);
	v[0] ^= m;
	v[2] ^= 0xff;
	for (i = 0; i < 4; i++)
		round1(v);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}
