/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Serial number arithmetic (RFC 1982): the only place that compares numbers that wrap. */
#ifndef _METAROCE_SERIAL_H
#define _METAROCE_SERIAL_H

#include <metaroce/port.h>

/* a - b as a signed distance; right while the two lie within 2^31. */
static inline s32 mroce_diff32(u32 a, u32 b)
{
	return (s32)(a - b);
}

static inline bool mroce_before32(u32 a, u32 b)
{
	return mroce_diff32(a, b) < 0;
}

/* The same for the 24-bit message numbers of the wire. */
static inline s32 mroce_diff24(u32 a, u32 b)
{
	return (s32)((a - b) << 8) >> 8;
}

/* The full number of which @wire is the low 24 bits, nearest to @near. */
static inline u32 mroce_expand24(u32 wire, u32 near)
{
	return near + (u32)mroce_diff24(wire & 0xffffff, near & 0xffffff);
}

#endif /* _METAROCE_SERIAL_H */
